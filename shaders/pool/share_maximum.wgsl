// What window o of the gradient gives to element `flat` of the plane: all of it, if that is the window's maximum.
fn share(g: f32, o: vec3<u32>, at: u32, flat: u32) -> f32 { return select(0.0, g, index_at(o, at) == flat); }
