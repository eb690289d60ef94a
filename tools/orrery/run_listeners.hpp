// What listens to a run for the program: allocations, events, expectations, progress.
#pragma once

#include <chrono>
#include <iosfwd>
#include <string>
#include <vector>

#include "scenarios/scenario.hpp"
#include "sim/judging/expectations.hpp"
#include "sim/results/allocation_book.hpp"
#include "sim/results/event_log.hpp"
#include "sim/run/run.hpp"
#include "tools/orrery/child_pool.hpp"

namespace orrery::cli {

/// Keeps the last devices of every job, for jobs.csv.
class AllocationListener final : public sim::RunListener {
 public:
  explicit AllocationListener(std::span<const NodeGroup> groups) : book_(groups) {}

  void on_notices(std::span<const Notice> notices,
                  const State& state,
                  const sim::JobTable& jobs) override;

  const sim::AllocationBook& book() const { return book_; }

 private:
  sim::AllocationBook book_;
  std::vector<sim::HeldDevices> held_;
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

  std::vector<std::string> unmet() const { return judge_.unmet(); }

 private:
  sim::ExpectationJudge judge_;
};

/// Tells the parent how far the run has come, at most ten times a second.
class ProgressListener final : public sim::RunListener {
 public:
  /// `jobs_total` 0: not known.
  ProgressListener(ChildReport& report, std::uint64_t jobs_total)
      : report_(report), jobs_total_(jobs_total) {}

  bool on_progress(const sim::RunProgress& progress) override;

 private:
  ChildReport& report_;
  std::uint64_t jobs_total_;
  std::chrono::steady_clock::time_point told_;
};

}  // namespace orrery::cli
