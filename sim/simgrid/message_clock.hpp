// SimGrid's clock at level L3, stepped beside the world's for all its users.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/base/units.hpp"
#include "sim/simgrid/engine.hpp"

namespace orrery::sim {

/// Uses SimGrid's engine together with others. All times are SimGrid's, in seconds.
class ClockUser {
 public:
  virtual ~ClockUser() = default;

  /// When it wants to be called at the latest; infinity where never.
  virtual double wake_s() const = 0;

  /// Time has come to `now_s`: it takes what SimGrid has for it, and may start more.
  virtual void wake(double now_s) = 0;

  /// Whether it has something for the world, which then must not be passed by.
  virtual bool has_news() const = 0;

  /// Things under way in SimGrid.
  virtual std::size_t under_way() const = 0;

  /// Whether actors handle them, which must be let run at the date of each event.
  virtual bool has_actors() const = 0;
};

/// Steps one engine for several users, and never past what one of them has to tell: a flow may end
/// while a message is awaited, and the other way round.
class MessageClock {
 public:
  /// `engine` outlives the clock.
  explicit MessageClock(SimGridEngine& engine) : engine_(engine) {}

  /// Until `remove`. Users are asked in the order in which they were added.
  void add(ClockUser& user) { users_.push_back(&user); }

  void remove(ClockUser& user) { std::erase(users_, &user); }

  SimGridEngine& engine() { return engine_; }

  double now_s() const { return SimGridEngine::clock(); }

  /// Lets SimGrid's time pass up to `limit`, or to the first news of a user; returns which. With
  /// nothing to wait for it returns `limit` and its clock stays behind.
  Instant run(Instant limit);

  /// The world's time is `now`, which `run` has not passed; SimGrid's clock follows.
  void catch_up(Instant now);

 private:
  bool wake_users();
  std::size_t actors_busy() const;
  void step(double until_s);

  SimGridEngine& engine_;
  std::vector<ClockUser*> users_;
};

/// Whether a date in SimGrid is reached: within the same nanosecond, or after months, as near as
/// doubles of seconds come.
inline bool is_reached(double date_s, double now_s) {
  constexpr double kHalfNanosecond = 5e-10;
  constexpr double kTwoGrains = 5e-16;
  return date_s - now_s <= std::max(kHalfNanosecond, now_s * kTwoGrains);
}

}  // namespace orrery::sim
