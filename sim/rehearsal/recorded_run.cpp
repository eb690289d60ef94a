#include "sim/rehearsal/recorded_run.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/driver/replay.hpp"
#include "core/recovery/recovery.hpp"
#include "sim/model/live_job.hpp"
#include "sim/run/run_account.hpp"

namespace orrery::sim {
namespace {

/// A start of a worker that is under way, or lives.
struct OpenLife {
  Rank birth_rank;
  Incarnation incarnation;
  RoleIndex role;
  std::int32_t local_rank = 0;
  std::int32_t number = 0;  ///< Once it is ready: its own of WorkerLife.
  Instant ordered;
  Instant ready = Instant::never();
  bool awaits_hello = false;         ///< It is up by running.
  Instant asked = Instant::never();  ///< To stop.
};

/// What is followed of a live job beside what is kept of it.
struct JobFollow {
  std::size_t index = 0;  ///< In RecordedRun::jobs.
  std::vector<OpenLife> open;
  /// By role and index: lives that came up, or ended by themselves before.
  std::map<std::pair<std::uint16_t, std::int32_t>, std::int32_t> lives;
  Instant start_ordered = Instant::never();  ///< Of the last start.
  Incarnation starting;
  bool restores = false;  ///< The last start does: the job had worked when it was ordered.
  bool has_worked = false;
  std::int32_t first_size = 0;
  bool over = false;
};

/// The event as if the journal had begun at zero.
Event since_begin(const Event& event, Instant begin) {
  Event out = event;
  out.at = Instant{event.at.ns - begin.ns};
  out.occurred_at = Instant{std::max<std::int64_t>(0, event.occurred_at.ns - begin.ns)};
  if (auto* leaving = std::get_if<NodeLeaving>(&out.body))
    if (!leaving->until.is_never()) leaving->until = Instant{leaving->until.ns - begin.ns};
  return out;
}

bool is_waited_for(const JobState& job, const Worker& worker) {
  return job.spec->roles[worker.role.index()].master_of.is_none() &&
         worker.state != WorkerState::Succeeded;
}

// How many of the role have done their parts, where all have: then the others go on as before.
std::int32_t done_parts(const JobState& job, RoleIndex role) {
  std::int32_t done = 0;
  for (const Worker& worker : job.workers) {
    if (worker.role != role) continue;
    if (worker.state != WorkerState::Succeeded && !is_set_aside(job, worker)) return 0;
    ++done;
  }
  return done;
}

class RunReader {
 public:
  RunReader(const std::string& name, std::vector<RunListener*> listeners) : name_(name) {
    options_.listeners = std::move(listeners);
    account_.emplace(controller_.state(), options_, [](std::uint64_t) { return std::string(); });
  }

  bool take(Sequence at, const Event& recorded) {
    if (at == Sequence{1}) out_.begin = std::min(recorded.at, recorded.occurred_at);
    const Event event = since_begin(recorded, out_.begin);
    out_.end = event.at;
    out_.records = at.value;
    times_.push_back(event.at);
    before(event);
    commands_.clear();
    controller_.step(event, commands_);
    account_->on_event(at, event);
    if (!commands_.notices.empty()) account_->on_notices(commands_.notices, controller_.state());
    after(event);
    const Touched touched = controller_.take_touched();
    while (controller_.take_plan_request()) continue;
    note_all_members(touched, event);
    for (const Notice& notice : commands_.notices)
      if (notice.kind == NoticeKind::PhaseChanged && is_final(notice.to)) note_final(notice);
    return true;
  }

  RecordedRun close(std::uint64_t plans) {
    const State& state = controller_.state();
    out_.faults = faults_.close();
    out_.settings = state.settings;
    for (const auto& [id, follow] : live_)
      if (const JobState* job = state.find(id); job != nullptr && !follow.over) {
        out_.jobs[follow.index].phase = job->row.phase;
        out_.jobs[follow.index].reason = job->reason;
      }
    say_what_is_left_out();
    RunFacts facts;
    facts.scenario = name_;
    facts.policy = state.settings.policy;
    facts.world = "recorded";
    facts.seed = state.settings.seed;
    facts.end = state.now;
    facts.devices = state.ledger.devices_total();
    facts.events = out_.records;
    facts.state_digest = controller_.digest().to_hex();
    out_.summary = account_->metrics().summarise(facts);
    out_.summary.decisions = plans;
    account_->sum_up_fragments(state.now, facts.devices, out_.summary);
    out_.metrics = std::make_unique<Metrics>(std::move(account_->metrics()));
    return std::move(out_);
  }

 private:
  JobFollow* follow(JobId id) {
    const auto found = live_.find(id);
    return found == live_.end() ? nullptr : &found->second;
  }

  // --- what must be seen before the step changes it ---

  void before(const Event& event) {
    if (const auto* workers = std::get_if<WorkersChanged>(&event.body))
      return ends_of(*workers, event);
    if (const auto* returned = std::get_if<NodeReturned>(&event.body))
      return comes_back(*returned, event);
    if (const auto* silent = std::get_if<NodeSilent>(&event.body))
      return takes_stopping(*silent, event);
    next_ = controller_.state().next_job();
  }

  // Workers that still stop are lost with their node.
  void takes_stopping(const NodeSilent& silent, const Event& event) {
    for (const auto& [id, job] : live_) {
      const JobState* state = controller_.state().find(id);
      if (state == nullptr) continue;
      for (const OpenLife& life : job.open) {
        if (life.asked.is_never() || event.occurred_at <= life.asked) continue;
        const bool there = std::ranges::any_of(state->workers, [&](const Worker& worker) {
          return worker.node == silent.node && worker.incarnation == life.incarnation &&
                 worker.birth_rank == life.birth_rank;
        });
        if (there) out_.stopping_max = std::max(out_.stopping_max, event.occurred_at - life.asked);
      }
    }
  }

  static OpenLife* life_of(JobFollow& job, Incarnation incarnation, Rank birth_rank) {
    for (OpenLife& life : job.open)
      if (life.incarnation == incarnation && life.birth_rank == birth_rank) return &life;
    return nullptr;
  }

  void ends_of(const WorkersChanged& report, const Event& event) {
    JobFollow* job = follow(report.job);
    const JobState* state = controller_.state().find(report.job);
    if (job == nullptr) return;
    const bool up = report.fact == WorkerFact::Ready || report.fact == WorkerFact::Running;
    for (std::uint32_t i = 0; i < report.count; ++i) {
      const Rank rank{report.first.value + i};
      OpenLife* life = life_of(*job, report.incarnation, rank);
      if (life == nullptr) continue;
      if (up) {
        comes_up(*job, *life, report.fact, event.occurred_at);
        continue;
      }
      const Worker* worker =
          state == nullptr ? nullptr
                           : worker_named(*state, report.generation, report.incarnation, rank);
      note_end(*job, *life, report, worker, event);
      note_failed_start(*job, *life, event);
      job->open.erase(job->open.begin() + (life - job->open.data()));
    }
    if (!up) {
      if (job->over && job->open.empty()) live_.erase(report.job);
      return;
    }
    const bool all_up = std::ranges::all_of(job->open, [&](const OpenLife& life) {
      return life.incarnation != report.incarnation || !life.ready.is_never();
    });
    if (!all_up || job->starting != report.incarnation || job->start_ordered.is_never()) return;
    out_.jobs[job->index].starts.push_back(
        {std::max(Duration::zero(), event.occurred_at - job->start_ordered),
         job->restores,
         false,
         event.occurred_at});
    job->start_ordered = Instant::never();
  }

  void comes_up(JobFollow& job, OpenLife& life, WorkerFact fact, Instant at) {
    RecordedJob& record = out_.jobs[job.index];
    if (life.awaits_hello && fact == WorkerFact::Ready) {
      life.awaits_hello = false;
      record.hellos.push_back(std::max(Duration::zero(), at - life.ready));
    }
    if (!life.ready.is_never()) return;
    life.ready = at;
    life.number = job.lives[{life.role.value, life.local_rank}]++;
    life.awaits_hello = fact == WorkerFact::Running;
    record.is_up_by_running = record.is_up_by_running || life.awaits_hello;
  }

  // It ended by itself before it was up.
  void note_failed_start(JobFollow& job, const OpenLife& life, const Event& event) {
    if (!life.ready.is_never() || !life.asked.is_never() || job.start_ordered.is_never()) return;
    out_.jobs[job.index].starts.push_back(
        {std::max(Duration::zero(), event.occurred_at - life.ordered),
         job.restores,
         true,
         event.occurred_at});
  }

  // Workers that fail together: the first report makes the controller ask the others to stop, who
  // have ended by then. What a stop cannot bring about, at an instant at which no order can have
  // reached it, it did by itself.
  static bool ended_before_the_order(const OpenLife& life,
                                     const WorkersChanged& report,
                                     const Event& event) {
    const bool as_told =
        report.fact == WorkerFact::Exited &&
        (report.exit_code == 0 || report.exit_code == kAskedToStop || report.exit_code == kKilled);
    return event.occurred_at <= life.asked && !as_told;
  }

  // By itself, by order, or with its device?
  void note_end(JobFollow& job,
                const OpenLife& life,
                const WorkersChanged& report,
                const Worker* worker,
                const Event& event) {
    const bool asked = !life.asked.is_never();
    if (asked && !ended_before_the_order(life, report, event)) {
      if (report.fact == WorkerFact::Exited)
        out_.stops.push_back({report.job,
                              life.asked,
                              std::max(Duration::zero(), event.occurred_at - life.asked),
                              report.exit_code == kKilled});
      return;
    }
    if (worker == nullptr || !worker->is_alive()) return;
    if (faults_.took(worker->node, worker->devices)) return;
    // The node's own fault takes it again.
    if (report.fact == WorkerFact::Lost && faults_.is_down(worker->node)) return;
    const bool came_up = !life.ready.is_never();
    WorkerLife end{life.role, life.local_rank, life.number, came_up, report.fact};
    if (!came_up) end.number = job.lives[{life.role.value, life.local_rank}]++;
    end.exit_code = report.busy_port != 0 ? kPortInUse : report.exit_code;
    end.after =
        std::max(Duration::zero(), event.occurred_at - (came_up ? life.ready : life.ordered));
    end.diagnosis = *report.diagnosis;
    out_.jobs[job.index].ends.push_back({std::move(end), event.occurred_at});
  }

  // --- nodes ---

  void comes_back(const NodeReturned& returned, const Event& event) {
    if (faults_.returns(returned.node, event.at)) return;
    // It was away for less than its lease, and what ran there is gone.
    std::size_t lost = 0;
    for (auto& each : live_) {
      const JobId id = each.first;
      const JobState* state = controller_.state().find(id);
      if (state == nullptr) continue;
      for (const Worker& worker : state->workers) {
        if (worker.node != returned.node || !worker.is_alive() || worker.ordered > returned.seen)
          continue;
        const bool there = std::ranges::any_of(returned.workers, [&](const RunningWorker& said) {
          return said.job == id && said.incarnation == worker.incarnation;
        });
        lost += there ? 0 : 1;
      }
    }
    if (lost > 0) faults_.was_away(returned.node, event.at);
  }

  // --- what the step brought about ---

  void after(const Event& event) {
    std::visit([&](const auto& body) { outside(body, event); }, event.body);
    for (const CommandBody& order : commands_.orders) {
      if (const auto* start = std::get_if<StartWorkers>(&order)) starts(*start, event);
      if (const auto* stop = std::get_if<StopWorkers>(&order)) stops(*stop, event);
    }
  }

  template <class Body>
  void outside(const Body&, const Event&) {}

  void outside(const EpochStarted&, const Event&) { ++out_.epochs; }

  void outside(const NodesDeclared& body, const Event& event) {
    for (const NodeGroup& group : body.groups) model_of_group_[group.name] = group.device_model;
    out_.groups.insert(out_.groups.end(), body.groups.begin(), body.groups.end());
    if (out_.jobs.empty())
      out_.groups_at_begin = out_.groups.size();
    else
      out_.requests.push_back(event);
  }

  void outside(const QuotasDeclared& body, const Event& event) {
    if (out_.jobs.empty())
      out_.quotas = body.quotas;
    else
      out_.requests.push_back(event);
  }

  void outside(const JobSubmitted& body, const Event& event) {
    // A client that asked again was answered again.
    const bool accepted = controller_.state().next_job() != next_;
    if (!accepted && body.request != 0 && !asked_.insert(body.request).second) return;
    asked_.insert(body.request);
    RecordedJob& job = out_.jobs.emplace_back();
    job.spec = body.spec;
    job.user = body.user;
    job.submit = event.at;
    if (!accepted) return;
    job.id = next_;
    live_[next_].index = out_.jobs.size() - 1;
  }

  void outside(const ScaleRequested&, const Event& event) { out_.requests.push_back(event); }

  void outside(const StopRequested&, const Event& event) { out_.requests.push_back(event); }

  void outside(const DeleteRequested&, const Event& event) { out_.requests.push_back(event); }

  void outside(const JobChanged&, const Event& event) { out_.requests.push_back(event); }

  void outside(const ProfilingChanged&, const Event& event) { out_.requests.push_back(event); }

  void outside(const ExclusionRequested&, const Event& event) { out_.requests.push_back(event); }

  void outside(const NodeLeaving&, const Event& event) { out_.requests.push_back(event); }

  void outside(const NodeHeld&, const Event& event) { out_.requests.push_back(event); }

  void outside(const NodeSilent& body, const Event& event) {
    faults_.falls_silent(body.node, event.occurred_at);
  }

  void outside(const DevicesLost& body, const Event& event) {
    if (!faults_.loses(body, event.at))
      out_.requests.push_back({event.at, event.at, Origin::External, body});
  }

  void outside(const WorkerSuspected&, const Event&) { ++suspicions_; }

  void outside(const NodesRelaunched& body, const Event&) { relaunched_ += body.replaced.size(); }

  void outside(const PlanLost&, const Event&) { ++plans_lost_; }

  void outside(const PlanProposed& body, const Event& event) {
    if (body.view.value >= 1 && body.view.value <= times_.size())
      out_.plan_delays.push_back(event.at - times_[body.view.value - 1]);
  }

  void outside(const ProgressReported& body, const Event& event) {
    JobFollow* job = follow(body.job);
    if (job == nullptr || job->over) return;
    WorkFact fact = members_of(body.job, event.occurred_at);
    fact.kind = WorkFact::Kind::Report;
    fact.done = body.done;
    fact.rate = body.rate;
    fact.remaining = body.remaining;
    fact.source = body.source;
    fact.checkpointed = body.checkpointed;
    fact.device_model = device_model_of(body.job);
    if (body.done > 0) job->has_worked = true;
    out_.jobs[job->index].facts.push_back(fact);
  }

  // Whether something of the job was up until then, and for some time.
  bool works_until(const JobFollow& job, Instant at) const {
    const std::vector<WorkFact>& facts = out_.jobs[job.index].facts;
    return !facts.empty() && facts.back().any_ready && at > facts.back().at;
  }

  void starts(const StartWorkers& order, const Event& event) {
    JobFollow* job = follow(order.job);
    if (job == nullptr) return;
    // Workers of one start come up one by one: those that are up first do not make it another one.
    if (!order.workers.empty() && order.workers.front().incarnation != job->starting)
      job->restores = job->has_worked || works_until(*job, event.at);
    for (const WorkerStart& start : order.workers) {
      job->starting = start.incarnation;
      // What a silent node did not hear is told again as it returns: the start begins then.
      if (OpenLife* known = life_of(*job, start.incarnation, start.rank)) {
        if (known->ready.is_never()) known->ordered = event.at;
        continue;
      }
      OpenLife life;
      life.birth_rank = start.rank;
      life.incarnation = start.incarnation;
      life.role = start.role;
      life.local_rank = start.local_rank;
      life.ordered = event.at;
      job->open.push_back(life);
    }
    job->start_ordered = event.at;
    out_.jobs[job->index].was_started = true;
  }

  void stops(const StopWorkers& order, const Event& event) {
    JobFollow* job = follow(order.job);
    if (job == nullptr) return;
    for (const WorkerStop& stop : order.workers)
      for (OpenLife& life : job->open)
        if (life.incarnation == stop.incarnation &&
            (stop.birth_rank.is_none() || life.birth_rank == stop.birth_rank) &&
            life.asked.is_never())
          life.asked = event.at;
  }

  /// The model of the devices of all nodes where the job's workers are ready; empty: of none, or of
  /// several.
  std::string device_model_of(JobId id) const {
    const JobState* job = controller_.state().find(id);
    const std::string* out = nullptr;
    if (job == nullptr) return {};
    for (const Worker& worker : job->workers) {
      if (worker.state != WorkerState::Ready || worker.devices == 0) continue;
      const auto model = model_of_group_.find(controller_.state().nodes[worker.node.index()].group);
      if (model == model_of_group_.end() || (out != nullptr && *out != model->second)) return {};
      out = &model->second;
    }
    return out == nullptr ? std::string() : *out;
  }

  WorkFact members_of(JobId id, Instant at) const {
    WorkFact fact;
    fact.at = at;
    const JobState* job = controller_.state().find(id);
    if (job == nullptr) return fact;
    const RoleIndex elastic = elastic_role(*job->spec);
    std::size_t waited_for = 0;
    std::size_t ready = 0;
    for (const Worker& worker : job->workers) {
      if (!is_waited_for(*job, worker)) continue;
      ++waited_for;
      // Nothing is known of those on a silent node, which does not work on.
      if (worker.state != WorkerState::Ready ||
          controller_.state().nodes[worker.node.index()].silent)
        continue;
      ++ready;
      fact.replicas += worker.role == elastic ? 1 : 0;
    }
    fact.any_ready = ready > 0;
    fact.whole = ready > 0 && ready == waited_for;
    if (ready > 0 && fact.replicas == 0) fact.replicas = done_parts(*job, elastic);
    fact.generation = job->row.generation;
    return fact;
  }

  // The jobs that a step touched are those that policies may see otherwise; workers may have
  // changed in others as well.
  void note_all_members(const Touched& touched, const Event& event) {
    if (const auto* workers = std::get_if<WorkersChanged>(&event.body))
      note_members(workers->job, event);
    for (const CommandBody& order : commands_.orders) {
      if (const auto* stop = std::get_if<StopWorkers>(&order)) note_members(stop->job, event);
      if (const auto* told = std::get_if<UpdateMembership>(&order)) note_members(told->job, event);
    }
    for (const JobId id : touched.jobs) note_members(id, event);
  }

  void note_members(JobId id, const Event& event) {
    JobFollow* job = follow(id);
    if (job == nullptr || job->over) return;
    RecordedJob& record = out_.jobs[job->index];
    // Silence is noticed when a lease has run out, and was there before.
    const bool of_world = std::holds_alternative<WorkersChanged>(event.body) ||
                          std::holds_alternative<NodeSilent>(event.body);
    WorkFact now = members_of(id, of_world ? event.occurred_at : event.at);
    if (!record.facts.empty()) now.at = std::max(now.at, record.facts.back().at);
    if (now.whole && job->first_size == 0) job->first_size = now.replicas;
    if (now.whole && now.replicas != job->first_size) record.policy_sized = true;
    if (!record.facts.empty()) {
      const WorkFact& last = record.facts.back();
      if (last.kind == WorkFact::Kind::End) return;
      if (last.replicas == now.replicas && last.any_ready == now.any_ready &&
          last.whole == now.whole && last.generation == now.generation)
        return;
      job->has_worked = job->has_worked || works_until(*job, now.at);
      // The controller changed the membership when it noticed.
      if (std::holds_alternative<NodeSilent>(event.body) && last.generation != now.generation &&
          event.at > now.at) {
        WorkFact before = now;
        before.generation = last.generation;
        record.facts.push_back(before);
        now.at = event.at;
      }
    } else if (!now.any_ready) {
      return;
    }
    record.facts.push_back(now);
  }

  // A job that fails once all others have done their parts has no more work than they did.
  static bool ended_well(const RecordedJob& record, Instant at) {
    if (record.ends.empty() || record.ends.back().at != at) return false;
    return std::ranges::all_of(
        record.ends, [&](const RecordedEnd& end) { return end.at != at || is_well(end.life); });
  }

  void note_final(const Notice& notice) {
    JobFollow* job = follow(notice.job);
    if (job == nullptr) return;
    RecordedJob& record = out_.jobs[job->index];
    record.phase = notice.to;
    record.reason = notice.reason;
    record.finished = notice.occurred_at;
    if (notice.to == JobPhase::Succeeded || ended_well(record, notice.occurred_at)) {
      WorkFact end;
      end.kind = WorkFact::Kind::End;
      end.at = notice.occurred_at;
      // What happened to its workers in the step that ended it is no change of its members.
      while (!record.facts.empty() && record.facts.back().at >= end.at &&
             record.facts.back().kind == WorkFact::Kind::Members && !record.facts.back().any_ready)
        record.facts.pop_back();
      record.facts.push_back(end);
    }
    job->over = true;
    if (job->open.empty()) live_.erase(notice.job);
  }

  void say_what_is_left_out() {
    const auto say = [&](std::uint64_t count, const std::string& what) {
      if (count > 0) out_.left_out.push_back(std::to_string(count) + " " + what);
    };
    say(out_.epochs > 1 ? out_.epochs - 1 : 0,
        "takeovers by another leader are not repeated: one leader decides throughout");
    say(suspicions_,
        "suspicions of workers that hang or lag are not repeated; what their jobs lost by them is "
        "in the rates that were observed");
    say(relaunched_, "replacements of nodes are not repeated: nodes come back when they did");
    say(plans_lost_, "plans that were lost are not lost again");
  }

  std::string name_;
  RunOptions options_;
  Controller controller_;
  std::optional<RunAccount> account_;
  Commands commands_;
  RecordedRun out_;
  JobId next_;
  std::map<JobId, JobFollow> live_;
  RecordedFaults faults_;
  std::set<std::uint64_t> asked_;
  std::map<std::string, std::string> model_of_group_;  ///< Device models by node group.
  std::vector<Instant> times_;  ///< [sequence - 1]: when each record was observed.
  std::uint64_t suspicions_ = 0;
  std::uint64_t relaunched_ = 0;
  std::uint64_t plans_lost_ = 0;
};

}  // namespace

Result<RecordedRun> read_recorded_run(StateStore& store,
                                      const std::string& name,
                                      std::vector<RunListener*> listeners) {
  RunReader reader(name, std::move(listeners));
  std::uint64_t plans = 0;
  const auto read = read_journal(store, Sequence{1}, {}, [&](Sequence at, const Event& event) {
    if (std::holds_alternative<PlanProposed>(event.body)) ++plans;
    return reader.take(at, event);
  });
  if (!read) return read.errors();
  return reader.close(plans);
}

}  // namespace orrery::sim
