"""Every command line that a page or a help text prints."""

import dataclasses
import functools
import re
import subprocess

FENCE = re.compile(r"\s*```(\w*)")
# What begins a command line in a block that also holds remarks or answers.
PROGRAM = re.compile(r"(?:[A-Z_]+=\S+ )*(?:build/bin/\w+|orrery(?:-\w+)*|tools/[\w/.]+|apt|cmake|cp|ctest|curl"
                     r"|docker|etcdctl|kubectl|mkdir|sbatch|sqlite3|srun|systemctl)(?= |$)")
PICTURE = re.compile("[─│◄►┌└▼]")
REMARK = re.compile(r"\s{2,}#.*$|\s{3,}.*$")
HEREDOC = re.compile(r"<<'?(\w+)'?")


@dataclasses.dataclass(frozen=True)
class Printed:
    """One command line, and where it stands."""

    source: str  # A page ("docs/stores.md"), or the verb of a help text ("--help of certs init").
    line: int    # In the page; 0 in a help text.
    text: str    # Without prompt and remark; a here-document and continued lines included.

    @property
    def place(self):
        return f"{self.source}:{self.line}" if self.line else self.source


def blocks(text):
    """(language, number of the first line, lines) of every fenced block."""
    language, first, lines = None, 0, []
    for number, line in enumerate(text.splitlines(), 1):
        match = FENCE.match(line)
        if match and language is None:
            language, first, lines = match[1], number + 1, []
        elif match:
            yield language, first, lines
            language = None
        elif language is not None:
            lines.append(line)


def is_command(language, line):
    if language == "console" or line.startswith("$ "):
        return line.startswith("$ ")
    if language == "sh":
        return bool(line) and not line.startswith("#")
    return PROGRAM.match(line) is not None


def commands_of(language, first, lines):
    """(number, text) of the command lines of one block."""
    if language not in ("sh", "bash", "console", "text", "") or PICTURE.search("\n".join(lines)):
        return
    at = 0
    while at < len(lines):
        number, line = first + at, lines[at].strip()
        at += 1
        if not is_command(language, line):
            continue
        text = REMARK.sub("", line.removeprefix("$ "))
        while text.endswith("\\") and at < len(lines):
            text = text[:-1] + lines[at].strip()
            at += 1
        if end := HEREDOC.search(text):
            body = []
            while at < len(lines) and lines[at].strip() != end[1]:
                body.append(lines[at])
                at += 1
            at += 1
            text = "\n".join([text, *body, end[1]])
        yield number, text


def of_pages(root):
    """Those of README and of all pages, in their order."""
    found = []
    for page in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        for block in blocks(page.read_text()):
            found += [Printed(str(page.relative_to(root)), number, text)
                      for number, text in commands_of(*block)]
    return found


@functools.cache
def help_of(program, *verb):
    return subprocess.run([program, "help", *verb], capture_output=True, text=True, check=True,
                          timeout=60).stdout


def verbs(program):
    """All verbs that the program lists, `certs init` being one."""
    listed = help_of(program).split("\n\n")[2]
    return [re.match(r"  ([a-z]+(?: [a-z]+)?)  ", line)[1] for line in listed.splitlines()]


def of_help(program):
    """The examples of all verbs."""
    found = []
    for verb in verbs(program):
        examples = re.search(r"^examples?:\n(.*)\Z", help_of(program, *verb.split()),
                             re.MULTILINE | re.DOTALL)[1]
        found += [Printed(f"--help of {verb}", 0, line.strip()) for line in examples.splitlines()
                  if not line.startswith("  #")]
    return found


def of_worker_help(program):
    """The examples of the own help of the sample worker, or of the check."""
    text = subprocess.run([program, "--help"], capture_output=True, text=True, check=True,
                          timeout=60).stdout
    lines = re.search(r"^Examples:\n(.*?)\n\n", text, re.MULTILINE | re.DOTALL)[1].splitlines()
    joined = "\n".join(REMARK.sub("", line.strip()) for line in lines).replace("\\\n", "")
    return [Printed(f"--help of {program.name}", 0, line) for line in joined.splitlines()]


def inline(root):
    """`orrery VERB ...` in the text of a page: (place, words)."""
    found = []
    for page in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        inside = False
        for number, line in enumerate(page.read_text().splitlines(), 1):
            if FENCE.match(line):
                inside = not inside
            elif not inside:
                found += [(f"{page.relative_to(root)}:{number}", match.split())
                          for match in re.findall(r"`(?:build/bin/)?orrery(?:-node)? ([^`]+)`", line)]
    return found
