"""Virtual clusters and the worker groups on them, as a job that is submitted and waited for."""

import dataclasses
import json
import secrets
import time
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from . import checks, directory, driver, errors, futures

STRATEGIES = ("pack", "strict_pack", "spread", "strict_spread")


class VirtualCluster:
    """Bundles that are set aside together: docs/virtual_clusters.md.

    `bundles_per_node`  one number for each logical node; 0: none there
    `options`           what a job file has beside: device_model, cpu, memory, segment_by, ...
    """

    def __init__(self, bundles_per_node: Union[int, Sequence[int]], nodes: Optional[int] = None,
                 name="cluster",
                 devices_per_bundle=1, unified=False, strategy="pack", max_worker_groups=1,
                 **options):
        if isinstance(bundles_per_node, int) and not isinstance(bundles_per_node, bool):
            bundles_per_node = [bundles_per_node] * (1 if nodes is None else nodes)
        elif nodes is not None and nodes != len(bundles_per_node):
            raise ValueError(f"found {len(bundles_per_node)} entries of bundles_per_node and nodes "
                             f"{nodes}, needed the same; leave nodes out")
        self.bundles_per_node = list(bundles_per_node)
        if not any(self.bundles_per_node) or any(type(each) is not int or each < 0
                                                 for each in self.bundles_per_node):
            raise ValueError(f"found bundles_per_node {self.bundles_per_node}, needed whole "
                             "numbers from 0, at least one above; write one for each logical node")
        if strategy not in STRATEGIES:
            raise ValueError(f"found strategy {strategy!r}, needed one of {', '.join(STRATEGIES)}")
        self.name, self.is_unified, self.strategy = name, unified, strategy
        self.devices_per_bundle, self.max_worker_groups = devices_per_bundle, max_worker_groups
        self._options = options

    @property
    def world_size(self):
        """Bundles in all."""
        return sum(self.bundles_per_node)

    def placement_groups(self) -> List[List[int]]:
        """The groups of bundles that are addressed together, by number: one of each logical node
        that has some, or of a unified cluster one with all."""
        if self.is_unified:
            return [list(range(self.world_size))]
        return [list(range(count)) for count in self.bundles_per_node if count]

    def to_job(self) -> Dict[str, Any]:
        """Its entry of `virtual_clusters` in a job file."""
        return {"bundles_per_node": self.bundles_per_node,
                "devices_per_bundle": self.devices_per_bundle,
                "unified": self.is_unified, "strategy": self.strategy,
                "max_worker_groups": self.max_worker_groups, **self._options}


@dataclasses.dataclass(frozen=True)
class GroupSpec:
    """A worker group to be: a role of the job. Made by create_group()."""
    role: str
    cluster: VirtualCluster
    command: Union[str, Sequence[str]]
    workers: int
    job: Mapping[str, Any]


def create_group(cluster, role, command, per_node=None, tied=None, env=None,
                 **options) -> GroupSpec:
    """A worker group on a virtual cluster: a worker on each bundle, on the first `per_node`
    bundles of each logical node (a number, or one for each node), or the `tied` groups: (node,
    [bundles]), one engine each. `options`: further keys of the role in a job file."""
    groups = cluster.placement_groups()
    if per_node is not None and tied is not None:
        raise ValueError("found per_node and tied, needed one of them; leave one out")
    workers: Dict[str, Any] = {"virtual_cluster": cluster.name}
    size = cluster.world_size
    if tied is not None:
        size = _check_tied(groups, tied)
        workers["tied"] = [{"node": node, "bundles": list(bundles)} for node, bundles in tied]
    elif per_node is not None:
        counts = [per_node] * len(groups) if isinstance(per_node, int) else list(per_node)
        if len(counts) != len(groups):
            raise ValueError(f"found {len(counts)} entries of per_node, needed {len(groups)}, one "
                             "for each logical node that has bundles")
        for count, bundles in zip(counts, groups):
            if type(count) is not int or not 0 <= count <= len(bundles):
                raise ValueError(f"found per_node {count!r} for {len(bundles)} bundles, needed 0 "
                                 f"to {len(bundles)}")
        size = sum(counts)
        workers["per_node"] = per_node if isinstance(per_node, int) else counts
    job = {"workers": workers, "command": command if isinstance(command, str) else list(command),
           **options}
    if env:
        job["env"] = {name: str(value) for name, value in env.items()}
    return GroupSpec(role, cluster, command, size, job)


def _check_tied(groups, tied):
    seen = set()
    for node, bundles in tied:
        if not 0 <= node < len(groups) or not bundles:
            raise ValueError(f"found the tied group ({node}, {bundles}), needed a node of 0 to "
                             f"{len(groups) - 1} and bundles")
        for bundle in bundles:
            if bundle not in groups[node] or (node, bundle) in seen:
                raise ValueError(f"found bundle {bundle} of node {node} "
                                 f"{'twice' if (node, bundle) in seen else ''} in tied groups, "
                                 f"needed bundles 0 to {len(groups[node]) - 1} once; tie what is "
                                 "there")
            seen.add((node, bundle))
    return len(seen)


def job_of(name, groups: Sequence[GroupSpec], roles: Optional[Mapping[str, Any]] = None, **options):
    """The job file of worker groups and further roles, as a map."""
    clusters = {}
    for each in groups:
        if clusters.setdefault(each.cluster.name, each.cluster) is not each.cluster:
            raise ValueError(f"found two virtual clusters called {each.cluster.name}, needed names "
                             "that differ; name them")
    twice = [each.role for each in groups if [one.role for one in groups].count(each.role) > 1]
    twice += [each.role for each in groups if each.role in (roles or {})]
    if twice:
        raise ValueError(f"found role {twice[0]} twice, needed roles that differ; name them")
    return {"name": name,
            "virtual_clusters": {each.name: each.to_job() for each in clusters.values()},
            "roles": {**{each.role: dict(each.job) for each in groups}, **(roles or {})}, **options}


def launch(url, job, token="", ca="", certificate="", name="", deadline=futures.DEADLINE_DEFAULT):
    """Submits a job (a map, see job_of()) and waits until all workers of its roles listen.
    Returns its Driver. A job whose workers do not come in time is left as it is: stop it, or
    find it later."""
    end = time.monotonic() + checks.seconds(deadline)
    controller = directory.Controller(url, token, ca, certificate)
    answer = controller.checked("POST", "/api/v1/jobs", end, json.dumps(job).encode(),
                                {"Idempotency-Key": secrets.token_hex(16),
                                 "Content-Type": "application/yaml"})
    found = driver.Driver(controller, answer["jobs"][0]["name"], name or driver.own_name())
    _wait_until_listening(found, end)
    return found


def _wait_until_listening(found, end):
    for pause in directory.pauses():
        listing = found.client.directory.ask(end)
        if listing.phase in ("Succeeded", "Failed"):
            raise errors.NoSuchWorker(f"found job {found.job} {listing.phase} before its workers "
                                      f"listened, needed it running; orrery describe {found.job} "
                                      "says why")
        if listing.phase == "Running" and listing.peers and \
                all(peer.port for peer in listing.peers):
            return
        if time.monotonic() + pause > end:
            raise errors.Timeout(
                f"found job {found.job} {listing.phase} with "
                f"{sum(1 for peer in listing.peers if peer.port)} of {len(listing.peers)} workers "
                f"listening by the deadline, needed all; orrery describe {found.job} says what it "
                "waits for")
        time.sleep(pause)
