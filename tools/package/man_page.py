#!/usr/bin/env python3
"""The manual page of a program, made of what `PROGRAM help` and `PROGRAM help VERB` print.

Usage: man_page.py PROGRAM PAGE
"""

import json
import pathlib
import re
import subprocess
import sys


def said(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout


def roff(text):
    """`text` as roff shows it: nothing in it is a request, and its hyphens can be copied."""
    lines = text.rstrip("\n").replace("\\", "\\e").replace("-", "\\-").split("\n")
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in lines)


def verbatim(text):
    return f".nf\n{roff(text)}\n.fi\n"


def page(program):
    about = json.loads(said(program, "version", "--json"))
    name = about["program"]
    overview = said(program, "help")
    summary = re.match(rf"{name}: (.*)", overview).group(1)
    # `  VERB  summary`, where a verb may have two words.
    verbs = re.findall(r"^  ([a-z]+(?: [a-z]+)?)  +\S.*$", overview, re.MULTILINE)
    if not verbs:
        raise SystemExit(f"man_page.py: {name} help lists no verbs; needed lines `  VERB  summary`")
    out = [f'.TH {name.upper()} 1 "" "{name} {about["version"]}" "User Commands"\n',
           f".SH NAME\n{name} \\- {roff(summary)}\n",
           f".SH SYNOPSIS\n.B {roff(name)}\n.I VERB\n[operands] [options]\n",
           ".SH DESCRIPTION\n", verbatim(overview.split("\n", 2)[2]), ".SH VERBS\n"]
    for verb in verbs:
        out += [f".SS {roff(name)} {roff(verb)}\n", verbatim(said(program, "help", verb))]
    out += [".SH FILES\n", verbatim(
        "/usr/share/orrery/scenarios      scenarios to run and to copy\n"
        "/usr/share/doc/orrery            documents; examples of jobs, settings, placements\n"
        "/etc/orrery                      settings of the systemd units orrery-agent and\n"
        "                                 orrery-controller")]
    return "".join(out)


if __name__ == "__main__":
    pathlib.Path(sys.argv[2]).write_text(page(str(pathlib.Path(sys.argv[1]).resolve())))
