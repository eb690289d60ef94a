// Bundles src/main.ts with its libraries and style.css into one HTML file without any reference to
// outside: node bundle.mjs OUTPUT, in a folder that has node_modules.
import {build} from "esbuild";
import {readFileSync, writeFileSync} from "node:fs";

const output = process.argv[2];
const bundled = await build({
  entryPoints: ["src/main.ts"],
  bundle: true,
  minify: true,
  charset: "ascii",
  format: "iife",
  target: ["chrome100", "firefox100", "safari15.4"],
  legalComments: "none",
  metafile: true,
  write: false,
});

/** The licences of what was bundled, one text for all packages that share it. */
function licences(metafile) {
  const names = new Set();
  for (const input of Object.keys(metafile.inputs)) {
    const match = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (match) names.add(match[1]);
  }
  const packagesByText = new Map();
  for (const name of [...names].sort()) {
    const text = readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim();
    const version = JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8")).version;
    packagesByText.set(text, [...(packagesByText.get(text) ?? []), `${name} ${version}`]);
  }
  let out = "/*!\nThis page contains these libraries, each under the licence below it.\n";
  for (const [text, packages] of packagesByText) out += `\n${packages.join(", ")}\n\n${text}\n`;
  return out + "*/\n";
}

const style = await build({
  entryPoints: ["style.css"], minify: true, write: false, target: ["chrome100", "firefox100", "safari15.4"],
});
const script = licences(bundled.metafile) + bundled.outputFiles[0].text.replaceAll("</script", "<\\/script");
const parts = {style: style.outputFiles[0].text.trim(), script: script.trim()};
const page = readFileSync("template.html", "utf8").replace(/@@(style|script)@@/g, (_, name) => parts[name]);
if (page.split("@@orrery-data@@").length !== 2) throw new Error("the place of the data must be there once");
writeFileSync(output, page);
