#!/usr/bin/env python3
"""The presets under sanitizers configure: they are used by hand alone, so that nothing else tells when
they break. One of them, by a seed that is printed; a preset whose compiler is not here is passed over, and
named.

Usage: presets_test.py CMAKE ROOT [SEED|all]
"""

import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile


def main() -> int:
    cmake, root = sys.argv[1], pathlib.Path(sys.argv[2])
    presets = json.loads((root / "CMakePresets.json").read_text(encoding="utf-8"))
    failures, told = [], []
    chosen = [preset for preset in presets["configurePresets"]
              if "ORRERY_SANITIZE" in preset.get("cacheVariables", {})]
    which = sys.argv[3] if len(sys.argv) > 3 else str(random.SystemRandom().randrange(1 << 32))
    if which != "all":
        told.append(f"seed {which}")
        chosen = [random.Random(int(which)).choice(chosen)]
    for preset in chosen:
        variables = preset["cacheVariables"]
        name = preset["name"]
        compiler = variables.get("CMAKE_CXX_COMPILER")
        if compiler and shutil.which(compiler) is None:
            told.append(f"{name} passed over: no {compiler}")
            continue
        with tempfile.TemporaryDirectory() as build:
            done = subprocess.run([cmake, "--preset", name, "-B", build, "-DORRERY_RUNTIME=ON"],
                                  cwd=root, capture_output=True, text=True, check=False)
        told.append(f"{name}: exit {done.returncode}")
        if done.returncode != 0:
            failures.append(f"{name}:\n{done.stderr}")
    print("; ".join(told))
    print("\n".join(failures), end="")
    return 1 if failures or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
