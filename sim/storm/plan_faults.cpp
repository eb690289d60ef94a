#include "sim/storm/plan_faults.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "sim/storm/drawn_time.hpp"

namespace orrery::sim {
namespace {

using scenarios::AfterEvent;
using scenarios::Fault;
using scenarios::FaultKind;
using scenarios::ObservedEvent;
using scenarios::Scenario;
using scenarios::ScenarioJob;

template <class E>
E any_of_enum(Random& random) {
  return static_cast<E>(random.below(EnumNames<E>::kNames.size()));
}

// One kind, and how long it lasts where it does, in milliseconds.
struct Kind {
  FaultKind kind;
  std::int64_t shortest = 0;
  std::int64_t longest = 0;
};

constexpr std::array kKinds{
    Kind{FaultKind::Crash},
    Kind{FaultKind::Delete},
    Kind{FaultKind::Hang, 1'000, 90'000},
    Kind{FaultKind::Slow, 1'000, 90'000},
    Kind{FaultKind::Down, 500, 90'000},
    Kind{FaultKind::DeviceLost, 1'000, 90'000},
    Kind{FaultKind::PreemptionNotice, 5'000, 60'000},
    Kind{FaultKind::AgentCrash, 100, 30'000},
    Kind{FaultKind::Cordon, 1'000, 90'000},
    Kind{FaultKind::LinkCut, 500, 40'000},
    Kind{FaultKind::Bandwidth, 1'000, 60'000},
    Kind{FaultKind::Latency, 1'000, 60'000},
    Kind{FaultKind::Loss, 1'000, 60'000},
    Kind{FaultKind::Duplication, 1'000, 120'000},
    Kind{FaultKind::Reordering, 1'000, 120'000},
    Kind{FaultKind::ControllerCrash, 100, 30'000},
    Kind{FaultKind::SecondLeader, 1'000, 40'000},
    Kind{FaultKind::ControllerPause, 500, 40'000},
    Kind{FaultKind::StoreSlow, 1'000, 60'000},
    Kind{FaultKind::StoreFail, 500, 15'000},
    Kind{FaultKind::StoreTorn, 100, 15'000},
    Kind{FaultKind::ClockStep},
    Kind{FaultKind::SubMasterCrash},
};

bool is_of_worker(FaultKind kind) {
  return kind == FaultKind::Crash || kind == FaultKind::Delete || kind == FaultKind::Hang ||
         kind == FaultKind::Slow || kind == FaultKind::Stuck;
}

bool is_of_nodes(FaultKind kind) {
  return kind == FaultKind::Down || kind == FaultKind::DeviceLost ||
         kind == FaultKind::PreemptionNotice || kind == FaultKind::AgentCrash ||
         kind == FaultKind::Cordon;
}

bool is_of_network(FaultKind kind) {
  return kind == FaultKind::LinkCut || kind == FaultKind::Bandwidth || kind == FaultKind::Latency ||
         kind == FaultKind::Loss || kind == FaultKind::Duplication ||
         kind == FaultKind::Reordering || kind == FaultKind::ClockStep;
}

std::int32_t workers_of(const ScenarioJob& job) {
  std::int32_t workers = 0;
  for (const RoleSpec& role : job.spec.roles) workers += role.max_replicas;
  return workers;
}

void aim_at_worker(Random& random, const Scenario& scenario, Fault& fault) {
  const ScenarioJob& job = scenario.jobs[random.below(scenario.jobs.size())];
  fault.job = job.spec.name;
  fault.worker.index =
      static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(workers_of(job))));
}

void aim_at_nodes(Random& random, const Scenario& scenario, Fault& fault) {
  const auto nodes = static_cast<std::uint64_t>(scenario.node_count());
  const std::uint64_t count = random.chance(0.7) ? 1 : 1 + random.below(nodes);
  const std::uint64_t first = random.below(nodes - count + 1);
  for (std::uint64_t n = first; n < first + count; ++n)
    fault.nodes.emplace_back(static_cast<std::uint32_t>(n));
}

// A job with a sub-master, or false where there is none.
bool aim_at_master(Random& random, const Scenario& scenario, Fault& fault) {
  std::vector<std::pair<const ScenarioJob*, const RoleSpec*>> led;
  for (const ScenarioJob& job : scenario.jobs)
    for (const RoleSpec& role : job.spec.roles)
      if (!role.master_of.is_none())
        led.emplace_back(&job, &job.spec.roles[role.master_of.index()]);
  if (led.empty()) return false;
  const auto& [job, role] = led[random.below(led.size())];
  fault.job = job->spec.name;
  fault.worker.role = role->name;
  fault.arrow = any_of_enum<scenarios::RoleArrow>(random);
  return true;
}

void draw_own(Random& random, const Scenario& scenario, Fault& fault) {
  switch (fault.kind) {
    case FaultKind::Crash:
      fault.exit_code =
          static_cast<std::int32_t>(random.chance(0.4) ? 137 : random.between(1, 127));
      return;
    case FaultKind::Slow:
      fault.factor = static_cast<double>(random.between(2, 20)) / 2;
      return;
    case FaultKind::DeviceLost: {
      std::int32_t devices = 64;
      std::size_t node = 0;
      for (const NodeGroup& group : scenario.groups)
        for (std::int32_t i = 0; i < group.count; ++i, ++node)
          for (const NodeId aimed : fault.nodes)
            if (aimed.index() == node) devices = std::min(devices, group.devices);
      fault.devices = 1 + random.below((devices >= 63 ? ~0ULL : (1ULL << devices)) - 1);
      return;
    }
    case FaultKind::PreemptionNotice:
      fault.notice = ms(random, 1'000, 30'000);
      return;
    case FaultKind::LinkCut:
      fault.direction = any_of_enum<scenarios::LinkDirection>(random);
      return;
    case FaultKind::Bandwidth:
      fault.factor = static_cast<double>(random.between(1, 10)) / 10;
      return;
    case FaultKind::Latency:
    case FaultKind::StoreSlow:
      fault.added = ms(random, 1, 3'000);
      return;
    case FaultKind::Loss:
    case FaultKind::Duplication:
      fault.rate = static_cast<double>(random.between(1, 60)) / 100;
      return;
    case FaultKind::Reordering:
      fault.window = ms(random, 10, 3'000);
      return;
    case FaultKind::ControllerCrash:
      fault.point = any_of_enum<scenarios::CrashPoint>(random);
      return;
    case FaultKind::ClockStep:
      fault.step = ms(random, 1, 8'000);
      if (random.chance(0.5)) fault.step = Duration{-fault.step.ns};
      return;
    default:
      return;
  }
}

std::optional<AfterEvent> draw_event(Random& random, const Scenario& scenario) {
  AfterEvent after;
  static constexpr std::array kEvents{ObservedEvent::Phase,
                                      ObservedEvent::Ready,
                                      ObservedEvent::Exit,
                                      ObservedEvent::NodeSilent,
                                      ObservedEvent::NodeReturned,
                                      ObservedEvent::Checkpoint,
                                      ObservedEvent::Command};
  after.event = kEvents[random.below(kEvents.size())];
  const bool of_job =
      after.event != ObservedEvent::NodeSilent && after.event != ObservedEvent::NodeReturned;
  if (of_job && random.chance(0.4))
    after.job = scenario.jobs[random.below(scenario.jobs.size())].spec.name;
  if (after.event == ObservedEvent::Phase && random.chance(0.6))
    after.phase = any_of_enum<JobPhase>(random);
  if (after.event == ObservedEvent::Command && random.chance(0.6))
    after.command = any_of_enum<scenarios::OrderKind>(random);
  after.count = static_cast<std::int32_t>(random.between(1, 12));
  if (random.chance(0.6)) after.delay = ms(random, 0, 3'000);
  return after;
}

// One fault of a kind; nothing where the scenario has nothing that it could hit.
std::optional<Fault> draw_fault(Random& random,
                                const Kind& kind,
                                Instant calm_from,
                                const Scenario& scenario) {
  Fault fault;
  fault.kind = kind.kind;
  if (is_of_worker(kind.kind)) aim_at_worker(random, scenario, fault);
  if (is_of_nodes(kind.kind)) aim_at_nodes(random, scenario, fault);
  if (is_of_network(kind.kind) && random.chance(0.8)) aim_at_nodes(random, scenario, fault);
  if (kind.kind == FaultKind::SubMasterCrash && !aim_at_master(random, scenario, fault))
    return std::nullopt;
  draw_own(random, scenario, fault);
  const std::int64_t calm_ms = (calm_from - Instant::zero()).ns / 1'000'000;
  if (kind.kind == FaultKind::SubMasterCrash) {
    fault.times = static_cast<std::int32_t>(random.between(1, 3));
    fault.at = Instant::zero() + ms(random, 0, calm_ms);
    return fault;
  }
  if (kind.longest > 0) fault.lasting = ms(random, kind.shortest, kind.longest);
  if (random.chance(0.3)) {
    fault.after = draw_event(random, scenario);
    if (kind.longest > 0) fault.lasting = std::min(fault.lasting, Duration::seconds(30));
    return fault;
  }
  const std::int64_t lasting_ms = kind.longest > 0 ? fault.lasting.ns / 1'000'000 : 0;
  fault.at = Instant::zero() + ms(random, 0, calm_ms - lasting_ms - fault.notice.ns / 1'000'000);
  return fault;
}

// Trouble does not come alone: near the time of the fault before, on its nodes.
void put_together(Random& random, const Fault& before, Instant calm_from, Fault& fault) {
  if (before.after || fault.after || fault.kind == FaultKind::SubMasterCrash) return;
  const Duration lasting = fault.lasting.is_forever() ? Duration::zero() : fault.lasting;
  const Instant latest = calm_from - lasting - fault.notice;
  fault.at = before.at + ms(random, 0, 8'000) - Duration::seconds(3);
  fault.at = std::clamp(fault.at, Instant::zero(), std::max(latest, Instant::zero()));
  const bool same_nodes = !fault.nodes.empty() && fault.devices == 0;
  if (same_nodes && !before.nodes.empty()) fault.nodes = before.nodes;
}

}  // namespace

void plan_stuck(Random random, Instant calm_from, Scenario& scenario) {
  // A user who lets a node in says that nothing is left on it, which the end of a cordon cannot
  // know.
  const bool lets_in =
      std::any_of(scenario.faults.begin(), scenario.faults.end(), [&](const Fault& fault) {
        return fault.kind == FaultKind::Cordon;
      });
  if (lets_in || !random.chance(0.2)) return;
  constexpr Kind kStuck{FaultKind::Stuck, 5'000, 300'000};
  for (std::int64_t left = random.between(1, 3); left > 0; --left)
    if (auto fault = draw_fault(random, kStuck, calm_from, scenario))
      scenario.faults.push_back(std::move(*fault));
}

void plan_blames(Random random, Scenario& scenario) {
  if (!random.chance(0.25)) return;
  const double share = random.uniform(0.2, 1);
  const auto draw = [&](const ScenarioJob* job, scenarios::Blamed& blames) {
    if (!random.chance(share)) return;
    constexpr std::array kBlames{Blame::Mine, Blame::Node, Blame::Node, Blame::Peer, Blame::Peer};
    blames.blame = kBlames[random.below(kBlames.size())];
    if (blames.blame != Blame::Peer) return;
    // All workers of some nodes: their jobs may have no such rank.
    const std::int32_t workers = job == nullptr ? 4 : workers_of(*job);
    blames.peer.index =
        static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(workers)));
    if (job == nullptr || !random.chance(0.5)) return;
    const RoleSpec& role = job->spec.roles[random.below(job->spec.roles.size())];
    blames.peer.role = role.name;
    blames.peer.index %= role.max_replicas;
  };
  for (ScenarioJob& job : scenario.jobs)
    for (scenarios::WorkerScript& script : job.workers)
      if (script.kind == scenarios::ScriptKind::Exit && script.exit_code != 0)
        draw(&job, script.blames);
  for (Fault& fault : scenario.faults) {
    if (fault.kind != FaultKind::Crash) continue;
    const auto job =
        std::find_if(scenario.jobs.begin(), scenario.jobs.end(), [&](const ScenarioJob& each) {
          return each.spec.name == fault.job;
        });
    draw(job == scenario.jobs.end() ? nullptr : &*job, fault.blames);
  }
}

void plan_faults(Random& random, Instant calm_from, Scenario& scenario) {
  // Nodes that were excluded are let in again, now and then: their time has come.
  Fault let_in;
  let_in.kind = FaultKind::Uncordon;
  let_in.at = calm_from;
  let_in.times = 50;
  let_in.every = Duration::seconds(60);
  for (std::uint32_t n = 0; n < scenario.node_count(); ++n) let_in.nodes.emplace_back(n);
  std::vector<double> weights;
  const double share = random.uniform(0.1, 0.7);
  for (std::size_t k = 0; k < kKinds.size(); ++k)
    weights.push_back(random.chance(share) ? random.uniform(0.1, 1) : 0);
  weights[random.below(weights.size())] = 1;
  const std::int64_t faults = random.chance(0.18) ? random.between(20, 60) : random.between(2, 28);
  const double together = random.chance(0.5) ? random.uniform(0.1, 0.8) : 0;
  for (std::int64_t i = 0; i < faults; ++i) {
    auto fault = draw_fault(random, kKinds[random.choose(weights)], calm_from, scenario);
    if (!fault) continue;
    if (!scenario.faults.empty() && random.chance(together))
      put_together(random, scenario.faults.back(), calm_from, *fault);
    scenario.faults.push_back(std::move(*fault));
  }
  scenario.faults.push_back(std::move(let_in));
}

}  // namespace orrery::sim
