"""Debian's Slurm on loopback: a controller and three node daemons in a folder of their own."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
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
        time.sleep(0.15)  # Mostly it is a command of Slurm that looks.


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

    def run(self, *command, patience_s=PATIENCE_S, **more):
        return subprocess.run(command, capture_output=True, text=True, timeout=patience_s,
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


def require_slurm():
    """Ends the test as skipped (77) where Slurm is not installed, or this user may not start it."""
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        skip(f"{', '.join(missing)} not installed (slurmctld, slurmd, slurm-client, munge)")
    if os.geteuid() != 0:
        skip("only root may start the daemons of Slurm")
