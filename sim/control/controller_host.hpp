// Controllers in a simulated world: they crash at any point, take over from each other, and go on.
//
// The host owns the journal and at most two leaders at a time. A leader is a Controller with its
// Policy, Planner and Driver on a port of its own. It begins by replaying the journal and taking
// the next epoch; it ends by a crash, by being deposed, or by a store that fails. Everything is
// deterministic: equal worlds, options and calls give equal journals.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/control/controller.hpp"
#include "core/driver/driver.hpp"
#include "core/driver/planner.hpp"
#include "core/plan/policy.hpp"
#include "core/record/event.hpp"
#include "sim/control/faulty_journal.hpp"
#include "sim/control/host_watch.hpp"
#include "sim/control/late_planner.hpp"
#include "sim/control/leader_ports.hpp"

namespace orrery::sim {

/// How controllers are made.
struct HostOptions {
  std::uint64_t seed = 1;  ///< Of what a crash leaves of the journal's tail.
  Settings settings;       ///< Of every epoch.
  /// What is true before the first event (nodes, quotas); stated where the journal does not say it.
  std::vector<EventBody> declarations;
  std::function<std::unique_ptr<Policy>()> policy;  ///< A fresh one for each leader.
  Duration planner_latency;
  PlannerFaults planner_faults;
  std::uint64_t policy_steps_max = kStepsMax;  ///< See InlineOptions.
  std::uint64_t snapshot_every = 0;            ///< Records between snapshots; 0: none.
  /// Without a leader for so long, above zero, the host starts one; forever: only when told to.
  Duration restart_after = Duration::forever();
  std::uint64_t idle_turns_max = 1'000'000;  ///< Turns at one instant that count as no progress.
};

/// Where in its work a leader crashes.
enum class CrashPoint : std::uint8_t {
  Now,             ///< Between two turns.
  AfterAppend,     ///< The store has just taken records: they are not durable, nothing was stepped.
  AtOrder,         ///< Records are durable; before the next order, or after `orders` of them.
  BeforeSnapshot,  ///< A snapshot is due, and is not taken.
};

/// One crash to come.
struct Crash {
  CrashPoint point = CrashPoint::Now;
  std::uint32_t orders = 0;  ///< With AtOrder: how many still go out.
  TailLoss loss = TailLoss::Prefix;
};

class ControllerHost {
 public:
  /// `ports` outlives the host; `observer` and `watch` may be null. The observer is shown what
  /// every leader steps, also what a crash then takes from the journal.
  ControllerHost(HostOptions options,
                 LeaderPorts& ports,
                 RunObserver* observer = nullptr,
                 HostWatch* watch = nullptr);
  ~ControllerHost();

  ControllerHost(const ControllerHost&) = delete;
  ControllerHost& operator=(const ControllerHost&) = delete;

  // --- leaders ---

  /// Starts a leader, also beside one that still runs (which is deposed by it and does not know
  /// yet). None where two are there already or the journal cannot be opened.
  std::optional<LeaderNumber> start_leader();

  /// Crashes a leader now, or lets it crash as soon as it comes to the point. Nothing where it is
  /// not there any more.
  void crash(LeaderNumber leader, const Crash& crash);

  /// The next leader to start has this crash before it; a crash `Now` comes after its start.
  void crash_next(const Crash& crash) { next_crash_ = crash; }

  /// The leader does nothing until then: it neither hears nor notices that time passes.
  void pause(LeaderNumber leader, Instant until);

  /// The youngest leader that is there; none where there is none.
  std::optional<LeaderNumber> leading() const;

  /// Whether the journal is the leader's: no other has opened it since. One that has been deposed
  /// and does not know it yet decides what never happens.
  bool holds_journal(LeaderNumber leader) const;

  bool is_running(LeaderNumber leader) const { return find(leader) != nullptr; }

  std::size_t running() const;

  /// A running leader's controller; it must be there.
  const Controller& controller(LeaderNumber leader) const;

  FaultyJournal& journal() { return journal_; }

  // --- time ---

  /// Lets every leader do what there is to do at this instant. Whether anything was done.
  bool turn();

  /// When `turn` will find something by itself; never where only the world can bring it about.
  Instant next_wake();

  /// Takes turns and lets the world advance until it has come to `until`.
  void run(Instant until);

  /// Records that all leaders have stepped.
  std::uint64_t steps() const { return steps_; }

 private:
  struct Leader;
  class CrashingPort;
  class CrashingStore;

  Leader* find(LeaderNumber leader) const;
  bool begin(Leader& leader);
  Status lead(Leader& leader);
  bool turn_of(Leader& leader);
  bool is_asleep(const Leader& leader) const;
  Instant wake_of(Leader& leader);
  void establish(Leader& leader);
  void end(Leader& leader, LeaderEnd how, TailLoss loss);
  void start_if_due();

  HostOptions options_;
  LeaderPorts& ports_;
  RunObserver* observer_;
  HostWatch* watch_;
  FaultyJournal journal_;
  std::array<std::unique_ptr<Leader>, 2> leaders_;  ///< The older one first.
  LeaderNumber started_;                            ///< How many there have been.
  std::optional<Crash> next_crash_;
  Instant vacant_since_;  ///< When the latest leader ended, or failed to start.
  Instant turns_at_;
  std::uint64_t turns_here_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace orrery::sim

template <>
struct orrery::EnumNames<orrery::sim::CrashPoint> {
  static constexpr std::array kNames{"now", "after_append", "at_order", "before_snapshot"};
};
