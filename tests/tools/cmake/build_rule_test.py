#!/usr/bin/env python3
"""The target rule finds planted offences and lets honest targets pass.

Usage: build_rule_test.py CMAKE RULE_DIR CXX_COMPILER
"""

import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent

# target, what its build must print when it has to fail (None: it must succeed)
EXPECTED = [
    ("orrery_lower_link_lock", None),
    ("orrery_upper_link_lock", None),
    ("orrery_upward_link_lock", "undefined reference to `upper()'"),
    ("orrery_lower_verify_interface_header_sets", None),
    ("orrery_header_only_verify_interface_header_sets", None),
    ("orrery_dependent_header_verify_interface_header_sets", "string"),
    ("check_headers", "needs_another.hpp"),
]


def main() -> int:
    cmake, rule_dir, compiler = sys.argv[1:]
    failures = []
    with tempfile.TemporaryDirectory() as build:
        configure = [cmake, "-S", HERE / "planted", "-B", build, "-G", "Ninja",
                     f"-DRULE_DIR={rule_dir}", f"-DCMAKE_CXX_COMPILER={compiler}"]
        subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
        for target, complaint in EXPECTED:
            built = subprocess.run([cmake, "--build", build, "--target", target],
                                   capture_output=True, text=True, check=False)
            output = built.stdout + built.stderr
            if complaint is None and built.returncode != 0:
                failures.append(f"{target}: must build, but:\n{output}")
            elif complaint is not None and built.returncode == 0:
                failures.append(f"{target}: built, but must fail with `{complaint}`")
            elif complaint is not None and complaint not in output:
                failures.append(f"{target}: failed without `{complaint}`:\n{output}")
    print("\n".join(failures) or f"{len(EXPECTED)} targets as expected")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
