// Collectives by NCCL, in the memory of a device.
#pragma once

#include <memory>

#include "runtime/workers/nccl/nccl_api.hpp"
#include "runtime/workers/program.hpp"

namespace orrery::worker {

/// A communicator that does not block, watched by a thread of its own: on an asynchronous error, at
/// the end of an operation's time, when a newer generation begins, or when a rank has left, it is
/// aborted, which also frees stuck kernels. It is never finalised or destroyed, since both wait for
/// peers. A group is left by abort too, and joined with a new unique id and a full init. `stream`
/// outlives it, and its device is the current one of each thread.
std::unique_ptr<Collective> make_nccl_collective(const CollectiveTimes& times,
                                                 const NcclLibrary& library,
                                                 DeviceStream& stream);

Backend nccl_backend();

}  // namespace orrery::worker
