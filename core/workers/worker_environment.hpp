// The whole environment of one worker.
#pragma once

#include <vector>

#include "core/job/spec.hpp"
#include "core/workers/environment_merge.hpp"
#include "core/workers/family_variables.hpp"
#include "core/workers/membership.hpp"

namespace orrery::workers {

/// Variables that others give. Of one list and name the last holds.
struct EnvironmentSources {
  std::vector<KeyValue> node;        ///< Of the node's own daemon.
  std::vector<KeyValue> driver;      ///< Of the user that submitted the job.
  std::vector<KeyValue> user;        ///< Written in the job.
  std::vector<KeyValue> node_group;  ///< Written for the nodes of a group.
  std::vector<KeyValue> computed;    ///< Computed elsewhere for this worker: service discovery.
  std::vector<KeyValue> overrides;   ///< Demanded by the worker's own configuration.
};

/// Everything that the worker's process starts with: the family's defaults < node < driver <
/// suggested < user < node group < computed < overrides (see Layer). The author of a computed
/// variable finds it in the notes.
WorkerEnvironment environment_of(WorkerFamily family,
                                 const Membership& worker,
                                 const EnvironmentSources& sources);

/// Names that `user` gives although they are computed for every worker of the family on devices of
/// the vendor: for checks of a job before any of it has a place. In the order of `user`.
std::vector<std::string> computed_names_in(const std::vector<KeyValue>& user,
                                           WorkerFamily family,
                                           DeviceVendor vendor);

}  // namespace orrery::workers
