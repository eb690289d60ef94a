"""What a run exports, read back from outside by the rules of the tools that read it.

evalys.csv is read as evalys documents it (its columns, interval sets such as "0-3 8"), jobs.csv as
a table with a row for each job, the trace by a decoder of protobuf's wire format of its own.

Usage: exports_test.py PROGRAM ROOT
"""

import csv
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from drawn import IS_LONG, drawn  # noqa: E402

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(sys.argv[2]).resolve()

# Parts in one role, in two with a whole device beside, and a job that grows.
PARTS = """\
cluster: {nodes: 2, gpus_per_node: 4}
policy: fit
timing: {start: 0s, rescale: 0s}
jobs:
- {name: halves, work: 100s, roles: {a: {replicas: 1, devices: 0.5}, b: {replicas: 1}}}
- {name: grows, at: 10s, devices: 0.25, replicas: {min: 1, max: 3}, work: {units: 300, throughput: 1}}
- {name: whole, at: 20s, devices: 2, work: 50s}
"""
# Jobs of 1 to 8 devices that are preempted again and again; nodes fail now and then.
BUSY = """\
name: busy
seed: 11
policy: {name: las, quantum: 10min}
cluster: {nodes: 4, gpus_per_node: 8, gpu: v100}
workload:
  generator:
    jobs: 150
    arrivals: {load: 1.5}
    duration: {lognormal: {median: 30min, sigma: 1.2}, shortest: 1min, longest: 6h}
    gpu_mix: [{gpus: 1, weight: 4}, {gpus: 4, weight: 3}, {gpus: 8, weight: 2}, {gpus: 16, weight: 1}]
    preemptible_share: 1
timing: {start: 10s, stop: %s, restore: 20s}
faults:
  - {kind: down, process: exponential, rate_per_1000_node_days: 1000, repair: {median: 30min, sigma: 1}}
  - {kind: down, at: 3h, node: 2, lasting: 1h}
  - {kind: crash, at: 5h, node: 0}
outputs: {formats: [summary, jobs, evalys, events, schedule, machine_states, perfetto]}
"""
COLUMNS = ["job_id", "workload_name", "profile", "submission_time",
           "requested_number_of_resources", "requested_time", "success", "final_state",
           "starting_time", "execution_time", "finish_time", "waiting_time", "turnaround_time",
           "stretch", "allocated_resources", "consumed_energy", "metadata"]
JOB_COLUMNS = ["job_id", "namespace", "group", "workload_name", "profile", "submission_time",
               "requested_number_of_resources", "requested_time", "success", "final_state", "phase",
               "reason", "starting_time", "execution_time", "finish_time", "waiting_time",
               "turnaround_time", "stretch", "held_time", "device_seconds", "devices_mean",
               "devices_max", "allocations", "restarts", "reallocations", "preemptions",
               "node_losses"]
MICROSECOND = 1.5e-6


def devices_of(text):
    """The numbers in an interval set; canonical or not at all."""
    numbers = []
    for part in text.split():
        first, dash, last = part.partition("-")
        numbers += range(int(first), int(last if dash else first) + 1)
    return numbers


def canonical(numbers):
    parts = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def read_table(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def read_rows(folder):
    """The rows as evalys' JobSet takes them: what it needs is there, and fits together."""
    with open(folder / "evalys.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["devices"] = devices_of(row["allocated_resources"])
        if not row["starting_time"]:
            continue
        submitted, started = float(row["submission_time"]), float(row["starting_time"])
        assert abs(submitted + float(row["waiting_time"]) - started) < MICROSECOND, row
        if row["finish_time"]:
            finish = float(row["finish_time"])
            assert abs(started + float(row["execution_time"]) - finish) < MICROSECOND, row
            assert abs(finish - submitted - float(row["turnaround_time"])) < MICROSECOND, row
            row["span"] = (started, finish)
    return rows


def device_seconds(rows):
    return sum((row["span"][1] - row["span"][0]) * len(row["devices"])
               for row in rows if "span" in row)


def overlaps(rows):
    """Pairs of rows that hold one device at one time."""
    held = sorted((device, *row["span"], row["job_id"])
                  for row in rows if "span" in row for device in row["devices"])
    return [(a, b) for a, b in zip(held, held[1:]) if a[0] == b[0] and b[1] < a[2] - MICROSECOND]


def fields_of(data):
    """Field number and value of everything in a message, in order."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        elif tag & 7 == 1:
            yield tag >> 3, data[at:at + 8]
            at += 8
        elif tag & 7 == 2:
            size = varint()
            assert at + size <= len(data), "a field ends beyond its message"
            yield tag >> 3, data[at:at + size]
            at += size
        else:
            raise ValueError(f"wire type {tag & 7}")


def first(data, field, default=None):
    return next((value for number, value in fields_of(data) if number == field), default)


class Trace:
    """Tracks and events of a trace file."""

    def __init__(self, path):
        self.tracks = {}  # uuid: {name, parent, pid, tid, counter}
        self.events = []  # (ns, kind, uuid, name, category, annotations, flows out, flows in)
        sequences = set()
        for number, packet in fields_of(path.read_bytes()):
            assert number == 1, "a trace is packets"
            sequences.add(first(packet, 10))
            descriptor, event = first(packet, 60), first(packet, 11)
            if descriptor is not None:
                self.add_track(descriptor)
            if event is not None:
                self.add_event(first(packet, 8), event)
        assert sequences == {1}
        self.flags = first(next(fields_of(path.read_bytes()))[1], 13)

    def add_track(self, data):
        process, thread = first(data, 3), first(data, 4)
        track = {"name": first(data, 2, b"").decode(), "parent": first(data, 5), "pid": None,
                 "tid": None, "process": process is not None, "counter": first(data, 8) is not None}
        if process is not None:
            track["pid"] = first(process, 1)
            assert first(process, 6).decode() == track["name"]
        if thread is not None:
            track["pid"], track["tid"] = first(thread, 1), first(thread, 2)
            assert first(thread, 5).decode() == track["name"]
        assert first(data, 1) not in self.tracks, "a track is declared once"
        self.tracks[first(data, 1)] = track

    def add_event(self, at, data):
        annotations, out, into = {}, [], []
        for number, value in fields_of(data):
            if number == 4:
                name = first(value, 10).decode()
                text = first(value, 6)
                annotations[name] = text.decode() if text is not None else first(value, 3)
            elif number == 47:
                out.append(struct.unpack("<Q", value)[0])
            elif number == 48:
                into.append(struct.unpack("<Q", value)[0])
            elif number == 44:
                annotations["value"] = struct.unpack("<d", value)[0]
        kind = {1: "begin", 2: "end", 3: "instant", 4: "counter"}[first(data, 9)]
        name, category = first(data, 23, b"").decode(), first(data, 22, b"").decode()
        self.events.append((at, kind, first(data, 11), name, category, annotations, out, into))

    def slices(self):
        """(track, begin, end, name, category, annotations); slices of one track never overlap."""
        found, stacks = [], {}
        for at, kind, track, name, category, annotations, _, into in self.events:
            stack = stacks.setdefault(track, [])
            if kind == "begin":
                assert not stack, f"{name} begins inside {stack}"
                stack.append((at, name, category, annotations, into))
            elif kind == "end":
                begin, name, category, annotations, into = stack.pop()
                assert at > begin
                found.append((track, begin, at, name, category, annotations, into))
        assert not any(stacks.values()), "every slice ends"
        return found


class Exports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(tempfile.mkdtemp())
        cls.draining = cls.run_busy("draining", "5s")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.scratch)

    @classmethod
    def run_busy(cls, name, stop):
        path = cls.scratch / f"{name}.yaml"
        path.write_text(BUSY % stop, encoding="utf-8")
        return cls.run_scenario(path, name)

    @classmethod
    def run_scenario(cls, path, name, *words):
        out = cls.scratch / name
        done = subprocess.run([PROGRAM, "sim", path, "--out", out, *words], capture_output=True,
                              text=True, timeout=120, check=False)
        # 1: an expectation is unmet, as negative scenarios want it. 4: jobs are left.
        assert done.returncode in (0, 1, 4), done.stderr
        return out

    @staticmethod
    def json_of(folder, name):
        return json.loads((folder / name).read_text(encoding="utf-8"))

    def granted(self, folder):
        schedule = self.json_of(folder, "schedule.json")
        return schedule["utilisation"] * schedule["nb_computing_machines"] * schedule["makespan"]

    def assert_machine_time_is_whole(self, folder):
        schedule = self.json_of(folder, "schedule.json")
        whole = schedule["nb_computing_machines"] * schedule["makespan"]
        parts = [schedule[f"time_{kind}"] for kind in ("computing", "idle", "unavailable")]
        self.assertAlmostEqual(sum(parts), whole, delta=whole * 1e-9)
        self.assertLessEqual(schedule["utilisation"], 1)
        return parts

    def test_columns_are_batsims_and_sets_are_canonical(self):
        with open(self.draining / "evalys.csv", encoding="utf-8") as file:
            self.assertEqual(file.readline().strip().split(","), COLUMNS)
        rows = read_rows(self.draining)
        self.assertTrue(any("#" in row["job_id"] for row in rows), "no job was preempted")
        self.assertTrue(any("#" not in row["job_id"] for row in rows))
        self.assertEqual(len({row["job_id"] for row in rows}), len(rows))
        for row in rows:
            self.assertEqual(canonical(row["devices"]), row["allocated_resources"])

    def test_no_device_is_two_jobs_and_the_utilisation_is_that_of_the_schedule(self):
        rows = read_rows(self.draining)
        self.assertEqual(overlaps(rows), [])
        self.assertAlmostEqual(device_seconds(rows), self.granted(self.draining), delta=1e-2)

    def test_the_utilisation_is_the_summarys_where_no_job_drains(self):
        folder = self.run_busy("at_once", "0s")
        rows = read_rows(folder)
        summary = self.json_of(folder, "summary.json")
        self.assertGreater(summary["preemptions"], 0)
        self.assertEqual(overlaps(rows), [])
        self.assertAlmostEqual(device_seconds(rows), summary["gpu_seconds_allocated"], delta=1e-2)
        self.assertAlmostEqual(self.json_of(folder, "schedule.json")["utilisation"],
                               summary["gpu_utilization"], places=9)

    def test_scenarios_give_a_gantt_without_overlap(self):
        """Some of each folder, drawn by a seed that changes with the commit; all of them by `tools/soak tests`."""
        scenarios = []
        for folder, every in [("lifecycle", 5), ("failover", 10)]:
            # Where parts of devices are given jobs share them.
            whole = [path for path in sorted((ROOT / "scenarios" / folder).glob("*.yaml"))
                     if not re.search(r"(gpus|devices): 0?\.\d", path.read_text(encoding="utf-8"))]
            scenarios += drawn(whole, every)
        # With rows that are split, whatever is drawn.
        scenarios.append(ROOT / "scenarios" / "lifecycle" / "preemption.yaml")
        split = 0
        for path in scenarios:
            with self.subTest(path.name):
                folder = self.run_scenario(path, "each", "--set", "outputs.formats=[evalys, schedule]")
                rows = read_rows(folder)
                split += sum("#" in row["job_id"] for row in rows)
                self.assertEqual(overlaps(rows), [])
                if self.json_of(folder, "schedule.json")["makespan"] == 0:
                    continue  # No job finished, so nothing is said of what was granted.
                # Rows that the end of the run cut off do not say until when.
                if any(row["starting_time"] and not row["finish_time"] for row in rows):
                    self.assertLessEqual(device_seconds(rows), self.granted(folder) + 1e-3)
                else:
                    self.assertAlmostEqual(device_seconds(rows), self.granted(folder), delta=1e-3)
                self.assert_machine_time_is_whole(folder)
        self.assertGreater(split, 50 if IS_LONG else 0)

    def test_segments_join_the_rows_of_a_job(self):
        rows = {row["job_id"]: row for row in read_rows(self.draining)}
        with open(self.draining / "segments.csv", newline="", encoding="utf-8") as file:
            segments = list(csv.DictReader(file))
        self.assertEqual({s["row_id"] for s in segments}, {name for name in rows if "#" in name})
        before = None
        for segment in segments:
            row = rows[segment["row_id"]]
            k, count = int(segment["segment"]), int(segment["segments"])
            self.assertEqual(segment["row_id"], f"{segment['job_id']}#{k}")
            self.assertTrue(row["metadata"].startswith(f"segment={k}/{count};"))
            self.assertEqual(segment["from"], row["starting_time"])
            self.assertEqual(segment["to"], row["finish_time"])
            self.assertEqual(segment["allocated_resources"], row["allocated_resources"])
            self.assertEqual(float(segment["devices"]), len(row["devices"]))
            if k > 1:
                self.assertEqual(before["job_id"], segment["job_id"])
                self.assertEqual(row["submission_time"], before["to"])
                self.assertLessEqual(float(before["to"]), float(segment["from"]))
            before = segment

    def test_jobs_are_a_row_each_with_the_sums_over_what_evalys_reads(self):
        rows = {}
        for row in read_rows(self.draining):
            rows.setdefault(row["job_id"].split("#")[0], []).append(row)
        jobs = read_table(self.draining / "jobs.csv")
        self.assertEqual(list(jobs[0]), JOB_COLUMNS)
        self.assertEqual([job["job_id"] for job in jobs], list(rows))
        split = 0
        for job in jobs:
            of_job = rows[job["job_id"]]
            split += len(of_job) > 1
            for column in ("profile", "requested_number_of_resources", "requested_time", "success",
                           "final_state", "workload_name"):
                self.assertEqual({row[column] for row in of_job}, {job[column]})
            self.assertEqual(job["submission_time"], of_job[0]["submission_time"])
            self.assertEqual(job["starting_time"], of_job[0]["starting_time"])
            self.assertEqual(job["finish_time"], of_job[-1]["finish_time"])
            submitted, started = float(job["submission_time"]), float(job["starting_time"])
            finish = float(job["finish_time"])
            for column, value in [("waiting_time", started - submitted),
                                  ("execution_time", finish - started),
                                  ("turnaround_time", finish - submitted)]:
                self.assertAlmostEqual(float(job[column]), value, delta=MICROSECOND)
            held = sum(row["span"][1] - row["span"][0] for row in of_job)
            waited = sum(float(row["waiting_time"]) for row in of_job)
            seconds = device_seconds(of_job)
            self.assertAlmostEqual(float(job["held_time"]), held, delta=len(of_job) * MICROSECOND)
            self.assertAlmostEqual(float(job["turnaround_time"]) - float(job["held_time"]), waited,
                                   delta=len(of_job) * MICROSECOND)
            self.assertAlmostEqual(float(job["device_seconds"]), seconds, delta=1e-3)
            self.assertAlmostEqual(float(job["devices_mean"]), seconds / held, delta=1e-3)
            self.assertEqual(float(job["devices_max"]), max(len(row["devices"]) for row in of_job))
            self.assertEqual(int(job["allocations"]), len(of_job))
            counters = ";".join(f"{key}={job[key]}" for key in
                                ("restarts", "reallocations", "preemptions", "node_losses"))
            self.assertTrue(of_job[0]["metadata"].endswith(counters))
            self.assertEqual(job["namespace"], "default")
            self.assertEqual((job["phase"], job["reason"]), ("Succeeded", "RequiredSucceeded"))
        self.assertGreater(split, 0, "no job was preempted")

    def test_figures_of_the_summary_follow_from_jobs(self):
        jobs = read_table(self.draining / "jobs.csv")
        summary = self.json_of(self.draining, "summary.json")
        schedule = self.json_of(self.draining, "schedule.json")
        done = [float(job["turnaround_time"]) for job in jobs if job["phase"] == "Succeeded"]
        waited = [float(job["waiting_time"]) for job in jobs if job["waiting_time"]]
        self.assertEqual((len(jobs), len(done)), (summary["jobs_total"], summary["jobs_finished"]))
        self.assertAlmostEqual(sum(done) / len(done), summary["jct_avg_s"], places=5)
        self.assertAlmostEqual(sum(waited) / len(waited), summary["queue_avg_s"], places=5)
        self.assertAlmostEqual(max(float(job["stretch"]) for job in jobs), schedule["max_slowdown"],
                               places=5)
        self.assertAlmostEqual(sum(float(job["device_seconds"]) for job in jobs),
                               self.granted(self.draining), delta=1e-2)
        for column, figure in [("restarts", "restarts"), ("preemptions", "preemptions"),
                               ("reallocations", "reallocations"), ("node_losses", "node_losses")]:
            self.assertEqual(sum(int(job[column]) for job in jobs), summary[figure])

    def test_parts_of_devices_count_as_parts_in_the_summary_as_in_jobs(self):
        path = self.scratch / "parts.yaml"
        path.write_text(PARTS, encoding="utf-8")
        folder = self.run_scenario(path, "parts")
        rows = read_table(folder / "jobs.csv")
        self.assertEqual([float(row["devices_max"]) for row in rows], [1.5, 0.75, 2])
        self.assertAlmostEqual(sum(float(row["device_seconds"]) for row in rows),
                               self.json_of(folder, "summary.json")["gpu_seconds_allocated"], delta=1e-2)

    def test_the_schedule_is_about_jobs_and_its_machine_time_is_whole(self):
        schedule = self.json_of(self.draining, "schedule.json")
        summary = self.json_of(self.draining, "summary.json")
        self.assertEqual(schedule["nb_jobs"], summary["jobs_total"])
        self.assertEqual(schedule["nb_jobs_success"], summary["jobs_finished"])
        self.assertEqual(schedule["makespan"], summary["makespan_s"])
        self.assertAlmostEqual(schedule["mean_waiting_time"], summary["queue_avg_s"], places=6)
        self.assertAlmostEqual(schedule["mean_turnaround_time"], summary["jct_avg_s"], places=6)
        parts = self.assert_machine_time_is_whole(self.draining)
        self.assertTrue(all(part > 0 for part in parts), parts)

    def test_machine_states_are_those_of_the_jobs(self):
        with open(self.draining / "machine_states.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(list(rows[0]), ["time", "nb_sleeping", "nb_switching_on",
                                         "nb_switching_off", "nb_idle", "nb_computing"])
        computing = sum((float(b["time"]) - float(a["time"])) * float(a["nb_computing"])
                        for a, b in zip(rows, rows[1:]))
        schedule = self.json_of(self.draining, "schedule.json")
        self.assertAlmostEqual(computing, schedule["time_computing"], delta=1e-2)
        for row in rows:
            self.assertLessEqual(float(row["nb_computing"]) + float(row["nb_idle"]), 32)
            self.assertGreaterEqual(float(row["nb_idle"]), 0)

    def test_equal_runs_give_equal_bytes(self):
        again = self.run_busy("draining_again", "5s")
        names = sorted(path.name for path in self.draining.iterdir())
        self.assertEqual(names, [".orrery-results", "evalys.csv", "events.jsonl", "jobs.csv",
                                 "machine_states.csv", "schedule.json", "segments.csv",
                                 "summary.json", "trace.perfetto-trace"])
        for name in names:
            texts = [(folder / name).read_bytes() for folder in (self.draining, again)]
            # Scenarios of different names would differ: both are called "busy".
            cut = [re.sub(rb'"measured": \{[^}]*\}', b"", text) for text in texts]
            self.assertEqual(cut[0], cut[1], name)


class PerfettoTrace(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        Exports.scratch = cls.scratch = pathlib.Path(tempfile.mkdtemp())
        cls.folder = Exports.run_busy("traced", "5s")
        cls.trace = Trace(cls.folder / "trace.perfetto-trace")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.scratch)

    def test_every_track_is_declared_named_and_stands_below_a_process(self):
        tracks = self.trace.tracks
        self.assertEqual(self.trace.flags, 1)
        self.assertEqual(sum(track["tid"] is not None for track in tracks.values()), 32)
        names = {track["name"] for track in tracks.values() if track["process"]}
        self.assertEqual(names, {"node 0", "node 1", "node 2", "node 3", "cluster", "jobs"})
        processes = {track["pid"] for track in tracks.values() if track["process"]}
        numbers = [t["tid"] if t["tid"] is not None else t["pid"] for t in tracks.values()
                   if t["pid"] is not None]
        self.assertEqual(len(numbers), len(set(numbers)), "pids and tids are told apart")
        for track in tracks.values():
            self.assertTrue(track["name"])
            if track["tid"] is not None:
                self.assertIn(track["pid"], processes)
            elif not track["process"]:
                self.assertTrue(tracks[track["parent"]]["process"])
        for event in self.trace.events:
            self.assertIn(event[2], tracks)
            self.assertEqual(event[1] == "counter", tracks[event[2]]["counter"])

    def test_time_never_steps_back(self):
        times = [event[0] for event in self.trace.events]
        self.assertEqual(times, sorted(times))

    def test_slices_on_devices_are_the_rows_of_the_jobs(self):
        expected = set()
        for row in read_rows(self.folder):
            name, _, k = row["job_id"].partition("#")
            for device in row["devices"]:
                expected.add((device, *row["span"], name, int(k or 1)))
        threads = sorted((track["tid"], uuid) for uuid, track in self.trace.tracks.items()
                         if track["tid"] is not None)
        number = {uuid: i for i, (_, uuid) in enumerate(threads)}
        found = {(number[track], round(begin / 1e9, 6), round(end / 1e9, 6), name, more["segment"])
                 for track, begin, end, name, kind, more, _ in self.trace.slices() if kind == "job"}
        self.assertEqual(found, expected)

    def test_phases_of_a_job_follow_each_other(self):
        by_track = {}
        for track, begin, end, name, kind, _, _ in self.trace.slices():
            if kind == "phase":
                by_track.setdefault(track, []).append((begin, end, name))
        self.assertEqual(len(by_track), 150)
        for slices in by_track.values():
            for one, after in zip(slices, slices[1:]):
                self.assertEqual(one[1], after[0])
            self.assertIn("Running", [name for _, _, name in slices])

    def test_counters_are_those_of_the_machine_states(self):
        named = {track["name"]: uuid for uuid, track in self.trace.tracks.items()}
        points = [(at / 1e9, more["value"]) for at, kind, track, _, _, more, _, _
                  in self.trace.events if track == named["devices in use"]]
        area = sum((b[0] - a[0]) * a[1] for a, b in zip(points, points[1:]))
        self.assertAlmostEqual(area, device_seconds(read_rows(self.folder)), delta=1e-2)
        self.assertTrue(any(track == named["jobs waiting"] for _, _, track, *_ in
                            self.trace.events))

    def test_links_of_a_network_are_counters_of_percent(self):
        folder = Exports.run_scenario(ROOT / "scenarios" / "network" / "neighbour_on_uplink.yaml",
                                      "network", "--set", "outputs.formats=[perfetto]")
        trace = Trace(folder / "trace.perfetto-trace")
        network = [uuid for uuid, track in trace.tracks.items() if track["name"] == "network"]
        links = {uuid for uuid, track in trace.tracks.items() if track["parent"] in network}
        self.assertGreater(len(links), 8)
        values = [event[5]["value"] for event in trace.events if event[2] in links]
        self.assertGreater(max(values), 50)
        self.assertTrue(all(0 <= value <= 100 for value in values))

    def test_faults_nodes_and_incidents_are_there_with_arrows_to_the_restart(self):
        named = {track["name"]: uuid for uuid, track in self.trace.tracks.items()}
        faults = [e for e in self.trace.events if e[2] == named["faults"]]
        self.assertTrue(faults)
        self.assertTrue(all(event[1] == "instant" and event[3] for event in faults))
        silent = [s for s in self.trace.slices() if s[4] == "node" and s[3] == "silent"]
        self.assertTrue(silent)
        # Those that come at random too.
        down = [event[3] for event in faults if event[3].startswith("down node ")]
        self.assertGreaterEqual(len(down), len(silent))
        begun = {flow: e for e in self.trace.events for flow in e[6]}
        ended = {flow: e for e in self.trace.events for flow in e[7]}
        self.assertTrue(begun)
        self.assertEqual(set(begun), set(ended))
        for flow, event in begun.items():
            self.assertEqual(event[4], "incident")
            self.assertEqual(ended[flow][3], "Starting")
            self.assertEqual(ended[flow][2], event[2])
            self.assertLess(event[0], ended[flow][0])

    def test_failures_of_a_record_have_their_names(self):
        folder = Exports.run_scenario(self.scratch / "traced.yaml", "failures", "--set",
                                      "failures={rates: {llama3: true, nodes: 20000, lasting: 1d}}")
        trace = Trace(folder / "trace.perfetto-trace")
        named = {track["name"]: uuid for uuid, track in trace.tracks.items()}
        names = [event[3] for event in trace.events if event[2] == named["faults"]]
        self.assertEqual([name for name in names if re.fullmatch(r"fault \d+", name)], [])
        self.assertTrue(any(name.startswith("device_lost node ") for name in names), names)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
