#include "policies/shortest_remaining.hpp"

#include <algorithm>
#include <limits>

#include "policies/changes.hpp"

namespace orrery::policies {
namespace {

bool has_report(const JobRow& row) {
  return row.progress.source != EstimateSource::None && !row.progress.remaining.is_forever();
}

Duration remaining_of_waiting(const JobRow& row) {
  return has_report(row) ? std::max(Duration::zero(), row.progress.remaining) : estimate_left(row);
}

// For one that holds: the instant at which its remaining time is used up. A report from before the
// present allocation says what was left when the job stopped.
Instant reported_end(const JobRow& row) {
  if (has_report(row))
    return std::max(row.progress.as_of, row.allocated_at) + row.progress.remaining;
  return row.attained_as_of + estimate_left(row);
}

}  // namespace

Duration estimate_left(const JobRow& row) {
  if (row.estimate_source == EstimateSource::None || row.estimate.is_forever())
    return Duration::forever();
  const std::int64_t devices = std::max(1, row.gang_devices());
  const Duration served{row.attained_us / devices * 1000};
  return std::max(Duration::zero(), row.estimate - served);
}

std::int32_t ShortestRemaining::weight_of(const JobRow& row) const {
  // Of the minimum, also of one that holds more: it waits at that size if it has to give way.
  return measure_ == Measure::Time ? 1 : std::max(1, row.gang_devices());
}

/// Nanoseconds, or device-microseconds; the largest number where nothing is known.
std::int64_t ShortestRemaining::amount(Duration left, std::int32_t weight) const {
  constexpr std::int64_t unknown = std::numeric_limits<std::int64_t>::max();
  if (left.is_forever()) return unknown;
  if (measure_ == Measure::Time) return left.ns;
  return std::min(left.ns / 1000, (unknown - 1) / weight) * weight;
}

std::int64_t ShortestRemaining::key_of_waiting(const JobRow& row) const {
  return amount(remaining_of_waiting(row), weight_of(row));
}

void ShortestRemaining::drop_runner(const Known& known) {
  const auto priority = runners_.find(known.priority);
  const auto weight = priority->second.find(known.weight);
  weight->second.erase(known.runner);
  if (weight->second.empty()) priority->second.erase(weight);
  if (priority->second.empty()) runners_.erase(priority);
}

void ShortestRemaining::refresh(const ClusterView& view, JobId id) {
  Known& known = known_[id.index()];
  Known now;
  if (view.is_live(id)) {
    const JobRow& row = view.row(id);
    if (may_be_taken_from(row)) now = {true, row.priority, weight_of(row), {reported_end(row), id}};
    if (waits(row)) {
      waiting_.put(view, id, key_of_waiting(row));
    } else {
      waiting_.remove(id);
    }
  } else {
    waiting_.remove(id);
  }
  if (known.is_same(now)) return;
  if (known.runs) drop_runner(known);
  if (now.runs) runners_[now.priority][now.weight].insert(now.runner);
  known = now;
}

void ShortestRemaining::absorb(const ClusterView& view) {
  const auto reset = [&] {
    waiting_.clear();
    runners_.clear();
    known_.clear();
  };
  absorb_changes(view, reset, [&](JobId id) { refresh(view, id); });
}

/// Visits the jobs that have more left than `above`, the most first, until one visit answers false;
/// false then.
template <class Visit>
bool ShortestRemaining::visit_most_first(const ByWeight& runners,
                                         Instant now,
                                         std::int64_t above,
                                         Visit&& visit) {
  const auto left_of = [&](const Cursor& cursor) {
    const Instant end = cursor.next->end;
    return amount(end.is_never() ? Duration::forever() : end - now, cursor.weight);
  };
  std::vector<Cursor> cursors;
  for (const auto& [weight, group] : runners)
    cursors.push_back({group.begin(), group.end(), weight});
  while (true) {
    Cursor* most = nullptr;
    std::int64_t most_left = above;
    for (Cursor& cursor : cursors) {
      if (cursor.next == cursor.end) continue;
      const std::int64_t left = left_of(cursor);
      const bool first = left > most_left || (most != nullptr && left == most_left &&
                                              most->next->job < cursor.next->job);
      if (!first) continue;
      most = &cursor;
      most_left = left;
    }
    if (most == nullptr) return true;
    if (!visit((most->next++)->job)) return false;
  }
}

GangStarter::Outcome ShortestRemaining::start_over(const ClusterView& view,
                                                   const OrderKey& place,
                                                   Plan& plan) {
  const auto victims = [&](auto&& visit) {
    for (const auto& [priority, runners] : runners_) {
      if (priority > place.priority) return;
      const std::int64_t above =
          priority < place.priority ? std::numeric_limits<std::int64_t>::min() : place.key;
      if (!visit_most_first(runners, view.now(), above, visit)) return;
    }
  };
  return gang_.start_over(place.job, victims, plan);
}

Plan ShortestRemaining::allocate(const JobView& job, const ClusterView& view) {
  absorb(view);
  Plan plan;
  gang_.begin(view);
  const OrderKey place{job.row.priority, key_of_waiting(job.row), job.row.id};
  if (!gang_.start(job.row.id, plan)) start_over(view, place, plan);
  gang_.finish(plan);
  return plan;
}

Plan ShortestRemaining::optimize(const ClusterView& view) {
  absorb(view);
  Plan plan;
  gang_.begin(view);
  waiting_.start_all(
      gang_, plan, [&](const OrderKey& place) { return start_over(view, place, plan); });
  gang_.finish(plan);
  return plan;
}

}  // namespace orrery::policies
