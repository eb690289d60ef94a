#!/usr/bin/env python3
"""What calls between workers cost in Python, beside a bare socket between two Python processes, and beside a
bare queue in a third process between two threads, in the same run.

Usage: calls.py [PART ...]      floor, latency, burst, large, channel, items (of 10 MB); all of them unless named

The worker is a process of this program; directory and agent are those of the SDK's tests. Microseconds
and rates are of wall time. The medians of a busy machine say little: compare with the floor beside it.
"""

import collections
import os
import pathlib
import select
import socket
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "runtime/sdk/python"), str(ROOT / "tests/runtime/sdk/python")]

import orrery  # noqa: E402: from the folder that the line above names

CALLS = 10_000
LARGE = 100_000_000


class Worker:
    @orrery.method
    def nothing(self):
        return None

    @orrery.method
    def size(self, data):
        return len(data)


def report_latency(what, times):
    times.sort()
    print(f"{what:44} p50 {1e6 * times[len(times) // 2]:8.1f} us   p99 {1e6 * times[len(times) * 99 // 100]:8.1f} us",
          flush=True)


def receive(connection, view):
    while view:
        got = connection.recv_into(view)
        if got == 0:
            return False
        view = view[got:]
    return True


def echo(listener, fresh):
    connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    size, data = bytearray(8), bytearray()
    while receive(connection, memoryview(size)):
        wanted = int.from_bytes(size, "big")
        if fresh or len(data) != wanted:
            data = bytearray(wanted)
        if not receive(connection, memoryview(data)):
            return
        connection.sendall(b"x")


class Echo:
    """A child process that answers with one byte once it has received all that is sent."""

    def __init__(self, fresh=False):
        listener = socket.create_server(("127.0.0.1", 0))
        self.pid = os.fork()
        if self.pid == 0:
            echo(listener, fresh)
            os._exit(0)
        self.connection = socket.create_connection(listener.getsockname())
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.close()

    def round(self, data):
        begin = time.perf_counter()
        self.connection.sendall(len(data).to_bytes(8, "big"))
        self.connection.sendall(data)
        self.connection.recv(1)
        return time.perf_counter() - begin

    def close(self):
        self.connection.close()
        os.waitpid(self.pid, 0)


def relay(listener, size):
    """A bounded queue in a process of its own: each item is answered with a byte, and each byte of the consumer
    with up to 16 items, which are counted first. Memory of items is used again."""
    producer, _ = listener.accept()
    consumer, _ = listener.accept()
    for connection in (producer, consumer):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    poll = select.poll()
    queued, unused, is_asked, one = collections.deque(), [], False, bytearray(1)
    while True:
        poll.register(producer, select.POLLIN if len(queued) < 64 else 0)
        poll.register(consumer, select.POLLIN)
        for descriptor, _ in poll.poll():
            if descriptor == producer.fileno():
                item = unused.pop() if unused else bytearray(size)
                if not receive(producer, memoryview(item)):
                    poll.unregister(producer)
                    continue
                producer.sendall(b"x")
                queued.append(item)
            elif not receive(consumer, memoryview(one)):
                return
            else:
                is_asked = True
        if is_asked and queued:
            given = [queued.popleft() for _ in range(min(16, len(queued)))]
            consumer.sendall(len(given).to_bytes(1, "big"))
            for item in given:
                consumer.sendall(item)
            unused += given
            is_asked = False


def bare_queue(what, size, items):
    listener = socket.create_server(("127.0.0.1", 0))
    pid = os.fork()
    if pid == 0:
        relay(listener, size)
        os._exit(0)
    producer, consumer = (socket.create_connection(listener.getsockname()) for _ in range(2))
    listener.close()
    data = b"\1" * size

    def produce():
        for _ in range(items):
            producer.sendall(data)
            producer.recv(1)
    thread = threading.Thread(target=produce)
    begin, got, buffer, one = time.perf_counter(), 0, bytearray(size), bytearray(1)
    thread.start()
    while got < items:
        consumer.sendall(b"x")
        receive(consumer, memoryview(one))
        for _ in range(one[0]):
            receive(consumer, memoryview(buffer))
        got += one[0]
    thread.join()
    took = time.perf_counter() - begin
    print(f"{what:44} {items / took:8.0f} items/s   {size * items / took / 1e6:6.0f} MB/s", flush=True)
    producer.close()
    consumer.close()
    os.waitpid(pid, 0)


def floor():
    echoing = Echo()
    report_latency("bare socket, 100 bytes there, 1 back", [echoing.round(bytes(100)) for _ in range(5000)])
    echoing.close()
    data = b"\1" * LARGE
    for fresh in (False, True):
        echoing = Echo(fresh)
        best = min(echoing.round(data) for _ in range(5))
        echoing.close()
        what = "bare socket, 100 MB" + (" into fresh memory" if fresh else "")
        print(f"{what:44} {1e3 * best:8.1f} ms   {LARGE / best / 1e6:8.0f} MB/s", flush=True)
    bare_queue("bare queue, items of 1 KB", 1000, 8192)
    bare_queue("bare queue, items of 10 MB", 10_000_000, 64)


def latency(peer):
    times = []
    for _ in range(3000):
        begin = time.perf_counter()
        peer.call("nothing")
        times.append(time.perf_counter() - begin)
    report_latency("call, one at a time", times)


def burst(peer):
    begin = time.perf_counter()
    for future in [peer.submit("nothing") for _ in range(CALLS)]:
        future.result()
    what = f"calls, {CALLS:,} begun at once"
    print(f"{what:44} {CALLS / (time.perf_counter() - begin):8.0f} calls/s", flush=True)


def large(peer):
    data, best = b"\1" * LARGE, 1e9
    for _ in range(5):
        begin = time.perf_counter()
        peer.call("size", data)
        best = min(best, time.perf_counter() - begin)
    print(f"{'call with 100 MB':44} {1e3 * best:8.1f} ms   {LARGE / best / 1e6:8.0f} MB/s", flush=True)


def channel(driver, what, size, items, together=1, under_way=1):
    """`together`: items of one put; `under_way`: puts that are not answered."""
    through = driver.channel(what, owner=("worker", 0), capacity=64)
    data = b"\1" * size

    def produce():
        puts = collections.deque()
        for _ in range(items // together):
            if together == under_way == 1:
                through.put(data)
                continue
            if len(puts) == under_way:
                puts.popleft().result()
            puts.append(through.submit_put([(None, 1, data)] * together))
        for put in puts:
            put.result()

    producer = threading.Thread(target=produce)
    begin, got, batch = time.perf_counter(), 0, None
    producer.start()
    while got < items:
        batch = through.get_batch(count=16, done=batch)
        got += len(batch)
    batch.ack()
    producer.join()
    took = time.perf_counter() - begin
    print(f"{what:44} {items / took:8.0f} items/s   {size * items / took / 1e6:6.0f} MB/s", flush=True)


def main(parts):
    if parts == ["worker"]:
        return orrery.Worker.join().serve(Worker())

    def is_wanted(part):
        return not parts or part in parts
    if is_wanted("floor"):
        floor()  # Forks, so before there are threads.
    import fakes
    with fakes.FakeJob() as job:
        job.add("worker", program=str(pathlib.Path(__file__).resolve()), environment={"BENCH_WORKER": "1"})
        driver = job.driver("bench")
        peer = driver.peer("worker", 0)
        peer.call("nothing")
        for part in (latency, burst, large):
            if is_wanted(part.__name__):
                part(peer)
        if is_wanted("channel"):
            channel(driver, "channel, items of 1 KB", 1000, 8192)
            channel(driver, "channel, items of 1 KB, 16 puts under way", 1000, 16384, under_way=16)
            channel(driver, "channel, items of 1 KB, put by 16", 1000, 32768, together=16)
        if is_wanted("channel") or is_wanted("items"):
            channel(driver, "channel, items of 10 MB", 10_000_000, 64)
        driver.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(["worker"] if os.environ.get("BENCH_WORKER") else sys.argv[1:]))
