#include "policies/deadline_plan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

namespace orrery::policies {
namespace {

using Steps = std::map<std::int64_t, std::int64_t>;

std::int64_t whole_slots(std::int64_t seconds, std::int64_t slot_s) {
  return (seconds + slot_s - 1) / slot_s * slot_s;
}

/// The largest column up to `most` with that much room; idle where there is none.
std::int32_t column_within(std::span<const SpeedColumn> columns,
                           std::int32_t most,
                           std::int64_t room) {
  std::int32_t column = most;
  while (column >= 0 && columns[static_cast<std::size_t>(column)].room > room) --column;
  return column;
}

double rate_of(std::span<const SpeedColumn> columns, std::int32_t column) {
  return column < 0 ? 0 : columns[static_cast<std::size_t>(column)].rate;
}

/// The start of the latest step from which on the column gets the work done by the deadline;
/// kPlanNever where it does not. `free` has a step at `deadline_slot_s`.
std::int64_t latest_start(const FreeProfile& free,
                          std::int64_t start_s,
                          const DeadlineWork& work,
                          std::int64_t deadline_slot_s,
                          std::int32_t column) {
  double done = 0;
  const Steps& steps = free.steps();
  for (auto next = steps.find(deadline_slot_s); next != steps.begin();) {
    const std::int64_t end_s = std::min(next->first, work.deadline_s);
    --next;
    const std::int64_t begin_s = std::max(next->first, start_s);
    const std::int32_t here = column_within(work.columns, column, next->second);
    done += rate_of(work.columns, here) * static_cast<double>(end_s - begin_s);
    if (done >= work.iterations) return begin_s;
    if (next->first <= start_s) break;
  }
  return kPlanNever;
}

void append(SharePlan& plan, std::int64_t at_s, std::int32_t column) {
  if (plan.steps.empty() || plan.steps.back().column != column)
    plan.steps.push_back({at_s, column});
}

/// Runs the work through the profile: until `change_s` at `before`, then at `after`, as far as
/// there is room.
SharePlan replay(const FreeProfile& free,
                 std::int64_t start_s,
                 const DeadlineWork& work,
                 std::int64_t slot_s,
                 std::int64_t change_s,
                 std::int32_t before,
                 std::int32_t after) {
  SharePlan plan;
  double left = work.iterations;
  const Steps& steps = free.steps();
  for (auto step = std::prev(steps.upper_bound(start_s)); step != steps.end(); ++step) {
    const std::int64_t begin_s = std::max(step->first, start_s);
    const auto next = std::next(step);
    const std::int64_t end_s = next == steps.end() ? kPlanNever : next->first;
    const std::int32_t column =
        column_within(work.columns, begin_s < change_s ? before : after, step->second);
    append(plan, begin_s, column);
    const double rate = rate_of(work.columns, column);
    if (rate <= 0) continue;
    const double seconds = std::ceil(left / rate);
    if (seconds <= static_cast<double>(end_s - begin_s)) {
      const auto whole = static_cast<std::int64_t>(seconds);
      plan.real_end_s = begin_s + whole;
      plan.end_s = begin_s + whole_slots(whole, slot_s);
      break;
    }
    left -= rate * static_cast<double>(end_s - begin_s);
  }
  plan.on_time = plan.real_end_s <= work.deadline_s;
  return plan;
}

}  // namespace

void FreeProfile::split(std::int64_t time_s) {
  if (time_s < steps_.begin()->first || time_s >= kPlanNever) return;
  steps_.emplace(time_s, at(time_s));
}

void FreeProfile::take(std::int64_t from_s, std::int64_t until_s, std::int64_t room) {
  if (room == 0 || until_s <= from_s) return;
  split(from_s);
  split(until_s);
  for (auto step = steps_.lower_bound(from_s); step != steps_.end() && step->first < until_s;
       ++step)
    step->second -= room;
}

SharePlan minimum_share(const FreeProfile& free,
                        std::int64_t start_s,
                        const DeadlineWork& work,
                        std::int64_t slot_s) {
  const auto last = static_cast<std::int32_t>(work.columns.size()) - 1;
  if (work.deadline_s <= start_s)
    return replay(free, start_s, work, slot_s, start_s, ShareStep::kIdle, last);
  // Without a deadline the smallest column that ever fits will do, at once.
  if (work.deadline_s >= kPlanNever)
    return replay(free, start_s, work, slot_s, start_s, ShareStep::kIdle, 0);
  FreeProfile split = free;
  const std::int64_t deadline_slot_s = start_s + whole_slots(work.deadline_s - start_s, slot_s);
  split.split(start_s);
  split.split(deadline_slot_s);
  for (std::int32_t column = 0; column <= last; ++column) {
    const std::int64_t from_s = latest_start(split, start_s, work, deadline_slot_s, column);
    if (from_s != kPlanNever)
      return replay(split, start_s, work, slot_s, from_s, column - 1, column);
  }
  return replay(split, start_s, work, slot_s, start_s, ShareStep::kIdle, last);
}

SharePlan share_from(const FreeProfile& free,
                     std::int64_t start_s,
                     const DeadlineWork& work,
                     std::int64_t slot_s,
                     std::int32_t column) {
  const auto next = free.steps().upper_bound(start_s);
  const std::int64_t until_s = next == free.steps().end() ? kPlanNever : next->first;
  const double rate = rate_of(work.columns, column);
  const double seconds = rate > 0 ? std::ceil(work.iterations / rate) : kPlanNever;
  SharePlan plan;
  if (seconds <= static_cast<double>(until_s - start_s)) {
    const auto whole = static_cast<std::int64_t>(seconds);
    plan.real_end_s = start_s + whole;
    plan.end_s = start_s + whole_slots(whole, slot_s);
    plan.on_time = plan.real_end_s <= work.deadline_s;
  } else {
    DeadlineWork rest = work;
    rest.iterations -= rate * static_cast<double>(until_s - start_s);
    plan = minimum_share(free, until_s, rest, slot_s);
  }
  if (plan.steps.empty() || plan.steps.front().column != column)
    plan.steps.insert(plan.steps.begin(), {start_s, column});
  else
    plan.steps.front().at_s = start_s;
  return plan;
}

SharePlan whole_run(const FreeProfile& free,
                    std::int64_t start_s,
                    const DeadlineWork& work,
                    std::int64_t slot_s) {
  SharePlan plan;
  const SpeedColumn& column = work.columns.front();
  const double seconds = std::ceil(work.iterations / column.rate);
  const std::int64_t whole =
      seconds < static_cast<double>(kPlanNever) ? static_cast<std::int64_t>(seconds) : kPlanNever;
  std::int64_t begin_s = kPlanNever;
  for (auto step = std::prev(free.steps().upper_bound(start_s)); step != free.steps().end();
       ++step) {
    if (step->second < column.room) {
      begin_s = kPlanNever;
      continue;
    }
    if (begin_s == kPlanNever) begin_s = std::max(step->first, start_s);
    const auto next = std::next(step);
    if (next != free.steps().end() && next->first - begin_s < whole) continue;
    break;
  }
  if (begin_s > start_s) append(plan, start_s, ShareStep::kIdle);
  if (begin_s == kPlanNever) return plan;
  append(plan, begin_s, 0);
  plan.real_end_s = std::min(kPlanNever, begin_s + whole);
  plan.end_s = std::min(kPlanNever, begin_s + whole_slots(whole, slot_s));
  plan.on_time = plan.real_end_s <= work.deadline_s;
  return plan;
}

void take_share(FreeProfile& free,
                const SharePlan& plan,
                std::span<const SpeedColumn> columns,
                std::int64_t sign) {
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const ShareStep& step = plan.steps[i];
    if (step.column < 0) continue;
    const std::int64_t until_s = i + 1 < plan.steps.size() ? plan.steps[i + 1].at_s : plan.end_s;
    free.take(step.at_s, until_s, sign * columns[static_cast<std::size_t>(step.column)].room);
  }
}

std::int64_t room_seconds(const SharePlan& plan, std::span<const SpeedColumn> columns) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const ShareStep& step = plan.steps[i];
    if (step.column < 0) continue;
    const std::int64_t until_s = i + 1 < plan.steps.size() ? plan.steps[i + 1].at_s : plan.end_s;
    const std::int64_t room = columns[static_cast<std::size_t>(step.column)].room;
    if (until_s >= kPlanNever || (room > 0 && (until_s - step.at_s) > (kPlanNever - sum) / room))
      return kPlanNever;
    sum += (until_s - step.at_s) * room;
  }
  return sum;
}

double marginal_cost(const FreeProfile& free,
                     std::int64_t start_s,
                     const DeadlineWork& work,
                     std::int64_t slot_s,
                     const SharePlan& plan,
                     std::int32_t column) {
  const SharePlan more = share_from(free, start_s, work, slot_s, column);
  const std::int32_t first = plan.first_column();
  const std::int64_t before = first < 0 ? 0 : work.columns[static_cast<std::size_t>(first)].room;
  const std::int64_t added = work.columns[static_cast<std::size_t>(column)].room - before;
  return static_cast<double>(room_seconds(more, work.columns) - room_seconds(plan, work.columns)) /
         static_cast<double>(std::max<std::int64_t>(1, added));
}

std::int64_t published_overhead_s(std::int64_t cluster_devices,
                                  std::int64_t devices,
                                  bool keeps_placement,
                                  bool restarts) {
  const bool large = cluster_devices >= 256;
  std::int64_t seconds = large ? 7 : 2;
  if (keeps_placement) return seconds;
  const auto doublings = static_cast<std::int64_t>(
      std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(1, devices))));
  seconds += 2 * doublings;
  if (restarts) seconds += large ? 47 : 27;
  return seconds;
}

}  // namespace orrery::policies
