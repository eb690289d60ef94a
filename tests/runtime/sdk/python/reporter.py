"""A worker that says how far it is, and ends."""

import orrery

orrery.Worker.join().report_progress(1)
