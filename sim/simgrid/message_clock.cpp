#include "sim/simgrid/message_clock.hpp"

#include <algorithm>
#include <limits>

namespace orrery::sim {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// SimGrid must not be sent to infinity.
constexpr double kLongStep = 3'600;

Instant instant_of(double seconds) { return Instant::zero() + Duration::from_seconds(seconds); }

}  // namespace

// Whether one of them has news.
bool MessageClock::wake_users() {
  bool news = false;
  for (ClockUser* user : users_) user->wake(now_s());
  for (const ClockUser* user : users_) news = news || user->has_news();
  return news;
}

std::size_t MessageClock::actors_busy() const {
  std::size_t busy = 0;
  for (const ClockUser* user : users_)
    if (user->has_actors()) busy += user->under_way();
  return busy;
}

// To the next event, at most to `until_s`.
void MessageClock::step(double until_s) {
  if (actors_busy() == 0) return engine_.run_until(until_s);
  engine_.step(until_s);
  // An actor that the event has woken acts at its date, not at that of the next one. What takes no
  // time ends in a step without length, and wakes an actor for the one after it.
  for (int quiet = 0; quiet < 2; ++quiet) {
    const std::size_t before = actors_busy();
    engine_.step(now_s());
    if (actors_busy() != before) quiet = -1;
  }
}

Instant MessageClock::run(Instant limit) {
  const double limit_s = limit.is_never() ? kNever : limit.in_seconds();
  while (true) {
    if (wake_users()) return std::min(limit, instant_of(now_s()));
    double until_s = limit_s;
    std::size_t under_way = 0;
    for (const ClockUser* user : users_) {
      until_s = std::min(until_s, user->wake_s());
      under_way += user->under_way();
    }
    if (until_s == kNever && under_way == 0) return limit;
    if (is_reached(limit_s, now_s())) return limit;
    step(std::min(until_s, now_s() + kLongStep));
  }
}

void MessageClock::catch_up(Instant now) {
  const double now_world_s = now.in_seconds();
  while (!is_reached(now_world_s, now_s())) {
    double until_s = now_world_s;
    for (const ClockUser* user : users_) until_s = std::min(until_s, user->wake_s());
    step(until_s);
    (void)wake_users();
  }
}

}  // namespace orrery::sim
