#!/usr/bin/env python3
"""Shares of queues over a day of the Philly trace, against what they are entitled to.

    tools/bench/queue_shares.py ORRERY [--trace FILE] [--day YYYY-MM-DD] [--nodes N] [--until TIME]
                                [--policies a,b] [--json FILE] [--most PERCENT]

ORRERY is the program. The jobs of one day, all preemptible, run on so few nodes of 8 GPUs that all
of it is contended; --until 8h ends after its first hours. Each virtual cluster is a queue whose weight
is the number of nodes that it had.
Prints a Markdown table for each policy: by queue its weight, the devices that it was entitled to and
held, as means over the day, and how far they are apart in percent of what it was entitled to (of
queues entitled to a fiftieth of the cluster or more) and of the cluster. Exit code 1 where one is
further apart than --most percent of the cluster, 0 with a message where the trace is not there.
"""

import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRACE = ROOT.parent / "shared" / "traces" / "pollux" / "philly.csv"
# Nodes of 8 GPUs that each virtual cluster had, as Helios models them; 8 for those it leaves out.
NODES = {"6214e9": 64, "7f04ca": 32, "11cb48": 16, "b436b2": 64, "ee9e8c": 64, "e13805": 16,
         "6c71a0": 32, "2869ce": 16, "ed69ec": 8, "103959": 8, "0e4a51": 32}
SCENARIO = """\
name: queue-shares
seed: 1
until: {until}
cluster: {{nodes: {nodes}, gpus_per_node: 8, gpu: p100, cpu: 64, memory: 512GiB}}
policy:
  name: {policy}
  queues:
    period: 60s
    tree:
{tree}
workload: {{format: philly, file: {file}, estimates: oracle, preemptible: true}}
"""


def rows_of(trace, day, gpus_most):
    """The rows of one day that the cluster can run, with their header."""
    with open(trace, encoding="utf-8", newline="") as lines:
        reader = csv.reader(lines)
        header = next(reader)
        at, gpus = header.index("timestamp"), header.index("num_gpus")
        return header, [row for row in reader
                        if row and row[at].startswith(day) and int(row[gpus]) <= gpus_most]


def run(orrery, policy, nodes, until, header, rows):
    """The summary of a run with a queue for each virtual cluster."""
    names = sorted({row[header.index("cluster")] for row in rows})
    tree = "\n".join(f"      - {{name: vc-{name}, weight: {NODES.get(name, 8)}}}" for name in names)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "day.csv"
        with open(file, "w", encoding="utf-8", newline="") as out:
            csv.writer(out, lineterminator="\n").writerows([header, *rows])
        scenario = pathlib.Path(folder) / "queues.yaml"
        scenario.write_text(SCENARIO.format(nodes=nodes, until=until, policy=policy, tree=tree, file=file))
        done = subprocess.run([orrery, "sim", str(scenario), "--json"], capture_output=True,
                              text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr or done.stdout)
    return json.loads(done.stdout)


def apart(queue, devices):
    """How far use is from the share, in percent of the share (None: too small) and of the cluster."""
    gap = queue["used_avg"] - queue["share_avg"]
    of_share = 100 * gap / queue["share_avg"] if queue["share_avg"] >= devices / 50 else None
    return of_share, 100 * gap / devices


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("orrery")
    parser.add_argument("--trace", default=str(TRACE))
    parser.add_argument("--day", default="2017-10-20")
    parser.add_argument("--nodes", type=int, default=16)
    parser.add_argument("--until", default="24h")
    parser.add_argument("--policies", default="fifo,las,srtf")
    parser.add_argument("--json")
    parser.add_argument("--most", type=float, default=1.0)
    options = parser.parse_args()
    if not pathlib.Path(options.trace).exists():
        print(f"skipped: the trace {options.trace} is not there")
        return 0
    devices = options.nodes * 8
    header, rows = rows_of(options.trace, options.day, devices)
    figures, too_far = {}, []
    for policy in options.policies.split(","):
        summary = run(options.orrery, policy, options.nodes, options.until, header, rows)
        figures[policy] = summary
        print(f"\n{policy}: {len(rows)} jobs of {options.day} on {devices} GPUs, utilisation "
              f"{summary['gpu_utilization']:.3f}, {summary['preemptions']} preemptions\n")
        print("| queue | entitled to | held | of its share | of the cluster | waited at most |")
        print("| --- | --- | --- | --- | --- | --- |")
        for queue in summary["queues"]:
            of_share, of_all = apart(queue, devices)
            told = "" if of_share is None else f"{of_share:+.2f} %"
            print(f"| {queue['name']} | {queue['share_avg']:.2f} | {queue['used_avg']:.2f} | {told} "
                  f"| {of_all:+.2f} % | {queue['waiting_max']} |")
            if abs(of_all) > options.most:
                too_far.append(f"{policy}: {queue['name']}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(figures, indent=1), encoding="utf-8")
    if too_far:
        print("\nfurther apart than", options.most, "% of the cluster:", ", ".join(too_far))
    return 1 if too_far else 0


if __name__ == "__main__":
    sys.exit(main())
