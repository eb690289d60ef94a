// Whether the page's sources agree with their types and with those of the D3 modules, in the major
// versions that Debian has. The compiler and the types of D3 are npm's; skipped (77) without it.
// Usage: node types_test.mjs ROOT WORK_FOLDER
import {spawnSync} from "node:child_process";
import {copyFileSync, cpSync, rmSync} from "node:fs";
import {dirname, join} from "node:path";
import {fileURLToPath} from "node:url";

import {npmPackages} from "../../../../support/npm_packages.mjs";

const [root, work] = process.argv.slice(2);
const page = join(root, "sim/reports/page");
const require = npmPackages(dirname(fileURLToPath(import.meta.url)), work);
// The compiler looks for types in folders around the sources.
rmSync(join(work, "src"), {recursive: true, force: true});
cpSync(join(page, "src"), join(work, "src"), {recursive: true});
copyFileSync(join(page, "tsconfig.json"), join(work, "tsconfig.json"));
// What TypeScript and D3 declare is not checked again, and what was found is kept for sources that stay equal.
const compiled = spawnSync(process.execPath, [require.resolve("typescript/bin/tsc"), "-p", work, "--skipLibCheck",
  "--incremental", "--tsBuildInfoFile", join(work, "found")], {stdio: "inherit"});
process.exit(compiled.status ?? 1);
