// The storm's checker: what must hold of a run, from the journal's bytes, the orders, the notices
// and the truth of the world. Of the core it includes ids, units, resources and the records, and
// the state, which it reads for what must agree; nothing that decides is called, so that a mistake
// in the core cannot hide in it.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/base/digest.hpp"
#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/cluster/resources.hpp"
#include "core/record/command.hpp"
#include "sim/storm/agent_check.hpp"
#include "sim/storm/blame_check.hpp"
#include "sim/storm/budget_check.hpp"
#include "sim/storm/decision_check.hpp"
#include "sim/storm/job_check.hpp"
#include "sim/storm/journal_check.hpp"
#include "sim/storm/notice_check.hpp"
#include "sim/storm/order_check.hpp"
#include "sim/storm/plan_check.hpp"
#include "sim/storm/process_check.hpp"
#include "sim/storm/queue_check.hpp"
#include "sim/storm/recovery_check.hpp"
#include "sim/storm/violation.hpp"

namespace orrery::sim {

/// What the checker must know beforehand.
struct CheckerFacts {
  std::vector<NodeGroup> groups;
  Duration stale_after;  ///< So long may a process outlive its successor's order.
  Duration late_max;     ///< So much later than due may a leader that runs do something.
  std::map<std::string, TrueWork> work;  ///< By the job's full name.
  AgentFacts agents = {};
  bool plans_garbled = false;  ///< Plans may say what no policy has: queues are not judged.
};

/// Fed with everything that happens, in its order; `now` is the world's clock and never steps back.
/// Each call costs as much as what it tells has changed.
class Checker {
 public:
  explicit Checker(const CheckerFacts& facts);

  // The journal.
  void appended(Instant now, Epoch writer, const JournalBytes& record);

  void durable(Sequence sequence) { journal_.durable(sequence); }

  void store_crashed(Instant now, Sequence last);

  // A leader.
  void stepped(Instant now, Sequence sequence, std::span<const Notice> notices);
  void released(Instant now, const Command& order);
  void leader_has(Instant now, Sequence at, std::span<const JobCounts> jobs);

  // The journal as it is folded anew, once from its first record on.
  void fold_begins_again() {
    decisions_.begin_again();
    orders_.begin_again();
    budgets_.begin_again();
    notices_.begin_again();
  }

  /// The next record, and the folded state before it.
  void comes(const Event& event, const State& before) {
    orders_.comes(event, before);
    recoveries_.comes(event, before);
    blames_.comes(event, before);
    plans_.comes(event, before);
    if (judges_queues_) queues_.comes(event, before);
  }

  /// What came of it, what a user reads of it, and the folded state after it.
  void folded(Instant now,
              const FoldedRecord& record,
              const StatusReader& reader,
              const State& after);

  /// A leader's state after record `at` had one digest, the fold of the journal has another.
  void compared(Instant now, Sequence at, Digest of_leader, Digest of_journal);

  // The truth of the world.
  void process_began(Instant now, TrueProcess process);
  void process_gone(Instant now, NodeId node, const ProcessName& name);
  void worked(Instant now, JobId job, double done);

  /// What others found: no progress, a broken invariant, a job that did not finish.
  void add(ViolationKind kind, Instant at, std::string text) {
    found_.add(kind, at, std::move(text));
  }

  const Violations& found() const { return found_; }

  /// Where other parts of the checker put what they find.
  Violations& violations() { return found_; }

  std::string name_of(JobId job) const { return jobs_.name_of(job); }

  std::size_t living() const { return processes_.living(); }

  /// What agents hear and do.
  AgentCheck& agents() { return agents_; }

 private:
  Violations found_;
  JournalCheck journal_;
  ProcessCheck processes_;
  JobCheck jobs_;
  DecisionCheck decisions_;
  OrderCheck orders_;
  RecoveryCheck recoveries_;
  BlameCheck blames_;
  BudgetCheck budgets_;
  PlanCheck plans_;
  QueueCheck queues_;
  bool judges_queues_;
  NoticeCheck notices_;
  AgentCheck agents_;
};

}  // namespace orrery::sim
