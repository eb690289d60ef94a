// Job files as the verbs send them: read and checked here first, so that all that is wrong with all
// of them is told before anything is sent.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/job/spec.hpp"
#include "tools/client/session.hpp"

namespace orrery::cli {

/// One file.
struct JobSource {
  std::string path;  ///< "-": standard input.
  std::string text;
  std::vector<std::string> sets;  ///< "path=value", laid over the text.
  std::vector<JobSpec> jobs;
};

/// Reads and checks every file; a name that stands in two of them is an error too. `sets`
/// ("path=value") are laid over the only file, and are an error where there are several. Warnings
/// are added to `warnings`.
Result<std::vector<JobSource>> read_job_sources(const std::vector<std::string>& paths,
                                                const std::vector<std::string>& sets,
                                                Errors& warnings);

/// The request that submits the jobs of a file; with `only`, this one of them. Repeated as it is,
/// it is answered as the first time.
HttpRequest submission(const JobSource& source, const std::string& only = "");

}  // namespace orrery::cli
