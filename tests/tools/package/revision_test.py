"""tools/cmake/revision.cmake: commit, changes, no git, and a header left alone where nothing changed.

Usage: revision_test.py SOURCE CMAKE
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv[1]).resolve()
CMAKE = sys.argv[2]


class RevisionTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="orrery-")
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name).resolve() / "a tree"
        self.tree.mkdir()
        self.header = self.tree.parent / "revision.hpp"
        # No settings of the machine, and no repository around the folder.
        self.environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull,
                            "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a",
                            "GIT_COMMITTER_EMAIL": "a@b"}
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"]:
            self.environment.pop(name, None)

    def git(self, *words):
        return subprocess.run(["git", "-C", self.tree, *words], capture_output=True, text=True,
                              check=True, env=self.environment).stdout.strip()

    def write(self, source=None, **environment):
        subprocess.run([CMAKE, "-D", f"SOURCE={source or self.tree}", "-D", f"HEADER={self.header}",
                        "-P", SOURCE / "tools/cmake/revision.cmake"],
                       check=True, env={**self.environment, **environment})
        return self.header.read_text()

    def commit(self):
        self.git("init", "--quiet")
        (self.tree / "file").write_text("one\n")
        self.git("add", "file")
        self.git("commit", "--quiet", "--message", "one")
        return self.git("rev-parse", "HEAD")[:12]

    @unittest.skipUnless(shutil.which("git"), "needs git")
    def test_a_commit_and_changes_after_it(self):
        head = self.commit()
        text = self.write()
        self.assertIn(f'kRevision = "{head}"', text)
        self.assertIn("kModified = false", text)
        # What git does not track changes nothing.
        (self.tree / "other").write_text("")
        self.assertEqual(self.write(), text)
        (self.tree / "file").write_text("two\n")
        self.assertIn("kModified = true", self.write())

    @unittest.skipUnless(shutil.which("git"), "needs git")
    def test_an_equal_header_is_left_alone(self):
        self.commit()
        self.write()
        os.utime(self.header, (1, 1))
        self.write()
        self.assertEqual(self.header.stat().st_mtime, 1)

    def test_without_a_repository_it_is_unknown(self):
        text = self.write(GIT_CEILING_DIRECTORIES=str(self.tree.parent))
        self.assertIn('kRevision = "unknown"', text)
        self.assertIn("kModified = false", text)

    def test_without_git_it_is_unknown(self):
        self.assertIn('kRevision = "unknown"', self.write(PATH="/nowhere"))

    @unittest.skipUnless(shutil.which("git"), "needs git")
    def test_a_tree_that_another_repository_contains_is_unknown(self):
        self.commit()
        inside = self.tree / "inside"
        inside.mkdir()
        self.assertIn('kRevision = "unknown"', self.write(source=inside))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
