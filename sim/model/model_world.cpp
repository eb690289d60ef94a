#include "sim/model/model_world.hpp"

#include <algorithm>

namespace orrery::sim {

ModelWorld::ModelWorld(const scenarios::Scenario& scenario, JobSource& source)
    : scenario_(scenario), source_(source) {
  const auto nodes = static_cast<std::size_t>(scenario.node_count());
  down_.resize(nodes, 0);
  silent_at_.resize(nodes, Instant::never());
  speaks_of_names_ = !scenario.requests.empty() || !scenario.profilings.empty() ||
                     std::any_of(scenario.faults.begin(),
                                 scenario.faults.end(),
                                 [](const scenarios::Fault& f) { return !f.job.empty(); });
  const auto list = [&](const auto& items, FutureKind kind) {
    for (std::uint32_t i = 0; i < items.size(); ++i) future_.push(items[i].at, kind, i);
    named_futures_ += static_cast<std::int64_t>(items.size());
  };
  for (std::uint32_t i = 0; i < scenario.faults.size(); ++i) {
    const scenarios::Fault& fault = scenario.faults[i];
    if (fault.after) {
      troubles_.emplace_back("this world does not model faults after events; one is left out");
      continue;
    }
    for (std::int32_t k = 0; k < fault.times; ++k)
      future_.push(fault.at + fault.every * k, FutureKind::Fault, i);
    named_futures_ += fault.times;
  }
  list(scenario.requests, FutureKind::Request);
  list(scenario.profilings, FutureKind::Profiling);
  for (std::size_t p = 0; p < scenario.fault_processes.size(); ++p)
    for (std::size_t n = 0; n < nodes; ++n)
      node_faults_.push_back(
          Random::stream(scenario.seed, "fault/" + std::to_string(p) + "/" + std::to_string(n)));
  for (std::size_t n = 0; n < nodes; ++n) next_random_fault(NodeId{static_cast<std::uint32_t>(n)});
  next_arrival();
}

bool ModelWorld::wait_events(Instant deadline, std::vector<Event>& events) {
  while (at_once_.empty()) {
    // Without jobs to come or to end, what else may happen to the nodes is of no interest.
    const bool idle = future_.empty() || !work_left();
    if (idle || future_.top().at > deadline) {
      if (!deadline.is_never()) now_ = std::max(now_, deadline);
      return !idle;
    }
    now_ = std::max(now_, future_.top().at);
    while (!future_.empty() && future_.top().at <= now_) happen(future_.pop());
  }
  std::move(at_once_.begin(), at_once_.end(), std::back_inserter(events));
  at_once_.clear();
  return true;
}

bool ModelWorld::work_left() const {
  if (next_.has_value() || named_futures_ > 0 || !placed_.empty()) return true;
  // Jobs that wait may yet get a node that is down.
  return over_ < submissions_ && nodes_down_ > 0;
}

void ModelWorld::issue(const Command& command) {
  std::visit([this](const auto& body) { order(body); }, command.body);
}

void ModelWorld::emit(Origin origin, EventBody body) { emit_at(origin, now_, std::move(body)); }

void ModelWorld::emit_at(Origin origin, Instant occurred_at, EventBody body) {
  at_once_.push_back({now_, occurred_at, origin, std::move(body)});
}

LiveJob* ModelWorld::live(JobId id) {
  return id.index() < jobs_.size() ? jobs_[id.index()].get() : nullptr;
}

ModelWorker* ModelWorld::find(LiveJob& job, Incarnation incarnation, Rank birth_rank) {
  for (ModelWorker& worker : job.workers)
    if (worker.incarnation == incarnation && worker.birth_rank == birth_rank) return &worker;
  return nullptr;
}

JobId ModelWorld::job_named(const std::string& name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? JobId::none() : found->second;
}

// Reports runs of workers that were born together with ranks one after the other as one event.
void ModelWorld::report(const LiveJob& job,
                        const std::vector<ModelWorker>& workers,
                        WorkerFact fact,
                        std::int32_t exit_code,
                        Instant occurred_at) {
  std::size_t begin = 0;
  while (begin < workers.size()) {
    const ModelWorker& first = workers[begin];
    std::size_t end = begin + 1;
    while (end < workers.size() && workers[end].incarnation == first.incarnation &&
           workers[end].born == first.born &&
           workers[end].birth_rank.value == first.birth_rank.value + (end - begin))
      ++end;
    emit_at(Origin::Reaction,
            occurred_at,
            WorkersChanged{job.id,
                           first.born,
                           first.incarnation,
                           fact,
                           first.birth_rank,
                           static_cast<std::uint32_t>(end - begin),
                           exit_code});
    begin = end;
  }
}

void ModelWorld::happen(const Future& future) {
  switch (future.kind) {
    case FutureKind::Arrival:
      return arrive();
    case FutureKind::Tick:
      return tick();
    case FutureKind::Fault:
      --named_futures_;
      return fault(scenario_.faults[future.subject]);
    case FutureKind::Request:
      --named_futures_;
      return request(scenario_.requests[future.subject]);
    case FutureKind::Profiling:
      --named_futures_;
      return profiling(scenario_.profilings[future.subject]);
    case FutureKind::NodeUp:
      return node_up(NodeId{future.subject});
    case FutureKind::NodeDown:
      return random_fault(NodeId{future.subject}, future.detail);
    case FutureKind::Silence:
      return notice_silence(NodeId{future.subject});
    case FutureKind::Complete:
    case FutureKind::Script:
    case FutureKind::Stopped:
    case FutureKind::Ready:
    case FutureKind::Refused:
      break;
  }
  LiveJob* job = live(JobId{future.subject});
  if (job == nullptr) return;
  if (future.kind == FutureKind::Complete) {
    if (future.stamp == job->stamp) complete(*job);
  } else if (future.kind == FutureKind::Script) {
    strike(*job, future);
  } else if (future.kind == FutureKind::Stopped) {
    stopped(*job, future);
  } else {
    come_up(*job, future);
  }
}

// --- submissions ---

void ModelWorld::next_arrival() {
  next_ = source_.next();
  if (next_) future_.push(next_->submit, FutureKind::Arrival, 0);
}

void ModelWorld::arrive() {
  emit(Origin::External, JobSubmitted{++submissions_, next_->spec});
  if (!next_->label.empty()) labels_[submissions_] = std::move(next_->label);
  unanswered_.push_back(std::move(*next_));
  next_arrival();
}

std::string ModelWorld::take_label(std::uint64_t request) {
  const auto found = labels_.find(request);
  if (found == labels_.end()) return {};
  std::string label = std::move(found->second);
  labels_.erase(found);
  return label;
}

void ModelWorld::order(const TellSubMaster&) {}

void ModelWorld::order(const RelaunchNodes&) {}

void ModelWorld::order(const AnswerRequest& order) {
  // Requests that scale or stop carry no id of ours; submissions are answered in order.
  if (order.request == 0 || unanswered_.empty()) return;
  ModelJob job = std::move(unanswered_.front());
  unanswered_.pop_front();
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
  if (speaks_of_names_) names_[job.spec->name] = order.job;
  fresh->job = std::move(job);
  jobs_[index] = std::move(fresh);
}

// --- workers ---

void ModelWorld::order(const StartWorkers& order) {
  LiveJob* job = live(order.job);
  if (job == nullptr) return;
  const bool nobody = job->workers.empty();
  job->generation = order.generation;
  Duration delay = job->job.ready_after.value_or(scenario_.timing.start);
  if (job->safe > 0 && !delay.is_forever()) delay += scenario_.timing.restore;
  if (nobody) {
    job->running = false;
    const auto at = std::lower_bound(placed_.begin(), placed_.end(), job->id);
    if (at == placed_.end() || *at != job->id) placed_.insert(at, job->id);
  }
  std::vector<ModelWorker> unreachable;
  Incarnation incarnation;
  for (const WorkerStart& start : order.workers) {
    if (find(*job, start.incarnation, start.rank) != nullptr) continue;  // A repeated command.
    ModelWorker worker{start.role,
                       start.local_rank,
                       start.node,
                       start.incarnation,
                       order.generation,
                       start.rank,
                       start.rank};
    worker.alive = down_[start.node.index()] == 0;
    incarnation = start.incarnation;
    job->workers.push_back(worker);
  }
  job->newest = std::max(job->newest, incarnation);
  job->world_size = static_cast<std::uint32_t>(std::count_if(
      job->workers.begin(), job->workers.end(), [](const ModelWorker& w) { return !w.stopping; }));
  if (scenario_.timing.mode == scenarios::TimingMode::Pollux) {
    place_pollux(*job);
    delay = Duration::zero();
  }
  if (!delay.is_forever())
    future_.push(now_ + delay, FutureKind::Ready, job->id.value, incarnation.value);
}

// Workers of one start are up, or are refused by their script.
void ModelWorld::come_up(LiveJob& job, const Future& future) {
  std::vector<ModelWorker> up;
  std::vector<ModelWorker> refused;
  for (ModelWorker& worker : job.workers) {
    if (worker.incarnation.value != future.stamp || worker.ready || !worker.alive ||
        worker.stopping)
      continue;
    if (is_refused(job, worker)) {
      refused.push_back(worker);
    } else {
      worker.ready = true;
      up.push_back(worker);
    }
  }
  report(job, up, WorkerFact::Ready, 0, now_);
  report(job, refused, WorkerFact::LaunchFailed, 1, now_);
  for (const ModelWorker& worker : refused) remove(job, worker);
  for (const ModelWorker& worker : up) schedule_scripts(job, worker);
  pace(job, true);
}

void ModelWorld::order(const UpdateMembership& order) {
  LiveJob* job = live(order.job);
  if (job == nullptr) return;
  settle_progress(*job);
  job->generation = order.generation;
  job->world_size = 0;
  if (job->running)
    job->paused_until = std::max(job->paused_until, now_ + scenario_.timing.rescale);
  for (const WorkerStart& member : order.members) {
    const Rank name = member.birth_rank.is_none() ? member.rank : member.birth_rank;
    ModelWorker* worker = find(*job, member.incarnation, name);
    if (worker != nullptr) {
      worker->rank = member.rank;
      worker->local_rank = member.local_rank;
    }
    // Who is not here is about to start, or has done its part and is not waited for.
    if (worker != nullptr || member.incarnation > job->newest) ++job->world_size;
  }
  pace(*job, true);
}

void ModelWorld::order(const StopWorkers& order) {
  LiveJob* job = live(order.job);
  if (job == nullptr) return;
  settle_progress(*job);
  std::uint32_t batch = 0;
  for (const WorkerStop& stop : order.workers)
    for (ModelWorker& worker : job->workers) {
      if (worker.stopping || worker.incarnation != stop.incarnation || worker.rank != stop.rank)
        continue;
      worker.stopping = true;
      ++batch;
      break;
    }
  // A stop with grace writes a checkpoint first.
  if (order.grace > Duration::zero()) job->safe = std::max(job->safe, job->done);
  const bool all = std::all_of(job->workers.begin(), job->workers.end(), [](const ModelWorker& w) {
    return w.stopping || !w.alive;
  });
  if (all) {
    job->running = false;
    ++job->stamp;
    tell_progress(*job, true);
  } else {
    pace(*job, true);
  }
  if (batch == 0) return;
  const Duration delay = scenario_.timing.mode == scenarios::TimingMode::Pollux
                             ? Duration::zero()
                             : std::min(scenario_.timing.stop, order.grace);
  if (delay == Duration::zero()) {
    stopped(*job, Future{});
  } else {
    future_.push(now_ + delay, FutureKind::Stopped, job->id.value);
  }
}

// Whoever was told to stop and lives on a node that is up has ended.
void ModelWorld::stopped(LiveJob& job, const Future&) {
  std::vector<ModelWorker> gone;
  for (const ModelWorker& worker : job.workers)
    if (worker.stopping && worker.alive) gone.push_back(worker);
  std::erase_if(job.workers, [](const ModelWorker& w) { return w.stopping && w.alive; });
  report(job, gone, WorkerFact::Exited, 143, now_);
  if (job.workers.empty()) unplace(job);
  drop_if_over(job);
}

void ModelWorld::order(const CleanJob& order) {
  LiveJob* job = live(order.job);
  if (job == nullptr) return;
  job->over = true;
  drop_if_over(*job);
}

void ModelWorld::remove(LiveJob& job, const ModelWorker& worker) {
  std::erase_if(job.workers, [&](const ModelWorker& w) {
    return w.incarnation == worker.incarnation && w.birth_rank == worker.birth_rank;
  });
  if (job.workers.empty()) unplace(job);
}

void ModelWorld::unplace(LiveJob& job) {
  const auto at = std::lower_bound(placed_.begin(), placed_.end(), job.id);
  if (at != placed_.end() && *at == job.id) placed_.erase(at);
  job.running = false;
  if (job.pollux) job.pollux->step(now_ - job.pollux->now());
  if (job.pollux && !job.pollux->placement().empty()) (void)job.pollux->reallocate({});
}

// Followers may outlive the job where its clean-pod policy keeps them; they end at once here.
void ModelWorld::drop_if_over(LiveJob& job) {
  if (!job.over) return;
  const auto count = [&](auto wanted) {
    return std::count_if(job.workers.begin(), job.workers.end(), wanted);
  };
  const bool all_gone = count([](const ModelWorker& w) { return w.alive; }) == 0;
  const bool some_stop = count([](const ModelWorker& w) { return w.alive && w.stopping; }) > 0;
  if (some_stop || (!all_gone && job.job.spec->clean_pods != CleanPodPolicy::None)) return;
  if (!all_gone) {
    const std::vector<ModelWorker> kept = job.workers;
    job.workers.clear();
    report(job, kept, WorkerFact::Exited, 0, now_);
  }
  unplace(job);
  ++over_;
  jobs_[job.id.index()].reset();
}

// --- what users and workers say ---

void ModelWorld::request(const scenarios::TimedRequest& request) {
  const JobId id = job_named(request.job);
  if (!request.scale) return emit(Origin::External, StopRequested{0, id});
  RoleIndex role;
  const LiveJob* job = id.is_none() ? nullptr : live(id);
  if (job != nullptr && !request.scale->role.empty())
    for (std::size_t r = 0; r < job->job.spec->roles.size(); ++r)
      if (job->job.spec->roles[r].name == request.scale->role)
        role = RoleIndex{static_cast<std::uint16_t>(r)};
  emit(Origin::External, ScaleRequested{0, id, role, request.scale->mode, request.scale->replicas});
}

void ModelWorld::profiling(const scenarios::TimedProfiling& profiling) {
  const JobId id = job_named(profiling.job);
  const LiveJob* job = id.is_none() ? nullptr : live(id);
  const Generation generation = job == nullptr ? Generation{} : job->generation;
  emit(Origin::External,
       ProfilingChanged{
           id, generation, Rank{static_cast<std::uint32_t>(profiling.rank)}, profiling.values});
}

}  // namespace orrery::sim
