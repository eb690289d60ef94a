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

/// "KEY=value" entries: this program's environment, then the role's, then what tells the worker who
/// it is: ORRERY_JOB, ORRERY_ROLE, ORRERY_RANK, ORRERY_LOCAL_RANK, ORRERY_WORLD_SIZE,
/// ORRERY_GENERATION, ORRERY_INCARNATION and CUDA_VISIBLE_DEVICES; and to workers of DI-engine jobs
/// where their peers are (core/discovery/di_environment.hpp), at 127.0.0.1. Later ones win.
///
/// `members` are all workers of the job by rank; where they are not known (empty) nothing is said
/// of peers. An error says why the worker cannot be told.
Result<std::vector<std::string>> environment_of(const SpawnWorker& order,
                                                const JobSpec& job,
                                                std::span<const WorkerStart> members);

}  // namespace orrery::runtime
