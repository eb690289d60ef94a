#!/usr/bin/env python3
"""A sweep as a job array of a real Slurm on loopback: equal to one on this machine, killed and taken
up again, cancelled, with a cell that fails. Skipped (77) where Slurm may not be started.

Usage: sweep_slurm_test.py PROGRAM ROOT [--full]     --full: only 200 cells of 1,000 jobs, with and
without a kill
"""

import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(pathlib.Path(sys.argv[2]).resolve() / "tests/support"))

from loopback_slurm import PATIENCE_S, Cluster, require_slurm, wait_for  # noqa: E402

SCENARIO = """\
policy: fifo
cluster: {nodes: 4, gpus_per_node: 8, gpu: v100}
workload:
  generator: {preset: philly-like, jobs: 300, arrivals: {load: 1}, preemptible_share: 1}
"""
SWEEP = """\
scenario: made.yaml
grid:
  workload.generator.arrivals.load: [0.7, 1, 1.3]
policies: [fifo, easy]
seeds: 1..2
"""
FULL = """\
scenario: made.yaml
set: {workload.generator.jobs: 1000}
grid: {workload.generator.arrivals.load: [0.6, 0.8, 1, 1.2, 1.4]}
policies: [fifo, easy, srtf, las]
seeds: 1..10
"""
IS_FULL = "--full" in sys.argv
CELLS = 200 if IS_FULL else 12
SLURM = ("--launcher", "slurm --mem=100 --time=5")


def sweep(cluster, *words):
    return cluster.run(PROGRAM, "sweep", "made_sweep.yaml", *map(str, words),
                       patience_s=10 * PATIENCE_S if IS_FULL else PATIENCE_S)


def table(cluster, out):
    return (cluster.folder / out / "sweep.csv").read_bytes()


def queued(cluster):
    return cluster.run("squeue", "-h", "-r", "-o", "%i").stdout.split()


def an_array_gives_the_same_table(cluster):
    done = sweep(cluster, "--out", "here")
    assert done.returncode == 0, done
    done = sweep(cluster, "--out", "array", "--parallel", "5", *SLURM)
    assert done.returncode == 0, done
    assert table(cluster, "array") == table(cluster, "here")
    tasks = (cluster.folder / "array/slurm/tasks").read_text().splitlines()
    assert tasks == [str(n) for n in range(1, CELLS + 1)], tasks
    assert "cell 7: done" in (cluster.folder / "array/slurm/7.out").read_text()
    job = (cluster.folder / "array/slurm/job").read_text().strip()
    shown = cluster.run("scontrol", "show", "job", f"{job}_{CELLS}").stdout
    assert "ArrayTaskThrottle=5" in shown and "JobName=orrery-made_sweep" in shown, shown


def started(cluster, *words):
    return subprocess.Popen([PROGRAM, "sweep", "made_sweep.yaml", *words, *SLURM], cwd=cluster.folder,
                            env=cluster.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def killed_it_waits_for_its_array(cluster):
    running = started(cluster, "--out", "killed", "--parallel", "3")
    cells = cluster.folder / "killed/cells"
    wait_for(lambda: len(list(cells.glob("*.cell"))) >= 2, "two cells")
    running.send_signal(signal.SIGKILL)
    running.communicate(timeout=PATIENCE_S)
    job = (cluster.folder / "killed/slurm/job").read_text()
    before = {path.name: path.stat().st_mtime_ns for path in cells.glob("*.cell")}
    assert len(before) < CELLS, before
    done = sweep(cluster, "--out", "killed", *SLURM)
    assert done.returncode == 0, done
    assert f"the job array {job.strip()} of an earlier process is still queued" in done.stderr, done
    assert (cluster.folder / "killed/slurm/job").read_text() == job, "submitted again"
    assert {name: (cells / name).stat().st_mtime_ns for name in before} == before
    assert table(cluster, "killed") == table(cluster, "here")


def interrupted_it_cancels_its_array(cluster):
    running = started(cluster, "--out", "cancelled", "--parallel", "1")
    wait_for(lambda: queued(cluster), "the array")
    running.send_signal(signal.SIGINT)
    _, error = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 130, error
    assert re.search(r"interrupted: \d+ of 12 cells are done", error), error
    wait_for(lambda: not queued(cluster), "the end of the array")
    done = sweep(cluster, "--out", "cancelled")  # Goes on here.
    assert done.returncode == 0, done
    assert table(cluster, "cancelled") == table(cluster, "here")


def a_failed_task_is_told_with_its_cells(cluster):
    """An array that is cancelled by others leaves cells without a result."""
    out = cluster.folder / "failed"
    done = sweep(cluster, "--out", "failed", "--cells", "1-9")
    assert done.returncode == 0, done
    # No node has so much memory.
    done = sweep(cluster, "--out", "failed", "--launcher", "slurm --mem=99999")
    assert done.returncode == 2 and "sbatch took no job:" in done.stderr, done
    running = started(cluster, "--out", "failed", "--parallel", "1")
    wait_for(lambda: queued(cluster), "the array")
    cluster.run("scancel", *queued(cluster))
    _, error = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 1, error
    assert re.search(r"cell 1[012] \(.*\): failed: its task of the array left no result", error), error
    assert str(out / "slurm") in error, error
    done = sweep(cluster, "--out", "failed", *SLURM)
    assert done.returncode == 0, done
    assert table(cluster, "failed") == table(cluster, "here")


def more_cells_than_tasks(cluster):
    """A cluster that allows arrays of four tasks: each has three cells."""
    conf = cluster.folder / "slurm.conf"
    conf.write_text(conf.read_text() + "MaxArraySize=5\n")
    assert cluster.run("scontrol", "reconfigure").returncode == 0
    wait_for(lambda: re.search(r"MaxArraySize += 5\b", cluster.run("scontrol", "show", "config").stdout),
             "the new limit")
    done = sweep(cluster, "--out", "few", *SLURM)
    assert done.returncode == 0, done
    tasks = (cluster.folder / "few/slurm/tasks").read_text().splitlines()
    assert tasks == ["1-3", "4-6", "7-9", "10-12"], tasks
    assert table(cluster, "few") == table(cluster, "here")


def main():
    require_slurm()
    with tempfile.TemporaryDirectory(prefix="orrery-slurm-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        cluster = Cluster(folder)
        (folder / "made.yaml").write_text(SCENARIO)
        (folder / "made_sweep.yaml").write_text(FULL if IS_FULL else SWEEP)
        try:
            cluster.start()
            parts = [an_array_gives_the_same_table, killed_it_waits_for_its_array]
            if not IS_FULL:
                parts += [interrupted_it_cancels_its_array, a_failed_task_is_told_with_its_cells,
                          more_cells_than_tasks]
            for part in parts:
                begun = time.monotonic()
                part(cluster)
                print(f"{part.__name__}: {time.monotonic() - begun:.1f} s")
        except BaseException:
            cluster.logs()
            raise
        finally:
            cluster.stop()
    print("ok")


if __name__ == "__main__":
    main()
