"""`trace convert --out`: the file is the old one or the new one, and errors say why.

Usage: trace_convert_test.py PROGRAM
"""

import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(sys.argv[1]).resolve()


def files_of_at_most(size):
    """Runs in the child: writes beyond so many bytes fail, as on a full disk."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return limit


class TraceConvertTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="orrery-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.trace = self.folder / "trace.swf"
        self.trace.write_text("; MaxProcs: 8\n" + "".join(
            f"{i} {i * 10} 0 60 1 -1 -1 1 60 -1 1 1 1 1 1 1 -1 -1\n" for i in range(1, 300)))
        self.out = self.folder / "out.swf"

    def convert(self, **more):
        return subprocess.run([PROGRAM, "trace", "convert", self.trace, "--to", "swf", "--out", self.out],
                              capture_output=True, text=True, timeout=60, check=False, **more)

    def test_a_full_disk_leaves_the_old_file(self):
        done = self.convert()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(self.out.stat().st_size, 8192)
        self.out.write_text("old")
        done = self.convert(preexec_fn=files_of_at_most(4096))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(f"{self.out}: cannot be written: File too large", done.stderr)
        self.assertEqual(self.out.read_text(), "old")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["out.swf", "trace.swf"])

    def test_nothing_is_left_where_no_file_was(self):
        self.assertEqual(self.convert(preexec_fn=files_of_at_most(4096)).returncode, 2)
        self.assertFalse(self.out.exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
