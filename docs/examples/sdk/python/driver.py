"""A driver, as a role of the job (without arguments) or a program outside: driver.py URL JOB."""

import sys

import orrery

driver = orrery.Driver.connect(sys.argv[1], sys.argv[2]) if sys.argv[2:] else orrery.Driver.from_environment()
actors = driver.group("actor")
print(f"{len(actors)} actors: {actors.call('place').result()}", flush=True)

# A batch is cut among them; the results stand in its order.
print("batch:", list(actors.call_batch("learn", 5, [1, 2, 3, 4, 5], scale=10)), flush=True)

# Calls of one worker: a stream, and one that outlives a restart.
print("stream:", [item["number"] for item in actors[0].stream("generate", 3)], flush=True)
print("again:", actors[0].call("place", deadline=60, retries=3)["steps"], flush=True)

# What one worker ends with does not hide what the others answered.
for outcome in actors.run_all_workers_single_data("learn", batch=[1], scale=2).outcomes():
    print(f"actor {outcome.rank}: {outcome.error or outcome.value}", flush=True)

# A queue in actor 0 that both ends bound.
queue = driver.channel("results", owner=("actor", 0), capacity=8)
queue.put({"loss": 0.5}, key="train")
with queue.get(key="train") as item:
    print("queue:", item.value, flush=True)

actors.call("finish").result()
driver.close()
