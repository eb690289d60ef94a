"""Workloads and profiles that benchmarks draw from a seed, in the form of the Pollux artifact.

`draw_workload` draws 160 jobs in eight hours from what the artifact's own workloads have: applications, sizes,
batches, and how many jobs come in each hour. `draw_kinds` writes profiles of several kinds of device, made from
those of the artifact's T4: Sia's own (SOSP 2023) have no licence. `SIA_CLUSTER` is its cluster of 64 devices.
"""

import csv
import random
import shutil

# Sia's heterogeneous cluster: nodes and devices a node of each kind.
SIA_CLUSTER = {"t4": (6, 4), "rtx2080ti": (3, 8), "a100": (2, 8)}
# Times of a T4's speed, least and most: the ratio of memory bandwidths and that of arithmetic in the data sheets
# (T4 320 GB/s, 8.1 TFLOPS; 2080 Ti 616 GB/s, 13.4 TFLOPS; A100 40 GB 1,555 GB/s, 19.5 TFLOPS, 65 and 312 in
# half precision for the T4 and the A100). An application is somewhere between.
RATIOS = {"t4": (1.0, 1.0), "rtx2080ti": (1.65, 1.93), "a100": (2.4, 4.86)}
# Its synchronisation is on links of 50, 50 and 100 Gb/s and more.
SYNC_RATIOS = {"t4": 1.0, "rtx2080ti": 1.0, "a100": 2.0}
JOBS = 160
HOURS = 8


def published_rows(folder):
    """The rows of all workloads of the artifact in `folder`."""
    rows = []
    for path in sorted(folder.glob("workload-*.csv")):
        with path.open() as file:
            rows += list(csv.DictReader(file))
    return rows


def draw_workload(rows, seed, path):
    """Writes a workload of `JOBS` jobs to `path`: each an hour of some row, and what another row asks for."""
    draw = random.Random(f"workload {seed}")
    times = sorted(int(draw.choice(rows)["time"]) // 3600 * 3600 + draw.randrange(3600) for _ in range(JOBS))
    with path.open("w") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["name", "time", "application", "num_replicas", "batch_size"])
        for number, time in enumerate(times):
            row = draw.choice(rows)
            out.writerow([f"{row['application']}-{number}", time, row["application"], row["num_replicas"],
                          row["batch_size"]])


def faster(source, target, ratio, sync_ratio):
    """Copies a table of step times: computation divided by one ratio, synchronisation by the other."""
    with source.open() as file:
        rows = list(csv.DictReader(file))
    with target.open("w") as file:
        out = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        out.writeheader()
        for row in rows:
            step, sync = float(row["step_time"]), float(row["sync_time"])
            row["sync_time"] = repr(sync / sync_ratio)
            row["step_time"] = repr((step - sync) / ratio + sync / sync_ratio)
            out.writerow(row)


def draw_kinds(profiles, seed, folder):
    """Writes a folder of profiles for each kind of `SIA_CLUSTER` below `folder`."""
    draw = random.Random(f"kinds {seed}")
    for application in sorted(path for path in profiles.iterdir() if path.is_dir()):
        part = draw.random()  # How far it is bound by arithmetic.
        for kind, (least, most) in RATIOS.items():
            target = folder / kind / application.name
            target.mkdir(parents=True, exist_ok=True)
            for table in ("placements.csv", "scalability.csv"):
                faster(application / table, target / table, least + part * (most - least), SYNC_RATIOS[kind])
            for run in application.glob("validation-*.csv"):
                shutil.copy(run, target / run.name)
