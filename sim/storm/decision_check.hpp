// The part of the storm's checker that judges decisions: phases, counters, incidents, deadlines,
// delays, nodes and their use, and that users are told the truth. It hears each record of the
// journal once, in order, with all that came of it, and compares with a model of its own
// (journal_model.hpp).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/control/status.hpp"
#include "core/control/user_events.hpp"
#include "sim/storm/journal_model.hpp"
#include "sim/storm/violation.hpp"

namespace orrery::sim {

/// What a user would read after the record.
class StatusReader {
 public:
  virtual ~StatusReader() = default;

  /// Whether the job is known (still).
  virtual bool knows(JobId job) const = 0;

  /// The status of one that is.
  virtual JobStatus status(JobId job) const = 0;

  /// A notice in words.
  virtual UserEvent event(const Notice& notice) const = 0;
};

class DecisionCheck {
 public:
  /// `late_max`: so much later than its deadline may a leader that runs do something.
  DecisionCheck(Duration late_max, Violations& found) : late_max_(late_max), found_(found) {}

  /// The next record is the first one again.
  void begin_again() {
    model_ = JournalModel{};
    preempted_.clear();
    groups_.clear();
    stand_ins_.clear();
    before_ = last_ = Instant::zero();
  }

  /// The next record; `now` is the world's time, for findings.
  void folded(Instant now, const FoldedRecord& record, const StatusReader& reader);

 private:
  void add(ViolationKind kind, const std::string& text);
  std::string name_of(const FoldedJob& job) const;

  // Notices, each before the model takes it.
  void check_notice(const FoldedRecord& record, const Notice& notice);
  void check_phase(const FoldedRecord& record, FoldedJob& job, const Notice& notice);
  void check_ending(const FoldedRecord& record, const FoldedJob& job, const Notice& notice);
  void check_incident(const FoldedRecord& record, FoldedJob& job, const Notice& notice);
  void check_charge(const FoldedRecord& record, FoldedJob& job, const Notice& notice);
  void check_preemption(const FoldedJob& job, const Notice& notice);
  void check_node(const FoldedRecord& record, const Notice& notice);
  void check_ignored(const FoldedRecord& record, const Notice& notice);

  // Orders, before the model takes them.
  void check_start(const FoldedRecord& record, const StartWorkers& order);
  void check_stop(const FoldedRecord& record, const StopWorkers& order);
  void check_answer(const FoldedRecord& record, const AnswerRequest& answer);

  // After the record.
  void check_lost_devices(const FoldedRecord& record);
  void note_troubles();
  void check_stand_ins(const FoldedRecord& record);
  bool may_have_work(NodeId node);
  void check_running(const FoldedRecord& record);
  void check_lemons(const FoldedRecord& record);
  void check_suspicion(const WorkerSuspected& event);
  void check_overdue(const FoldedRecord& record);
  void check_retention(const FoldedRecord& record, const StatusReader& reader);

  struct GroupHealth {
    std::int32_t troubled = 0;  ///< Nodes that cannot be used.
    bool is_simple = true;      ///< Never more than one at a time.
  };

  /// A spare that was called for a node, and not sent back yet.
  struct StandIn {
    NodeId node;
    NodeId spare;
  };

  struct PreemptedOften {
    Instant since;
    std::int32_t count = 0;
  };

  Duration late_max_;
  Violations& found_;
  JournalModel model_;
  std::map<JobId, PreemptedOften> preempted_;
  std::vector<GroupHealth> groups_;
  std::vector<StandIn> stand_ins_;
  Instant now_;     ///< Of the world.
  Sequence at_;     ///< The record that is looked at.
  Instant before_;  ///< Of the last record at an earlier instant than that of this one.
  Instant last_;    ///< Of the record before.
};

/// What the status of a job says that is not so; empty: nothing. `at`: of the record.
std::vector<std::string> false_in_status(const FoldedJob& job,
                                         const JobStatus& status,
                                         const FoldedRecord& record);

}  // namespace orrery::sim
