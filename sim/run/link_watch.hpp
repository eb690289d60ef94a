// Who of a run's listeners is told of the links of its network.
#pragma once

#include "sim/fabric/fabric.hpp"
#include "sim/model/fabric_links.hpp"
#include "sim/run/run.hpp"

namespace orrery::sim {

/// Most links that are looked at: a picture of more shows nothing, and looking takes its time.
inline constexpr std::size_t kLinksWatchedMax = 4096;

/// Declares the fabric's links to the listeners that want them. Returns what the cluster is to call
/// with their use; empty where it is not asked for, nothing is shared (`fabric` null or fidelity
/// L0), or there are too many, which a sentence in `warnings` says. `options` outlives what is
/// returned.
LinkWatcher link_watcher(const scenarios::Scenario& scenario,
                         const Fabric* fabric,
                         const RunOptions& options,
                         std::vector<std::string>& warnings);

/// Time between the first looks at the links.
inline constexpr Duration kLinkSamplesEvery = Duration::seconds(5);

}  // namespace orrery::sim
