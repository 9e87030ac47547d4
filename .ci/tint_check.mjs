// Compiles the texts of FOLDER/tint with Tint, the WGSL compiler of Dawn and Chromium; no GPU needed.
//
//   node tint_check.mjs FOLDER
//
// Exits with 1 when a text is refused, or when there is none. Dawn's null backend parses, resolves and validates.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { create } from "webgpu";

const SHOWN_FAILURES = 10;

const source = join(process.argv[2], "tint");
const entries = JSON.parse(readFileSync(join(source, "manifest.json"), "utf8"));

// Subgroup matrices are still experimental, and hidden without this toggle.
const gpu = create(["backend=null", "enable-dawn-features=allow_unsafe_apis"]);
const adapter = await gpu.requestAdapter();
const device = await adapter.requestDevice({ requiredFeatures: [...adapter.features] });

const started = performance.now();
let failures = 0;
let compiled = 0;
for (const entry of entries) {
  const code = readFileSync(join(source, entry.file), "utf8");
  device.pushErrorScope("validation");
  const shader = device.createShaderModule({ code });
  const information = await shader.getCompilationInfo();
  const error = await device.popErrorScope();
  if (!error && !information.messages.some((message) => message.type === "error")) {
    compiled += 1;
    continue;
  }
  failures += 1;
  if (failures <= SHOWN_FAILURES) {
    const reason = error?.message ?? information.messages.map((message) => message.message).join("\n");
    console.log(`error: ${entry.names[0]}: Tint refuses this text:\n${reason}\n`);
  }
}

const seconds = ((performance.now() - started) / 1000).toFixed(1);
console.log(`Tint: ${compiled} texts compiled, ${failures} refused, ${seconds} s`);
if (compiled === 0) console.log("error: nothing was compiled");
device.destroy();
// The binding keeps the event loop alive while the device lives, so the process is ended by hand.
process.exit(failures > 0 || compiled === 0 ? 1 : 0);
