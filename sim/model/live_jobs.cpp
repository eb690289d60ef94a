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

// Whether some living process of each is on the same device.
bool share_devices(const LiveJob& a, const LiveJob& b) {
  return std::any_of(a.workers.begin(), a.workers.end(), [&](const ModelWorker& mine) {
    return mine.alive &&
           std::any_of(b.workers.begin(), b.workers.end(), [&](const ModelWorker& other) {
             return other.alive && other.node == mine.node && (other.devices & mine.devices) != 0;
           });
  });
}

}  // namespace

void LiveJobs::insert(JobId id, ModelJob job) {
  if (places_.empty()) first_ = id.index();
  if (id.index() < first_) {
    places_.insert_front(first_ - id.index(), {});
    first_ = id.index();
  }
  if (places_.size() <= index(id)) places_.resize(index(id) + 1, {});
  if (LiveJob* before = find(id)) drop(*before);
  std::uint32_t at = static_cast<std::uint32_t>(waiting_.size());
  if (free_waiting_.empty()) {
    waiting_.emplace_back() = std::move(job);
  } else {
    at = take_last(free_waiting_);
    waiting_[at] = std::move(job);
  }
  places_[index(id)] = JobPlace::waiting(at);
}

LiveJob* LiveJobs::begin(JobId id) const {
  JobPlace& place = places_[index(id)];
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
  // A job has one or the other.
  job.script_lives.assign(job.job.scripts->size() + job.job.lives->size(), 0);
  job.all_required = true;
  for (const RoleSpec& role : job.job.spec->roles) {
    job.masters += role.master_of.is_none() ? 0 : 1;
    job.all_required = job.all_required && role.completion == Completion::Required;
  }
  return &job;
}

void LiveJobs::erase(JobId id) {
  ++erased_;
  drop(*find(id));
}

void LiveJobs::drop(LiveJob& job) {
  unplace(job);
  company_.erase(job.id);
  JobPlace& place = places_[index(job.id)];
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

void LiveJobs::put_beside(JobId job, JobId host) {
  company_[job].host = host;
  JobId& guest = company_[host].guest;
  const LiveJob* const of_host = find(host);
  const LiveJob* const before = guest.is_none() ? nullptr : find(guest);
  if (of_host == nullptr || before == nullptr || !share_devices(*before, *of_host)) guest = job;
}

LiveJob* LiveJobs::partner_of(const LiveJob& job) const {
  const auto company = company_.find(job.id);
  if (company == company_.end()) return nullptr;
  for (const JobId id : {company->second.host, company->second.guest}) {
    LiveJob* const other = id.is_none() ? nullptr : find(id);
    if (other != nullptr && other != &job && share_devices(job, *other)) return other;
  }
  return nullptr;
}

std::vector<LiveJob*> LiveJobs::put_together_with(JobId job) const {
  std::vector<LiveJob*> out;
  const auto company = company_.find(job);
  if (company == company_.end()) return out;
  for (const JobId id : {company->second.host, company->second.guest}) {
    LiveJob* const other = id.is_none() ? nullptr : find(id);
    if (other != nullptr && other->placed && other->id != job) out.push_back(other);
  }
  return out;
}

}  // namespace orrery::sim
