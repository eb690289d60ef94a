"""Three controllers on three members of etcd: leaders are killed and stopped, jobs go on.

Usage: several_controllers_test.py ORRERY_NODE
"""

import os
import shutil
import signal
import sys
import time

from controllers import Controllers, Members, started, submit
from programs import Scene, call, check_none_twice, phase_of, skip, wait_for


def main(program):
    if shutil.which("etcd") is None:
        skip("no etcd (package etcd-server)")
    with Scene("controllers") as scene:
        etcd = Members(scene)
        etcd.start()
        controllers = Controllers(scene, program, etcd)
        for name in controllers.names:
            controllers.start(name)
        leader = wait_for("a controller leads", controllers.leading)
        for name in ("a1", "a2"):
            controllers.start_agent(name)
        witness = scene.folder / "witness"
        witness.mkdir()
        submit(controllers.url(leader), program, "steady", 4, witness)
        running = lambda name, job: phase_of(controllers.url(name), job) == "Running"
        wait_for("the job runs", lambda: running(leader, "default.steady"))
        wait_for("all four have started", lambda: len(started(witness)) == 4)

        # A leader that is killed.
        killed_at = time.monotonic()
        scene.kill(leader)
        second = wait_for("another leads", lambda: controllers.leading(but=leader))
        print(f"takeover after SIGKILL of the leader: {time.monotonic() - killed_at:.2f} s")
        wait_for("the job runs under it", lambda: running(second, "default.steady"))
        print(f"all reconciled: {time.monotonic() - killed_at:.2f} s")
        told = lambda: {path.read_text() for path in
                        scene.folder.glob("state-*/workers/*/server_url")}
        wait_for("the workers that run know who leads",
                 lambda: told() == {controllers.url(second) + "\n"})
        controllers.start(leader)

        # A leader that stands still, and comes back when another leads.
        stopped_at = time.monotonic()
        scene.programs[second].send_signal(signal.SIGSTOP)
        third = wait_for("another leads", lambda: controllers.leading(but=second))
        print(f"takeover after SIGSTOP of the leader: {time.monotonic() - stopped_at:.2f} s")
        scene.programs[second].send_signal(signal.SIGCONT)
        wait_for("the deposed one says that it does not lead",
                 lambda: controllers.admission(second) == "following")
        late = call(f"{controllers.url(second)}/api/v1/jobs/default.steady/stop", "POST", b"")
        assert late[0] in (200, 307, 503), late  # 200: the client was sent on to the leader.
        if late[0] == 200:
            raise AssertionError(f"a deposed leader took a request: {late}")
        wait_for("the job runs under the third", lambda: running(third, "default.steady"))

        # A member of etcd that dies; the others carry on.
        scene.kill("m0")
        now = wait_for("a controller still leads", controllers.leading)
        later = scene.folder / "later"
        later.mkdir()
        submit(controllers.url(now), program, "later", 1, later)
        wait_for("a new job runs", lambda: running(now, "default.later"))

        restarted = {rank: n for rank, n in started(witness).items() if n != 1}
        assert not restarted, f"workers were started again: {restarted}"
        check_none_twice(witness)
        for i in (1, 2):
            scene.programs[f"a{i}"].terminate()
        for i in (1, 2):
            wait_for("the agents end", lambda: scene.programs[f"a{i}"].poll() is not None)


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
