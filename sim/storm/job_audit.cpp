// The part of the audit of a state that looks at one job.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <string_view>

#include "sim/storm/cluster_audit.hpp"

namespace orrery::sim {
namespace {

// As docs/scenario_format.md has them.
constexpr std::size_t kFailuresMax = 3;
constexpr std::size_t kProfilingKeysMax = 64;
constexpr std::size_t kSamplesMax = 16;

bool is_seated_somewhere(const JobSpec& spec) {
  return std::any_of(
      spec.roles.begin(), spec.roles.end(), [](const RoleSpec& role) { return role.is_seated(); });
}

class JobAudit {
 public:
  JobAudit(const State& state, const JobState& job) : state_(state), job_(job) {}

  std::vector<std::string> wrong() {
    workers();
    change();
    allocation();
    bounds();
    kept();
    rate();
    if (state_.settings.rules >= 3) timers();
    return std::move(wrong_);
  }

 private:
  void say(std::string_view what) { wrong_.push_back(job_.spec->name + ": " + std::string(what)); }

  // Called often, and nearly always they are the same: no text is made for that.
  template <class T>
  void same(std::string_view what, T is, T follows) {
    if (is == follows) return;
    say(std::string(what) + " is " + std::to_string(is) + ", " + std::to_string(follows) +
        " follows");
  }

  std::uint32_t in_state(WorkerState wanted) const {
    return static_cast<std::uint32_t>(
        std::count_if(job_.workers.begin(), job_.workers.end(), [&](const Worker& worker) {
          return worker.state == wanted;
        }));
  }

  bool is_changing() const { return job_.after_drain != AfterDrain::Nothing; }

  void workers() {
    same("the number of ready workers", job_.ready, in_state(WorkerState::Ready));
    same("the number of draining workers", job_.draining, in_state(WorkerState::Draining));
    std::vector<std::int32_t> next(job_.role_count(), 0);
    for (const Worker& worker : job_.workers) {
      if (worker.is_alive() && !is_changing() && worker.lease.is_none() &&
          !is_final(job_.row.phase))
        say("a living worker has no lease");
      const bool done =
          worker.state == WorkerState::Succeeded || worker.state == WorkerState::Stopped;
      if ((done || (is_final(job_.row.phase) && worker.is_gone())) && !worker.lease.is_none())
        say("a worker that has ended keeps its lease");
      if (worker.incarnation > job_.incarnation || worker.born > job_.row.generation ||
          worker.placed > job_.row.generation)
        say("a worker is of a start that has not been");
      if (worker.local_rank != next[worker.role.index()]++)
        say("the workers of a role are not numbered through");
      if (worker.state == WorkerState::Claimed) say("a worker has its place and was not started");
      // An order to start tells the place of then, and may still be under way.
      if (worker.state == WorkerState::Starting && state_.settings.rules >= 1 &&
          worker.birth_rank.index() != static_cast<std::size_t>(&worker - job_.workers.data()))
        say("a worker that has not come up is in another place than it was started in");
    }
    if (job_.row.phase == JobPhase::Pending && !is_changing() && !job_.workers.empty())
      say("it waits and has workers");
    if (job_.row.phase == JobPhase::Running && job_.ready == 0 && job_.draining == 0)
      say("it runs without a worker that is ready");
  }

  void change() {
    if (job_.next.size() != job_.next_from.size()) say("its next membership is broken");
    const bool next_expected = job_.after_drain == AfterDrain::Start;
    if (next_expected == job_.next.empty()) say("its next membership and what comes next differ");
    std::uint32_t blocked = 0;
    std::vector<std::int32_t> numbers(job_.role_count(), 0);
    for (std::size_t i = 0; i < job_.next.size(); ++i) {
      const Worker& worker = job_.next[i];
      if (job_.next_from[i] == UINT32_MAX) {
        if (state_.ledger.lease(worker.lease).stage == LeaseStage::Claimed) ++blocked;
      } else if (job_.next_from[i] >= job_.workers.size()) {
        return say("its next membership names a rank that is none");
      } else {
        const Worker& stays = job_.workers[job_.next_from[i]];
        if (stays.node != worker.node || stays.role != worker.role ||
            stays.birth_rank != worker.birth_rank || stays.incarnation != worker.incarnation)
          say("its next membership has a worker that stays as another");
      }
      if (worker.local_rank != numbers[worker.role.index()]++)
        say("its next workers of a role are not numbered through");
    }
    same("the number of places that it waits for", job_.blocked, blocked);
    const JobPhase phase = job_.row.phase;
    const bool may_change = phase == JobPhase::Pending || phase == JobPhase::Rescheduling ||
                            phase == JobPhase::Restarting;
    if (is_changing() && !may_change) say("its membership changes while it does something else");
  }

  // What it holds, by the membership to come where there is one.
  void allocation() {
    const JobRow& row = job_.row;
    if (row.elastic.is_none()) return;
    const std::vector<Worker>& members =
        job_.after_drain == AfterDrain::Start ? job_.next : job_.workers;
    if (is_final(row.phase)) {
      same("devices held", row.devices_held, 0);
      same("replicas", row.replicas, 0);
      if (row.holds || !job_.elastic_nodes.empty()) say("it is over and holds something");
      return;
    }
    // What goes back to the queue holds its places until its workers have ended.
    if (job_.after_drain == AfterDrain::Wait) return;
    std::int32_t devices = 0;
    std::vector<std::int32_t> counts(job_.role_count(), 0);
    for (const Worker& worker : members) {
      devices += job_.spec->roles[worker.role.index()].bundle.devices;
      ++counts[worker.role.index()];
    }
    std::vector<std::int32_t> on_nodes(state_.nodes.size(), 0);
    for (const Worker& worker : members)
      if (worker.role == row.elastic) ++on_nodes[worker.node.index()];
    const auto elastic = row.elastic.index();
    same("replicas", row.replicas, counts[elastic]);
    same("devices held",
         row.devices_held,
         is_seated_somewhere(*job_.spec) ? devices_of(members) : devices);
    if (row.holds != !members.empty()) say("whether it holds something is not so");
    std::size_t nodes = 0;
    for (const std::int32_t count : on_nodes) nodes += count > 0 ? 1 : 0;
    same("the number of its nodes", job_.elastic_nodes.size(), nodes);
    NodeId before;
    for (const NodeCount& at : job_.elastic_nodes) {
      if (!before.is_none() && at.node <= before) say("its nodes are not in order");
      before = at.node;
      same("replicas on a node",
           at.replicas,
           at.node.index() < on_nodes.size() ? on_nodes[at.node.index()] : 0);
    }
  }

  // Those of the roles that sit where they say count once, whoever takes turns on them.
  std::int32_t devices_of(const std::vector<Worker>& members) const {
    std::int32_t devices = 0;
    std::map<NodeId, std::uint64_t> seats;
    for (const Worker& worker : members) {
      const RoleSpec& role = job_.spec->roles[worker.role.index()];
      if (role.is_seated())
        seats[worker.node] |= worker.devices;
      else
        devices += role.bundle.devices;
    }
    for (const auto& [node, mask] : seats) devices += std::popcount(mask);
    return devices;
  }

  void bounds() {
    const JobRow& row = job_.row;
    if (row.elastic.is_none() || is_final(row.phase)) return;
    const RoleSpec& role = job_.spec->roles[row.elastic.index()];
    const std::int32_t asked =
        row.elastic.index() < job_.targets->size() ? (*job_.targets)[row.elastic.index()] : 0;
    const bool sized = row.preemptible && !job_.sized_by_user;
    same("the least number of replicas",
         row.min_replicas,
         sized || asked == 0 ? role.min_replicas : asked);
    same("the largest number of replicas",
         row.max_replicas,
         asked > 0 ? asked : (sized ? role.max_replicas : role.min_replicas));
    if (is_seated_somewhere(*job_.spec)) return;
    std::int32_t devices = 0;
    std::int64_t thousandths = 0;
    for (std::size_t r = 0; r < job_.role_count(); ++r) {
      if (r == row.elastic.index()) continue;
      const RoleSpec& other = job_.spec->roles[r];
      const std::int32_t set = r < job_.targets->size() ? (*job_.targets)[r] : 0;
      const std::int32_t count = set > 0 ? set : other.min_replicas;
      devices += count * other.bundle.devices;
      thousandths += count * other.bundle.thousandths();
    }
    same("devices of its other roles", row.rest_devices, devices);
    same("thousandths of its other roles", row.rest_thousandths, thousandths);
  }

  // Nothing grows without an end.
  void kept() {
    if (job_.failures->size() > kFailuresMax) say("more failures are kept than are told");
    for (std::size_t i = 0; i + 1 < job_.failures->size(); ++i)
      if (!(*job_.failures)[i].last_lines.empty()) say("an older failure keeps its last lines");
    if (job_.profilings->size() > kProfilingKeysMax) say("too many keys of profilings are kept");
    for (const ProfilingSeries& series : *job_.profilings)
      if (series.samples.size() > std::max(kSamplesMax, job_.workers.size()) &&
          job_.row.phase == JobPhase::Running && series.samples.back().at == state_.now)
        say("too many samples of a profiling are kept");
    for (std::size_t i = 0; i < job_.failover->replicas.size(); ++i)
      for (std::size_t k = 0; k < i; ++k)
        if (job_.failover->replicas[i].role == job_.failover->replicas[k].role &&
            job_.failover->replicas[i].local_rank == job_.failover->replicas[k].local_rank)
          say("the failures of a replica are counted in two places");
    for (const ReplicaRecord& record : job_.failover->replicas)
      if (record.node_failures > record.failures)
        say("a replica has failed more often on its node than in all");
    if (is_final(job_.row.phase) &&
        (job_.failover->led != LedRecovery::None || !job_.failover->relaunching.empty()))
      say("it is over and waits for an answer");
  }

  // What was measured: the mean of what the ranks of this generation said last, those of the
  // elastic role alone where one of them has.
  void rate() {
    const ProgressView& progress = job_.row.progress;
    // Its workers may be others later.
    if (progress.source != EstimateSource::Measured || progress.as_of != state_.now ||
        state_.settings.rules < 1)
      return;
    const ProfilingSeries* series = nullptr;
    for (const ProfilingSeries& each : *job_.profilings)
      if (each.key == "throughput") series = &each;
    if (series == nullptr) return say("its rate was measured, and no throughput was told");
    std::map<Rank, double> latest;
    for (const ProfilingSample& sample : series->samples)
      if (sample.generation == job_.row.generation) latest[sample.rank] = sample.value;
    if (latest.empty()) return;
    const auto is_elastic = [&](Rank rank) {
      return rank.index() < job_.workers.size() &&
             job_.workers[rank.index()].role == job_.row.elastic;
    };
    const bool any = std::any_of(
        latest.begin(), latest.end(), [&](const auto& each) { return is_elastic(each.first); });
    double sum = 0;
    double count = 0;
    for (const auto& [rank, value] : latest) {
      if (any && !is_elastic(rank)) continue;
      sum += value;
      count += 1;
    }
    if (std::abs(progress.rate - sum / count) > 1e-9 * std::max(1.0, sum))
      say("its measured rate is not the mean of what its workers said");
  }

  bool is_set(TimerKind kind) const { return job_.timers.is_set(kind); }

  void has(TimerKind kind, bool needed) {
    if (is_set(kind) != needed)
      say("its timer " + std::string(EnumNames<TimerKind>::kNames[static_cast<std::size_t>(kind)]) +
          (needed ? " is not set" : " is set"));
  }

  static Instant after(Instant from, Duration time) {
    return time.is_forever() || from.is_never() ? Instant::never() : from + time;
  }

  void timers() {
    const JobPhase phase = job_.row.phase;
    const bool led = job_.failover->led != LedRecovery::None;
    const bool strict = job_.spec->failover->mode == RecoveryMode::Strict;
    has(TimerKind::Sole, false);
    has(TimerKind::Drain, job_.draining > 0);
    if (job_.draining == 0) has(TimerKind::Kill, false);
    if (!is_set(TimerKind::Drain) || phase == JobPhase::Unknown) {
    } else if (job_.timers.at(TimerKind::Drain) >
               state_.now + std::max(job_.spec->drain_grace, state_.settings.preemption_grace) +
                   state_.settings.node_lease) {
      say("its workers have longer to stop than their grace and a lease");
    }
    if (is_final(phase)) {
      for (const TimerKind kind : {TimerKind::Run,
                                   TimerKind::Backoff,
                                   TimerKind::Lists,
                                   TimerKind::Answer,
                                   TimerKind::Start,
                                   TimerKind::Wait,
                                   TimerKind::Contact,
                                   TimerKind::Change})
        has(kind, false);
      return;
    }
    if (job_.timers.at(TimerKind::Run) != after(job_.started_at, job_.spec->run_deadline))
      say("its run_deadline is not from its first start on");
    has(TimerKind::Contact, phase == JobPhase::Unknown);
    Instant since = Instant::never();
    for (const Condition& condition : job_.conditions)
      if (condition.phase == phase && condition.status) since = condition.since;
    const Instant waits =
        phase == JobPhase::Pending ? after(since, job_.spec->wait_deadline) : Instant::never();
    if (job_.timers.at(TimerKind::Wait) != waits) say("its wait_deadline is not from its wait on");
    // Where a sub-master was awaited it may count from its word on. Rules 3 forgot it then.
    const bool counts = state_.settings.rules >= 4;
    const Instant starts = job_.timers.at(TimerKind::Start);
    if (counts && phase == JobPhase::Starting && !strict && !led &&
        (starts < after(since, job_.spec->start_deadline) ||
         starts > after(state_.now, job_.spec->start_deadline)))
      say("its start_deadline is not from its start on");
    const bool may_start = phase == JobPhase::Starting || strict;
    if (!may_start) has(TimerKind::Start, false);
    if (counts && phase == JobPhase::Starting && !is_set(TimerKind::Start) &&
        !is_set(TimerKind::Answer) && !job_.spec->start_deadline.is_forever())
      say("nothing ends its start");
    const bool asks = phase == JobPhase::Restarting && !is_changing();
    if (asks && job_.draining == 0 && !is_set(TimerKind::Answer))
      say("it waits for an answer without an end");
    if (!led && job_.failover->relaunching.empty()) has(TimerKind::Answer, false);
    const bool is_change = phase == JobPhase::Rescheduling || phase == JobPhase::Restarting;
    if (!is_change) has(TimerKind::Change, false);
    if (!is_changing() || job_.draining > 0) return;
    if (job_.blocked > 0 && phase != JobPhase::Pending)
      has(TimerKind::Change, true);
    else if (job_.blocked == 0 && !is_set(TimerKind::Lists) && !is_set(TimerKind::Backoff))
      say("nothing ends its wait for lists or its backoff");
  }

  const State& state_;
  const JobState& job_;
  std::vector<std::string> wrong_;
};

}  // namespace

std::vector<std::string> false_in_job(const State& state, const JobState& job) {
  return JobAudit(state, job).wrong();
}

}  // namespace orrery::sim
