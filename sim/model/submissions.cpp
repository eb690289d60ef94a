#include "sim/model/submissions.hpp"

#include <algorithm>
#include <utility>

namespace orrery::sim {

Submissions::Submissions(ClusterState& cluster, JobSource& source)
    : cluster_(cluster), source_(source) {
  const scenarios::Scenario& scenario = cluster.scenario;
  speaks_of_names_ =
      !scenario.requests.empty() || !scenario.profilings.empty() ||
      std::any_of(scenario.faults.begin(), scenario.faults.end(), [](const scenarios::Fault& f) {
        return !f.job.empty() || f.after;
      });
}

void Submissions::schedule_next() {
  next_ = source_.next();
  if (next_) cluster_.future.push(next_->submit, FutureKind::Arrival, 0);
}

void Submissions::arrive() {
  cluster_.listener.on_outside(JobSubmitted{++submitted_, next_->spec});
  if (!next_->label->empty()) labels_[submitted_] = std::move(next_->label.edit());
  next_->label.clear();
  unanswered_.emplace(submitted_, std::move(*next_));
  schedule_next();
}

std::string Submissions::take_label(std::uint64_t request) {
  const auto found = labels_.find(request);
  if (found == labels_.end()) return {};
  std::string label = std::move(found->second);
  labels_.erase(found);
  return label;
}

void Submissions::answer(const AnswerRequest& order) {
  // Requests that scale or stop are numbered otherwise, or not at all.
  const auto asked = unanswered_.find(order.request);
  if (asked == unanswered_.end()) return;
  ModelJob job = std::move(asked->second);
  unanswered_.erase(asked);
  if (!order.accepted) {
    ++refused_;
    cluster_.warnings.push_back(order.message);
    return;
  }
  if (speaks_of_names_) cluster_.jobs.remember_name(order.job, job.spec->name);
  cluster_.jobs.insert(order.job, std::move(job));
}

void Submissions::request(const scenarios::TimedRequest& request) {
  const JobId id = cluster_.jobs.named(request.job);
  if (!request.scale) return cluster_.listener.on_outside(StopRequested{0, id});
  RoleIndex role;
  const LiveJob* job = id.is_none() ? nullptr : cluster_.jobs.find(id);
  if (job != nullptr && !request.scale->role.empty())
    for (std::size_t r = 0; r < job->job.spec->roles.size(); ++r)
      if (job->job.spec->roles[r].name == request.scale->role)
        role = RoleIndex{static_cast<std::uint16_t>(r)};
  cluster_.listener.on_outside(
      ScaleRequested{0, id, role, request.scale->mode, request.scale->replicas, true});
}

void Submissions::profiling(const scenarios::TimedProfiling& profiling) {
  const JobId id = cluster_.jobs.named(profiling.job);
  const LiveJob* job = id.is_none() ? nullptr : cluster_.jobs.find(id);
  const Rank rank{static_cast<std::uint32_t>(profiling.rank)};
  // A worker that hangs measures nothing.
  if (job != nullptr && job->hampered &&
      std::any_of(job->workers.begin(), job->workers.end(), [&](const ModelWorker& w) {
        return w.rank == rank && w.hung;
      }))
    return;
  const Generation generation = job == nullptr ? Generation{} : job->generation;
  cluster_.listener.on_outside(ProfilingChanged{id, generation, rank, profiling.values});
}

}  // namespace orrery::sim
