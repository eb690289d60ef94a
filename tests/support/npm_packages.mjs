// What a test takes from npm, fetched when it runs and at no other time.
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

/**
 * Fetches the packages of the lock file in the folder `from` into the folder `work`, once for each
 * state of it, and runs no script of theirs. Returns a `require` that finds them. Ends the process
 * with 77, which is "skipped", without npm or its registry.
 */
export function npmPackages(from, work) {
  mkdirSync(work, { recursive: true });
  const lock = readFileSync(path.join(from, "package-lock.json"), "utf8");
  const mark = path.join(work, "fetched");
  if (!existsSync(mark) || readFileSync(mark, "utf8") !== lock) {
    for (const file of ["package.json", "package-lock.json"])
      copyFileSync(path.join(from, file), path.join(work, file));
    try {
      execFileSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], {
        cwd: work,
        stdio: "pipe",
        timeout: 120_000,
      });
    } catch (trouble) {
      const said = String(trouble.stderr ?? trouble.message).trim().split("\n")[0];
      console.log(`skipped: npm ci in ${work}: ${said}; needed: npm and its registry, or a mirror`);
      process.exit(77);
    }
    writeFileSync(mark, lock);
  }
  return createRequire(path.resolve(work, "package.json"));
}
