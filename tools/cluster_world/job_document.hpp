// A job specification as the document that says it: what a user would submit to get this job.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/cluster/resources.hpp"
#include "core/job/spec.hpp"

namespace orrery::cli {

/// `specs` as a job file in JSON, in their order: DIJobs as manifests, others in our own form.
std::string job_document(const std::vector<JobSpec>& specs);

/// An error with `file` for each of `specs`, all sound, that reading its document does not give
/// again. `groups`: nodes that placements name.
Errors lost_in_document(const std::vector<JobSpec>& specs,
                        std::span<const NodeGroup> groups,
                        const std::string& file);

}  // namespace orrery::cli
