// Where the workers of one job sat over time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/state/job_state.hpp"
#include "scenarios/language/spec/expectation.hpp"

namespace orrery::sim {

/// The seats of a job's workers, from each change of them to the next.
class SeatRecord {
 public:
  /// The job as it is from `at` on; times do not decrease. A job without workers sits nowhere.
  void note(Instant at, const JobState& job);

  /// What was found where `expected.sits` was not met; empty where it was, or expects nothing.
  std::string finding(const scenarios::Expectation& expected) const;

 private:
  struct WorkerSeat {
    RoleIndex role;
    std::int32_t local_rank = 0;
    NodeId node;
    std::uint64_t devices = 0;
    std::uint64_t hardware = 0;

    friend bool operator==(const WorkerSeat&, const WorkerSeat&) = default;
  };

  struct Sitting {
    Instant from;
    std::vector<WorkerSeat> seats;
  };

  /// What each worker that is asked for had last: workers that end give their seats back one by
  /// one.
  Sitting last_of_each(const scenarios::Expectation& expected) const;
  static const WorkerSeat* find(const Sitting& sitting, const scenarios::WorkerName& worker);
  static bool meets(const Sitting& sitting, const scenarios::Expectation& expected);
  static std::string text_of(const Sitting& sitting, const scenarios::Expectation& expected);

  std::vector<Sitting> sittings_;
};

}  // namespace orrery::sim
