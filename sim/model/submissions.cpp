#include "sim/model/submissions.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace orrery::sim {
namespace {

// As its user writes it anew, after the specification that it was submitted with.
std::shared_ptr<const JobSpec> changed(const JobSpec& was, const scenarios::ChangeCall& change) {
  auto spec = std::make_shared<JobSpec>(was);
  spec->priority = change.priority.value_or(spec->priority);
  spec->wait_deadline = change.wait_deadline.value_or(spec->wait_deadline);
  spec->run_deadline = change.run_deadline.value_or(spec->run_deadline);
  spec->backoff_limit = change.backoff_limit.value_or(spec->backoff_limit);
  if (!change.replicas) return spec;
  for (std::size_t r = 0; r < spec->roles.size(); ++r) {
    if (!change.replicas->role.empty() && spec->roles[r].name != change.replicas->role) continue;
    spec->roles[r].min_replicas = change.replicas->min;
    spec->roles[r].max_replicas = change.replicas->max;
  }
  return spec;
}

}  // namespace

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
    const bool written = std::ranges::any_of(
        cluster_.scenario.jobs,
        [&](const scenarios::ScenarioJob& each) { return each.spec.name == job.spec->name; });
    if (!written) ++workload_refused_;
    cluster_.warn(order.message);
    return;
  }
  if (speaks_of_names_) cluster_.jobs.remember_name(order.job, job.spec->name);
  cluster_.jobs.insert(order.job, std::move(job));
}

void Submissions::request(const scenarios::TimedRequest& request) {
  const JobId id = cluster_.jobs.named(request.job);
  const LiveJob* job = id.is_none() ? nullptr : cluster_.jobs.find(id);
  if (request.forgets) return cluster_.listener.on_outside(DeleteRequested{0, id});
  if (request.change) {
    // Who does not know the job has nothing to write anew.
    if (job != nullptr)
      cluster_.listener.on_outside(JobChanged{0, id, changed(*job->job.spec, *request.change)});
    return;
  }
  if (!request.scale) return cluster_.listener.on_outside(StopRequested{0, id});
  RoleIndex role;
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
