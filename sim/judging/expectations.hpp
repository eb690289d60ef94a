// Judges a run by the expectations of its scenario, from the core's notices alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/record/command.hpp"
#include "scenarios/scenario.hpp"

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

  /// One sentence for each expectation that the run did not meet, in the order of the file, as
  /// `file:line: job NAME: what was found, what was expected`.
  std::vector<std::string> unmet() const;

 private:
  template <class T>
  struct Change {
    Instant at;
    T to;
  };

  /// What is known of one job that some expectation names.
  struct Watched {
    std::string name;
    bool submitted = false;
    Instant submitted_at;
    Instant allocated_at = Instant::never();
    std::vector<Change<JobPhase>> phases;
    std::vector<Change<std::int32_t>> replicas;
    Reason reason = Reason::Submitted;
    std::uint32_t generation = 0;
    std::uint32_t counters[EnumNames<Counter>::kNames.size()] = {};
    std::vector<std::int64_t> ignored;  ///< By reason.
  };

  using Findings = std::vector<std::string>;

  const Watched* watched(std::string_view name) const;
  static void judge_state(const scenarios::Expectation& expected,
                          const Watched& job,
                          Findings& out);
  static void judge_counters(const scenarios::Expectation& expected,
                             const Watched& job,
                             Findings& out);
  static void judge_story(const scenarios::Expectation& expected,
                          const Watched& job,
                          Findings& out);
  void judge_run(const scenarios::Expectation& expected, Findings& out) const;

  std::string file_;
  std::vector<scenarios::Expectation> expectations_;
  std::vector<Watched> watched_;
  std::vector<std::uint32_t> index_of_job_;  ///< By job id: index into `watched_`, or kNone.
  std::int64_t finished_ = 0;
  std::int64_t failed_ = 0;
  std::vector<std::int64_t> ignored_;  ///< Of all jobs and none, by reason.
};

}  // namespace orrery::sim
