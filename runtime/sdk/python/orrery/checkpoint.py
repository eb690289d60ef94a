"""Checkpoints: files that are there whole or not at all, and the newest of them."""

import contextlib
import os
import re
import tempfile
import time

from . import checks

_STEP_DIGITS = 12
_PART = re.compile(r"\.orrery-\w+\.part")  # What write_atomically() has begun.
_PART_KEPT_S = 24 * 3600


class Checkpoints:
    """The checkpoints NAME-STEP of a folder, which all workers that read them must see."""

    def __init__(self, folder, name="checkpoint"):
        self.folder, self.name = os.fspath(folder), name
        self._form = re.compile(re.escape(name) + r"-(\d{%d,})" % _STEP_DIGITS)

    def path(self, step):
        """Where the checkpoint of a step is, or would be."""
        step = checks.whole("the step", step)
        return os.path.join(self.folder, f"{self.name}-{step:0{_STEP_DIGITS}d}")

    def save(self, step, content, keep=0):
        """Writes the checkpoint of a step: bytes, or a function that gets the open file. `keep`:
        so many of the newest stay; 0: all. What a save that was killed has left for a day is
        removed. Several workers may save into one folder."""
        path, keep = self.path(step), checks.whole("keep", keep)
        os.makedirs(self.folder, exist_ok=True)
        self._remove_parts()
        write_atomically(path, content)
        if keep:
            for old in self.steps()[:-keep]:
                _remove(self.path(old))
        return path

    def _remove_parts(self):
        """Of saves that were killed; one of today may still be written by another worker."""
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if _PART.fullmatch(entry.name):
                    with contextlib.suppress(FileNotFoundError):
                        if entry.stat(follow_symlinks=False).st_mtime < time.time() - _PART_KEPT_S:
                            os.unlink(entry.path)

    def steps(self):
        """Those that are there, ascending."""
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            return []
        return sorted(int(found.group(1)) for found in map(self._form.fullmatch, names) if found)

    def newest(self):
        """Step and path of the newest; (None, None) where there is none."""
        steps = self.steps()
        return (steps[-1], self.path(steps[-1])) if steps else (None, None)


def _remove(path):
    """Another worker may have been quicker."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def write_atomically(path, content):
    """Writes a file beside the path and puts it there at once: a reader sees the old one or the
    new one, and after a loss of power one of both is whole. `content`: bytes, or a function of
    the open file."""
    folder = os.path.dirname(os.path.abspath(path))
    handle, temporary = tempfile.mkstemp(prefix=".orrery-", suffix=".part", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            if callable(content):
                content(file)
            else:
                file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        _remove(temporary)  # It may be in its place already.
        raise
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)  # The name as well.
    finally:
        os.close(handle)
