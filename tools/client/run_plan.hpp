// What a run comes to on the nodes there are: sizes and shares, and the job file that says them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/base/result.hpp"
#include "tools/client/run_request.hpp"

namespace orrery::cli {

/// What a node offers.
struct NodeFacts {
  std::int32_t devices = 0;
  std::int64_t cpu_millis = 0;
  std::int64_t memory_bytes = 0;
};

/// How much each process has where the command line does not say it.
enum class ShareRule : std::uint8_t {
  JobFile,    ///< What job files give: one core, 2 GiB.
  WholeNode,  ///< The processes of a node share all of it.
};

struct RunPlan {
  std::string name;
  std::int32_t per_node = 1;
  std::int32_t devices = 0;     ///< Of each process.
  std::string cpus;             ///< Of each process; empty: what job files give.
  std::string memory;           ///< The same.
  bool leaves_devices = false;  ///< Nodes have some, but too few nodes do.

  /// Processes at least.
  std::int32_t world_min(const RunRequest& request) const { return request.nodes_min * per_node; }
};

/// Errors: the nodes do not say how many processes one has, or there are none.
Result<RunPlan> run_plan(const RunRequest& request,
                         std::span<const NodeFacts> nodes,
                         ShareRule rule);

/// The job, as a file of `orrery submit`.
std::string run_job_file(const RunRequest& request, const RunPlan& plan);

}  // namespace orrery::cli
