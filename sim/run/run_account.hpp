// The account of one run, whatever world it was in: metrics, listeners, summary.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/driver/driver.hpp"
#include "sim/results/arrival_curve.hpp"
#include "sim/results/fragment_samples.hpp"
#include "sim/results/queue_samples.hpp"
#include "sim/run/run.hpp"

namespace orrery::sim {

/// Feeds metrics and listeners from what a driver tells, and sums up at the end.
class RunAccount final : public RunObserver {
 public:
  /// Gives the name that a submission had in its file, by request id; empty: the job's own.
  using Labels = std::function<std::string(std::uint64_t)>;

  /// `state` is the controller's that the run will drive. All outlive the account. The run's wall
  /// clock starts here.
  RunAccount(const State& state, const RunOptions& options, Labels take_label);

  /// The jobs are to fill the cluster, and ask for this (LoadedWorkload::filling); nothing: they
  /// are not. Before the first event.
  void expect_filling(std::vector<std::pair<Bundle, std::int64_t>> mix);

  void expect(const Event& event) override;
  void on_event(Sequence sequence, const Event& event) override;
  void on_notices(std::span<const Notice> notices, const State& state) override;
  void on_instant_over(const State& state) override;
  bool should_stop() override;

  /// The policy was asked once.
  void decided(Instant at, PlanTrigger trigger, std::size_t grants, Duration wall);

  Metrics& metrics() { return *metrics_; }

  /// Takes from the controller why jobs that are not over are in their phases. Once, at the end.
  void take_reasons();

  /// Fragmentation of a run that stops at `end`, of a cluster with so many devices. The mean is up
  /// to the end of the makespan: how long the world goes on without work is no choice of a policy.
  void sum_up_fragments(Instant end, std::int64_t devices, Summary& summary) const;

  /// Means of queues up to `end`; returns some of the looks (QueueSamples::points). Once, at the
  /// end.
  std::vector<QueueSamples::Point> sum_up_queues(Instant end, Summary& summary);

  /// What the run gave; `chain` is the chain digest of its `events` records, `end` how it ended.
  /// Once, at the end.
  RunReport close(const scenarios::Scenario& scenario,
                  const Policy& policy,
                  Digest chain,
                  std::uint64_t events,
                  RunEnd end,
                  Instant now);

 private:
  const State& state_;
  const RunOptions& options_;
  Labels take_label_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::unique_ptr<Metrics> metrics_ = std::make_unique<Metrics>();
  FragmentSamples fragments_;
  QueueSamples queues_;
  std::vector<AdoptedCandidate> choices_;
  std::optional<ArrivalCurve> arrivals_;
  std::uint64_t events_ = 0;
  std::uint64_t submitted_ = 0;
  std::uint64_t next_progress_ = 0;
  std::uint64_t turns_ = 0;
};

}  // namespace orrery::sim
