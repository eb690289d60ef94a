// What became of one job of a run, as far as expectations ask for it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/record/command.hpp"
#include "scenarios/language/spec/expectation.hpp"
#include "sim/expectations/recovery_record.hpp"
#include "sim/expectations/seat_record.hpp"

namespace orrery::sim {

/// Something took this value then.
template <class T>
struct Change {
  Instant at;
  T to;
};

/// One job, told by the notices about it.
struct JobStory {
  std::string name;
  JobId id;  ///< Once submitted.
  bool submitted = false;
  Instant submitted_at;
  Instant allocated_at = Instant::never();
  std::vector<Change<JobPhase>> phases;
  std::vector<Change<std::int32_t>> replicas;
  Reason reason = Reason::Submitted;
  std::vector<Change<std::string>> messages;  ///< What the job said of itself: at changes of phase,
                                              ///< and where `overheard` whenever that changed.
  bool listened_to = false;                   ///< Some expectation asks for messages.
  bool overheard = false;                     ///< Some asks for one of a window.
  std::uint32_t generation = 0;
  std::array<std::uint32_t, EnumNames<Counter>::kNames.size()> counters{};
  std::array<std::int64_t, EnumNames<Ignored>::kNames.size()> ignored{};
  RecoveryRecord recoveries;
  bool followed = false;  ///< Some expectation asks where workers sit.
  SeatRecord seats;

  /// Every notice about the job, in order.
  void on_notice(const Notice& notice);

  /// What the job says of itself from `at` on.
  void hear(Instant at, std::string message);
};

/// One sentence for each part of `expected` that the job did not meet.
std::vector<std::string> findings_of(const scenarios::Expectation& expected, const JobStory& job);

/// The same for what may be expected of one job or of all: incidents and their recoveries.
void judge_recoveries(const scenarios::Expectation& expected,
                      const RecoveryRecord& recoveries,
                      std::uint32_t nodes_relaunched,
                      std::vector<std::string>& out);

/// The same for ignored reports; `found` is how many were for the expected reason.
void judge_ignored(const scenarios::Expectation& expected,
                   std::int64_t found,
                   std::vector<std::string>& out);

}  // namespace orrery::sim
