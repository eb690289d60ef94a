"""Forked children: what they inherit of the parent's connections is the parent's."""

import os
import weakref

_objects = weakref.WeakSet()


def forgets(found):
    """Calls found.forget() in forked children, where no other thread runs and nothing of the
    parent's loop goes on."""
    _objects.add(found)


def _forget():
    for each in list(_objects):
        each.forget()


os.register_at_fork(after_in_child=_forget)
