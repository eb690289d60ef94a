// The arithmetic of ElasticFlow: which devices a job needs, when, to end by its deadline.
//
// Gu et al., ElasticFlow, ASPLOS 2023, as its published simulator computes it. Times are whole
// seconds from an origin of the caller's.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <vector>

namespace orrery::policies {

/// After every time that is planned for.
inline constexpr std::int64_t kPlanNever = std::numeric_limits<std::int64_t>::max() / 4;

/// A size at which a job can run. A job has several, from small to large in both.
struct SpeedColumn {
  std::int64_t room = 0;  ///< What it takes of the capacity, 0 or more.
  double rate = 0;        ///< Iterations a second, above 0.
};

/// What is free over time: a step function. The last value holds for ever.
class FreeProfile {
 public:
  explicit FreeProfile(std::int64_t room, std::int64_t from_s = 0) { steps_[from_s] = room; }

  /// The times at which the value changes, or may, with what is free from then on.
  const std::map<std::int64_t, std::int64_t>& steps() const { return steps_; }

  /// What is free at a time, not before the first step.
  std::int64_t at(std::int64_t time_s) const {
    return std::prev(steps_.upper_bound(time_s))->second;
  }

  /// Takes `room` from `from_s` until `until_s`; a negative room gives back.
  void take(std::int64_t from_s, std::int64_t until_s, std::int64_t room);

  /// Makes the time a step, of the value that it has.
  void split(std::int64_t time_s);

 private:
  std::map<std::int64_t, std::int64_t> steps_;
};

/// From a time on, a job runs at a column, or idles.
struct ShareStep {
  static constexpr std::int32_t kIdle = -1;

  std::int64_t at_s = 0;
  std::int32_t column = kIdle;

  friend bool operator==(const ShareStep&, const ShareStep&) = default;
};

/// What one job is planned to have.
struct SharePlan {
  std::vector<ShareStep> steps;          ///< Ascending, the first at the start of the plan.
  std::int64_t real_end_s = kPlanNever;  ///< When the work is done.
  std::int64_t end_s = kPlanNever;       ///< The same in whole slots of the step that it ends in.
  bool on_time = false;

  /// The column at the start of the plan.
  std::int32_t first_column() const { return steps.empty() ? ShareStep::kIdle : steps[0].column; }
};

/// What is to be planned for.
struct DeadlineWork {
  std::span<const SpeedColumn> columns;  ///< At least one.
  double iterations = 0;                 ///< Left, above 0.
  std::int64_t deadline_s = kPlanNever;
};

/// The minimum satisfactory share: the smallest column at which the job, running as late as it
/// may, is done by its deadline; before that it runs at the next smaller one, or idles. Where none
/// is enough, it runs at the largest that is free, and is late. `slot_s`: seconds, above 0.
SharePlan minimum_share(const FreeProfile& free,
                        std::int64_t start_s,
                        const DeadlineWork& work,
                        std::int64_t slot_s);

/// As above, but until the next step of the profile the job runs at `column`.
SharePlan share_from(const FreeProfile& free,
                     std::int64_t start_s,
                     const DeadlineWork& work,
                     std::int64_t slot_s,
                     std::int32_t column);

/// The first time at which a job that cannot be interrupted finds its only column free until its
/// end.
SharePlan whole_run(const FreeProfile& free,
                    std::int64_t start_s,
                    const DeadlineWork& work,
                    std::int64_t slot_s);

/// Takes what the plan holds from the profile; gives it back where `sign` is -1.
void take_share(FreeProfile& free,
                const SharePlan& plan,
                std::span<const SpeedColumn> columns,
                std::int64_t sign = 1);

/// Room times seconds until the plan's end in whole slots.
std::int64_t room_seconds(const SharePlan& plan, std::span<const SpeedColumn> columns);

/// What one more unit of room costs in room-seconds if the job runs at `column` in place of what
/// its plan has first. `free` does not hold the plan.
double marginal_cost(const FreeProfile& free,
                     std::int64_t start_s,
                     const DeadlineWork& work,
                     std::int64_t slot_s,
                     const SharePlan& plan,
                     std::int32_t column);

/// What a scheduling event costs a job, in seconds, as the authors measured it: 2 s (7 s in a
/// cluster of 256 devices or more), and for one whose placement changes 2 (log2 g + 1) more, and
/// 27 s (47 s) where its workers start as new processes. `devices`: of the job, a power of two.
std::int64_t published_overhead_s(std::int64_t cluster_devices,
                                  std::int64_t devices,
                                  bool keeps_placement,
                                  bool restarts);

}  // namespace orrery::policies
