#!/usr/bin/env python3
"""The presets under sanitizers configure: they are used by hand alone, so that nothing else tells when
they break. A preset whose compiler is not here is passed over, and named.

Usage: presets_test.py CMAKE ROOT
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile


def main() -> int:
    cmake, root = sys.argv[1], pathlib.Path(sys.argv[2])
    presets = json.loads((root / "CMakePresets.json").read_text(encoding="utf-8"))
    failures, told = [], []
    for preset in presets["configurePresets"]:
        variables = preset.get("cacheVariables", {})
        if "ORRERY_SANITIZE" not in variables:
            continue
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
    return 1 if failures or not told else 0


if __name__ == "__main__":
    sys.exit(main())
