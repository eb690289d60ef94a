"""Makes large inputs of small ones: parts of them many times over, with other numbers.

Libraries sort, balance and grow in other ways from some size on (std::sort from seventeen items),
which changes of a few bytes seldom come to. A part is a bracket, some lines, an item with what is
indented below it, or a word.

Usage: amplify.py OUT COUNT SEED FOLDER...
"""

import os
import pathlib
import random
import re
import sys

BYTES_MAX = 16_384
TIMES = [2, 5, 17, 20, 33, 40, 70, 150]
NUMBERS = [0, 1, 2, 16, 64, 255, 256, 1000, 65_536]


class Amplifier:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def another_number(self, match):
        chance = self.random.random()
        if chance < 0.5:
            return match.group(0)
        if chance < 0.9:
            digits = min(len(match.group(0)) + self.random.randrange(2), 9)
            return b"%d" % self.random.randrange(10 ** digits)
        return b"%d" % self.random.choice(NUMBERS)

    def another_name(self, match):
        some = self.random.random() < 0.05
        return match.group(0) + (b"%d" % self.random.randrange(99) if some else b"")

    def varied(self, part):
        part = re.sub(rb"\d+", self.another_number, part)
        if self.random.random() < 0.5:
            part = re.sub(rb"[a-z]{3,}", self.another_name, part)
        return part

    # Each gives where a part begins and ends, and what stands between two of them; or nothing.

    def bracket(self, text):
        begins = [i for i, byte in enumerate(text) if byte in b"{["]
        if not begins:
            return None
        begin, depth = self.random.choice(begins), 0
        for i in range(begin, len(text)):
            depth += (text[i] in b"{[") - (text[i] in b"}]")
            if depth == 0:
                return begin, i + 1, b","
        return None

    def lines(self, text):
        ends = [-1] + [i for i, byte in enumerate(text) if byte == 10] + [len(text)]
        first = self.random.randrange(len(ends) - 1)
        last = ends[min(first + self.random.choice([1, 1, 1, 2, 3, 5]), len(ends) - 1)]
        return ends[first] + 1, min(last + 1, len(text)), b"\n" if last == len(text) else b""

    def item(self, text):
        lines = text.split(b"\n")
        begins = [i for i, line in enumerate(lines) if re.match(rb"- |\w+:", line.strip())]
        if not begins:
            return None
        first = self.random.choice(begins)
        indent = len(lines[first]) - len(lines[first].lstrip())
        last = first + 1
        while last < len(lines) and (not lines[last].strip() or
                                     len(lines[last]) - len(lines[last].lstrip()) > indent):
            last += 1
        begin, end = (sum(len(line) + 1 for line in lines[:i]) for i in (first, last))
        return begin, min(end, len(text)), b""

    def word(self, text):
        words = [match.span() for match in re.finditer(rb"[^,;| \n{}\[\]]+", text)]
        if not words:
            return None
        return *self.random.choice(words), self.random.choice([b",", b";", b"|", b" ", b", "])

    def amplified(self, text):
        for _ in range(self.random.choice([1, 1, 2, 3])):
            find = self.random.choice([self.bracket, self.lines, self.item, self.word])
            found = find(text) if len(text) > 1 else None
            if found is None or found[0] == found[1]:
                continue
            begin, end, between = found
            part = text[begin:end]
            room = (BYTES_MAX - len(text)) // (len(part) + 4)
            times = max(1, min(self.random.choice(TIMES), room))
            text = (text[:begin] + between.join(self.varied(part) for _ in range(times)) + text[end:])
        return text[:BYTES_MAX]


def main(out, count, seed, folders):
    files = sorted(path for folder in folders for path in pathlib.Path(folder).glob("*")
                   if path.is_file() and 8 < path.stat().st_size <= BYTES_MAX)
    if not files:
        return
    amplifier = Amplifier(seed)
    os.makedirs(out, exist_ok=True)
    for number in range(count):
        text = amplifier.amplified(amplifier.random.choice(files).read_bytes())
        (pathlib.Path(out) / f"amplified-{number}").write_bytes(text)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
