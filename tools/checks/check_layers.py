#!/usr/bin/env python3
"""Includes point downwards: each layer includes only what LAYERS allows it, and no folders of core
include each other in a circle.

The link lock of every library catches calls upwards; this catches headers, which may need no
symbol. Prints `file:line: subject: found, needed` for each offence.

Usage: check_layers.py ROOT
"""

import dataclasses
import pathlib
import re
import sys

import source_tree


@dataclasses.dataclass(frozen=True)
class Layer:
    """What the files of a folder may include besides the C++ standard library."""
    folder: str
    may: tuple[str, ...]             # folders of this project, itself not implied
    but_not: tuple[str, ...] = ()    # sub-folders of `may` that stay out of reach
    outside: tuple[str, ...] = ()    # beginnings of <...> includes of other projects
    operating_system: bool = False   # POSIX and C headers such as <unistd.h>


BASE = ("core/base",)
CLUSTER = BASE + ("core/cluster",)
JOB = CLUSTER + ("core/job",)
PLACER = JOB + ("core/placer", "core/vcluster")
RECORD = JOB + ("core/record",)
STATE = RECORD + ("core/state",)
MEMBERSHIP = STATE + ("core/membership", "core/placer", "core/discovery", "core/placement", "core/vcluster")
RECOVERY = MEMBERSHIP + ("core/recovery",)
CONTROL = RECOVERY + ("core/control", "core/plan", "core/queues")

# The longest matching folder rules a file.
LAYERS = [
    # A folder of core is a room of its own; `core` itself rules what has no row yet.
    Layer("core", may=()),
    Layer("core/base", may=BASE),
    Layer("core/cluster", may=CLUSTER),
    Layer("core/placer", may=PLACER),
    Layer("core/job", may=JOB),
    Layer("core/queues", may=JOB + ("core/queues",)),
    Layer("core/models", may=JOB + ("core/models",)),
    Layer("core/discovery", may=JOB + ("core/discovery",)),
    Layer("core/placement", may=JOB + ("core/placement",)),
    Layer("core/vcluster", may=JOB + ("core/vcluster",)),
    Layer("core/workers", may=JOB + ("core/workers", "core/placement", "core/vcluster")),
    Layer("core/record", may=RECORD),
    Layer("core/plan", may=RECORD + ("core/plan", "core/placer", "core/vcluster")),
    Layer("core/agent", may=RECORD + ("core/agent",)),
    Layer("core/nodecheck", may=RECORD + ("core/nodecheck", "core/agent")),
    Layer("core/state", may=STATE),
    Layer("core/membership", may=MEMBERSHIP),
    Layer("core/recovery", may=RECOVERY),
    Layer("core/control", may=CONTROL),
    Layer("core/leader", may=STATE + ("core/leader", "core/agent")),
    Layer("core/driver", may=CONTROL + ("core/driver",)),
    Layer("policies", may=("policies", "core"),
          but_not=("core/driver", "core/leader", "core/control", "core/recovery", "core/membership",
                   "core/state")),
    Layer("policies/solver", may=("policies/solver", "core/base"),
          outside=("Cbc", "Cgl", "Clp", "Coin", "OsiClp")),
    Layer("scenarios/language", may=("scenarios/language", "core"), but_not=("core/driver",),
          outside=("yaml-cpp/",)),
    Layer("sim", may=("sim", "core", "scenarios"), but_not=("sim/simgrid",),
          outside=("nlohmann/", "libqhull_r/"), operating_system=True),
    Layer("sim/simgrid", may=("sim", "core", "scenarios"),
          outside=("simgrid/", "xbt/"), operating_system=True),
    Layer("runtime/proto", may=()),  # Its headers are generated.
    Layer("runtime/store", may=("runtime/store", "core"), outside=("sqlite3.h",),
          operating_system=True),
    Layer("runtime/security", may=("runtime/security", "runtime/config", "core"), outside=("openssl/",),
          operating_system=True),
    # The one bridge from the language of scenarios to the daemons: their settings are written in
    # it, and everything else of the runtime stays free of YAML.
    Layer("runtime/config/read", may=("runtime/config", "scenarios", "core"),
          but_not=("core/driver",), operating_system=True),
    Layer("runtime/devices/hwloc", may=("runtime/devices", "core"), outside=("hwloc.h",)),
    Layer("runtime/link", may=("runtime", "core"),
          outside=("grpcpp/", "grpc/", "absl/", "openssl/"), operating_system=True),
    Layer("runtime/etcd", may=("runtime/etcd", "runtime/election", "runtime/proto", "core"),
          outside=("grpcpp/",), operating_system=True),
    Layer("runtime/workers", may=("runtime/workers", "core/base", "core/nodecheck"),
          outside=("nlohmann/", "gloo/", "cuda_runtime.h"), operating_system=True),
    # What users' programs link: the one part of the daemons' world that they see is the protocol.
    Layer("runtime/sdk", may=("runtime/sdk", "core/base", "core/workers"),
          outside=("boost/", "openssl/", "nlohmann/"), operating_system=True),
    Layer("runtime/agent", may=("runtime", "core"), outside=("nlohmann/",), operating_system=True),
    Layer("runtime/http", may=("runtime", "core"), outside=("boost/", "openssl/", "nlohmann/"),
          operating_system=True),
    Layer("runtime", may=("runtime", "core"),
          outside=("grpcpp/", "google/protobuf/", "cuda", "nccl"), operating_system=True),
    # What travels on its own, without the simulators.
    Layer("tools/console", may=("tools/console", "core"), operating_system=True),
    Layer("tools/documents", may=("tools/documents", "tools/console", "scenarios", "core"),
          operating_system=True),
    Layer("tools/node_verbs", may=("tools/node_verbs", "tools/certs", "tools/console"), operating_system=True),
    Layer("tools/client", may=("tools/client", "tools/console", "tools/documents", "runtime/config",
                               "scenarios", "core"),
          but_not=("runtime/config/read",), outside=("nlohmann/", "openssl/"), operating_system=True),
    Layer("tools/processes", may=("tools/processes", "core"), operating_system=True),
    Layer("tools/cluster_world", may=("tools/cluster_world", "tools/client", "tools/console",
                                      "tools/documents", "tools/processes", "runtime/security", "runtime/store", "policies", "sim/model",
                                      "sim/run", "sim/faults", "scenarios", "core"),
          outside=("nlohmann/",), operating_system=True),
    Layer("tools/node", may=("tools/node", "tools/certs", "tools/client", "tools/console",
                             "tools/documents", "tools/node_verbs", "tools/processes", "runtime", "sim/rehearsal", "scenarios", "policies", "core"),
          outside=("nlohmann/",), operating_system=True),
    # The floor of calls between workers is measured beside gRPC.
    Layer("tools/bench", may=("tools", "runtime", "sim", "scenarios", "policies", "core"),
          outside=("nlohmann/", "benchmark/", "yaml-cpp/", "grpcpp/"), operating_system=True),
    Layer("tools", may=("tools", "runtime", "sim", "scenarios", "policies", "core"),
          outside=("nlohmann/", "benchmark/", "yaml-cpp/"), operating_system=True),
    Layer("tests", may=("tests", "tools", "runtime", "sim", "scenarios", "policies", "core"),
          outside=("nlohmann/", "gtest/", "gmock/", "benchmark/", "yaml-cpp/", "sqlite3.h",
                   "grpcpp/", "openssl/"),
          operating_system=True),
]

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)
# <vector>, <type_traits>, <cstdint>: no dot and no folder.
STANDARD = re.compile(r"[a-z_0-9]+")


def layer_of(path: str) -> Layer | None:
    matching = [layer for layer in LAYERS if source_tree.under(path, layer.folder)]
    return max(matching, key=lambda layer: len(layer.folder), default=None)


def offence(layer: Layer, path: str, quote: str, target: str) -> str | None:
    """Why the file of `layer` must not include `target`, or None where it may."""
    may = ", ".join(layer.may) or "what its row in LAYERS says, and it has none"
    if quote == '"':
        if layer_of(target) is None:
            return "is not written from the root of the repository; write it as \"core/...\""
        # A deeper layer of the same folder, such as core/driver, reaches its own files.
        if not any(source_tree.under(target, folder) for folder in layer.may):
            return f"{layer.folder} may include only {may}; move what is needed down, or pass it in"
        for folder in layer.but_not:
            if source_tree.under(target, folder) and not source_tree.under(path, folder):
                return f"{layer.folder} must not reach into {folder}; move what is needed down"
        return None
    if STANDARD.fullmatch(target) or target.startswith(layer.outside or ("\0",)):
        return None
    if layer.operating_system and re.fullmatch(r"(sys/|linux/|netinet/|arpa/)?[a-z_0-9]+\.h", target):
        return None
    allowed = ", ".join(("the standard library",) + layer.outside)
    return f"{layer.folder} may take from outside only {allowed}; wrap it in a higher layer"


def in_circles(edges: dict[tuple[str, str], str]) -> list[str]:
    """Of the includes between folders, those that are part of a circle; `edges` says where each is."""
    after: dict[str, set[str]] = {}
    for start, end in edges:
        after.setdefault(start, set()).add(end)

    def reached_from(folder: str) -> set[str]:
        seen, ahead = set(), [folder]
        while ahead:
            for end in after.get(ahead.pop(), ()):
                if end not in seen:
                    seen.add(end)
                    ahead.append(end)
        return seen

    reach = {folder: reached_from(folder) for folder in after}
    return [f"{where}: {start} includes {end}, which includes {start} again, directly or through "
            f"others: a circle between folders; move what both need down"
            for (start, end), where in sorted(edges.items()) if start in reach.get(end, ())]


def check(root: pathlib.Path) -> list[str]:
    found = []
    edges: dict[tuple[str, str], str] = {}
    for path in source_tree.files(root):
        layer = layer_of(path)
        if layer is None or pathlib.PurePath(path).suffix not in source_tree.CPP:
            continue
        code = source_tree.code_only(source_tree.read(root, path))
        for match in INCLUDE.finditer(code):
            quote, target = match.groups()
            reason = offence(layer, path, quote, target)
            line = code.count("\n", 0, match.start(1)) + 1
            if reason:
                found.append(f"{path}:{line}: includes {target}: {reason}")
            folder, included = (str(pathlib.PurePath(each).parent) for each in (path, target))
            if (quote == '"' and folder != included and source_tree.under(path, "core")
                    and source_tree.under(target, "core")):
                edges.setdefault((folder, included), f"{path}:{line}")
    return found + in_circles(edges)


def main() -> int:
    found = check(pathlib.Path(sys.argv[1]).resolve())
    print("\n".join(found) or "every include points downwards")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
