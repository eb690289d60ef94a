// Faults of controllers and their store, carried out on a host.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "core/base/random.hpp"
#include "core/base/units.hpp"
#include "scenarios/language/spec/faults.hpp"
#include "sim/control/controller_host.hpp"

namespace orrery::sim {

/// Crashes, pauses and duplicates leaders, breaks and mends the store, and sees to it that a
/// controller leads again.
class LeaderFaults {
 public:
  /// `host` outlives this. `pause_ears` makes a world's ears deaf as long as a leader stands still.
  LeaderFaults(ControllerHost& host,
               std::uint64_t seed,
               std::function<void(LeaderNumber, Instant)> pause_ears);

  /// A fault has struck.
  void strike(const scenarios::Fault& fault, Instant now);

  /// Does what is due, and starts a leader where there is none to come.
  void time_reached(Instant now);

  /// When `time_reached` must be called at the latest.
  Instant next() const;

 private:
  enum class Task : std::uint8_t { Start, EndOld, MendStore };

  struct Due {
    Task task = Task::Start;
    LeaderNumber leader;
  };

  void crash(const scenarios::Fault& fault, Instant now);
  void second_leader(const scenarios::Fault& fault, Instant now);
  void break_store(const scenarios::Fault& fault, Instant now);
  bool leads() const;
  void see_to_leader(Instant now);

  ControllerHost& host_;
  Random random_;
  std::function<void(LeaderNumber, Instant)> pause_ears_;
  std::multimap<Instant, Due> due_;
  StoreFaults store_;
  Duration absence_ = Duration::seconds(1);  ///< Of the next leader, after the one before ended.
  bool start_due_ = false;
};

}  // namespace orrery::sim
