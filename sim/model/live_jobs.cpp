#include "sim/model/live_jobs.hpp"

#include <algorithm>
#include <utility>

namespace orrery::sim {
namespace {

std::uint32_t take_last(std::vector<std::uint32_t>& list) {
  const std::uint32_t last = list.back();
  list.pop_back();
  return last;
}

}  // namespace

void LiveJobs::insert(JobId id, ModelJob job) {
  if (places_.size() <= id.index()) places_.resize(id.index() + 1);
  if (LiveJob* before = find(id)) drop(*before);
  std::uint32_t at = static_cast<std::uint32_t>(waiting_.size());
  if (free_waiting_.empty()) {
    waiting_.push_back(std::move(job));
  } else {
    at = take_last(free_waiting_);
    waiting_[at] = std::move(job);
  }
  places_[id.index()] = JobPlace::waiting(at);
}

LiveJob* LiveJobs::begin(JobId id) const {
  JobPlace& place = places_[id.index()];
  std::uint32_t at = static_cast<std::uint32_t>(live_.size());
  if (free_live_.empty())
    live_.push_back(std::make_unique<LiveJob>());
  else
    live_[at = take_last(free_live_)] = std::make_unique<LiveJob>();
  LiveJob& job = *live_[at];
  job.job = std::exchange(waiting_[place.at()], {});
  free_waiting_.push_back(place.at());
  place = JobPlace::live(at);
  job.id = id;
  job.as_of = job.job.submit;
  job.script_lives.assign(job.job.scripts->size(), 0);
  for (const RoleSpec& role : job.job.spec->roles) job.masters += role.master_of.is_none() ? 0 : 1;
  return &job;
}

void LiveJobs::erase(JobId id) {
  ++erased_;
  drop(*find(id));
}

void LiveJobs::drop(LiveJob& job) {
  unplace(job);
  JobPlace& place = places_[job.id.index()];
  live_[place.at()].reset();
  free_live_.push_back(place.at());
  place = {};
}

JobId LiveJobs::named(const std::string& name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? JobId::none() : found->second;
}

void LiveJobs::note_on(const LiveJob& job, NodeId node) {
  if (presences_.size() >= tidy_at_) {
    std::erase_if(presences_, [&](const Presence& each) { return !lives(each.job); });
    tidy_at_ = presences_.size() * 2 + 1024;
  }
  presences_.push_back({node, job.id});
}

std::vector<JobId> LiveJobs::on(NodeId node) const {
  std::vector<JobId> out;
  for (const Presence& each : presences_)
    if (each.node == node && lives(each.job) && find(each.job)->placed) out.push_back(each.job);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

void LiveJobs::place(LiveJob& job) {
  if (std::exchange(job.placed, true)) return;
  placed_.insert(job.id);
  ++placed_count_;
}

void LiveJobs::unplace(LiveJob& job) {
  if (!std::exchange(job.placed, false)) return;
  placed_.erase(job.id);
  --placed_count_;
}

}  // namespace orrery::sim
