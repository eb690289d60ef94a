// Volumes of a worker: host folders that its node allows, and folders of its job.
//
// An error of code InvalidInput holds for good: the volume itself is at fault, or the agent's
// settings and rights forbid it. One of code Unavailable may pass: a folder is not there, or cannot
// be made.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/job/spec.hpp"
#include "runtime/shim/worker_files.hpp"

namespace orrery::runtime {

/// One "source:target" of a role, found good.
struct Volume {
  std::string source;   ///< Absolute, without links, at or below an allowed root; or see `of_job`.
  std::string target;   ///< Absolute, or relative to the worker's own folder and staying in it.
  bool of_job = false;  ///< `source` is a name: a folder of the job on this node.
  bool in_memory = false;  ///< Of the job, and wanted as a tmpfs: "name:target:memory".

  bool is_relative() const { return target.front() != '/'; }
};

/// Where volumes come about.
struct VolumePlaces {
  std::string work;  ///< The worker's own folder.
  std::string job;   ///< For folders of the job; made here where one is needed.
  bool may_mount = false;
  /// Whether a missing mount point is made on the node: workers that run as the agent's user could
  /// make it themselves, others may not be given that right.
  bool may_make_targets = false;
};

/// Whether this program may give a process mounts of its own. Asks the system once.
bool may_mount();

/// Checks volumes against the roots that the node allows, after resolving links in both; leaves
/// those out that have no target, which are mounted nowhere. Errors: all that is wrong, one for
/// each volume.
Result<std::vector<Volume>> find_volumes(const std::vector<std::string>& volumes,
                                         const std::vector<std::string>& roots);

/// Makes the folders that volumes of the job name, and lets each such volume begin there. Those in
/// memory only where `with_memory`. Errors: a folder cannot be made.
Status make_job_folders(std::vector<Volume>& volumes, const std::string& job, bool with_memory);

/// Writes the files of a job that lie in folders which `volumes` name. They stay as a worker may
/// have left them where they are there.
Status write_job_files(const std::vector<JobFileSpec>& files,
                       const std::vector<Volume>& volumes,
                       const std::string& job);

/// How volumes come about on the host: a relative target as a link in `work`, made here; an
/// absolute one, or one in memory, as a mount that only the worker sees. What is done otherwise
/// than asked is added to `notices`.
Result<std::vector<BindMount>> place_volumes(std::vector<Volume> volumes,
                                             const VolumePlaces& places,
                                             std::vector<std::string>& notices);

}  // namespace orrery::runtime
