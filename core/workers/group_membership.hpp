// The workers of a worker group once its virtual cluster is formed: what each is called, where it
// sits, what it sees and which engine it leads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/vcluster/form.hpp"
#include "core/workers/membership.hpp"
#include "core/workers/port_bands.hpp"

namespace orrery::workers {

/// A worker group on a formed virtual cluster.
struct FormedGroup {
  std::string prefix;                             ///< Its name: that of the role.
  const VirtualClusterSpec* cluster = nullptr;    ///< Sound; outlives the call.
  const WorkerGroupSpec* group = nullptr;         ///< Sound; outlives the call.
  std::span<const vcluster::BundlePlace> places;  ///< What `form` gave for `cluster`.
  bool has_engines = false;         ///< Whether leaders run engines that listen (generation does).
  std::int32_t master_port = 0;     ///< Where rank 0 listens; 0: not known.
  std::vector<std::int32_t> ports;  ///< One of each worker by rank; empty: not known.
};

/// What is known of a node.
struct NodeFacts {
  std::string address;
  std::int32_t devices = 0;
  DeviceVendor vendor = DeviceVendor::Nvidia;
  std::string device_model;
};

/// A worker with its name.
struct GroupMember {
  std::string name;  ///< As in GroupWorker, with the logical node and bundle on which it sits.
  Membership membership;
};

/// Where the engines of a group begin, in rank order of their leaders; none without engines.
std::vector<EngineSeat> engines_of(const FormedGroup& group);

/// All members by rank; the rest of a Membership (job, generation) is for the caller to fill.
/// `nodes` by NodeId. `other_engines` are those of other groups that live at the same time: their
/// ports come first where they begin on the same device.
///
/// A leader sees the devices of its whole tied group on its node, because its engine runs on them;
/// a worker that is tied to it sees its own. Refused: more engines on a node than it has ports for.
Result<std::vector<GroupMember>> members_of(const FormedGroup& group,
                                            std::span<const NodeFacts> nodes,
                                            std::span<const EngineSeat> other_engines = {});

}  // namespace orrery::workers
