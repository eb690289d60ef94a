// From the text of a job file to specifications: what reads it is handed in, for this layer knows
// no YAML.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/cluster/resources.hpp"
#include "core/job/spec.hpp"

namespace orrery::http {

/// A job file or manifest as a client sent it.
struct JobText {
  std::string text;
  std::string file;               ///< Its name there, for messages; may be empty.
  std::vector<std::string> sets;  ///< "path=value" that override the text.
  /// The nodes of the cluster, for placements; nothing: not looked up yet.
  std::optional<std::vector<NodeGroup>> nodes = std::nullopt;
};

struct ReadJobs {
  std::vector<JobSpec> jobs;
  std::vector<std::string> warnings;  ///< What was not taken over, by name.
  bool needs_nodes = false;           ///< To be read again with them: it has placements.
};

/// Called on a thread of its own, one text after the other.
using ReadJobText = std::function<Result<ReadJobs>(const JobText&)>;

}  // namespace orrery::http
