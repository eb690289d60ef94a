"""The program alone in an empty root folder: no library, no interpreter, nothing of the system.

Usage: empty_root_test.py PROGRAM        exit code 77: this system allows no such test
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
JOB = "name: alone\nroles:\n  main: {command: [/bin/true], devices: 0}\n"


def is_static(program: pathlib.Path) -> bool:
    # A dynamic program names its loader.
    return b"ld-linux" not in program.read_bytes()[:4096]


def main() -> int:
    program = pathlib.Path(sys.argv[1]).resolve()
    if not is_static(program):
        print("skipped: the program is linked dynamically")
        return SKIPPED
    root = pathlib.Path(tempfile.mkdtemp(prefix="orrery-root-"))
    try:
        shutil.copy(program, root / "orrery-node")
        (root / "job.yaml").write_text(JOB)
        (root / "broken.yaml").write_text("name: [\n")
        enter = ["unshare", "-r", "chroot", str(root)]
        trial = subprocess.run([*enter, "/orrery-node", "version"], capture_output=True, text=True,
                               check=False)
        if trial.returncode in (1, 126, 127) and not trial.stdout:
            print("skipped: no root folder can be made here:", trial.stderr.strip())
            return SKIPPED
        assert trial.stdout.startswith("orrery-node "), trial

        def run(*words: str) -> subprocess.CompletedProcess:
            return subprocess.run([*enter, "/orrery-node", *words], capture_output=True, text=True,
                                  timeout=30, check=False)

        assert "submit" in run("help").stdout
        # The file is sound, so a controller is looked for; there is none.
        sent = run("submit", "/job.yaml", "--server", "unix:/none.sock")
        assert sent.returncode == 5 and "no controller answers" in sent.stderr, sent
        bad = run("submit", "/broken.yaml", "--server", "unix:/none.sock")
        assert bad.returncode == 2 and "/broken.yaml:" in bad.stderr, bad
    finally:
        shutil.rmtree(root)
    print("runs in an empty root")
    return 0


if __name__ == "__main__":
    sys.exit(main())
