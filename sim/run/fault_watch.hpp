// Stands between a driver, its world and its account, for faults that wait for an event.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/driver/driver.hpp"
#include "core/driver/world.hpp"
#include "sim/faults/event_triggers.hpp"

namespace orrery::sim {

/// Passes everything on, and tells the world when faults strike.
class FaultWatch final : public World, public RunObserver {
 public:
  /// Lets fault `index` strike at an instant that is not before now.
  using StrikeAt = std::function<void(const Strike&)>;

  /// All outlive the watch; `state` is that of the controller which is driven.
  FaultWatch(const scenarios::Scenario& scenario,
             World& world,
             RunObserver& observer,
             const State& state,
             StrikeAt strike)
      : triggers_(scenario),
        world_(world),
        observer_(observer),
        state_(state),
        strike_(std::move(strike)) {}

  /// Whether any fault waits for an event; otherwise the watch may be left out.
  bool any() const { return triggers_.any(); }

  /// A fault has struck, now.
  void on_struck(std::uint32_t index) {
    triggers_.on_struck(index, world_.now());
    pass_on();
  }

  std::vector<std::string> never_struck() const { return triggers_.never_struck(); }

  Instant now() const override { return world_.now(); }

  void issue(const Command& command) override {
    world_.issue(command);
    triggers_.on_order(command.body, state_, world_.now());
    pass_on();
  }

  void withheld(JobId job, Incarnation incarnation) override { world_.withheld(job, incarnation); }

  void never_started(const StartWorkers& left_out) override { world_.never_started(left_out); }

  bool wait_events(Instant deadline, std::vector<Event>& events) override {
    return world_.wait_events(deadline, events);
  }

  void expect(const Event& event) override { observer_.expect(event); }

  void on_event(Sequence sequence, const Event& event) override {
    observer_.on_event(sequence, event);
    triggers_.on_event(event, state_);
    pass_on();
  }

  void on_notices(std::span<const Notice> notices, const State& state) override {
    observer_.on_notices(notices, state);
    triggers_.on_notices(notices, state);
    pass_on();
  }

  void on_instant_over(const State& state) override { observer_.on_instant_over(state); }

  bool should_stop() override { return observer_.should_stop(); }

 private:
  void pass_on() {
    triggers_.take(due_);
    for (Strike strike : due_) {
      strike.at = std::max(strike.at, world_.now());
      strike_(strike);
    }
    due_.clear();
  }

  EventTriggers triggers_;
  World& world_;
  RunObserver& observer_;
  const State& state_;
  StrikeAt strike_;
  std::vector<Strike> due_;
};

}  // namespace orrery::sim
