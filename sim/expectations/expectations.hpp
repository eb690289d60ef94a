// Judges a run by the expectations of its scenario, from the core's notices and messages alone.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/record/command.hpp"
#include "core/state/state.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "sim/expectations/job_story.hpp"
#include "sim/expectations/recovery_record.hpp"

namespace orrery::sim {

/// Fed with every job and every notice of a run, it tells at the end what was expected in vain.
/// Only the jobs that expectations name are remembered.
class ExpectationJudge {
 public:
  /// Takes a copy of what it needs from the scenario.
  explicit ExpectationJudge(const scenarios::Scenario& scenario);

  /// A job got its id. Before the first notice about it; `name` is its full name.
  void on_job(JobId job, std::string_view name, Instant submitted);

  /// Every notice, in the order in which the core gave them.
  void on_notice(const Notice& notice);

  /// What one step told, and the state after it: as on_notice, and what jobs say of themselves.
  void on_notices(std::span<const Notice> notices, const State& state);

  /// A fault of the scenario strikes; `index` in `Scenario::faults`.
  void on_fault(std::uint32_t index, Instant at);

  /// One sentence for each expectation that the run did not meet, in the order of the file, as
  /// `file:line: job NAME: what was found, what was expected`.
  std::vector<std::string> unmet() const;

 private:
  JobStory* watched(JobId job);
  void on_node(const Notice& notice);
  bool place_window(scenarios::Expectation& expected, std::string& finding) const;
  std::vector<std::string> run_findings(const scenarios::Expectation& expected) const;

  std::string file_;
  std::vector<scenarios::Expectation> expectations_;
  std::vector<JobStory> watched_;
  std::vector<std::uint32_t> index_of_job_;  ///< By job id: index into `watched_`, or kNone.

  // Of the whole run.
  std::int64_t finished_ = 0;
  std::int64_t failed_ = 0;
  std::array<std::int64_t, EnumNames<Ignored>::kNames.size()> ignored_{};  ///< By reason.
  RecoveryRecord recoveries_;
  std::set<NodeId> excluded_;
  std::uint32_t relaunched_ = 0;
  std::int32_t spares_used_ = 0;
  Epoch epoch_;
  Sequence sequence_;                         ///< Of the last record that told something.
  std::map<std::uint32_t, Instant> strikes_;  ///< First strike of each fault that struck.
};

}  // namespace orrery::sim
