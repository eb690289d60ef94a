// A world that plays prepared events, so that a run of it measures the core alone.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/driver/planner.hpp"
#include "core/driver/world.hpp"

namespace orrery::bench {

/// Processor time of this thread, in seconds: on a shared machine, what waits for others is not
/// counted.
double thread_seconds();

/// What one batch of the script is made of.
enum class Step : std::uint8_t { Submit, Plan, Ready, Rate, Checkpoint, Exit, Node, Other };

inline constexpr std::array<std::string_view, 8> kStepNames{"submission",
                                                            "plan with a grant",
                                                            "workers ready",
                                                            "progress: rate",
                                                            "progress: checkpoint",
                                                            "workers exited",
                                                            "node lost or back",
                                                            "other"};

/// Where the time of a run went, by kind of event.
struct Tally {
  std::array<std::uint64_t, kStepNames.size()> events{};
  std::array<double, kStepNames.size()> seconds{};
};

/// Events of one kind that happen at one instant.
struct Batch {
  Step step = Step::Other;
  Instant at;
  std::vector<Event> events;
};

/// The life of many jobs as events, prepared before the clock runs: each round submits
/// `kRound` jobs, starts as many that wait longest, reports on them and on others, and ends those
/// that run longest. So the numbers of running and of waiting jobs stay what they were.
class Script {
 public:
  static constexpr std::uint32_t kRound = 64;

  /// The cluster: 16,384 nodes of 8 devices for the jobs, and a few without, which come and go.
  static std::vector<Event> opening();

  /// Batches that bring so many jobs to run, a multiple of `kRound`.
  std::vector<Batch> fill_cluster(std::uint32_t running);

  /// Batches that bring more jobs to wait, until so many were submitted in all. The planner must
  /// not start them.
  std::vector<Batch> fill_queue(std::uint32_t submitted);

  /// Batches of more rounds.
  std::vector<Batch> rounds(std::uint32_t count);

 private:
  Batch batch(Step step);
  void add_submissions(std::uint32_t count, std::vector<Batch>& out);
  void add_reports(std::uint32_t first, std::vector<Batch>& out);
  void add_exits(std::vector<Batch>& out);
  void add_node_loss(std::vector<Batch>& out);

  Instant now_;
  std::uint32_t submitted_ = 0;
  std::uint32_t started_ = 0;
  std::uint32_t ended_ = 0;
  std::uint32_t rounds_ = 0;
};

/// Plays batches one after the other and notes how long the driver took over each.
class ScriptedWorld final : public World {
 public:
  /// The batches to play next; the tally begins anew.
  void play(std::vector<Batch> batches);

  const Tally& tally() const { return tally_; }

  std::uint64_t orders() const { return orders_; }

  Instant now() const override { return now_; }

  void issue(const Command&) override { ++orders_; }

  bool wait_events(Instant deadline, std::vector<Event>& events) override;

 private:
  void charge(Step next);

  std::vector<Batch> batches_;
  std::size_t at_ = 0;
  Instant now_;
  Tally tally_;
  Step step_ = Step::Other;
  double since_ = 0;
  std::uint64_t orders_ = 0;
};

/// Answers each submission with a grant to the job that waits longest, or with nothing while
/// `idle`.
class ScriptedPlanner final : public Planner {
 public:
  void start_jobs(bool start) { starts_ = start; }

  void ask(const PlanRequest& request, Controller& controller) override;

  bool is_busy() const override { return answer_.has_value(); }

  std::optional<PlanAnswer> take(Instant) override { return std::exchange(answer_, {}); }

  Instant ready_at() const override { return Instant::never(); }

 private:
  bool starts_ = true;
  std::optional<PlanProposed> answer_;
};

}  // namespace orrery::bench
