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
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

PATIENCE_S = 90
NODES = ("n0", "n1", "n2")
DEVICES = ("/dev/null", "/dev/zero")  # Any two: Slurm never opens them here.
NEEDED = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "squeue", "scontrol", "scancel")

CONFIG = """
ClusterName=orrery-test
SlurmctldHost=localhost
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
SlurmctldPort={controller}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmdSpoolDir={folder}/spool-%n
StateSaveLocation={folder}/state
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
ReturnToService=2
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SchedulerType=sched/builtin
KillWait=2
GresTypes=gpu
NodeName=n[0-2] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[{nodes}] CPUs=4 RealMemory=2000 Gres=gpu:2
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def wait_for(holds, what):
    begun = time.monotonic()
    while True:
        found = holds()
        if found:
            return found
        if time.monotonic() - begun > PATIENCE_S:
            raise AssertionError(f"{what} did not come within {PATIENCE_S} s")
        time.sleep(0.05)


def free_ports(count):
    """The first of `count` ports in a row that are free now."""
    for first in range(20000 + os.getpid() % 9000, 32000, count):
        sockets = []
        try:
            for port in range(first, first + count):
                sockets.append(socket.socket())
                sockets[-1].bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
        finally:
            for each in sockets:
                each.close()
    raise AssertionError("no free ports")


class Cluster:
    """Slurm in a folder of its own; its processes are known by the folder's name around them."""

    def __init__(self, folder):
        self.folder = folder
        self.daemons = []
        self.environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
        # What another Slurm around this test says of its own jobs is not for these.
        for name in list(self.environment):
            if name.startswith(("SLURM_", "SLURMD_")) and name != "SLURM_CONF":
                del self.environment[name]

    def start(self):
        folder = self.folder
        (folder / "munge").mkdir(mode=0o755)
        (folder / "munge/key").touch(mode=0o600)
        (folder / "munge/key").write_bytes(os.urandom(1024))
        for name in ("state", *(f"spool-{node}" for node in NODES)):
            (folder / name).mkdir()
        first = free_ports(1 + len(NODES))
        (folder / "slurm.conf").write_text(CONFIG.format(
            folder=folder, controller=first, nodes=f"{first + 1}-{first + len(NODES)}"))
        (folder / "gres.conf").write_text("".join(
            f"NodeName={node} Name=gpu File={file}\n" for node in NODES for file in DEVICES))
        self.spawn("munged", "--force", "--foreground", f"--key-file={folder}/munge/key",
                   f"--socket={folder}/munge/socket", f"--pid-file={folder}/munge/pid",
                   f"--seed-file={folder}/munge/seed", f"--log-file={folder}/munge/log")
        wait_for((folder / "munge/socket").exists, "munge's socket")
        self.spawn("slurmctld", "-D")
        for node in NODES:
            self.spawn("slurmd", "-D", "-N", node)
        wait_for(lambda: self.run("sinfo", "-h", "-o", "%t %D").stdout.split() == ["idle", "3"],
                 "three idle nodes")

    def spawn(self, *command):
        log = open(self.folder / f"{len(self.daemons)}-{command[0]}.out", "wb")
        self.daemons.append(subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment))

    def run(self, *command, **more):
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S,
                              env={**self.environment, **more}, cwd=self.folder, check=False)

    def stop(self):
        for daemon in reversed(self.daemons):
            daemon.kill()
            daemon.wait()
        # Step daemons and jobs: every process that has this cluster's settings in its environment.
        mark = f"SLURM_CONF={self.folder}/slurm.conf".encode()
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    os.kill(int(entry.name), signal.SIGKILL)
            except OSError:
                pass

    def logs(self):
        for path in sorted(self.folder.glob("*.out")) + sorted(self.folder.glob("*.log")):
            print(f"--- {path.name}\n{path.read_text(errors='replace')[-2000:]}")


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
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        skip(f"{', '.join(missing)} not installed (slurmctld, slurmd, slurm-client, munge)")
    if os.geteuid() != 0:
        skip("only root may start the daemons of Slurm")
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
