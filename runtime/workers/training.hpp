// The main loop of the sample worker.
#pragma once

#include <vector>

#include "runtime/workers/agent_link.hpp"
#include "runtime/workers/collective.hpp"
#include "runtime/workers/compute.hpp"
#include "runtime/workers/drain.hpp"
#include "runtime/workers/options.hpp"
#include "runtime/workers/place.hpp"

namespace orrery::worker {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitBadInput = 2;
inline constexpr int kExitInterrupted = 130;
inline constexpr int kExitDrained = 143;

/// Turns the host that a membership names into a numeric address.
using Resolve = Result<std::string> (*)(const std::string& host);

/// What a run came to.
struct TrainingReport {
  std::int64_t steps_done = 0;     ///< Of the job, resumed ones included.
  std::int64_t steps_resumed = 0;  ///< Done before this run.
  std::uint64_t generation = 0;    ///< The last one.
  std::int32_t world_size = 0;
  std::int32_t builds = 0;           ///< Groups that were built.
  std::vector<double> step_times_s;  ///< The last steps at most, without the wait that pads them.
  std::vector<double> multiply_times_s;  ///< The matrix product's part of them.
  Digest shared;                         ///< Of the shared matrix, when it was last looked at.
  int exit_code = kExitDone;
  std::string reason;  ///< Why it did not finish.
};

/// What a worker works with. `agent` is null where there is none.
struct TrainingParts {
  Compute& compute;
  Collective& collective;
  AgentLink* agent;
  Drain& drain;
  Resolve resolve;
  std::ostream& log;
};

/// Runs steps until all are done, a stop is asked for, or peers are lost for good.
TrainingReport train(const Options& options, const Place& place, const TrainingParts& parts);

}  // namespace orrery::worker
