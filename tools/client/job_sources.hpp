// Job files as the verbs send them: read and checked here first, so that all that is wrong with all
// of them is told before anything is sent.
#pragma once

#include <functional>
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

/// What a controller is asked to do with a file.
struct SubmissionAction {
  bool apply = false;    ///< Bring the jobs that are there to what the file says.
  bool dry_run = false;  ///< Say what would be done, and do nothing.
};

/// The job file that a document of RLinf is; `path` and `text` are the document's.
using ReadDocument =
    std::function<Result<std::string>(const std::string& path, const std::string& text)>;

/// Reads and checks every file, as far as that is possible without a cluster: the controller judges
/// placements; a name that stands in two files is an error too. `sets`
/// ("path=value") are laid over the only file, and are an error where there are several. Documents
/// of RLinf go through `read_document`, which is given `sets` by its maker; without it they are an
/// error. Warnings are added to `warnings`.
Result<std::vector<JobSource>> read_job_sources(const std::vector<std::string>& paths,
                                                const std::vector<std::string>& sets,
                                                Errors& warnings,
                                                const ReadDocument& read_document = {});

/// The request for the jobs of a file. Repeated as it is, it is answered as the first time.
HttpRequest submission(const JobSource& source, const SubmissionAction& action = {});

/// Asks the controller about every file before the first is sent, where there are several jobs: so
/// nothing is done where one of them is unsound. Tells what is wrong; false where something is.
bool check_sources(Session& session,
                   const std::vector<JobSource>& sources,
                   SubmissionAction action = {});

}  // namespace orrery::cli
