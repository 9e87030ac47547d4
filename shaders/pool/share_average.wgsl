// What window o of the gradient gives to each of its elements: its mean's share.
fn share(g: f32, o: vec3<u32>, at: u32, flat: u32) -> f32 { return g / f32(max(window_at(o).divisor, 1u)); }
