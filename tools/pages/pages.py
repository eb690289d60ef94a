#!/usr/bin/env python3
"""Keeps what pages show true: commands with their answers, example files, pictures.

A block that begins with "$ orrery " holds what that command prints, run in the repository. Where
the next line is "...", what stands before the picture of nodes and devices is left out. A line
with a link to an example file is followed by a block that holds the file. A picture plan_NAME.svg
is drawn from the example NAME.yaml: from what `orrery place` says, or of a scenario that
expects where its workers sit, from those expectations.

Usage: pages.py PROGRAM ROOT            tells what differs, with exit code 1
       pages.py PROGRAM ROOT --write    writes it anew
"""

import json
import pathlib
import re
import shlex
import subprocess
import sys

import plan_picture
import railroad

PAGES = ("docs/placement.md", "docs/placement_search.md", "docs/virtual_clusters.md", "docs/worker_environment.md")
EXAMPLES = "docs/examples"
PICTURES = "docs/pictures"
GRAMMAR_PICTURE = "placement_language.svg"
LEFT_OUT = "..."
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SEAT = re.compile(r"^ +([\w-]+)/(\d+): \{node: (\d+), devices: (\d+)\}$", re.MULTILINE)
NODE_DEVICES = re.compile(r"nodes: (\d+), gpus_per_node: (\d+)")
EXAMPLE_LINK = re.compile(r"\[`[\w./]+`\]\((examples/[\w./]+\.yaml)\):?\n\n\Z")


def answer(program: pathlib.Path, root: pathlib.Path, command: str) -> str:
    """What `orrery ...` prints, run in `root`; errors as well."""
    words = shlex.split(command)[1:]
    run = subprocess.run([program, *words], cwd=root, capture_output=True, text=True, timeout=120,
                         check=False, env={"PATH": "/usr/bin:/bin", "NO_COLOR": "1"})
    return run.stdout + run.stderr


def from_picture_on(text: str) -> str:
    lines = text.splitlines(keepends=True)
    first = next((i for i, line in enumerate(lines) if line.startswith("nodes ")), 0)
    return "".join(lines[first:])


def renewed_block(program, root, language: str, body: str, before: str, page: pathlib.Path) -> str:
    """The body that a block should have."""
    if body.startswith("$ orrery "):
        command, _, shown = body.partition("\n")
        text = answer(program, root, command[2:])
        if shown.startswith(LEFT_OUT + "\n"):
            text = LEFT_OUT + "\n" + from_picture_on(text)
        return command + "\n" + "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
    if link := EXAMPLE_LINK.search(before):
        return (page.parent / link.group(1)).read_text()
    if language == "ebnf":
        return railroad.grammar_text()
    return body


def renewed_page(program: pathlib.Path, root: pathlib.Path, page: pathlib.Path) -> str:
    text = page.read_text()

    def renew(match):
        body = renewed_block(program, root, match[1], match[2], text[:match.start()], page)
        return f"```{match[1]}\n{body}```"
    return BLOCK.sub(renew, text)


def expected_plan(scenario: str) -> dict:
    """The seats that a scenario expects, one device each, as records of `orrery place`."""
    plan = {}
    for role, rank, node, device in SEAT.findall(scenario):
        plan.setdefault(role, []).append({
            "rank": int(rank), "node_rank": int(node), "hardware_type": "Accelerator",
            "local_hardware_ranks": [int(device)], "local_accelerator_ids": [int(device)],
            "visible_devices": []})
    return plan


def renewed_picture(program: pathlib.Path, root: pathlib.Path, name: str) -> str:
    if name == GRAMMAR_PICTURE:
        return railroad.diagrams()
    name = name.removeprefix("plan_").replace(".svg", ".yaml")
    example = next(path for path in (root / EXAMPLES).rglob(name) if "rlinf" not in path.parts)
    text = example.read_text()
    title = text.splitlines()[0].removeprefix("# ")
    if plan := expected_plan(text):
        sizes = [int(devices) for nodes, devices in NODE_DEVICES.findall(text)
                 for _ in range(int(nodes))]
        return plan_picture.draw(plan, title, sizes)
    plan = answer(program, root, f"orrery place {shlex.quote(str(example))} --json")
    return plan_picture.draw(json.loads(plan), title)


def renewed(program: pathlib.Path, root: pathlib.Path) -> dict:
    """What every page and picture should hold, by path."""
    files = {root / page: renewed_page(program, root, root / page)
             for page in PAGES if (root / page).exists()}
    for picture in sorted((root / PICTURES).glob("*.svg")):
        files[picture] = renewed_picture(program, root, picture.name)
    return files


def main() -> int:
    program, root = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    stale = {path: text for path, text in renewed(program, root).items()
             if path.read_text() != text}
    for path, text in stale.items():
        print(f"{path.relative_to(root)}: not what the program prints")
        if "--write" in sys.argv[3:]:
            path.write_text(text)
    return 1 if stale and "--write" not in sys.argv[3:] else 0


if __name__ == "__main__":
    sys.exit(main())
