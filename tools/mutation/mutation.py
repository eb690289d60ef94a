#!/usr/bin/env python3
"""Measures what the tests see: changes the core in one small place at a time, and looks who notices.

    tools/mutation/mutation.py make                     find mutants, build them as one program
    tools/mutation/mutation.py make --of policies/queues,core/queues
    tools/mutation/mutation.py run --seed 17 --sample 500
    tools/mutation/mutation.py table                    per folder: killed by what, survived
    tools/mutation/mutation.py survivors                place and text of each
    tools/mutation/mutation.py run --again              the survivors once more, after a new test
    tools/mutation/mutation.py run --storm-only --sample 50
    tools/mutation/mutation.py run --storm-only --no-pins --sample 50 --results build-mutation/judged.jsonl
    tools/mutation/mutation.py show 1041 2200           what these mutants change

Mutants: relations, connectives, conditions, arithmetic and constants changed; statements, returns
and continues dropped. All of them are in one build, below build-mutation/: the environment variable
ORRERY_MUTANT=N switches number N on, so a mutant is tried by hand as

    ORRERY_MUTANT=1041 build-mutation/build/bin/test_control

Each drawn mutant goes through unit tests, scenarios and storms until one fails (nets.py has the
order). Results are lines of a file: what was interrupted goes on. Which survivors decide as the
original does, and why, stands in equivalents.txt.

Needs libclang's Python module (tools/packages --mutation). docs/testing.md says what was measured.
"""

import argparse
import pathlib
import sys

import campaign
import nets
import places
import report
import tree as trees


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("make", "run", "table", "survivors", "show"))
    parser.add_argument("numbers", nargs="*", type=int, help="of mutants: for show and run")
    parser.add_argument("--folder", type=pathlib.Path, default=places.ROOT / "build-mutation",
                        help="where the mutated tree is (default: build-mutation)")
    parser.add_argument("--of", default=",".join(trees.FOLDERS),
                        help="make: folders, from the root, separated by commas (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=17,
                        help="of what is drawn (default: %(default)s)")
    parser.add_argument("--sample", type=int, default=500,
                        help="how many mutants are drawn (default: %(default)s)")
    parser.add_argument("--parallel", type=int, default=2,
                        help="processes at the same time (default: %(default)s)")
    parser.add_argument("--again", action="store_true", help="run: the survivors once more")
    parser.add_argument("--quick", action="store_true",
                        help="run: without the slow steps at the end; the next run without it goes "
                             "through them with what is left")
    parser.add_argument("--storm-only", action="store_true",
                        help="no tests and no scenarios: what storms alone kill; make: builds no tests")
    parser.add_argument("--no-pins", action="store_true",
                        help="run: without the pinned storms, which judge nothing and see any change")
    parser.add_argument("--results", type=pathlib.Path,
                        help="file of results (default: results.jsonl of the folder, storm.jsonl "
                             "with --storm-only)")
    return parser.parse_args()


def numbers_to_run(chosen: argparse.Namespace, results, mutants: list) -> list:
    if chosen.numbers:
        return chosen.numbers
    if chosen.again:
        return [number for number, result in sorted(results.of.items()) if not result["net"]]
    drawn = campaign.drawn(len(mutants), chosen.seed, chosen.sample)
    print(f"{len(drawn)} of {len(mutants)} mutants, drawn with seed {chosen.seed}", flush=True)
    return [number for number in drawn if not results.is_judged(number, quick=chosen.quick)]


def main() -> int:
    chosen = arguments()
    tree = trees.Tree(chosen.folder.resolve())
    if chosen.verb == "make":
        if places.libclang is None:
            print("mutation.py: Python has no module clang.cindex; run tools/packages --mutation",
                  file=sys.stderr)
            return 2
        folders = chosen.of.split(",")
        targets = nets.STORM_TARGETS if chosen.storm_only else nets.targets(folders)
        tree.make(folders, chosen.parallel, targets)
        return 0
    if not tree.list.exists():
        print(f"mutation.py: {tree.list}: is not there; run mutation.py make", file=sys.stderr)
        return 2
    mutants = tree.mutants()
    if chosen.verb == "show":
        print("\n".join(report.shown(mutants[number - 1]) for number in chosen.numbers))
        return 0
    path = chosen.results or tree.folder / ("storm.jsonl" if chosen.storm_only else "results.jsonl")
    results = campaign.Results(path, tree.digest(), chosen.seed if chosen.verb == "run" else None)
    equivalents = report.read_equivalents(report.EQUIVALENTS.read_text(encoding="utf-8"))
    if chosen.verb == "run":
        campaign.run(tree, results, numbers_to_run(chosen, results, mutants), chosen.parallel,
                     {"quick": chosen.quick, "storm_only": chosen.storm_only,
                      "pins": not chosen.no_pins})
    if chosen.verb == "survivors":
        print("\n".join(report.survivors(mutants, results.of, equivalents)))
    else:
        print(f"seed {results.seed}")
        print(report.table(mutants, results.of, equivalents))
    return 0


if __name__ == "__main__":
    sys.exit(main())
