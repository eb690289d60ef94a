// Random histories of one node: orders of live and deposed controllers, exits, late renewals,
// silences and restarts of the agent over living workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/agent/agent.hpp"
#include "core/base/random.hpp"
#include "tests/core/agent/agent_builders.hpp"

namespace orrery {
namespace {

/// The operating system as far as the agent knows it.
struct Process {
  SpawnWorker spawned;
  bool asked = false;
  bool killed = false;
};

class History {
 public:
  explicit History(std::uint64_t seed) : random_(seed), agent_(settings()) {}

  void run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) {
      now_ = now_ + Duration::milliseconds(random_.between(0, 700));
      one_step();
    }
  }

  int fences = 0;
  int spawns = 0;

 private:
  AgentSettings settings() {
    AgentSettings out = AgentSettings::of(NodeId{0}, ++session_, Settings{});
    out.workers_max = 12;
    out.ended_max = 16;
    return out;
  }

  void one_step() {
    switch (random_.below(12)) {
      case 0:
      case 1:
        return feed(command(some_start(), epoch_));
      case 2:
        return feed(command(some_stop(), epoch_));
      case 3:
        return feed(command(some_membership(), epoch_));
      case 4:
        return feed(command(CleanJob{some_job(), some_policy()}, epoch_));
      case 5:
        return deposed_controller_speaks();
      case 6:
        return some_process_ends();
      case 7:
        return some_process_is_ready();
      case 8:
        return restart_agent();
      case 9:
        return take_over();
      default:
        return silent_ || random_.chance(0.05) ? toggle_silence() : renew();
    }
  }

  JobId some_job() { return JobId{static_cast<std::uint32_t>(random_.below(2))}; }

  CleanPodPolicy some_policy() { return static_cast<CleanPodPolicy>(random_.below(3)); }

  /// Mostly fresh starts; sometimes one that was ordered before, or is older than the newest.
  StartWorkers some_start() {
    StartWorkers order{some_job(), Generation{++generation_}, 4, {}};
    for (std::int32_t slot = 0; slot < 4; ++slot) {
      if (random_.chance(0.4)) continue;
      std::uint32_t& newest = incarnations_[{order.job, slot}];
      if (newest == 0 || random_.chance(0.6)) ++newest;
      const auto back = static_cast<std::uint32_t>(random_.below(2));
      const std::uint32_t incarnation = newest > 1 ? newest - back : newest;
      const auto rank = static_cast<std::uint32_t>(slot);
      order.workers.push_back(start_of(worker(order.job.value, rank, incarnation), rank));
    }
    return order;
  }

  StopWorkers some_stop() {
    StopWorkers order{
        some_job(), Generation{generation_}, Duration::milliseconds(random_.between(0, 3000)), {}};
    for (const auto& [name, worker] : agent_.workers()) {
      if (name.job != order.job || random_.chance(0.5)) continue;
      order.generation = worker.generation;
      order.workers.push_back({worker.rank, NodeId{0}, name.incarnation});
    }
    order.workers.push_back({Rank{77}, NodeId{0}, Incarnation{1}});
    return order;
  }

  UpdateMembership some_membership() {
    UpdateMembership order{some_job(), Generation{++generation_}, 0, {}};
    for (const auto& [name, worker] : agent_.workers())
      if (name.job == order.job && random_.chance(0.7))
        order.members.push_back(member_of(worker, order.world_size++));
    return order;
  }

  /// Another rank, the same slot: what slots hold is checked against the operating system.
  static WorkerStart member_of(const AgentWorker& kept, std::uint32_t rank) {
    WorkerStart member = start_of(kept.name, rank);
    member.local_rank = kept.slot.local_rank;
    return member;
  }

  void deposed_controller_speaks() {
    if (epoch_ == 1) return;
    feed(TimePassed{});
    const auto before = agent_.complete_list();
    const Instant lease = agent_.lease_until();
    AgentOutput out;
    const std::uint32_t old = epoch_ - 1;
    agent_.step(command(some_start(), old), now_, out);
    agent_.step(command(some_stop(), old), now_, out);
    agent_.step(command(CleanJob{some_job(), CleanPodPolicy::All}, old), now_, out);
    agent_.step(LeaseRenewed{Epoch{old}, now_}, now_, out);
    EXPECT_THAT(out.actions, ::testing::IsEmpty());
    EXPECT_EQ(before, agent_.complete_list());
    EXPECT_EQ(lease, agent_.lease_until());
    EXPECT_THAT(out.notices, ::testing::SizeIs(4));
  }

  void take_over() {
    if (random_.chance(0.9)) return renew();
    ++epoch_;
    feed(EpochAnnounced{Epoch{epoch_}});
  }

  void renew() {
    if (silent_) return;
    feed(LeaseRenewed{Epoch{epoch_}, now_ - Duration::milliseconds(random_.between(0, 2000))});
  }

  void toggle_silence() {
    silent_ = !silent_;
    if (silent_) now_ = now_ + Duration::seconds(random_.between(1, 12));
    feed(TimePassed{});
  }

  void some_process_ends() {
    if (processes_.empty()) return feed(TimePassed{});
    auto it = processes_.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(random_.below(processes_.size())));
    const WorkerName name = it->first;
    const int code = it->second.killed ? 137 : static_cast<int>(random_.below(3));
    processes_.erase(it);
    feed(WorkerExited{name, code});
  }

  void some_process_is_ready() {
    for (const auto& [name, worker] : agent_.workers())
      if (worker.state == AgentWorkerState::Starting)
        return feed(random_.chance(0.1) ? launch_failed(name) : AgentEvent{WorkerReady{name}});
  }

  AgentEvent launch_failed(const WorkerName& name) {
    processes_.erase(name);
    return SpawnFailed{name};
  }

  /// The agent dies; the shim knows its lease and the living processes.
  void restart_agent() {
    if (random_.chance(0.7)) return feed(TimePassed{});
    AgentRestarted found;
    found.epoch = agent_.epoch();
    found.lease_until = agent_.lease_until();
    for (const auto& [name, worker] : agent_.workers())
      if (worker.state != AgentWorkerState::Waiting) found.living.push_back(worker);
    random_.shuffle(found.living);
    agent_ = Agent(settings());
    feed(found);
  }

  void feed(const AgentEvent& event) {
    AgentOutput out;
    agent_.step(event, now_, out);
    for (const AgentAction& action : out.actions) carry_out(action);
    for (const AgentNotice& notice : out.notices)
      fences += notice.note == AgentNote::Fenced ? 1 : 0;
    check(out);
  }

  void carry_out(const AgentAction& action) {
    if (const auto* spawn = std::get_if<SpawnWorker>(&action)) {
      ++spawns;
      for (const auto& [name, process] : processes_)
        EXPECT_FALSE(name.job == spawn->worker.job && process.spawned.slot == spawn->slot)
            << "two starts of one slot alive";
      processes_[spawn->worker] = {*spawn, false, false};
    } else if (const auto* signal = std::get_if<SignalWorker>(&action)) {
      const auto it = processes_.find(signal->worker);
      if (it == processes_.end()) return;  // Ended in this very step.
      (signal->signal == WorkerSignal::Kill ? it->second.killed : it->second.asked) = true;
    }
  }

  void check(const AgentOutput& out) {
    // The complete list is the truth: each process, and what waits for one to end.
    std::size_t waiting = 0;
    for (const auto& [name, worker] : agent_.workers()) {
      if (worker.state == AgentWorkerState::Waiting) {
        ++waiting;
      } else {
        EXPECT_TRUE(processes_.contains(name));
      }
    }
    EXPECT_EQ(agent_.complete_list().size(), processes_.size() + waiting);
    if (out.heartbeat) {
      EXPECT_EQ(out.heartbeat->workers, agent_.complete_list());
    }
    // Nothing outlives the lease, and nothing starts without one.
    if (now_ >= agent_.lease_until()) {
      EXPECT_FALSE(agent_.holds_lease());
    }
    for (const auto& [name, process] : processes_)
      EXPECT_TRUE(agent_.holds_lease() || process.killed);
    EXPECT_LE(agent_.workers().size(), 12U);
    EXPECT_GT(agent_.next_deadline(), now_) << "the agent must be able to wait";
  }

  Random random_;
  std::uint64_t session_ = 0;
  Agent agent_;
  Instant now_;
  std::uint32_t epoch_ = 1;
  std::uint32_t generation_ = 0;
  bool silent_ = false;
  std::map<std::pair<JobId, std::int32_t>, std::uint32_t> incarnations_;
  std::map<WorkerName, Process> processes_;
};

TEST(AgentHistories, KeepSlotsSingleLeasesFinalAndListsTrue) {
  int fences = 0;
  int spawns = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    History history(seed);
    history.run(400);
    fences += history.fences;
    spawns += history.spawns;
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
  EXPECT_GT(fences, 300) << "the histories must reach the fence";
  EXPECT_GT(spawns, 3000);
}

}  // namespace
}  // namespace orrery
