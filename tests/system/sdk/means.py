"""The example of the C++ SDK, docs/examples/sdk/cpp, in Python: `means.py` is a worker, `means.py drive`
calls all of role trainer. So each can be called by the other.
"""

import sys

import orrery

COUNT = 1000


class Mean:
    def __init__(self):
        self.count, self.sum = 0, 0.0

    @orrery.method
    def add(self, numbers):
        self.count += len(numbers)
        self.sum += sum(numbers)
        return self.count

    @orrery.method(idempotent=True)
    def mean(self):
        return self.sum / self.count if self.count else 0.0


def work():
    return orrery.Worker.join().serve(Mean())


def drive():
    group = orrery.Driver.from_environment().group("trainer")
    numbers = [float(number) for number in range(1, COUNT + 1)]
    group.call("add", [numbers[:COUNT // 2], numbers[COUNT // 2:]], scatter=True).result()
    for mean in group.call("mean").result():
        print(mean)
    return 0


if __name__ == "__main__":
    sys.exit(drive() if sys.argv[1:] == ["drive"] else work())
