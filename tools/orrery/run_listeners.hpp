// What listens to a run for the program: allocations, events, expectations, progress.
#pragma once

#include <chrono>
#include <iosfwd>
#include <string>
#include <vector>

#include "scenarios/language/spec/scenario.hpp"
#include "sim/expectations/decision_log.hpp"
#include "sim/expectations/expectations.hpp"
#include "sim/reports/job_notes.hpp"
#include "sim/reports/timeline.hpp"
#include "sim/results/event_log.hpp"
#include "sim/run/run.hpp"
#include "tools/orrery/child_pool.hpp"

namespace orrery::cli {

/// Records the timeline of a run.
class TimelineListener final : public sim::RunListener {
 public:
  TimelineListener(std::span<const NodeGroup> groups, sim::TimelineLimits limits)
      : timeline_(groups, limits) {}

  void on_submitted(JobId job, const JobSpec& spec, const sim::JobFacts& facts) override;
  void on_notices(std::span<const Notice> notices,
                  const State& state,
                  const sim::JobTable& jobs) override;

  void on_struck(std::uint32_t index, Instant now) override { timeline_.struck(index, now); }

  void on_decided(Instant at, PlanTrigger trigger, std::size_t grants, Duration wall) override;

  bool wants_links() const override { return true; }

  void on_links(const std::vector<std::string>& names) override { timeline_.declare_links(names); }

  void on_link_use(Instant at, std::span<const double> shares) override;

  /// What was recorded, until the run's end; once.
  const sim::Timeline& close(Instant end);

 private:
  sim::Timeline timeline_;
};

/// Notes what the page of a run says of its jobs.
class NotesListener final : public sim::RunListener {
 public:
  void on_submitted(JobId job, const JobSpec& spec, const sim::JobFacts&) override {
    notes_.add(job, spec);
  }

  const sim::JobNotes& notes() const { return notes_; }

 private:
  sim::JobNotes notes_;
};

/// Writes events.jsonl.
class EventWriter final : public sim::RunListener {
 public:
  explicit EventWriter(std::ostream& out) : log_(out) {}

  void on_notices(std::span<const Notice> notices,
                  const State& state,
                  const sim::JobTable& jobs) override;

  void flush() { log_.flush(); }

 private:
  sim::EventLog log_;
};

/// Judges the scenario's expectations.
class JudgeListener final : public sim::RunListener {
 public:
  explicit JudgeListener(const scenarios::Scenario& scenario) : judge_(scenario) {}

  void on_submitted(JobId job, const JobSpec& spec, const sim::JobFacts& facts) override;
  void on_notices(std::span<const Notice> notices,
                  const State& state,
                  const sim::JobTable& jobs) override;

  void on_struck(std::uint32_t index, Instant now) override { judge_.on_fault(index, now); }

  std::vector<std::string> unmet() const { return judge_.unmet(); }

 private:
  sim::ExpectationJudge judge_;
};

/// Writes down what was decided for each job.
class DecisionListener final : public sim::RunListener {
 public:
  void on_submitted(JobId job, const JobSpec& spec, const sim::JobFacts&) override {
    log_.on_job(job, spec.name);
  }

  void on_notices(std::span<const Notice> notices, const State&, const sim::JobTable&) override {
    for (const Notice& notice : notices) log_.on_notice(notice);
  }

  std::string text() const { return log_.text(); }

 private:
  sim::DecisionLog log_;
};

/// Watches for jobs that will never end.
class StuckListener final : public sim::RunListener {
 public:
  /// `jobs_expected` 0: not known.
  explicit StuckListener(std::uint64_t jobs_expected) : jobs_expected_(jobs_expected) {}

  void on_notices(std::span<const Notice> notices,
                  const State& state,
                  const sim::JobTable& jobs) override;

  /// Ends a run whose policy is asked again and again, and answers nothing, while no job holds
  /// anything and none will come: no change between two calls, many thousand records apart.
  bool on_progress(const sim::RunProgress& progress) override;

  /// Whether the run was ended so.
  bool stopped() const { return stopped_; }

  /// Jobs that could not fit on the cluster when they were submitted.
  std::uint64_t infeasible() const { return infeasible_; }

  /// What the first few of them lack: "default.wide: virtual cluster all: needs ...".
  const std::vector<std::string>& lacks() const { return lacks_; }

 private:
  static constexpr std::size_t kLacksMax = 5;

  std::uint64_t jobs_expected_;
  std::uint64_t infeasible_ = 0;
  std::vector<std::string> lacks_;
  bool changed_ = false;
  bool held_ = false;
  bool stopped_ = false;
};

/// Tells the parent how far the run has come, at most ten times a second.
class ProgressListener final : public sim::RunListener {
 public:
  /// `jobs_total` 0: not known. Times of the scenario are those of the run from `begin` on, times
  /// `scale`.
  ProgressListener(ChildReport& report, std::uint64_t jobs_total, Instant begin, double scale)
      : report_(report), jobs_total_(jobs_total), begin_(begin), scale_(scale) {}

  bool on_progress(const sim::RunProgress& progress) override {
    on_turns(progress);
    return false;
  }

  void on_turns(const sim::RunProgress& progress) override;

 private:
  ChildReport& report_;
  std::uint64_t jobs_total_;
  Instant begin_;
  double scale_;
  std::chrono::steady_clock::time_point told_;
};

}  // namespace orrery::cli
