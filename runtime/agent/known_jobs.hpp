// What a node knows of the jobs whose workers it runs, across the lives of its agent.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/base/ids.hpp"
#include "core/job/spec.hpp"
#include "runtime/agent/removals.hpp"
#include "runtime/agent/worker_environment.hpp"
#include "runtime/link/messages.hpp"

namespace orrery::runtime {

/// Specifications and latest memberships by job, kept in files `ID.spec` and `ID.members`; beside
/// them the folders that volumes of the job name, which go with it: `ID.volumes/NAME`.
class KnownJobs {
 public:
  /// `folder` exists. Reads what an earlier life has kept; damaged files are left out: the
  /// controller tells anew.
  explicit KnownJobs(std::string folder);

  void learn(const JobKnown& job);

  /// Of an older generation than is known: ignored.
  void learn(const Members& members);

  /// Null where the job is not known.
  const JobSpec* spec(JobId job) const;

  /// Null where nothing is known.
  const Members* members(JobId job) const;

  /// Folder for the volumes of a job; perhaps not made yet.
  std::string volumes_of(JobId job) const { return path(job, ".volumes"); }

  void forget(JobId job);

  /// What is left of volumes of jobs that were forgotten.
  Removals& removals() { return removals_; }

  const Removals& removals() const { return removals_; }

  /// Forgets all jobs but those of which `kept` is true.
  void keep_only(const std::function<bool(JobId)>& kept);

 private:
  struct Known {
    std::shared_ptr<const JobSpec> spec;
    std::optional<Members> members;
  };

  std::string path(JobId job, const char* what) const;
  void remove_stray_volumes();

  std::string folder_;
  Removals removals_;
  std::map<JobId, Known> jobs_;
};

/// Where the workers of a membership are reached.
std::map<NodeId, std::string> addresses_of(const Members& members);

}  // namespace orrery::runtime
