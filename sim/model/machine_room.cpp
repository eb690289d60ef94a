#include "sim/model/machine_room.hpp"

#include <algorithm>

namespace orrery::sim {

MachineRoom::MachineRoom(const scenarios::Scenario& scenario,
                         JobSource& source,
                         RoomListener& listener,
                         Fabric* fabric)
    : scenario_(scenario), source_(source), listener_(listener), processes_(scenario) {
  if (fabric != nullptr) staged_.emplace(scenario, *fabric);
  nodes_.resize(static_cast<std::size_t>(scenario.node_count()));
  const auto& faults = scenario.faults;
  speaks_of_names_ = !scenario.requests.empty() || !scenario.profilings.empty() ||
                     std::any_of(faults.begin(), faults.end(), [](const scenarios::Fault& f) {
                       return !f.job.empty() || f.after;
                     });
  const auto list = [&](const auto& items, FutureKind kind) {
    for (std::uint32_t i = 0; i < items.size(); ++i) future_.push(items[i].at, kind, i);
    named_futures_ += static_cast<std::int64_t>(items.size());
  };
  for (std::uint32_t i = 0; i < faults.size(); ++i) {
    if (faults[i].after) continue;  // `strike` comes when the event is seen.
    // A crash of a sub-master waits for its message from its time on, for `times` of them.
    const bool armed = faults[i].kind == scenarios::FaultKind::SubMasterCrash;
    for (std::int32_t k = 0; k < (armed ? 1 : faults[i].times); ++k)
      strike(i, faults[i].at + faults[i].every * k);
  }
  list(scenario.requests, FutureKind::Request);
  list(scenario.profilings, FutureKind::Profiling);
  for (std::uint32_t n = 0; n < nodes_.size(); ++n)
    for (std::size_t p = 0; p < processes_.size(); ++p) next_random_fault(p, NodeId{n}, now_);
  next_arrival();
}

Instant MachineRoom::next(Instant limit) {
  const Instant own = own_next();
  const Instant until = std::min(own, limit);
  if (!staged_ || until <= now_ || !staged_->is_under_way()) return own;
  const Instant stage = staged_->next(until);
  return stage.is_never() ? own : stage;
}

void MachineRoom::pass_to(Instant until) {
  while (true) {
    const Instant own = own_next();
    const Instant limit = std::min(own, until);
    // Of one instant stages end first, as completions do.
    if (staged_ && staged_->is_under_way() && stages_to(limit)) continue;
    if (own > until) break;
    now_ = std::max(now_, own);
    happen(future_.pop());
  }
  now_ = std::max(now_, until);
}

bool MachineRoom::work_left() const {
  if (next_.has_value() || named_futures_ > 0 || !placed_.empty()) return true;
  // Jobs that wait may yet get what comes back.
  return jobs_left() && comebacks_ > 0;
}

void MachineRoom::strike(std::uint32_t index, Instant at) {
  future_.push(at, FutureKind::Fault, index);
  ++named_futures_;
}

LiveJob* MachineRoom::live(JobId id) {
  return id.index() < jobs_.size() ? jobs_[id.index()].get() : nullptr;
}

JobId MachineRoom::job_named(const std::string& name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? JobId::none() : found->second;
}

void MachineRoom::happen(const Future& future) {
  switch (future.kind) {
    case FutureKind::Arrival:
      return arrive();
    case FutureKind::Tick:
      return tick();
    case FutureKind::Fault:
      --named_futures_;
      fault(scenario_.faults[future.subject]);
      return listener_.on_struck(future.subject);
    case FutureKind::Request:
      --named_futures_;
      return request(scenario_.requests[future.subject]);
    case FutureKind::Profiling:
      --named_futures_;
      return profiling(scenario_.profilings[future.subject]);
    case FutureKind::Departure:
      --named_futures_;
      return node_down(NodeId{future.subject}, departures_[future.detail].lasting);
    case FutureKind::NodeQuick:
      if (nodes_[future.subject].quick_at > now_) return;
      nodes_[future.subject].slow = 1;
      return pace_all_on(NodeId{future.subject});
    case FutureKind::NodeUp:
      return come_back(NodeId{future.subject});
    case FutureKind::DevicesBack:
      return devices_back(NodeId{future.subject});
    case FutureKind::LetIn:
      --comebacks_;
      return listener_.on_outside(ExclusionRequested{0, NodeId{future.subject}, false});
    case FutureKind::Relaunched:
      --named_futures_;
      return relaunched(relaunches_[future.subject]);
    case FutureKind::NodeDown:
      return random_fault(NodeId{future.subject}, future.detail);
    case FutureKind::LinkSample:
      return sample_links();
    case FutureKind::LinkWhole:
      if (nodes_[future.subject].link_whole_at > now_) return;
      nodes_[future.subject].link_share = 1;
      return staged_->set_link_share(NodeId{future.subject}, 1, now_);
    case FutureKind::Complete:
    case FutureKind::Resume:
    case FutureKind::Checkpoint:
    case FutureKind::Script:
    case FutureKind::HangOver:
    case FutureKind::SlowOver:
    case FutureKind::Suspect:
    case FutureKind::Stopped:
    case FutureKind::Ready:
      if (LiveJob* job = live(JobId{future.subject})) happen_to_job(*job, future);
      return;
  }
}

void MachineRoom::happen_to_job(LiveJob& job, const Future& future) {
  if (future.kind == FutureKind::Complete) {
    if (future.stamp == job.stamp) complete(job);
    return;
  }
  if (future.kind == FutureKind::Resume) {
    if (future.stamp == job.stamp) pace(job, true);
    return;
  }
  if (future.kind == FutureKind::Checkpoint) {
    if (job.stages != nullptr && future.stamp == job.stages->checkpoints) checkpoint(job);
    return;
  }
  if (future.kind == FutureKind::Script) return end_by_script(job, future);
  if (future.kind == FutureKind::Stopped) return stopped(job);
  if (future.kind == FutureKind::Ready) return come_up(job, future);
  ModelWorker* worker = job.find(Incarnation{future.stamp}, Rank{future.detail});
  if (worker == nullptr || !worker->alive) return;
  if (future.kind == FutureKind::HangOver) {
    hang_over(job, *worker);
  } else if (future.kind == FutureKind::SlowOver) {
    worker->slow = 1;
    pace(job, true);
  } else if (worker->hung && !worker->stopping &&
             now_ >= worker->hung_at + job.job.spec->failover.hang_after) {
    suspect(job, *worker, Suspicion::Hung);
  }
}

// --- submissions ---

void MachineRoom::next_arrival() {
  next_ = source_.next();
  if (next_) future_.push(next_->submit, FutureKind::Arrival, 0);
}

void MachineRoom::arrive() {
  listener_.on_outside(JobSubmitted{++submissions_, next_->spec});
  if (!next_->label.empty()) labels_[submissions_] = std::move(next_->label);
  unanswered_.emplace(submissions_, std::move(*next_));
  next_arrival();
}

std::string MachineRoom::take_label(std::uint64_t request) {
  const auto found = labels_.find(request);
  if (found == labels_.end()) return {};
  std::string label = std::move(found->second);
  labels_.erase(found);
  return label;
}

void MachineRoom::obey(const AnswerRequest& order) {
  // Requests that scale or stop are numbered otherwise, or not at all.
  const auto asked = unanswered_.find(order.request);
  if (asked == unanswered_.end()) return;
  ModelJob job = std::move(asked->second);
  unanswered_.erase(asked);
  if (!order.accepted) {
    ++over_;
    troubles_.push_back(order.message);
    return;
  }
  const std::size_t index = order.job.index();
  if (jobs_.size() <= index) jobs_.resize(index + 1);
  auto fresh = std::make_unique<LiveJob>();
  fresh->id = order.job;
  fresh->as_of = now_;
  fresh->script_lives.assign(job.scripts.size(), 0);
  for (const RoleSpec& role : job.spec->roles) fresh->masters += role.master_of.is_none() ? 0 : 1;
  if (speaks_of_names_) names_[job.spec->name] = order.job;
  fresh->job = std::move(job);
  jobs_[index] = std::move(fresh);
}

// --- what users and workers say ---

void MachineRoom::request(const scenarios::TimedRequest& request) {
  const JobId id = job_named(request.job);
  if (!request.scale) return listener_.on_outside(StopRequested{0, id});
  RoleIndex role;
  const LiveJob* job = id.is_none() ? nullptr : live(id);
  if (job != nullptr && !request.scale->role.empty())
    for (std::size_t r = 0; r < job->job.spec->roles.size(); ++r)
      if (job->job.spec->roles[r].name == request.scale->role)
        role = RoleIndex{static_cast<std::uint16_t>(r)};
  listener_.on_outside(
      ScaleRequested{0, id, role, request.scale->mode, request.scale->replicas, true});
}

void MachineRoom::profiling(const scenarios::TimedProfiling& profiling) {
  const JobId id = job_named(profiling.job);
  const LiveJob* job = id.is_none() ? nullptr : live(id);
  const Rank rank{static_cast<std::uint32_t>(profiling.rank)};
  // Who hangs measures nothing.
  if (job != nullptr && job->hampered &&
      std::any_of(job->workers.begin(), job->workers.end(), [&](const ModelWorker& w) {
        return w.rank == rank && w.hung;
      }))
    return;
  const Generation generation = job == nullptr ? Generation{} : job->generation;
  listener_.on_outside(ProfilingChanged{id, generation, rank, profiling.values});
}

// --- truth ---

std::vector<LivingProcess> MachineRoom::living() const {
  std::vector<LivingProcess> out;
  for (const JobId id : placed_)
    for (const ModelWorker& w : job(id)->workers)
      if (w.alive)
        out.push_back({id,
                       w.role,
                       w.local_rank,
                       w.birth_rank,
                       w.rank,
                       w.incarnation,
                       w.born,
                       w.generation,
                       w.node,
                       w.devices,
                       w.share,
                       w.since,
                       w.ready,
                       w.stopping,
                       w.hung});
  return out;
}

std::vector<RunningWorker> MachineRoom::complete_list(NodeId node) const {
  std::vector<RunningWorker> out;
  for (const JobId id : placed_)
    for (const ModelWorker& w : job(id)->workers)
      if (w.node == node && w.alive) out.push_back({id, w.born, w.incarnation, w.birth_rank});
  return out;
}

}  // namespace orrery::sim
