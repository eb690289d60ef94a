// The part of the storm's checker that judges orders and answers record by record: each order says
// what is so and is needed, none that is needed is missing, each request is answered once, as what
// was so before it demands.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/state/state.hpp"
#include "sim/storm/journal_model.hpp"
#include "sim/storm/process_check.hpp"
#include "sim/storm/violation.hpp"

namespace orrery::sim {

class OrderCheck {
 public:
  explicit OrderCheck(Violations& found) : found_(found) {}

  /// The next record is the first one again.
  void begin_again();

  /// The next record, and the state before it.
  void comes(const Event& event, const State& before);

  /// What came of it, and the state after it; `now` is the world's time, for findings.
  void folded(Instant now, const FoldedRecord& record, const State& after);

 private:
  /// What a request must be answered with.
  struct Expected {
    std::uint64_t request = 0;
    JobId job;
    bool accepted = true;
    std::vector<std::string> words;  ///< That the refusal has,
    std::string or_else;             ///< or all of it; empty: nothing else.
  };

  /// A submission that was accepted.
  struct Accepted {
    std::uint64_t request = 0;
    JobId job;
    Instant gone = Instant::never();  ///< When its job was forgotten.
  };

  /// Who of a job is where, in any order, and with how many devices.
  struct Places {
    std::vector<std::pair<RoleIndex, NodeId>> workers;
    std::int32_t devices = 0;
    bool of_next = false;  ///< Of a membership that waits for places to come free.

    /// Whether the same is held, now or soon.
    friend bool operator==(const Places& a, const Places& b) {
      return a.workers == b.workers && a.devices == b.devices;
    }
  };

  void say(const std::string& text);
  void expect(const JobSubmitted& event, const State& before);
  void expect(const ScaleRequested& event, const State& before);
  void expect_refusal(const JobState* job);

  void check_answers(const FoldedRecord& record, const State& after);
  void check_start(const FoldedRecord& record, const StartWorkers& order, const State& after);
  void check_update(const UpdateMembership& order, const State& after);
  void check_missing(const FoldedRecord& record, const State& after);
  void check_stop(const FoldedRecord& record, const StopWorkers& order, const State& after);
  void check_list(const FoldedRecord& record, const State& after);
  void check_cleaning(const FoldedRecord& record, const State& after);
  void check_master(const FoldedRecord& record, const TellSubMaster& order, const State& after);
  void check_relaunch(const RelaunchNodes& order, const State& after);
  void check_notices(const FoldedRecord& record, const State& after);
  void check_allocation(const FoldedRecord& record, const State& after, const JobState& job);

  Violations& found_;
  std::optional<Expected> expected_;
  std::vector<Accepted> accepted_;
  std::map<JobId, Places> allocated_;  ///< As was told last.
  std::set<ProcessName> stopped_;      ///< Told to stop, and not gone as far as is known.
  Instant now_;
  Sequence at_;
};

}  // namespace orrery::sim
