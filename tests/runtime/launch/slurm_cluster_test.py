"""Agents under a real Slurm: a controller and three node daemons of Debian's on loopback.

Shows what an agent takes from Slurm's variables, the batch script of docs/launchers with its notice,
and a node replaced by docs/launchers/slurm-replace. Skipped (77) where Slurm or munge is not
installed, or this user may not start them.

Then the real thing: a controller outside, agents as tasks, a job that runs on them.

Usage: slurm_cluster_test.py PRINT_SLURM_NODE ROOT [ORRERY_NODE]
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from loopback_slurm import NODES, Cluster, require_slurm, wait_for  # noqa: E402


def a_step_is_a_node(cluster, program):
    done = cluster.run("srun", "-N3", "--ntasks-per-node=1", "--cpus-per-task=2", "--mem=512",
                       "--gpus-per-node=2", program)
    assert done.returncode == 0, done.stderr
    found = sorted((json.loads(line) for line in done.stdout.splitlines()),
                   key=lambda node: node["node"])
    assert [node["node"] for node in found] == list(NODES), found
    for node in found:
        assert node["cpu"] == 2000, node
        assert node["devices"] == 2, node
        assert node["address"] == "this-host", node
        assert node["state"].endswith(f"/orrery-{node['job']}-{node['node']}"), node


def outside_it_is_refused(program):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
    done = subprocess.run([program], capture_output=True, text=True, env=clean, check=False)
    assert done.returncode == 2 and "SLURM_JOB_ID" in done.stderr, done


def tasks(cluster):
    """State and machine of each task of the array."""
    lines = cluster.run("squeue", "-h", "-r", "-n", "orrery", "-o", "%K %t %N").stdout.splitlines()
    return {words[0]: (words[1], words[2] if len(words) > 2 else "")
            for words in map(str.split, lines)}


def an_array_is_replaced(cluster, program, root):
    """The batch script as documented, two tasks on two machines; one is replaced by the third."""
    started = cluster.run("sbatch", "--array=0-1", "--gpus-per-node=1", "--mem=256", "--time=10",
                          str(root / "docs/launchers/slurm.sbatch"),
                          ORRERY_AGENT=f"{program} --wait")
    assert started.returncode == 0, started.stderr
    wait_for(lambda: [state for state, _ in tasks(cluster).values()] == ["R", "R"], "two tasks")
    log = cluster.folder / "orrery-1.log"

    def nodes_in_log():
        lines = log.read_text().splitlines() if log.exists() else []
        return [json.loads(line) for line in lines if line.startswith("{")]

    first = wait_for(nodes_in_log, "the task's own words")[0]
    assert first["node"] == "orrery-1" and first["devices"] == 1, first
    assert first["memory"] == 256 << 20, first
    before = tasks(cluster)["1"][1]
    done = cluster.run(str(root / "docs/launchers/slurm-replace"), "orrery-1", "orrery-7")
    assert done.returncode == 0 and done.stdout.split() == ["orrery-1"], done
    assert "orrery-7: no task of that name runs" in done.stderr, done
    state, after = tasks(cluster)["1"]
    assert state == "R" and after != before, (before, after)
    wait_for(lambda: len(nodes_in_log()) == 2, "the task's words on its new machine")
    assert nodes_in_log()[1]["node"] == "orrery-1"


def a_notice_reaches_the_agent(cluster):
    """What --signal does at the time limit, done by hand: to the steps, not to the script."""
    job = cluster.run("squeue", "-h", "-r", "-n", "orrery", "-o", "%i").stdout.split()[0]
    log = cluster.folder / f"orrery-{job.split('_')[1]}.log"
    assert cluster.run("scancel", "--signal=USR1", job).returncode == 0
    wait_for(lambda: "notice" in log.read_text(), "the notice")


JOB = """
name: hello
roles:
  main: {replicas: 2, devices: 1, cpu: 100m, memory: 1MiB, command: test "$CUDA_VISIBLE_DEVICES"}
"""


def agents_carry_a_job(cluster, orrery, root):
    """A controller, the batch script with the real agent, and a job on its nodes."""
    controller = subprocess.Popen(
        [orrery, "controller", "--set", "http_address=127.0.0.1:0",
         "--set", "agents_address=127.0.0.1:0", "--set", f"store.sqlite={cluster.folder}/journal.db"],
        stdout=subprocess.PIPE, text=True, env=cluster.environment)
    cluster.daemons.append(controller)
    words = controller.stdout.readline().split()
    http, agents = words[words.index("HTTP") + 2].rstrip(","), words[-1]
    started = cluster.run(
        "sbatch", "--array=0-1", "--gpus-per-node=1", "--cpus-per-task=2", "--mem=256",
        str(root / "docs/launchers/slurm.sbatch"), TMPDIR=str(cluster.folder),
        ORRERY_AGENT=f"{orrery} agent --launcher slurm --set controllers=[{agents}] "
                     "--set inventory.devices=8 --set inventory.device_model=gpu")
    assert started.returncode == 0, started.stderr

    def ask(*words):
        done = cluster.run(orrery, *words, "--server", http, "--json")
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def nodes():
        return {node["name"]: node for node in ask("get", "nodes").get("nodes", [])}

    wait_for(lambda: len(nodes()) == 2, "two nodes")
    for name, node in nodes().items():
        assert name in ("orrery-0", "orrery-1"), nodes()
        # Exclusive: all CPUs of the machine; memory and devices as asked for.
        assert node["cpu_millis"] == 4000 and node["memory_bytes"] == 256 << 20, node
        assert node["devices"] == 1 and node["device_model"] == "gpu", node
    job = cluster.folder / "job.yaml"
    job.write_text(JOB)
    done = cluster.run(orrery, "submit", "--server", http, "--wait", str(job))
    assert done.returncode == 0, done
    for path in cluster.folder.glob("orrery-*-orrery-[01]"):
        assert path.stat().st_mode & 0o066 == 0, f"{path} is open to others"
    cluster.run("scancel", "--name=orrery")
    wait_for(lambda: not tasks(cluster), "the end of the tasks")


def main():
    program, root = sys.argv[1], pathlib.Path(sys.argv[2])
    outside_it_is_refused(program)
    require_slurm()
    with tempfile.TemporaryDirectory(prefix="orrery-slurm-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        cluster = Cluster(folder)
        try:
            cluster.start()
            a_step_is_a_node(cluster, program)
            an_array_is_replaced(cluster, program, root)
            a_notice_reaches_the_agent(cluster)
            cluster.run("scancel", "--name=orrery", "--signal=KILL", "--full")
            cluster.run("scancel", "--name=orrery")
            wait_for(lambda: not tasks(cluster), "the end of the tasks")
            if len(sys.argv) > 3:
                agents_carry_a_job(cluster, sys.argv[3], root)
        except BaseException:
            cluster.logs()
            raise
        finally:
            cluster.stop()
    print("ok")


if __name__ == "__main__":
    main()
