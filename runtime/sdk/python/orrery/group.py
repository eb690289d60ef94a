"""Worker groups: the workers of a role, called together."""

import asyncio
import collections.abc
import dataclasses
import time
from typing import Any, Optional

from . import calls, checks, client, directory, errors, futures, loop, plan

_TRY_S = 0.02  # In less no answer of the directory can be hoped for.


class Claims:
    """The callee's side: which driver holds this worker's group."""

    def __init__(self, served, role):
        self._served, self._role = served, role
        self._holders = {}
        served.add_own("orrery.claim", self._claim)

    def _claim(self, call, group):
        if group != self._role:
            raise errors.BadArguments(f"found the group {str(group)[:64]!r}, needed {self._role}, "
                                      "of which this worker is; claim the workers of the role")
        connection = call.connection
        holder = self._holders.get(group)
        if holder is not None and not holder.is_over and holder.caller != connection.caller:
            raise errors.SecondDriver(
                f"found group {group} held by {holder.caller}, needed it free; let that driver end "
                "first, or call single workers, which needs no claim", driver=holder.caller)
        self._holders[group] = connection
        connection.on_lost.append(lambda: self._release(group, connection))
        self._served.answer_own(call, None)

    def _release(self, group, connection):
        if self._holders.get(group) is connection:
            del self._holders[group]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What one worker of a group answered: a value, or an error."""
    rank: int
    value: Any = None
    error: Optional[BaseException] = None
    returns: bool = True  # Whether its value is among those that the call returns.


class GroupFuture:
    """The answers of a call of a group, one for each worker that was called."""

    def __init__(self, ranks, answers, returns):
        self.called = list(ranks)
        self.returned = [rank for rank, is_returned in zip(ranks, returns) if is_returned]
        self._answers, self._returns = answers, returns

    def done(self):
        return all(answer.done() for answer in self._answers)

    def outcomes(self, timeout=None):
        """All of them, in rank order; no result is lost because another worker failed."""
        end = checks.end_of(timeout)
        out = []
        for rank, answer, returns in zip(self.called, self._answers, self._returns):
            error = answer.exception(None if end is None else max(0.0, end - time.monotonic()))
            out.append(Outcome(rank, None if error else answer.result(), error, returns))
        return out

    def result(self, timeout=None):
        """The values that return, in rank order; raises the first error by rank. Waits for all."""
        outcomes = self.outcomes(timeout)
        for outcome in outcomes:
            if outcome.error is not None:
                raise _of_rank(outcome.error, outcome.rank)
        return [outcome.value for outcome in outcomes if outcome.returns]

    def wait(self, timeout=None):
        """Waits until all are done; itself."""
        self.outcomes(timeout)
        return self

    def cancel(self):
        """Gives up what is not there yet; whether anything was."""
        return any([answer.cancel() for answer in self._answers])

    def futures(self):
        """The single futures, in the order of `called`."""
        return list(self._answers)

    def __len__(self):
        return len(self.returned)

    def __repr__(self):
        return (f"{type(self).__name__}(called={self.called}, returned={self.returned}, "
                f"done={self.done()})")


def _of_rank(error, rank):
    """Says which worker of the group it was, where the error does not."""
    if isinstance(error, errors.CallError) and "rank" not in error.fields:
        error.fields["rank"] = rank
    return error


class BatchFuture(GroupFuture, collections.abc.Sequence):
    """The results of a batch, item by item in the batch's order; they are waited for when looked
    at."""

    def __init__(self, ranks, answers, cuts, size):
        super().__init__(ranks, answers, [True] * len(answers))
        self._cuts, self._size = cuts, size
        self._joined = None

    def result(self, timeout=None):
        """All of them, as a list."""
        return list(self._all(timeout))

    def _all(self, timeout=None):
        if self._joined is None:
            self._joined = self._join(timeout)
        return self._joined

    def _join(self, timeout):
        out = []
        for rank, part, (begin, end) in zip(self.called, super().result(timeout), self._cuts):
            if not isinstance(part, list) or len(part) != end - begin:
                raise errors.BadArguments(
                    f"found {len(part) if isinstance(part, list) else 'no list'} as results of "
                    f"rank {rank}, needed a list of {end - begin}, one for each item; let the "
                    "method return a list", rank=rank)
            out += part
        return out

    def __len__(self):
        return self._size

    def __getitem__(self, index):
        return self._all()[index]

    def __iter__(self):
        return iter(self.result())


class GroupStreams:
    """The streams of a call of a group. Iterating goes through those that return, one after the
    other in rank order, and keeps what comes of the others meanwhile; streams() hands them back."""

    def __init__(self, ranks, streams, returns):
        self.called = list(ranks)
        self.returned = [rank for rank, is_returned in zip(ranks, returns) if is_returned]
        self._streams, self._returns = streams, returns

    def streams(self):
        """By rank, of those that return."""
        return {rank: stream
                for rank, stream, returns in zip(self.called, self._streams, self._returns)
                if returns}

    def __iter__(self):
        # Workers may meet for each item: one that waits for us would keep the others waiting.
        first = self._returns.index(True) if True in self._returns else None
        for index, stream in enumerate(self._streams):
            if index != first:
                stream.flow()
        for stream, returns in zip(self._streams, self._returns):
            if returns:
                yield from stream
        for stream, returns in zip(self._streams, self._returns):
            if not returns:
                for _ in stream:  # What it gives was dropped; what it raises is not.
                    pass

    def result(self):
        return list(self)

    def cancel(self):
        for stream in self._streams:
            stream.close()


class WorkerGroup(collections.abc.Sequence):
    """The workers of a role in the order of their rank in it. Its driver holds all of them: a
    second driver is refused until this one has ended.

    `sharding`  NamedSharding over ranks 0 to size - 1, for calls that name axes
    `optional`  a role that the job does not have is an empty group
    """

    def __init__(self, driver, role, sharding=None, optional=False,
                 deadline=futures.DEADLINE_DEFAULT):
        self.role = role
        self.sharding = sharding
        self._client = driver.client
        self._is_optional = optional
        self._members = []
        self._generation = None
        self._is_stale = True
        self.refresh(deadline)

    def refresh(self, deadline=futures.DEADLINE_DEFAULT):
        """Takes the members of now: waits until all of the role listen, and claims them."""
        loop.run(self._refresh(time.monotonic() + checks.seconds(deadline)))

    @property
    def generation(self):
        """The membership that the group's calls are made for."""
        return self._generation

    def __len__(self):
        return len(self._members)

    def __getitem__(self, index):
        return self._members[index]

    def __repr__(self):
        return f"WorkerGroup({self.role!r}, size={len(self)}, generation={self._generation})"

    # --- NeMo-RL's calls: data by keyword ---

    def run_single_worker_single_data(self, method, worker_idx, *args,
                                      deadline=futures.DEADLINE_DEFAULT,
                                      retries=0, **kwargs):
        """One worker; its Future."""
        deadline = self._follow(deadline)
        return self._send(method,
                          plan.single_worker(len(self), self.sharding, worker_idx, args, kwargs),
                          deadline, retries).futures()[0]

    def run_all_workers_single_data(self, method, *args, run_rank_0_only_axes=None,
                                    deadline=futures.DEADLINE_DEFAULT, retries=0, stream=False,
                                    **kwargs):
        """All workers with the same data; of the named axes only index 0."""
        deadline = self._follow(deadline)
        return self._send(method,
                          plan.single_data(len(self), self.sharding, args, kwargs,
                                           run_rank_0_only_axes),
                          deadline, retries, stream)

    def run_all_workers_multiple_data(self, method, *args, run_rank_0_only_axes=None,
                                      common_kwargs=None,
                                      deadline=futures.DEADLINE_DEFAULT, retries=0, stream=False,
                                      **kwargs):
        """The i-th worker that runs takes the i-th item of every list."""
        deadline = self._follow(deadline)
        return self._send(method,
                          plan.multiple_data(len(self), self.sharding, args, kwargs,
                                             run_rank_0_only_axes,
                                                     common_kwargs), deadline, retries, stream)

    def run_all_workers_sharded_data(self, method, *args, in_sharded_axes=None,
                                     replicate_on_axes=None,
                                     output_is_replicated=None, make_dummy_calls_to_free_axes=False,
                                     common_kwargs=None, deadline=futures.DEADLINE_DEFAULT,
                                     retries=0,
                                     stream=False, **kwargs):
        """Lists nested along the sharded axes: each worker takes the element at its coordinates."""
        deadline = self._follow(deadline)
        return self._send(method, plan.sharded_data(
            len(self), self.sharding, args, kwargs, in_sharded_axes, replicate_on_axes,
            output_is_replicated,
            make_dummy_calls_to_free_axes, common_kwargs), deadline, retries, stream)

    # --- DLRover's calls: positional arguments as well ---

    def call(self, method, /, *args, scatter=False, deadline=futures.DEADLINE_DEFAULT, retries=0,
             **kwargs):
        """All workers with the same arguments; with `scatter` each argument is a list with one
        element per worker."""
        deadline = self._follow(deadline)
        size = len(self)
        if not scatter:
            return self._send_positional(method, [(args, kwargs)] * size, range(size), deadline,
                                         retries)
        faults = [f"argument {name}: found {_length(value)}, needed a list of {size}, one element "
                  "per worker; give each its own"
                  for name, value in [*enumerate(args), *kwargs.items()] if _length(value) != size]
        if faults:
            raise errors.BadArguments("\n".join(faults))
        parts = [([value[rank] for value in args],
                  {name: value[rank] for name, value in kwargs.items()})
                 for rank in range(size)]
        return self._send_positional(method, parts, range(size), deadline, retries)

    def call_rank0(self, method, /, *args, deadline=futures.DEADLINE_DEFAULT, retries=0, **kwargs):
        """The first worker; its Future."""
        deadline = self._follow(deadline)
        self._need_some("call_rank0")
        return self._send_positional(method, [(args, kwargs)], [0], deadline, retries).futures()[0]

    def call_batch(self, method, size, /, *args, deadline=futures.DEADLINE_DEFAULT, retries=0,
                   **kwargs):
        """Cuts every list among the arguments, which has `size` items, into parts that differ by
        one item at most; the method returns a list as long as its part. Workers without an item
        are not called."""
        deadline = self._follow(deadline)
        self._need_some("call_batch")
        if type(size) is not int or size < 0:
            raise errors.BadArguments(f"found the size {size!r}, needed a whole number from 0")
        faults = [f"argument {name}: found {_length(value)} items, needed {size}, the size of the "
                  "batch; cut it, or give it as something else than a list"
                  for name, value in [*enumerate(args), *kwargs.items()]
                  if isinstance(value, (list, tuple)) and len(value) != size]
        if faults:
            raise errors.BadArguments("\n".join(faults))
        cuts = [(rank, cut) for rank, cut in enumerate(plan.balanced(size, len(self)))
                if cut[0] < cut[1]]

        def part(value, begin, end):
            return list(value[begin:end]) if isinstance(value, (list, tuple)) else value
        parts = [([part(value, *cut) for value in args],
                  {name: part(value, *cut) for name, value in kwargs.items()}) for _, cut in cuts]
        sent = self._send_positional(method, parts, [rank for rank, _ in cuts], deadline, retries)
        return BatchFuture(sent.called, sent.futures(), [cut for _, cut in cuts], size)

    # --- how it is done ---

    def _need_some(self, what):
        if not self._members:
            raise errors.BadArguments(f"{what}: found the empty group {self.role}, needed a "
                                      "worker; let the job have the role, or ask len(group) before")

    def _follow(self, deadline):
        """After a loss or a change of the membership the next call takes the members of now. What
        is left of the deadline for the call itself."""
        if not self._is_stale:
            return deadline
        end = time.monotonic() + checks.seconds(deadline)
        loop.run(self._refresh(end))
        return max(0.001, end - time.monotonic())

    def _send(self, method, planned, deadline, retries, stream=False):
        """Everything is checked and encoded before the first worker is called."""
        if stream:
            streams = self._streams(method, planned, deadline)
            return GroupStreams([each.rank for each in planned], streams,
                                [each.returns for each in planned])
        ready, encoded = [], {}
        for each in planned:
            target = self._members[each.rank]
            sink = self._sink(target)
            # Workers of one part get the same bytes, which are encoded once.
            call = encoded[each.part].for_sink(sink) if each.part in encoded else \
                self._prepare(sink, method, (), each.kwargs, deadline, retries)
            if each.part is not None:
                encoded[each.part] = call
            ready.append((call, target))
        return self._begin(ready, [each.rank for each in planned],
                           [each.returns for each in planned])

    def _send_positional(self, method, parts, ranks, deadline, retries):
        ready, encoded = [], {}
        for rank, part in zip(ranks, parts):
            target = self._members[rank]
            sink = self._sink(target)
            # The same arguments are encoded once.
            call = encoded[id(part)].for_sink(sink) if id(part) in encoded else \
                self._prepare(sink, method, *part, deadline, retries)
            encoded[id(part)] = call
            ready.append((call, target))
        return self._begin(ready, list(ranks), [True] * len(ready))

    def _prepare(self, sink, method, args, kwargs, deadline, retries):
        once = client.once_name() if retries else None
        call = self._client.prepare(sink, method, args, kwargs, deadline, retries=retries,
                                    once=once,
                                    generation=self._generation)
        call.group = self.role
        return call

    def _begin(self, ready, ranks, returns):
        for call, target in ready:
            self._client.begin(call, target)
        return GroupFuture(ranks, [call.sink.future for call, _ in ready], returns)

    def _sink(self, target):
        sink = self._client.future_sink(target)
        sink.on_error = self._note
        return sink

    def _note(self, error):
        if isinstance(error, (errors.WorkerLost, errors.GenerationChanged, errors.Cancelled)):
            # Cancelled comes of a worker that is being drained, so another will come.
            self._is_stale = True

    def _streams(self, method, planned, deadline):
        return [self._client.stream(self._members[each.rank], method, (), each.kwargs,
                                    deadline=deadline,
                                    credit=calls.CREDIT_DEFAULT, generation=self._generation,
                                    group=self.role,
                                    on_error=self._note, drops=not each.returns)
                for each in planned]

    async def _refresh(self, deadline):
        began = time.monotonic()
        found, failed = None, {}  # As of the last try.
        for pause in directory.pauses():
            try:
                listing = await self._client.directory.listing(deadline, began)
            except errors.Timeout:
                if found is None:
                    raise
                raise self._not_whole(found, failed) from None
            found = listing
            peers = listing.role(self.role)
            if self._is_absent(listing, peers):
                self._take([], listing)
                return
            if peers and [peer.role_rank for peer in peers] == list(range(len(peers))) and \
                    all(peer.port for peer in peers):
                targets = [self._client.peer(self.role, peer.role_rank) for peer in peers]
                # A try that the deadline cuts short knows no reason; the one before it does.
                failed = {rank: failed.get(rank, error) if isinstance(error, errors.Timeout) else
                          error for rank, error in
                          (await self._claim_all(targets, began, deadline)).items()}
                if not failed:
                    # Claiming may have outlived a restart, and the group is as it was found last.
                    listing = self._client.directory.known()
                    if [peer.worker for peer in listing.role(self.role)] == \
                            [target.peer.worker for target in targets]:
                        self._take(targets, listing)
                        return
            began = time.monotonic()
            left = deadline - began
            if left <= _TRY_S:
                raise self._not_whole(found, failed)
            await asyncio.sleep(min(pause, left / 2))  # With time left for one more try.

    def _not_whole(self, listing, failed):
        controller = self._client.directory.controller
        away = f" ({controller.why_away()})" if controller.trouble else ""
        peers = listing.role(self.role)
        waiting = [f"{peer.role_rank} on {peer.node}" for peer in peers if not peer.port]
        waiting += ["{} ({})".format(rank, "no answer in time" if isinstance(error, errors.Timeout)
                                     else error.message)
                    for rank, error in failed.items() if rank < len(peers) and peers[rank].port]
        return errors.Timeout(f"found group {self.role} not whole by the deadline ({len(peers)} "
                              f"workers, not listening: {', '.join(waiting) or 'none'}), needed "
                              f"all of them; look at the job, which is {listing.phase}"
                              f"{away}")

    def _is_absent(self, listing, peers):
        """Whether the group is empty because the job has no such role; raises where it must not
        be."""
        if peers or listing.phase in client.COMING and not (self._is_optional and listing.peers):
            return False
        if self._is_optional:
            return True
        roles = ", ".join(sorted({peer.role for peer in listing.peers})) or "none"
        raise errors.NoSuchWorker(f"found no worker of role {self.role} in job {listing.job}, "
                                  f"which is {listing.phase}, needed one; its roles are: {roles}")

    async def _claim_all(self, targets, newer_than, deadline):
        """Those that could not be claimed, by rank; a worker that is just being replaced cannot."""
        async def claim(target):
            target.lost_at = newer_than
            connection = await self._client.connection(target, deadline)
            await self._client.claim(connection, self.role, deadline)
        done = await asyncio.gather(*map(claim, targets), return_exceptions=True)
        for error in done:
            if isinstance(error, BaseException) and not isinstance(
                    error, (errors.WorkerLost, errors.Timeout, errors.Cancelled)):
                raise error
        return {target.rank: error for target, error in zip(targets, done) if error is not None}

    def _take(self, targets, listing):
        ranks = list(range(len(targets)))
        if self.sharding is not None and targets and sorted(self.sharding.ranks) != ranks:
            raise errors.BadArguments(f"found {len(targets)} workers of role {self.role}, needed "
                                      f"{self.sharding.size} for {self.sharding!r}; give the group "
                                      "another sharding")
        self._members, self._generation = targets, listing.generation
        self._is_stale = False


def _length(value):
    return len(value) if isinstance(value, (list, tuple)) else f"a {type(value).__name__}"
