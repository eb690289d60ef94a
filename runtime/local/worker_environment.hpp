// The environment of a worker process of this machine.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/agent/agent.hpp"
#include "core/base/result.hpp"
#include "core/job/spec.hpp"
#include "core/record/command.hpp"

namespace orrery::runtime {

/// "KEY=value" entries, ascending: this program's environment, then the role's, then what tells the
/// worker who it is: the ORRERY_* variables, those of torch.distributed and those that show devices
/// (core/workers/family_variables.hpp); and to workers of DI-engine jobs where their peers are
/// (core/discovery/di_environment.hpp). Later ones win, lists of paths are joined. Everybody is at
/// 127.0.0.1; the job's rank 0 listens on the master port of its block (core/discovery), or on
/// workers::master_port where the controller has given it none.
///
/// `members` are all workers of the job by rank; where they are not known (empty) nothing is said
/// of peers. An error says why the worker cannot be told.
Result<std::vector<std::string>> environment_of(const SpawnWorker& order,
                                                const JobSpec& job,
                                                std::span<const WorkerStart> members);

/// What roles write into their environment although it is computed, one sentence each.
std::vector<std::string> overruled_variables(const JobSpec& job);

}  // namespace orrery::runtime
