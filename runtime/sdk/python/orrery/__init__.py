"""Workers and drivers of Orrery jobs: calls between processes, worker groups, channels.

docs/sdk_python.md begins in five minutes; docs/calls.md is what goes over the wire.
"""

from .channel import Channel, Lease
from .checkpoint import Checkpoints, write_atomically
from .client import RemoteWorker, Stream
from .cluster import GroupSpec, VirtualCluster, create_group, job_of, launch
from .directory import Listing, Peer
from .driver import Driver
from .errors import (BadArguments, CallError, Cancelled, ChannelClosed, ChannelFull,
                     GenerationChanged, NoSuchChannel, NoSuchWorker, NotAuthorised, NotIdempotent,
                     Protocol, Remote,
                     SecondDriver, Timeout, TooLarge, UnknownMethod, WorkerLost)
from .futures import Future
from .group import BatchFuture, GroupFuture, GroupStreams, Outcome, WorkerGroup
from .membership import Membership
from .methods import context, method
from .sharding import NamedSharding
from .worker import Worker

__version__ = "1.0.0"

__all__ = sorted(name for name in globals() if name[0].isupper()) + [
    "context", "create_group", "job_of", "launch", "method", "write_atomically"]
