#include "sim/model/live_jobs.hpp"

#include <algorithm>
#include <utility>

namespace orrery::sim {

void LiveJobs::insert(std::unique_ptr<LiveJob> job) {
  const std::size_t index = job->id.index();
  if (jobs_.size() <= index) jobs_.resize(index + 1);
  jobs_[index] = std::move(job);
}

void LiveJobs::erase(JobId id) {
  unplace(id);
  ++erased_;
  jobs_[id.index()].reset();
}

JobId LiveJobs::named(const std::string& name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? JobId::none() : found->second;
}

void LiveJobs::place(JobId id) {
  const auto at = std::lower_bound(placed_.begin(), placed_.end(), id);
  if (at == placed_.end() || *at != id) placed_.insert(at, id);
}

void LiveJobs::unplace(JobId id) {
  const auto at = std::lower_bound(placed_.begin(), placed_.end(), id);
  if (at != placed_.end() && *at == id) placed_.erase(at);
}

}  // namespace orrery::sim
