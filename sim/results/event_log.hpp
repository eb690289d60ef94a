// events.jsonl: one JSON object a line for each notice of a run.
#pragma once

#include <iosfwd>
#include <string>

#include "core/base/json_text.hpp"
#include "core/record/command.hpp"
#include "core/record/plan.hpp"
#include "sim/results/job_table.hpp"

namespace orrery::sim {

/// Writes notices as they come. `at_s` is when the controller observed what led to it, in exact
/// decimal seconds; `occurred_at_s`, when it happened, stands only where it differs. Then `kind`,
/// `job` (the name in the workload's file) or `node`, and the fields of that kind.
class EventLog {
 public:
  /// Writes to `out`, which it does not own.
  explicit EventLog(std::ostream& out) : out_(out) {}

  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  ~EventLog() { flush(); }

  /// `jobs` names the job; one that it does not contain is shown by its number, "#17". `chosen`: of
  /// a notice that a policy of several has chosen one (`State::chosen`).
  void write(const Notice& notice, const JobTable& jobs, const PlanChoice& chosen = {});

  /// Hands on what is buffered; the destructor does so too.
  void flush();

 private:
  std::ostream& out_;
  std::string buffer_;
  std::string number_;
  JsonText json_;
};

}  // namespace orrery::sim
