// Random histories: a seeded world full of trouble around one controller.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/random.hpp"
#include "core/control/controller.hpp"
#include "core/control/job_changes.hpp"
#include "core/record/codec.hpp"
#include "core/record/record_text.hpp"
#include "tests/support/fake_cluster.hpp"
#include "tests/support/job_builders.hpp"
#include "tests/support/seated_jobs.hpp"
#include "tests/support/state_checker.hpp"

namespace orrery::tests {

struct HistoryOptions {
  std::uint64_t seed = 0;
  int turns = 2000;
  bool adversarial =
      false;            ///< Reports that no honest world would make, repeated events, odd plans.
  bool seated = false;  ///< Jobs with placements, roles that take turns, virtual clusters.
};

/// One history. Orders reach the cluster late, reports reach the controller late, both in order;
/// leaders change and take undelivered orders with them.
class History {
 public:
  explicit History(const HistoryOptions& options)
      : options_(options), random_(Random::stream(options.seed, "history")) {
    cluster_.exclusive = !options.adversarial;
  }

  /// The random part, then peace: all nodes come back, everybody does as told and ends well.
  void run() {
    live_through();
    if (failed()) explain();
  }

  /// Prints the seed and the last records.
  void explain() const {
    std::string text = "seed " + std::to_string(options_.seed) + ", last records:\n";
    const std::size_t first = journal_.size() < 90 ? 0 : journal_.size() - 90;
    for (std::size_t i = first; i < journal_.size(); ++i) {
      ByteReader in(journal_[i]);
      Event event;
      if (decode(in, kRecordVersion, event)) text += event_json(i + 1, event) + "\n";
    }
    std::fputs(text.c_str(), stderr);
  }

 private:
  void live_through() {
    begin();
    for (int turn = 0; turn < options_.turns && !failed(); ++turn) {
      trouble();
      if (options_.adversarial && random_.chance(0.2)) lie();
    }
    if (!options_.adversarial && !failed()) make_peace();
    if (!failed()) check_replay();
  }

  static constexpr std::uint32_t kNodes = 6;

  static bool failed() { return testing::Test::HasFailure(); }

  void begin() {
    Settings settings;
    settings.retain_finished = Duration::seconds(random_.between(0, 100));
    settings.retain_finished_max = static_cast<std::int32_t>(random_.between(0, 10));
    settings.takeover_grace = Duration::seconds(20);
    if (random_.chance(0.5)) settings.plan_period = Duration::seconds(30);
    settings.plan_on_submission = random_.chance(0.3);
    settings_ = settings;
    step(EpochStarted{Epoch{1}, settings});
    step(NodesDeclared{{nodes_of(4, 4), nodes_of(2, 2)}});
    if (random_.chance(0.5)) step(random_quotas());
  }

  // --- steps ---

  void step(EventBody body) {
    const Instant at = now_;
    const Duration lag{random_.chance(0.8) ? 0 : random_.between(0, 1'000'000'000)};
    step(Event{at, at - lag, Origin::External, std::move(body)});
  }

  void step(const Event& event) {
    ByteWriter bytes;
    encode(event, bytes);
    journal_.emplace_back(bytes.text());
    commands_.clear();
    controller_.step(event, commands_);
    if (twin_) compare_twin(event);
    checker_.check(controller_.state(), commands_.notices);
    if (journal_.size() % 100 == 0) digests_.push_back(controller_.digest());
    if (journal_.size() % 97 == 0) save_and_load();
    if (options_.adversarial && random_.chance(0.1)) past_.push_back(event);
    for (CommandBody& order : commands_.orders) orders_.push_back(std::move(order));
  }

  // A state that went through bytes goes on like the one that did not.
  void save_and_load() {
    const std::string saved = bytes_of(controller_.state());
    twin_ = std::make_unique<Controller>();
    ByteReader in(saved);
    ASSERT_TRUE(twin_->load(in, kRecordVersion));
    EXPECT_TRUE(in.finished());
    EXPECT_TRUE(bytes_of(twin_->state()) == saved);
  }

  void compare_twin(const Event& event) {
    Commands same;
    twin_->step(event, same);
    EXPECT_TRUE(bytes_of(same) == bytes_of(commands_)) << "a loaded state decides alike";
    EXPECT_EQ(twin_->next_deadline(), controller_.next_deadline());
    if (journal_.size() % 97 == 96) {
      EXPECT_TRUE(bytes_of(twin_->state()) == bytes_of(controller_.state()));
    }
  }

  void check_replay() {
    Controller again;
    Commands ignored;
    for (std::size_t i = 0; i < journal_.size(); ++i) {
      ByteReader in(journal_[i]);
      Event event;
      ASSERT_TRUE(decode(in, kRecordVersion, event) && in.finished());
      ignored.clear();
      again.step(event, ignored);
      if ((i + 1) % 100 == 0) {
        ASSERT_EQ(again.digest(), digests_[i / 100]) << "record " << i + 1;
      }
    }
    EXPECT_EQ(again.digest(), controller_.digest());
  }

  // --- what happens ---

  void trouble() {
    const double dice = random_.uniform();
    if (dice < 0.08)
      submit();
    else if (dice < 0.16)
      pass_time(Duration{random_.between(0, 5'000'000'000)});
    else if (dice < 0.36)
      deliver_order();
    else if (dice < 0.56)
      deliver_report();
    else if (dice < 0.72)
      live();
    else if (dice < 0.92)
      plan();
    else if (dice < 0.94)
      strike();
    else if (dice < 0.965)
      node_trouble();
    else if (dice < 0.985)
      ask();
    else if (dice < 0.988)
      take_over();
    else if (dice < 0.991)
      step(random_quotas());
    else
      measure();
  }

  void submit() {
    if (controller_.state().live_count() > 12) return;
    JobBuilder b = job("j" + std::to_string(random_.below(30)));
    b.devices(random_.chance(0.1) ? 0 : static_cast<std::int32_t>(random_.between(1, 3)));
    if (random_.chance(0.2)) b.devices(1).share(random_.chance(0.5) ? 500 : 300);
    const auto min = static_cast<std::int32_t>(random_.between(1, 4));
    if (random_.chance(0.6)) {
      b.elastic(min, min + static_cast<std::int32_t>(random_.between(0, 4)));
    } else {
      b.replicas(min);
    }
    if (random_.chance(0.3)) b.role("second", static_cast<std::int32_t>(random_.between(1, 3)));
    if (random_.chance(0.3))
      b.follower("follower", static_cast<std::int32_t>(random_.between(1, 2)));
    b.recovery(static_cast<RecoveryScope>(random_.below(3)));
    b.rescale(static_cast<RescaleMode>(random_.below(3)));
    b.clean(static_cast<CleanPodPolicy>(random_.below(3)));
    b.priority(random_.chance(0.2) ? 100 : 0);
    b.limit(static_cast<std::int32_t>(random_.between(0, 4)));
    if (random_.chance(0.2)) b.family(JobFamily::Group);
    b.raw().parallel_workers = 1 + min % 3;  // With it the number of ports.
    if (random_.chance(0.3)) b.no_unknown();
    if (random_.chance(0.5)) b.group("g" + std::to_string(random_.below(2)));
    if (options_.seated && random_.chance(0.7)) take_seats(random_, b);
    if (random_.chance(0.03)) b.replicas(50);         // Can never fit.
    if (random_.chance(0.03)) b.raw().roles.clear();  // Is no specification.
    if (random_.chance(0.1) && !b.raw().roles.empty())
      b.raw().roles.front().bundle.cpu = MilliCpu{40000};
    b.raw().start_deadline = Duration::seconds(random_.between(5, 60));
    b.raw().unknown_deadline =
        b.raw().unknown_deadline == Duration::zero() ? Duration::zero() : Duration::seconds(20);
    b.raw().drain_grace = Duration::seconds(random_.between(0, 10));
    step(JobSubmitted{++requests_, std::make_shared<JobSpec>(b.spec())});
  }

  void pass_time(Duration d) {
    // Nodes that are up register within the grace of a new leader, or they would be fenced.
    if (std::exchange(registering_, false))
      while (!reports_.empty()) deliver_report();
    const Instant until = now_ + d;
    while (!failed()) {
      const Instant deadline = controller_.next_deadline();
      if (deadline > until) break;
      now_ = std::max(now_, deadline);
      step(TimeReached{});
    }
    now_ = until;
    if (random_.chance(0.1)) step(TimeReached{});
  }

  void deliver_order() {
    if (orders_.empty()) return;
    const CommandBody order = std::move(orders_.front());
    orders_.pop_front();
    // Until a node has registered again, it gets no order.
    const auto reached = [&](auto copy) {
      std::erase_if(copy.workers,
                    [&](const auto& w) { return is_down(w.node) || is_returning(w.node); });
      cluster_.issue(copy);
    };
    if (const auto* start = std::get_if<StartWorkers>(&order)) return reached(*start);
    if (const auto* stop = std::get_if<StopWorkers>(&order)) return reached(*stop);
    cluster_.issue(order);
  }

  void deliver_report() {
    if (reports_.empty()) return;
    auto [report, registers] = std::move(reports_.front());
    reports_.pop_front();
    if (auto* back = std::get_if<NodeReturned>(&report)) {
      // What a node said before it went away counts no more once it is back.
      if (!registers && returning_[back->node.index()] != 0) return;
      // Liveness judges a list by the orders that its node has been sent.
      while (!orders_.empty()) deliver_order();
      std::uint8_t& returning = returning_[back->node.index()];
      if (registers && --returning > 0) return;
      if (is_down(back->node)) return;
      *back = cluster_.complete_list(back->node);
    }
    step(std::move(report));
  }

  // Processes do what is expected of them.
  void live() {
    if (cluster_.processes.empty()) return;
    const std::size_t index = random_.below(cluster_.processes.size());
    const FakeProcess& p = cluster_.processes[index];
    if (p.stopping) {
      tell(cluster_.end(index, WorkerFact::Exited, random_.chance(0.9) ? 143 : 0));
    } else if (!p.ready) {
      tell(random_.chance(0.7) ? cluster_.ready(index) : cluster_.runs(index));
    } else if (random_.chance(0.2)) {
      end_all_of(p.job);
    }
  }

  // All processes of a job end well, as one event where they can be one.
  void end_all_of(JobId id) {
    for (std::size_t i = cluster_.processes.size(); i-- > 0;)
      if (cluster_.processes[i].job == id && cluster_.processes[i].ready && random_.chance(0.9))
        tell(cluster_.end(i, WorkerFact::Exited, 0));
  }

  void strike() {
    if (cluster_.processes.empty()) return;
    const std::size_t index = random_.below(cluster_.processes.size());
    const bool starting = !cluster_.processes[index].ready;
    const auto fact = static_cast<WorkerFact>(1 + random_.below(starting ? 3 : 2));
    tell(cluster_.end(index, fact, 1));
    // Peers often feel it too.
    if (random_.chance(0.3)) strike();
  }

  // A repeated declaration adds nodes; those have no trouble.
  bool is_down(NodeId node) const { return node.index() < kNodes && down_[node.index()] != 0; }

  bool is_returning(NodeId node) const {
    return node.index() < kNodes && returning_[node.index()] != 0;
  }

  void node_trouble() {
    const NodeId node{static_cast<std::uint32_t>(random_.below(kNodes))};
    if (is_down(node)) {
      come_back(node);
    } else if (random_.chance(0.3)) {
      cluster_.kill_node(node);  // It restarts within its lease.
      come_back(node);
    } else if (random_.chance(0.2)) {
      tell(NodeReturned{node, {}});
    } else {
      down_[node.index()] = 1;
      cluster_.kill_node(node);
      tell(NodeSilent{node});
    }
  }

  void come_back(NodeId node) {
    down_[node.index()] = 0;
    ++returning_[node.index()];
    reports_.push_back({NodeReturned{node, {}}, true});
  }

  void tell(EventBody report) { reports_.push_back({std::move(report), false}); }

  JobId some_job() {
    const std::uint32_t next = controller_.state().next_job().value;
    if (next == 0) return JobId{0};
    const std::uint64_t back = random_.below(std::min<std::uint32_t>(next, 16));
    return JobId{static_cast<std::uint32_t>(next - 1 - back)};
  }

  void ask() {
    const JobId id = some_job();
    if (random_.chance(0.15)) return step(StopRequested{++requests_, id});
    if (random_.chance(0.3)) return change(id);
    RoleIndex role;
    if (random_.chance(0.5)) role = RoleIndex{static_cast<std::uint16_t>(random_.below(3))};
    step(ScaleRequested{++requests_,
                        id,
                        role,
                        static_cast<ScaleMode>(random_.below(4)),
                        static_cast<std::int32_t>(random_.between(-1, 5)),
                        random_.chance(0.7)});
  }

  // Another file of a job: mostly one that it can follow.
  void change(JobId id) {
    const JobState* job = controller_.state().find(id);
    if (job == nullptr) return step(JobChanged{++requests_, id, std::make_shared<JobSpec>()});
    JobSpec spec = effective_spec(*job);
    RoleSpec& role = spec.roles[random_.below(spec.roles.size())];
    if (random_.chance(0.6)) {
      role.min_replicas = static_cast<std::int32_t>(random_.between(0, 4));
      role.max_replicas = role.min_replicas + static_cast<std::int32_t>(random_.below(3));
    }
    if (random_.chance(0.3)) spec.priority = static_cast<std::int32_t>(random_.between(-2, 2));
    if (random_.chance(0.2)) spec.run_deadline = Duration::seconds(random_.between(1, 500));
    if (random_.chance(0.2)) spec.group = random_.chance(0.5) ? "" : "g";
    if (random_.chance(0.05)) spec.preemptible = !spec.preemptible;
    step(JobChanged{++requests_, id, std::make_shared<JobSpec>(std::move(spec))});
  }

  // The new leader knows the journal; the orders that were not out yet are lost. Nodes register.
  void take_over() {
    orders_.clear();
    registering_ = true;
    ++epoch_;
    step(EpochStarted{Epoch{epoch_}, settings_});
    for (std::uint32_t n = 0; n < kNodes; ++n)
      if (!is_down(NodeId{n})) tell(NodeReturned{NodeId{n}, {}});
  }

  QuotasDeclared random_quotas() {
    QuotasDeclared out;
    if (random_.chance(0.7))
      out.quotas.push_back({"group/g0", static_cast<std::int32_t>(random_.between(0, 12))});
    if (random_.chance(0.3))
      out.quotas.push_back(
          {"namespace/default", static_cast<std::int32_t>(random_.between(4, 20))});
    return out;
  }

  void measure() {
    const JobState* job = controller_.state().find(some_job());
    if (job == nullptr) return;
    if (random_.chance(0.5)) {
      ProgressReported progress;
      progress.job = job->row.id;
      progress.generation = job->row.generation;
      progress.done = random_.uniform(0, 100);
      progress.checkpointed = random_.chance(0.5);
      return step(progress);
    }
    step(ProfilingChanged{
        job->row.id,
        job->row.generation,
        Rank{static_cast<std::uint32_t>(random_.below(4))},
        {{random_.chance(0.5) ? "throughput" : "k" + std::to_string(random_.below(80)),
          random_.uniform()}}});
  }

  // --- plans ---

  void plan() {
    const std::optional<PlanRequest> request = controller_.take_plan_request();
    if (!request && !random_.chance(0.1)) return;
    PlanProposed answer;
    if (request) answer = {request->view, request->trigger, request->job, {}};
    answer.plan = random_plan(request ? request->job : JobId::none());
    if (random_.chance(0.1)) {
      late_plans_.push_back(answer);
      return;
    }
    step(answer);
    if (!late_plans_.empty() && random_.chance(0.5)) {
      step(late_plans_.back());
      late_plans_.pop_back();
    }
  }

  Plan random_plan(JobId only) {
    Plan out;
    const State& state = controller_.state();
    std::vector<JobId> jobs;
    state.waiting.for_each([&](const WaitEntry& entry) {
      if (only.is_none() || entry.job == only) jobs.push_back(entry.job);
      return true;
    });
    if (only.is_none())
      for (const JobId id : state.holding())
        if (random_.chance(0.2)) jobs.push_back(id);
    random_.shuffle(jobs);
    for (const JobId id : jobs) {
      const JobRow& row = state.job(id).row;
      const bool preempt = row.holds && random_.chance(0.2);
      const auto replicas =
          preempt ? 0
                  : static_cast<std::int32_t>(random_.between(row.min_replicas, row.max_replicas));
      out = std::move(out) + grant(id, replicas, random_nodes(row, replicas));
      if (replicas > 0 && random_.chance(0.15)) put_beside(out);
    }
    return out;
  }

  // The last grant's job goes beside another one, if there is one of its size.
  void put_beside(Plan& plan) {
    Grant& grant = plan.grants.back();
    for (const JobId host : controller_.state().holding())
      if (host != grant.job && controller_.state().job(host).row.replicas == grant.replicas)
        grant.beside = host;
    if (!grant.beside.is_none()) grant.node_count = 0;
  }

  // Half of the time none, else places that may or may not have room.
  std::vector<NodeCount> random_nodes(const JobRow& row, std::int32_t replicas) {
    std::vector<NodeCount> nodes;
    if (replicas == 0 || random_.chance(0.5)) return nodes;
    const FreeIndex& free = controller_.state().ledger.free();
    std::int32_t left = replicas;
    for (std::uint32_t n = 0; n < kNodes && left > 0; ++n) {
      const std::int32_t fit = std::min(left, replicas_that_fit(free.at(NodeId{n}), row.demand));
      if (fit == 0) continue;
      nodes.push_back(on(n, fit));
      left -= fit;
    }
    if (left > 0) nodes.push_back(on(static_cast<std::uint32_t>(random_.below(kNodes)), left));
    return nodes;
  }

  // --- lies ---

  void lie() {
    switch (random_.below(7)) {
      case 0:
        return step(random_change());
      case 1:
        return step(NodeSilent{NodeId{static_cast<std::uint32_t>(random_.below(kNodes + 1))}});
      case 2:
        return step(random_list());
      case 3:
        return step(
            PlanProposed{Sequence{random_.below(50)}, PlanTrigger::Period, {}, wild_plan()});
      case 4:
        if (!past_.empty()) {
          Event again = past_[random_.below(past_.size())];
          again.at = again.occurred_at = now_;
          return step(again);
        }
        return;
      case 5:
        return step(ProfilingChanged{some_job(), Generation{1}, Rank{7}, {{"throughput", -1.0}}});
      default:
        return step(TimeReached{});
    }
  }

  WorkersChanged random_change() {
    const JobId id = some_job();
    const JobState* job = controller_.state().find(id);
    const std::uint32_t generation = job == nullptr ? 3 : job->row.generation.value;
    const std::uint32_t incarnation = job == nullptr ? 3 : job->incarnation.value;
    const auto near = [&](std::uint32_t n) {
      return static_cast<std::uint32_t>(n > 2 && random_.chance(0.3) ? n - random_.below(3) : n);
    };
    return {id,
            Generation{near(generation)},
            Incarnation{near(incarnation)},
            static_cast<WorkerFact>(random_.below(4)),
            Rank{static_cast<std::uint32_t>(random_.below(6))},
            static_cast<std::uint32_t>(random_.below(5)),
            static_cast<std::int32_t>(random_.below(2))};
  }

  NodeReturned random_list() {
    NodeReturned out{NodeId{static_cast<std::uint32_t>(random_.below(kNodes + 1))}, {}};
    if (out.node.index() < kNodes) out = cluster_.complete_list(out.node);
    std::erase_if(out.workers, [&](const RunningWorker&) { return random_.chance(0.2); });
    if (random_.chance(0.3))
      out.workers.push_back({some_job(), Generation{1}, Incarnation{1}, Rank{0}});
    return out;
  }

  Plan wild_plan() {
    Plan out;
    for (std::uint64_t i = random_.below(6); i > 0; --i)
      out.nodes.push_back(on(static_cast<std::uint32_t>(random_.below(kNodes + 2)),
                             static_cast<std::int32_t>(random_.between(-1, 4))));
    for (std::uint64_t i = random_.below(6); i > 0; --i)
      out.grants.push_back({some_job(),
                            random_.chance(0.8) ? RoleIndex::none() : RoleIndex{1},
                            static_cast<std::int32_t>(random_.between(-2, 9)),
                            static_cast<std::uint32_t>(random_.below(7)),
                            static_cast<std::uint32_t>(random_.below(4)),
                            random_.chance(0.2) ? some_job() : JobId::none()});
    return out;
  }

  // --- peace ---

  // Whatever was under way comes to an end: nothing may hang.
  void make_peace() {
    for (std::uint32_t n = 0; n < kNodes; ++n) {
      const NodeId node{n};
      if (is_down(node)) come_back(node);
    }
    for (int round = 0; round < 400 && !failed(); ++round) {
      while (!orders_.empty()) deliver_order();
      for (std::size_t i = cluster_.processes.size(); i-- > 0;) {
        const FakeProcess& p = cluster_.processes[i];
        if (p.stopping) {
          tell(cluster_.end(i, WorkerFact::Exited, 143));
        } else if (!p.ready) {
          tell(cluster_.ready(i));
        } else {
          tell(cluster_.end(i, WorkerFact::Exited, 0));
        }
      }
      while (!reports_.empty()) deliver_report();
      pass_time(Duration::seconds(10));
    }
    controller_.state().for_each_job([&](const JobState& job) {
      const JobPhase phase = job.row.phase;
      EXPECT_TRUE(is_final(phase) || (phase == JobPhase::Pending && !job.row.holds))
          << "job " << job.row.id.value << " hangs in " << to_string(phase);
    });
    std::size_t free = 0;
    for (std::uint32_t n = 0; n < kNodes; ++n)
      free += static_cast<std::size_t>(controller_.state().ledger.free().at(NodeId{n}).devices);
    EXPECT_EQ(free, 20u) << "every device comes back";
  }

  struct Report {
    EventBody body;
    bool registers = false;  ///< The first list of a node that is back. Lists are made on delivery.
  };

  HistoryOptions options_;
  Random random_;
  Controller controller_;
  std::unique_ptr<Controller> twin_;
  FakeCluster cluster_;
  StateChecker checker_;
  Settings settings_;
  Instant now_ = Instant::zero() + Duration::seconds(10);
  std::uint32_t epoch_ = 1;
  bool registering_ = false;  ///< A new leader has not heard all nodes yet.
  std::uint64_t requests_ = 0;
  std::uint8_t down_[kNodes] = {};       ///< By node.
  std::uint8_t returning_[kNodes] = {};  ///< How often up again without the controller
                                         ///< having been told yet.
  Commands commands_;
  std::deque<CommandBody> orders_;  ///< Not delivered yet.
  std::deque<Report> reports_;
  std::vector<PlanProposed> late_plans_;
  std::vector<Event> past_;
  std::vector<std::string> journal_;
  std::vector<Digest> digests_;
};

}  // namespace orrery::tests
