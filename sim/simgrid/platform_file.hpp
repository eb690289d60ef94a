// SimGrid's own platform files, as Batsim and ElastiSim use them: which hosts are nodes, and which
// one is the storage.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "sim/simgrid/engine.hpp"

namespace orrery::sim {

/// The hosts of a platform file by what they are for.
struct PlatformHosts {
  std::vector<simgrid::s4u::Host*> nodes;      ///< In the order of the file, at least one.
  simgrid::s4u::Host* storage = nullptr;       ///< The parallel file system; null: there is none.
  std::vector<simgrid::s4u::Host*> left_over;  ///< Controllers and the like.
};

/// Reads the file into the engine, which has no platform yet. A host is the storage where it has
/// the property `role=storage` or `pfs_host=true`; it is no node where it has `role=master`,
/// `master=true` or `batch_system=true`, where its speed is 0, or where no host of the file has a
/// role and its name is `master_host`.
Result<PlatformHosts> load_platform_file(SimGridEngine& engine, const std::string& file);

}  // namespace orrery::sim
