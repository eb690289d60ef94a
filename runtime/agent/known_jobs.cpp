#include "runtime/agent/known_jobs.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "runtime/shim/durable_file.hpp"
#include "runtime/shim/stored_record.hpp"

namespace orrery::runtime {

KnownJobs::KnownJobs(std::string folder)
    : folder_(std::move(folder)), removals_(folder_ + "/removed") {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, ignored)) {
    const std::optional<std::string> bytes = read_file(entry.path().string());
    if (!bytes) continue;
    if (entry.path().extension() == ".spec")
      if (const auto job = restored<JobKnown>(*bytes)) jobs_[job->job].spec = job->spec;
    if (entry.path().extension() == ".members")
      if (auto members = restored<Members>(*bytes)) jobs_[members->job].members = *members;
  }
  remove_stray_volumes();
}

// Of jobs whose specification is gone: nothing else would remove them.
void KnownJobs::remove_stray_volumes() {
  std::vector<std::string> stray;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, ignored)) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() == ".volumes" &&
        std::none_of(jobs_.begin(), jobs_.end(), [&](const auto& known) {
          return std::to_string(known.first.value) == name;
        }))
      stray.push_back(entry.path().string());
  }
  for (const std::string& path : stray) removals_.take(path);
}

std::string KnownJobs::path(JobId job, const char* what) const {
  return folder_ + "/" + std::to_string(job.value) + what;
}

// A job that cannot be kept is still known in this life, and told anew in the next.
void KnownJobs::learn(const JobKnown& job) {
  Known& known = jobs_[job.job];
  if (known.spec && *known.spec == *job.spec) return;
  known.spec = job.spec;
  replace_file(path(job.job, ".spec"), stored(job), Survives::Kill);
}

void KnownJobs::learn(const Members& members) {
  Known& known = jobs_[members.job];
  if (known.members && members.generation < known.members->generation) return;
  known.members = members;
  replace_file(path(members.job, ".members"), stored(members), Survives::Kill);
}

const JobSpec* KnownJobs::spec(JobId job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? nullptr : found->second.spec.get();
}

const Members* KnownJobs::members(JobId job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() || !found->second.members ? nullptr : &*found->second.members;
}

void KnownJobs::forget(JobId job) {
  if (jobs_.erase(job) == 0) return;
  unlink(path(job, ".spec").c_str());
  unlink(path(job, ".members").c_str());
  removals_.take(volumes_of(job));
}

void KnownJobs::keep_only(const std::function<bool(JobId)>& kept) {
  std::vector<JobId> gone;
  for (const auto& [job, known] : jobs_)
    if (!kept(job)) gone.push_back(job);
  for (const JobId job : gone) forget(job);
}

std::map<NodeId, std::string> addresses_of(const Members& members) {
  std::map<NodeId, std::string> out;
  for (const NodeAddress& node : members.nodes) out[node.node] = node.address;
  return out;
}

}  // namespace orrery::runtime
