"""What printed examples are given: files that they name, and the table of what each comes to."""

import dataclasses

ROLES = """\
name: train
labels: {team: blue}
roles:
  actor: {replicas: {min: 4, max: 8}, devices: 0, cpu: 10m, command: "echo I act; exec sleep 7200"}
  collector: {replicas: {min: 1, max: 16}, devices: 0, cpu: 10m, command: "echo I collect; exec sleep 7200"}
"""
LONG = """\
name: train
roles:
  main: {replicas: {min: 1, max: 8}, devices: 0, cpu: 10m, command: "echo I train; exec sleep 7200"}
"""
SHORT = """\
name: train
roles:
  main: {replicas: {min: 1, max: 8}, devices: 0, cpu: 10m, command: "echo I trained"}
"""
WALKER = """\
name: walker
roles:
  learner: {devices: 0, cpu: 10m, command: [/bin/true]}
  collector: {replicas: {min: 1, max: 4}, devices: 0, cpu: 10m, command: [/bin/true]}
"""
PAIR = """\
jobs:
- {name: first, roles: {main: {devices: 0, cpu: 10m, command: [/bin/true]}}}
- {name: second, roles: {main: {devices: 0, cpu: 10m, command: [/bin/true]}}}
"""
# What torch.distributed reads; torch itself is not on every machine of tests.
TRAIN = """\
import os, sys
print("rank", os.environ["RANK"], "of", os.environ["WORLD_SIZE"], sys.argv[1:])
"""
DIJOB = """\
apiVersion: diengine.opendilab.org/v2alpha1
kind: DIJob
metadata: {name: pendulum}
spec:
  tasks:
  - type: learner
    template:
      spec:
        containers:
        - {name: di-container, command: [/bin/true], resources: {requests: {cpu: 10m, memory: 8Mi}}}
"""
PLACEMENT = """\
cluster: {nodes: [{gpus: 4, count: 2}]}
component_placement: {actor: 0-7}
"""

# As RLinf's: composed, and without nodes.
COMPOSED = {
    "train.yaml": """\
defaults: [model/small@actor.model]
runner: {task_type: reasoning}
cluster:
  num_nodes: 1
  component_placement: {"actor,rollout,reward": all}
rollout: {tensor_parallel_size: "${actor.model.tensor_model_parallel_size}"}
""",
    "model/small.yaml": "tensor_model_parallel_size: 4\n",
}

# A few rows of each kind of trace.
TRACES = {
    "philly.csv": "timestamp,duration,num_gpus,gpu_time,cluster\n"
                  "2017-10-09 06:13:03,2951.0,8,23608.0,6214e9\n2017-10-09 07:01:55,66.0,1,66.0,a\n",
    "max_min_fairness.trace": "A (batch size 2)\tcmd -x\tdir\t-s\t1\t400\t2\t3\t-1.0\t10.5\n",
    "simulation_throughputs.json": """{"v100": {"('A (batch size 2)', 2)": {"null": 8.0}}}\n""",
    "log.swf": "; Computer: any\n; UnixStartTime: 1000000000\n"
               "1 100 12 61 16 -1 -1 32 43200 819200 1 6 1 -1 2 3 -1 -1\n",
    "openb.csv": "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
                 "deletion_time,scheduled_time\na,6000,12288,1,460,T4|P100,BE,Succeeded,50,180,60\n",
    "openb_node_list_gpu_node.csv": "sn,cpu_milli,memory_mib,gpu,model\na,64000,262144,2,P100\n",
}

@dataclasses.dataclass(frozen=True)
class Comes:
    """What one command line comes to, and what it takes to run it in a test."""

    out: str = ""        # An expression that standard output and error together match somewhere.
    code: int = 0        # Exit code.
    files: dict = dataclasses.field(default_factory=dict)  # Written before: {path: text}.
    before: str = ""     # A command that makes what this one reads.
    job: str = ""        # The job `train` that runs before: text of a job file; "none": none does.
    changes: bool = False  # That job is another one afterwards.
    until: str = ""      # The command goes on for ever: it is interrupted once it has said this.
    joins: str = ""      # Likewise, once this node has joined the cluster.
    instead: tuple = ()  # ((old, new), ...) in its words: what is not on a machine of tests, or too much.
    why: str = ""        # Why `instead`.
    once: bool = False   # Printed in several places, leaves nothing that others need: the first alone runs.


ENDED = "cp tests/system/journals/version_1.db journal.db"
KEPT = "cp tests/system/journals/version_1.db run.db"
FORETOLD = (
    "printf 'until: 9s\ncluster: {nodes: 1}\njobs: [{name: train, work: 300s}]\n' > run.yaml; "
    "rm -rf state; orrery sim run.yaml --journal --out state")
FORETOLD_NEXT = FORETOLD.replace("name: train", "name: before") + (
    "; printf 'name: train\ncommand: [true]\n' > train.yaml")
RECORDED = "mkdir -p state; cp tests/system/journals/version_4.db state/journal.db"
READY = r"ready in [\d.]+ s"
UP = ((" up", " up --http 127.0.0.1:0 --ports {ports} --state {folder}/up"),)
STANDALONE = (("--standalone", "--standalone --ports {ports}"),)
ANY_PORT = "others may hold the port that it would take"
LESS = "less of the same"
OWN_TESTS = "each of them is a test of its own"
# The trace's first jobs, and speeds of them alone: not those of jobs that share a device, most of the file.
FEW_OF_SHOCKWAVE = """\
[ ! -d few ] || exit 0; mkdir few; cd few; from=../../shared/traces/gavel/shockwave_tacc32; cp $from/summary.csv .
head -n 4 $from/120_multigpu_dynamic.trace > 120_multigpu_dynamic.trace
python3 -c 'if True:
    import json, sys
    speeds = json.load(sys.stdin)
    alone = {gpu: {job: {"null": each["null"]} for job, each in jobs.items()} for gpu, jobs in speeds.items()}
    json.dump(alone, sys.stdout)' < $from/tacc_throughputs.json > tacc_throughputs.json
"""
# The jobs of each virtual cluster, few of each.
FEW_OF_PHILLY = "awk 'NR == 1 || NR % 40 == 0' ../shared/traces/pollux/philly.csv > few.csv"
FEW = " --folder {folder}/few"
FREE_PORTS = " --set http_address=127.0.0.1:0 --set agents_address=127.0.0.1:0"
LEADER = "unix:{up}/agents.sock"
AGENT = "node: gpu-9\ncontrollers: [\"" + LEADER + "\"]\nstate: agent-state\ninventory: {devices: 0, ports: {ports}}\n"


# A sweep of four cells in place of thirty.
FEW_CELLS = ("sed 's/\\[0.6, 0.9, 1.2\\]/[0.9]/; s/1[.][.]5/1..2/; s/jobs: 500/jobs: 100/; s|^scenario: |&scenarios/|' "
             "scenarios/load_sweep.yaml > few_cells.yaml")
# Nicer than all else, it would wait for whatever runs beside it.
FEW_CELLS_INSTEAD = (("scenarios/load_sweep.yaml", "few_cells.yaml"),)
NICE_INSTEAD = FEW_CELLS_INSTEAD + (("nice -n 19", "nice -n 1"),)

# In every command that runs one of these scenarios: (verbs, scenario, what is added).
FEWER = (
    (("sim", "compare"), "scenarios/quickstart.yaml", "--set workload.generator.jobs=100"),
    (("sim",), "scenarios/scale/million_easy.yaml", "--set workload.generator.jobs=300"),
    (("sim", "compare"), "scenarios/philly.yaml", "--set workload.limit=100"),
    (("compare",), "scenarios/gavel.yaml", "--set workload.limit=10"),
    (("sim",), "scenarios/placers/openb.yaml", "--set workload.fill=0.1"),
)

# By command line as it is printed. What has no row must end with exit code 0.
COMES = {
    # README
    "build/bin/orrery sim out/first.yaml --out out/first": Comes(r"^fit/1 +1 +155\.0 "),
    "build/bin/orrery compare out/first.yaml --policies fit,fifo": Comes(
        r"^fifo/1 +1 +500\.0 (.|\n)*^unmet: .*node losses were 0, expected 1", code=1),
    "build/bin/orrery test out/first.yaml scenarios/failover": Comes(
        "passed", instead=(("scenarios/failover", "scenarios/failover/reset*.yaml"),), why=OWN_TESTS),
    "build/bin/orrery up --agents 2": Comes(until=READY, instead=UP, why=ANY_PORT),
    "build/bin/orrery submit docs/examples/jobs/three_roles.yaml --wait":
        Comes(r"(Pending|Starting)(.|\n)*Running(.|\n)*Succeeded"),
    "build/bin/orrery describe three-roles": Comes(r"Succeeded"),
    "build/bin/orrery logs three-roles": Comes(r"learner of"),
    "build/bin/orrery get nodes": Comes(r"node-1"),
    "orrery test scenarios/failover": Comes(
        "passed", instead=(("failover", "failover/reset*.yaml"),), why=OWN_TESTS),
    "orrery test scenarios/lifecycle scenarios/failover --junit scenarios.xml": Comes(
        "passed", instead=(("lifecycle", "lifecycle/tasks*.yaml"), ("failover", "failover/reset*.yaml")), why=OWN_TESTS),
    "orrery test scenarios/lifecycle": Comes(
        "passed", instead=(("lifecycle", "lifecycle/tasks*.yaml"),), why=OWN_TESTS),
    "orrery test scenarios/lifecycle --junit scenarios.xml": Comes(
        "passed", instead=(("lifecycle", "lifecycle/tasks*.yaml"),), why=OWN_TESTS),
    "orrery test --world cluster scenarios/lifecycle/preemption.yaml": Comes(
        "passed", instead=((".yaml", ".yaml --set jobs[1].work=40s"),), why=LESS, once=True),
    "orrery test --world cluster --keep runs scenarios/failover/hang.yaml": Comes(
        "passed", instead=((".yaml", ".yaml --set jobs[0].work=100s"),), why=LESS),
    "build/bin/orrery sim scenarios/scale/million_easy.yaml --set workload.generator.jobs=100000": Comes(
        "JCT", instead=(("100000", "2000"),), why=LESS),
    # Benches.
    "tools/bench/shockwave_column.py": Comes(
        "mean error of 6", before=FEW_OF_SHOCKWAVE, instead=((".py", ".py" + FEW),), why=LESS),
    "tools/bench/shockwave_column.py --ahead 60s --at-once": Comes(
        "mean error of 6", before=FEW_OF_SHOCKWAVE, instead=((".py", ".py" + FEW),), why=LESS),
    "tools/bench/shockwave_column.py --grid": Comes(
        r"^\| 60s \| true \| all ", before=FEW_OF_SHOCKWAVE, instead=((".py", ".py" + FEW),), why=LESS),
    "tools/bench/queue_shares.py build/bin/orrery --policies fifo,easy,las,srtf": Comes(
        "^easy: ", before=FEW_OF_PHILLY, why="the test queue_shares runs the others, and over all of the day",
        instead=(("fifo,easy,las,srtf", "easy --trace {folder}/few.csv --nodes 2"),)),
    # docs/queues.md
    "build/bin/orrery compare scenarios/queues/shares.yaml --policies fit,las,fifo": Comes(
        r"^fit/1\+queues/1 (.|\n)*^unmet: .*train: replicas were 1, expected 16", code=1),
    # What runs for ever.
    "orrery up": Comes(until=READY, instead=UP, why=ANY_PORT),
    "orrery up --volume-root /data --volume-root /src": Comes(
        until=READY, files={"data/.keep": "", "src/.keep": ""}, why=ANY_PORT,
        instead=UP + (("/data", "{folder}/data"), ("/src", "{folder}/src"))),
    "orrery up --agents 3 --devices 8 --policy easy train.yaml": Comes(
        until=READY, files={"train.yaml": LONG}, instead=UP, why=ANY_PORT),
    "orrery up --http 127.0.0.1:0 --ports 20000-20999": Comes(
        until=READY, instead=((" up", " up --state {folder}/up"),)),
    "orrery up --agents 2 --agent-set inventory.cpu=64 --agent-set log_size=1MiB": Comes(
        until=READY, instead=UP, why=ANY_PORT),
    "orrery up /usr/share/doc/orrery/examples/jobs/three_roles.yaml": Comes(
        until=READY, instead=UP + (("/usr/share/doc/orrery", "docs"),), why=ANY_PORT),
    "orrery controller --config controller.yaml": Comes(
        until=r"HTTP at", files={"controller.yaml": "policy: easy\n"},
        instead=(("yaml", "yaml" + FREE_PORTS),), why=ANY_PORT),
    "orrery controller --set policy=easy --set store.sqlite=j.db": Comes(
        until=r"HTTP at", instead=(("j.db", "j.db" + FREE_PORTS),), why=ANY_PORT),
    "orrery controller --set store.sqlite=/var/lib/orrery/journal.db": Comes(
        until=r"HTTP at", instead=(("/var/lib/orrery/journal.db", "{folder}/own.db" + FREE_PORTS),),
        why=ANY_PORT),
    "orrery agent --config agent.yaml": Comes(joins="gpu-9", files={"agent.yaml": AGENT}),
    "orrery agent --set state=/var/lib/orrery/agent": Comes(
        joins="gpu-9", why="the controller is that of the test",
        instead=(("/var/lib/orrery/agent", "{folder}/agent-set --set node=gpu-9 --set "
                  "inventory.devices=0 --set 'controllers=[\"" + LEADER + "\"]'"),)),
    "orrery agent --config agent.yaml --print-systemd-unit": Comes(
        r"ExecStart", files={"agent.yaml": AGENT}),
    "orrery agent --config /etc/orrery/agent.yaml --print-systemd-unit > "
    "/etc/systemd/system/orrery-agent.service": Comes(
        files={"agent.yaml": AGENT}, why="folders of the system",
        instead=(("/etc/orrery/", "{folder}/"), ("/etc/systemd/system/", "{folder}/"))),
    # The client.
    "orrery submit job.yaml": Comes("submitted", files={"job.yaml": SHORT}, job="none"),
    "orrery run --standalone --nproc-per-node 2 train.py --lr 0.1": Comes(
        r"^\[1\] rank 1 of 2 \['--lr', '0.1'\]", files={"train.py": TRAIN}, instead=STANDALONE, why=ANY_PORT,
        once=True),
    "orrery run --standalone --nproc-per-node 2 train.py 200 checkpoint.pt": Comes(
        r"^\[1\] rank 1 of 2 \['200', 'checkpoint.pt'\]", files={"train.py": TRAIN}, instead=STANDALONE, why=ANY_PORT),
    "orrery run --nnodes 2 --nproc-per-node gpu train.py": Comes(
        "rank 3 of 4", files={"train.py": TRAIN}, instead=(("gpu", "2 --cpus-per-proc 10m --memory-per-proc 64MiB"),),
        once=True, why="no devices, few cores"),
    "orrery run --nnodes 2 --nproc-per-node gpu --max-restarts 3 train.py 100000 checkpoint.pt": Comes(
        "rank 3 of 4", files={"train.py": TRAIN}, instead=(("gpu", "2 --cpus-per-proc 10m --memory-per-proc 64MiB"),),
        why="no devices, few cores"),
    "orrery run --nnodes 1:4 --nproc-per-node 8 --max-restarts 3 --detach train.py": Comes(
        "^train(-[0-9]+)?: submitted", files={"train.py": TRAIN}, changes=True),
    "orrery run --nproc-per-node 4 --env WANDB_MODE=offline -m project.train": Comes(
        "rank 3 of 4", files={"project/train.py": TRAIN},
        instead=(("per-node 4", "per-node 4 --cpus-per-proc 10m --memory-per-proc 64MiB"),), why="few cores"),
    "orrery run --nnodes 2 --dry-run ./solver --steps 100": Comes("strategy: strict_spread"),
    "orrery submit train.yaml": Comes("submitted", files={"train.yaml": SHORT}, job="none"),
    "orrery submit train.yaml --set name=train-2 --set roles.main.replicas=4": Comes(
        "train-2: submitted", files={"train.yaml": SHORT}),
    "orrery submit ppo.yaml --command 'python3 worker.py'": Comes(
        "ppo: submitted", files={"ppo.yaml": "cluster: {component_placement: {agent: {node_group: "
                                             "node, placement: '0:0-1'}}}\n"}),
    "orrery submit train.yaml --dry-run": Comes("train: starts at once", files={"train.yaml": SHORT}, job="none"),
    "orrery submit train.yaml --wait && orrery logs train": Comes(
        "I trained", files={"train.yaml": SHORT}, job="none"),
    "orrery apply jobs/*.yaml": Comes("pendulum", files={"jobs/a.yaml": WALKER, "jobs/b.yaml": DIJOB}),
    "orrery get": Comes("train", job=LONG),
    "orrery get nodes": Comes("node-1"),
    "orrery get jobs train --json": Comes('"default.train"', job=LONG),
    "orrery describe train": Comes("Running", job=LONG),
    "orrery describe node/gpu-7": Comes(
        "state: +ready", instead=(("gpu-7", "node-1"),), why="nodes of `up` are called so"),
    "orrery logs train -f": Comes(until="I train", job=LONG),
    "orrery logs train --role actor --rank 3 --tail 20": Comes("I act", job=ROLES),
    "orrery logs train --all -f": Comes(until=r"main 0 +\| I train", job=LONG),
    "orrery logs train --previous": Comes(
        # Where another program of this host listens at its first port, a start came before.
        "no earlier start of this worker is kept|the worker never started: port", code=1, job=LONG),
    "orrery scale train 4": Comes("4 replicas", job=LONG, changes=True),
    "orrery scale train collector=16": Comes("16 replicas", job=ROLES, changes=True),
    "orrery stop train": Comes("stopped", job=LONG, changes=True),
    "orrery delete train": Comes("deleted", job=LONG, changes=True),
    "orrery exclude gpu-7 gpu-8": Comes(
        "node-1: excluded", instead=(("gpu-7 gpu-8", "node-1 && orrery include node-1"),),
        why="nodes of `up` are called so, and the next example needs it"),
    "orrery include gpu-7": Comes(
        "node-1: included", instead=(("gpu-7", "node-1"),), why="nodes of `up` are called so"),
    "orrery forecast train": Comes("train: runs since", job=LONG),
    "orrery forecast train.yaml": Comes("train: starts at once", files={"train.yaml": SHORT}, job="none"),
    "orrery forecast": Comes("known by", job=LONG),
    "orrery forecast train --runs 20 --arrivals recent": Comes("train: runs since", job=LONG),
    "orrery accuracy": Comes("foretold", job=LONG),
    "orrery events -f": Comes(until="Job", job=LONG),
    "orrery events --job train": Comes("JobRunning", job=LONG),
    "orrery events --since 10min": Comes("JobRunning", job=LONG),
    "orrery submit walker.yaml --set name=walker-2 --set roles.collector.replicas.max=16": Comes(
        "walker-2: submitted", files={"walker.yaml": WALKER}),
    "orrery submit walker.yaml --set 'roles.learner.command=[python3, learn.py, --seed, \"2\"]' "
    "--set labels.seed=2": Comes("walker-3: submitted", files={"walker.yaml": WALKER},
                                 instead=(("walker.yaml", "walker.yaml --set name=walker-3"),),
                                 why="`walker` was applied before"),
    "orrery submit pair.yaml --set jobs[1].priority=high": Comes(
        "second: submitted", files={"pair.yaml": PAIR}),
    "orrery submit dijob.yaml --set metadata.name=pendulum-2 --set spec.tasks[0].replicas=2": Comes(
        "pendulum-2: submitted", files={"dijob.yaml": DIJOB}),
    # The client, by HTTP.
    "curl -X POST --data-binary @train.yaml 'http://127.0.0.1:22100/api/v1/jobs?file=train.yaml'":
        Comes(r'^\{"jobs":\[\{"name":"default.train","id":\d+\}\],"warnings":\[\]\}', job="none",
              files={"train.yaml": LONG}),
    "curl 'http://127.0.0.1:22100/api/v1/jobs?phase=Running&label=team=blue'": Comes(
        r'^\{"jobs":\[\{.*"name":"default.train"(.|\n)*"phase":"Running"', job=ROLES),
    "curl http://127.0.0.1:22100/api/v1/jobs/train": Comes('"default.train"', job=ROLES),
    "curl -X POST -d '{\"role\":\"actor\",\"replicas\":8}' "
    "http://127.0.0.1:22100/api/v1/jobs/train/scale": Comes(
        '"name":"default.train"', job=ROLES, changes=True),
    "curl -X POST http://127.0.0.1:22100/api/v1/jobs/train/stop": Comes(
        '"name":"default.train"', job=ROLES, changes=True),
    "curl -X DELETE http://127.0.0.1:22100/api/v1/jobs/train": Comes(
        '"name":"default.train"', job=ROLES, changes=True),
    "curl 'http://127.0.0.1:22100/api/v1/jobs/train/members?generation=3&timeout_s=30'": Comes(
        r'"job":"default.train".*"world_size":5.*"first_port":', job=ROLES,
        instead=(("generation=3", "generation=0"),), why="the job is in its first generation"),
    "curl 'http://127.0.0.1:22100/api/v1/jobs/train/peers?caller=notebook'": Comes(
        '"caller":"driver:notebook","peers":.*"port":0', job=ROLES),
    "curl -d '{\"step_time_s\":0.12}' http://127.0.0.1:22100/api/v1/jobs/train/profilings": Comes(
        job=ROLES),
    "curl -N 'http://127.0.0.1:22100/api/v1/jobs/train/logs?role=actor&rank=1&tail_lines=20&follow=1'":
        Comes(until="I act", job=ROLES),
    "curl -N -H 'Accept: text/event-stream' http://127.0.0.1:22100/api/v1/events": Comes(
        until=r"event: event\n", job=ROLES),
    "curl 'http://127.0.0.1:22100/api/v1/nodes?state=silent'": Comes(r'"nodes":\[\]'),
    "curl -X POST http://127.0.0.1:22100/api/v1/nodes/gpu-17/exclude": Comes(
        instead=(("gpu-17", "node-2"),), why="nodes of `up` are called so"),
    # The simulator.
    "orrery check --json train.yaml": Comes('"sound": true', files={"train.yaml": LONG}),
    "orrery place train.yaml": Comes("actor", files={"train.yaml": PLACEMENT}),
    "orrery place train.yaml --json | jq '.actor | length'": Comes("^8$", files={"train.yaml": PLACEMENT}),
    "orrery place train.yaml --env actor:0": Comes("RANK=0", files={"train.yaml": PLACEMENT}),
    "orrery place train.yaml --nodes 8xH100:2,4xA100": Comes(
        "num_nodes is 1: of the 3 nodes only the first 1", files=COMPOSED),
    "orrery place train.yaml --nodes 8xH100 rollout.tensor_parallel_size=2": Comes(
        "rollout: 4 processes", files=COMPOSED),
    "EMBODIED_PATH=docs/examples/rlinf/embodiment orrery place "
    "docs/examples/rlinf/embodiment/config/maze_ppo.yaml --nodes 8xH100": Comes("^env: 4 processes"),
    "EMBODIED_PATH=docs/examples/rlinf/embodiment orrery sim "
    "docs/examples/rlinf/embodiment/config/maze_ppo.yaml --nodes 8xH100": Comes("maze-ppo, world model"),
    "EMBODIED_PATH=docs/examples/rlinf/embodiment orrery place "
    "docs/examples/rlinf/embodiment/config/maze_ppo.yaml --nodes 8xH100 --as job": Comes(
        '"family": "rlinf"'),
    "orrery place train.yaml --nodes 8xH100 --as job --command 'python3 main.py'": Comes(
        '"python3",\\s*"main.py"', files=COMPOSED),
    "orrery place --search grpo.yaml": Comes(
        "best: \\w+, ", before="cp docs/examples/search/grpo.yaml ."),
    "orrery place --search grpo.yaml --json | jq '.candidates[0].roles'": Comes(
        '"placement": ', before="cp docs/examples/search/grpo.yaml ."),
    "orrery place - < train.yaml": Comes("actor", files={"train.yaml": PLACEMENT}),
    "orrery sweep scenarios/load_sweep.yaml --dry-run": Comes("30 cells, 3 points x 2 policies x 5 seeds"),
    "orrery check scenarios/load_sweep.yaml": Comes("sound, 30 cells"),
    "orrery sweep scenarios/load_sweep.yaml --out out/load": Comes(
        r"written to out/load: sweep\.csv", before=FEW_CELLS, instead=FEW_CELLS_INSTEAD, why=LESS),
    "orrery sweep scenarios/load_sweep.yaml --out load": Comes(
        r"written to load: sweep\.csv", before=FEW_CELLS, instead=FEW_CELLS_INSTEAD, why=LESS),
    "orrery sweep scenarios/load_sweep.yaml --out out/nice --launcher 'nice -n 19' --parallel 2": Comes(
        r"written to out/nice: sweep\.csv", before=FEW_CELLS, instead=NICE_INSTEAD, why=LESS),
    "orrery sweep scenarios/load_sweep.yaml --out nice --launcher 'nice -n 19' --parallel 2": Comes(
        r"written to nice: sweep\.csv", before=FEW_CELLS, instead=NICE_INSTEAD, why=LESS),
    "orrery storm": Comes("nothing broke", instead=(("storm", "storm --seeds 1..20"),),
                          why="test_storm runs more of them"),
    "orrery storm --pins tests/sim/storm/pins.txt": Comes(
        "nothing broke", before="head -n 12 tests/sim/storm/pins.txt > pins.txt", once=True,
        instead=(("tests/sim/storm/", ""),), why="test_storm runs all of them"),
    "orrery storm --minutes 60 --out found --json": Comes(
        '"failures": \\[\\]', instead=(("--minutes 60", "--seeds 1..8"),), why="an hour"),
    "orrery explore --crashes 1 --seconds 2": Comes(
        "nothing broke", instead=(("--crashes 1 --seconds 2", "--depth 14 --crashes 1 --seconds 1"),), why=LESS),
    "orrery explore --nodes 1 --delays any --crashes 1 --seconds 1": Comes(
        "nothing broke", instead=(("--nodes", "--depth 14 --nodes"),), why=LESS),
    "orrery explore --leaders 2 --seconds 6 --delays 0 --losses 1 --json": Comes(
        '"failures": \\[\\]', instead=(("seconds 6", "seconds 2"),), why=LESS),
    "orrery journal verify results/journal.db --recompute scenarios/quickstart.yaml": Comes(
        "plans", before="orrery sim scenarios/quickstart.yaml --out results --journal "
        "--set workload.generator.jobs=50"),
    "orrery history journal.db --since 1d": Comes("no job has ended that fits", before=ENDED),
    "orrery history journal.db --state failed --user ada --json": Comes(r'"jobs": \[', before=ENDED),
    "orrery report journal.db --out week.html": Comes(r"week.html: \d+ records", before=ENDED),
    "orrery journal dump run.db | head": Comes('"sequence"', before=KEPT),
    "orrery journal verify run.db": Comes("records", before=KEPT),
    "orrery calibrate --from state/journal.db": Comes(r"wrote calibration.yaml", before=RECORDED),
    "orrery calibrate --from monday.db --from tuesday.db --out measured.yaml": Comes(
        r"wrote measured.yaml", before=RECORDED + "; cp state/journal.db monday.db; cp state/journal.db tuesday.db"),
    "orrery calibrate --ranks 1,2 --starts 1 --out measured.yaml": Comes(
        r"all-reduce 4 KiB, 2 ranks", job="none", instead=((" --out", " --rounds 3 --size 64 --out"),),
        why=LESS, once=True),
    "orrery sim train.yaml --set calibration=measured.yaml": Comes(r"fifo/1 +1 +15.0 ", files={
        "train.yaml": "cluster: {nodes: 1}\njobs: [{name: train, work: 9s}]\n",
        "measured.yaml": "version: 1\ntiming: {start: 6s}\n"}),
    "orrery parity scenarios/parity/crash.yaml --json": Comes(
        r'"kind": "parity"', instead=((" --json", " --runs 1 --training 1 --predicted 4 --set time_scale=40 --out {folder}/parity --json"),),
        why="one run in place of five"),
    "orrery replay run.db": Comes("epoch 1: .* orders of records 1 to ", before=KEPT),
    "orrery replay state/journal.db --policy easy,tiresias": Comes("tiresias/1: ", before=RECORDED),
    "orrery replay state/journal.db --policy fifo --set cluster.groups[0].nodes=8": Comes(
        "fifo/1: ", before=RECORDED),
    "orrery replay state/journal.db --set cluster.groups[0].nodes=8 --out what-if": Comes(
        "at the same instant", before=RECORDED),
    "orrery replay state/journal.db --set controller.preemption_grace=2min --out what-if": Comes(
        "at the same instant", before=RECORDED),
    "orrery forecast train --journal state/journal.db": Comes("train: runs since", before=FORETOLD),
    "orrery forecast train.yaml --journal state/journal.db": Comes(
        "train: starts at once", before=FORETOLD_NEXT),
    "orrery forecast - --journal state/journal.db < train.yaml": Comes(
        "train: starts at once", before=FORETOLD_NEXT),
    "orrery forecast --journal state/journal.db": Comes("known by", before=RECORDED),
    "orrery forecast --journal state/journal.db --json": Comes('"jobs"', before=RECORDED),
    "orrery sim /usr/share/orrery/scenarios/quickstart.yaml": Comes(
        "JCT", instead=(("/usr/share/orrery/", ""),), why="from the tree in place of the package"),
    # Certificates.
    "orrery certs token --role user --name ann": Comes(r"\S{20,}"),
    "orrery certs agent 'gpu-[1-16]'": Comes(before="rm -f certs/agent-gpu-*"),
    "orrery certs agent 'gpu-[2-16]'": Comes(before="rm -f certs/agent-gpu-[2-9].* certs/agent-gpu-1?.*"),
    "orrery certs show certs/*.pem": Comes("ann"),
    "orrery certs show certs/*.pem --json": Comes('"certificates"'),
    # The sample worker.
    "orrery-worker --steps 20": Comes("20", instead=(("20", "20 --size 64"),), why=LESS),
    "orrery-worker --measure 20 --size 1024 --json": Comes(
        '"all_reduce"', instead=(("--measure 20 --size 1024", "--measure 2 --size 64"),), why=LESS),
    "orrery-worker --steps 1000 --checkpoint steps.txt": Comes(
        instead=(("1000", "40 --size 64"),), why="a thousand steps take long on one core"),
    "for r in 0 1; do ORRERY_RANK=$r ORRERY_WORLD_SIZE=2 MASTER_PORT=22270 orrery-worker & done; wait":
        Comes(instead=(("22270", "{port}"), ("orrery-worker &", "orrery-worker --steps 20 --size 64 &")), why=ANY_PORT,
              once=True),
    # The check before a worker's program: it says how that went on its other output.
    "orrery-check": Comes(),
    "orrery-check -- python3 -c 'print(\"trains\")'": Comes("trains", once=True),
    "for r in 0 1; do ORRERY_RANK=$r ORRERY_WORLD_SIZE=2 MASTER_PORT=22270 orrery-check & done; wait":
        Comes(instead=(("22270", "{port}"),), why=ANY_PORT),
}

# What runs in no such test, and why; a test that runs it, where there is one.
NOT_HERE = {
    "tests/system/worlds/worlds_test.py build/bin/orrery . --all":
        "runs for minutes; the test worlds runs it without --all",
    "tools/soak drawn --seeds 200": "runs for 20 minutes; the test drawn_worlds draws one",
    "orrery replay state/journal.db --log state/controller.log":
        "tests/system/up/cluster.py does so for each cluster that it ends",
    "tools/quickstart": "installs packages and builds: tools/fresh_machine runs it",
    "tools/test": "runs all tests, this one too",
    "tools/build": "builds: tests/tools/build",
    "cmake --preset release": "configures this very build",
    "cmake --build --preset release --target package": "builds: tests/tools/package/deb_test.py",
    "apt install ./orrery_VERSION_amd64.deb": "needs root: tools/fresh_machine does it",
    "mkdir --parents /etc/orrery": "needs root; the settings run in SettingsTest",
    "cp /usr/share/doc/orrery/examples/settings/*.yaml /etc/orrery/": "needs root; see above",
    "systemctl enable --now orrery-controller orrery-agent": "needs systemd",
    "systemctl daemon-reload": "needs systemd",
    "systemctl enable --now orrery-agent": "needs systemd",
    "tests/tools/orrery/sweep_test.py build/bin/orrery . --full": "cli_sweep runs it in small",
    "tests/tools/orrery/sweep_slurm_test.py build/bin/orrery . --full": "cli_sweep_slurm runs it in small",
    "orrery sweep scenarios/load_sweep.yaml --out out/array --launcher 'slurm --time=10 --mem=1G' --parallel 100":
        "needs Slurm: tests/tools/orrery/sweep_slurm_test.py",
    "orrery sweep scenarios/load_sweep.yaml --out array --launcher 'slurm --time=10' --parallel 100":
        "needs Slurm: tests/tools/orrery/sweep_slurm_test.py",
    "sbatch docs/launchers/slurm.sbatch":
        "needs Slurm: tests/runtime/launch/slurm_cluster_test.py runs that file",
    "srun orrery agent --launcher slurm --config agent.yaml":
        "needs Slurm: tests/runtime/launch/slurm_cluster_test.py",
    "tools/bench/fidelity_table.py build/bin/orrery": "measures for minutes",
    "tools/bench/parity_table.py build/bin/orrery": "measures for minutes: orrery parity of one scenario runs",
    "orrery parity scenarios/parity/*.yaml --runs 4": "measures for minutes: the line with crash.yaml runs",
    "tools/bench/place_search.py build/bin": "measures for minutes",
    "tools/bench/placers.py": "measures for minutes: tests/system/papers/placers_test.py has a part of it",
    "tools/bench/placers.py --lists default --seeds 42..51": "as the line above",
    "tools/bench/shaped_links.py build/bin --steps 30 --rounds 1": "measures for minutes, as root",
    "orrery storm --seeds 1..1000000 --out million": "runs for long: tests/tools/orrery/storm_test.py interrupts and resumes one",
    "tools/mutation/mutation.py make":
        "builds for minutes: tests/tools/mutation has a program in small",
    "tools/mutation/mutation.py make --storm-only": "builds for minutes, as the line above",
    "tools/mutation/mutation.py make --of policies/queues": "builds for minutes, as the lines above",
    "tools/mutation/mutation.py run --seed 17 --sample 500": "needs what the line before it makes",
    "tools/mutation/mutation.py survivors": "needs what the first makes",
    "tools/mutation/mutation.py run --again": "needs what the first makes",
    "tools/mutation/mutation.py run --storm-only --sample 50": "needs what the first makes",
    "tools/mutation/mutation.py run --storm-only --no-pins --sample 50 --results build-mutation/judged.jsonl":
        "needs what the first makes",
    "ORRERY_BLESS=1 build/bin/test_storm --gtest_filter='Pins.*'": "rewrites a file of the tree",
    "ORRERY_MUTANT=1041 build-mutation/build/bin/test_control": "needs what the first makes",
    "build/bin/bench_bare_loop scenarios/scale/million_easy.yaml build/bin/orrery": "a benchmark",
    "build/bin/bench_calls": "a benchmark",
    "build/bin/bench_fabric": "a benchmark",
    "tools/bench/policies.py build/bin/orrery --jobs 4000 --limit 180 --svg "
    "docs/images/policy_decisions.svg": "measures for minutes",
    "build/bin/bench_messages": "a benchmark",
    "cmake --build build --target bench_decisions": "builds what the line below it needs",
    "tools/bench/decisions.py build/bin/bench_decisions build/bin/orrery --limit 25 --svg "
    "docs/images/policy_decisions_churn.svg": "measures for minutes",
    "tools/bench/orrery_policy.py build/bin/orrery ../shared/traces/pollux --from 21": "measures for minutes",
    "ORRERY_BLESS=1 ctest --preset release -R 'scenario|bad_input'": "rewrites files of the tree",
    "git diff scenarios tests/system/bad_input": "shows what the line above it wrote",
    "ORRERY_BLESS=1 build/bin/test_journals": "writes files of the tree",
    "tools/gpu_check --pack programs": "tests/tools/gpu_check",
    "tools/gpu_check --programs programs --out gpu_check.json": "tests/tools/gpu_check",
    "ETCDCTL_API=3 etcdctl --endpoints=10.0.0.1:2379 snapshot save orrery.snapshot":
        "needs etcd: tests/system/e2e/restored_etcd_test.py",
    "ETCDCTL_API=3 etcdctl snapshot restore orrery.snapshot --data-dir=/var/lib/etcd/restored --name=a "
    "--initial-advertise-peer-urls=http://10.0.0.1:2380 "
    "--initial-cluster=a=http://10.0.0.1:2380,b=http://10.0.0.2:2380,c=http://10.0.0.3:2380 "
    "--initial-cluster-token=restored": "needs etcd: tests/system/e2e/restored_etcd_test.py",
    "orrery completion fish | source": "a line of fish; tests/tools/orrery/program_test.py",
}
