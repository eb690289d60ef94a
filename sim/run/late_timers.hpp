// Wakes that come late, as on every real clock: simulated instants fall exactly on what was asked
// for, real ones never do.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/random.hpp"
#include "core/base/units.hpp"
#include "core/driver/world.hpp"

namespace orrery::sim {

/// Draws how late a wake comes: at least 1 ns, at most `late_max`, anew for each deadline. With a
/// zero `late_max` every wake is on time.
class Lateness {
 public:
  Lateness(std::uint64_t seed, Duration late_max)
      : random_(Random::stream(seed, "late timers")), late_max_(late_max) {}

  bool any() const { return late_max_ > Duration::zero(); }

  /// When somebody who waits at `now` for `due` wakes; `due` itself where it has come or never
  /// does.
  Instant wake(Instant due, Instant now) {
    if (!any() || due.is_never() || due <= now) return due;
    if (due != due_) {
      due_ = due;
      late_ = Duration{random_.between(1, late_max_.ns)};
    }
    return due + late_;
  }

 private:
  Random random_;
  Duration late_max_;
  Instant due_ = Instant::never();
  Duration late_;
};

/// A world whose driver wakes late; what happens meanwhile still wakes it at once.
class LateTimers final : public World {
 public:
  LateTimers(World& world, std::uint64_t seed, Duration late_max)
      : world_(world), lateness_(seed, late_max) {}

  bool any() const { return lateness_.any(); }

  Instant now() const override { return world_.now(); }

  void issue(const Command& command) override { world_.issue(command); }

  void withheld(JobId job, Incarnation incarnation) override { world_.withheld(job, incarnation); }

  void never_started(const StartWorkers& left_out) override { world_.never_started(left_out); }

  bool wait_events(Instant deadline, std::vector<Event>& events) override {
    return world_.wait_events(lateness_.wake(deadline, world_.now()), events);
  }

 private:
  World& world_;
  Lateness lateness_;
};

}  // namespace orrery::sim
