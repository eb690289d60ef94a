// Collectives by Gloo over TCP.
#pragma once

#include "runtime/workers/program.hpp"

namespace orrery::worker {

/// Gloo's full mesh, rendezvous through rank 0's meeting place. A context is dropped after its
/// first error, as Gloo asks; the next generation builds another. From now on the process ignores
/// SIGPIPE.
std::unique_ptr<Collective> make_gloo_collective(const CollectiveTimes& times);

Backend gloo_backend();

}  // namespace orrery::worker
