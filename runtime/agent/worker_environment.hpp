// The environment of a worker process.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/agent/agent.hpp"
#include "core/base/result.hpp"
#include "core/cluster/resources.hpp"
#include "core/job/spec.hpp"
#include "core/record/command.hpp"
#include "core/workers/membership.hpp"

namespace orrery::runtime {

/// What workers are told of the cluster around them.
struct Surroundings {
  std::map<NodeId, std::string> addresses;  ///< Where workers of a node are reached; a node that is
                                            ///< not there: 127.0.0.1.
  std::string server_url;                   ///< Of the controller, for DI-engine; may be empty.
  std::int32_t devices = 0;  ///< That this node has: what a worker without any of its own sees.
  DeviceVendor vendor = DeviceVendor::Nvidia;  ///< Of this node's devices,
  std::string device_model;                    ///< and their model; may be empty.
  std::optional<std::uint32_t> restarts;       ///< Of the job, so far; nothing: not known.
  std::vector<KeyValue> overrides;  ///< Beyond all others: what the worker's isolation demands.

  const std::string& address_of(NodeId node) const;
};

/// "KEY=value" entries, ascending: this program's environment, then the role's, then what
/// identifies the worker: the ORRERY_* variables, those of the job's family and those that show
/// devices (core/workers/family_variables.hpp); and to workers of DI-engine jobs where their peers
/// are (core/discovery/di_environment.hpp). Later ones win, lists of paths are joined. The job's
/// rank 0 listens on the master port of its block (core/discovery), or on workers::master_port
/// where the controller has given it none.
///
/// `members` are all workers of the job by rank; where they are not known (empty) nothing is said
/// of peers. An error says why the worker cannot be told.
Result<std::vector<std::string>> environment_of(const SpawnWorker& order,
                                                const JobSpec& job,
                                                std::span<const WorkerStart> members,
                                                const Surroundings& around = {});

/// Where the workers of a job meet: MASTER_ADDR and MASTER_PORT of this membership.
workers::Endpoint job_master(JobId id,
                             const JobSpec& job,
                             std::span<const WorkerStart> members,
                             const Surroundings& around);

}  // namespace orrery::runtime
