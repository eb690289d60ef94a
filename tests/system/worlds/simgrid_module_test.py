#!/usr/bin/env python3
"""What the program says of SimGrid's module: missing, broken, in place, installed.

Usage: simgrid_module_test.py ORRERY ROOT
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
MODULE = "orrery-simgrid.so"


def run(program, root):
    done = subprocess.run([program, "sim", "scenarios/network/ring_and_tree.yaml", "--world", "sim", "--fidelity", "L2"],
                          cwd=root, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def main():
    program, root = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "bin" / "orrery"
        copy.parent.mkdir()
        shutil.copy2(program, copy)
        code, text = run(copy, root)
        assert code == 2 and f"there is no {MODULE}" in text and "--fidelity L0 or L1" in text, text
        beside = copy.parent / MODULE
        beside.write_text("no module", encoding="utf-8")
        code, text = run(copy, root)
        assert code == 2 and f"{beside} cannot be loaded" in text, text
        module = program.parent / MODULE
        if not module.exists():
            print("skipped: this program was built without SimGrid")
            return SKIPPED
        shutil.copy2(module, beside)
        code, text = run(copy, root)
        assert code == 0, text
        # As installed: in a folder of libraries.
        beside.unlink()
        places = subprocess.run(["strings", "-n", "6", copy], capture_output=True, text=True, check=True).stdout.split()
        installed = next(place for place in places if place.startswith("lib") and place.endswith("/orrery"))
        (pathlib.Path(folder) / installed).mkdir(parents=True)
        shutil.copy2(module, pathlib.Path(folder) / installed / MODULE)
        code, text = run(copy, root)
        assert code == 0, text
    print("missing, broken, in place, installed: as it should be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
