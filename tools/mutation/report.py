"""The table of a campaign and the list of what survived."""

import dataclasses
import pathlib

import nets

EQUIVALENTS = pathlib.Path(__file__).resolve().parent / "equivalents.txt"


@dataclasses.dataclass(frozen=True)
class Equivalent:
    """A mutant that decides as the original does, known by its text, and why."""
    path: str
    function: str
    line: str
    original: str
    mutant: str
    reason: str


def read_equivalents(text: str) -> list:
    """Blocks of lines `name: value` between empty ones."""
    blocks = [block.splitlines() for block in text.split("\n\n")]
    found = []
    for block in blocks:
        lines = [line for line in block if not line.startswith("#")]
        if not lines:
            continue
        values = dict(line.split(": ", 1) if ": " in line else (line.rstrip(":"), "")
                      for line in lines)
        found.append(Equivalent(**values))
    return found


def is_equivalent(mutant: dict, equivalents: list) -> bool:
    return any((one.path, one.function, one.line, one.original, one.mutant) == (
        mutant["path"], mutant["function"], mutant["text"], mutant["original"], mutant["mutant"])
        for one in equivalents)


def row(name: str, results: list, equivalent: set) -> str:
    """A line of the table, as Markdown."""
    killed = [result for result in results if result["net"]]
    survived = [result for result in results if not result["net"]]
    same = [result for result in survived if result["number"] in equivalent]
    counts = [len(results)]
    counts += [sum(result["net"] == net for result in killed)
               for net in ("unit", "scenario", "pins", "storm")]
    counts += [sum(result["how"] == how for result in killed) for how in ("invariant", "time")]
    counts += [len(survived) - len(same), len(same)]
    judged = len(results) - len(same)
    score = f"{100 * len(killed) / judged:.1f} %" if judged else "-"
    return f"| {name} | " + " | ".join(map(str, counts)) + f" | {score} |"


def table(mutants: list, results: dict, equivalents: list) -> str:
    """Per folder: drawn, killed by each net, of these by an invariant and by time, survivors."""
    by_number = {mutant["number"]: mutant for mutant in mutants}
    equivalent = {number for number in results
                  if is_equivalent(by_number[number], equivalents)}
    lines = ["| folder | mutants | unit | scenario | pins | storm | of these by an invariant | by time | "
             "survived | equivalent | score |", "| --- |" + " --- |" * 10]
    by_folder = {}
    for number, result in results.items():
        by_folder.setdefault(nets.folder_of(by_number[number]["path"]), []).append(result)
    for folder in sorted(by_folder):
        lines.append(row(f"`{folder}`", by_folder[folder], equivalent))
    lines.append(row("all", list(results.values()), equivalent))
    return "\n".join(lines)


def shown(mutant: dict) -> str:
    """Place and text of a mutant."""
    return (f"{mutant['number']} {mutant['path']}:{mutant['line']}:{mutant['column']} "
            f"{mutant['function']}: {mutant['kind']}\n    - {mutant['original']}\n"
            f"    + {mutant['mutant']}")


def survivors(mutants: list, results: dict, equivalents: list) -> list:
    """Texts of what no net killed and no reason explains, by number."""
    return [shown(mutant) for mutant in mutants
            if mutant["number"] in results and not results[mutant["number"]]["net"]
            and not is_equivalent(mutant, equivalents)]
