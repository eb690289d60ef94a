#include "policies/las.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "policies/changes.hpp"

namespace orrery::policies {

void Las::refresh(const ClusterView& view, JobId id) {
  lower_.refresh(view, id);
  if (view.is_live(id) && waits(view.row(id))) {
    waiting_.put(view, id, view.row(id).attained_us);
  } else {
    waiting_.remove(id);
  }
}

void Las::absorb(const ClusterView& view) {
  const auto reset = [&] {
    waiting_.clear();
    lower_.clear();
  };
  absorb_changes(view, reset, [&](JobId id) { refresh(view, id); });
}

void Las::list_runners(const ClusterView& view) {
  runners_.clear();
  in_order_ = false;
  least_priority_ = std::numeric_limits<std::int32_t>::max();
  most_ahead_ = std::numeric_limits<std::int64_t>::min();
  for (const JobId id : view.holding()) {
    const JobRow& row = view.row(id);
    if (!may_be_taken_from(row)) continue;
    runners_.push_back({row.priority,
                        row.attained_device_us(view.now()),
                        options_.quantum.ns / 1000 * row.devices_held,
                        id});
    const Runner& runner = runners_.back();
    least_priority_ = std::min(least_priority_, runner.priority);
    most_ahead_ = std::max(most_ahead_, runner.attained - runner.margin);
  }
}

void Las::sort_runners() {
  if (std::exchange(in_order_, true)) return;
  std::sort(runners_.begin(), runners_.end(), [](const Runner& a, const Runner& b) {
    if (a.priority != b.priority) return a.priority < b.priority;
    return a.attained != b.attained ? a.attained > b.attained : b.job < a.job;
  });
}

GangStarter::Outcome Las::swap(const ClusterView& view, const OrderKey& place, Plan& plan) {
  // Most cycles swap nobody, and need no order of those that run.
  if (std::exchange(swaps_, false)) list_runners(view);
  if (least_priority_ >= place.priority && most_ahead_ <= place.key)
    return GangStarter::Outcome::NoVictims;
  sort_runners();
  const auto victims = [&](auto&& visit) {
    for (const Runner& runner : runners_) {
      if (runner.priority > place.priority) return;
      const bool gives_way =
          runner.priority < place.priority || runner.attained - runner.margin > place.key;
      if (gives_way && !visit(runner.job)) return;
    }
  };
  return gang_.start_over(place.job, victims, plan);
}

Plan Las::allocate(const JobView& job, const ClusterView& view) {
  absorb(view);
  Plan plan;
  gang_.begin(view);
  if (!gang_.start(job.row.id, plan)) lower_.preempt_for(job.row, gang_, plan);
  gang_.finish(plan);
  return plan;
}

Plan Las::optimize(const ClusterView& view) {
  absorb(view);
  Plan plan;
  gang_.begin(view);
  const std::int64_t cycle = view.now().ns / options_.quantum.ns;
  const bool swaps = cycle > cycle_;
  cycle_ = cycle;
  swaps_ = swaps;
  waiting_.start_all(gang_, plan, [&](const OrderKey& place) {
    return swaps ? swap(view, place, plan) : lower_.preempt_for(view.row(place.job), gang_, plan);
  });
  gang_.finish(plan);
  return plan;
}

void Las::save(ByteWriter& out) const { out.signed_varint(cycle_); }

void Las::load(ByteReader& in) { cycle_ = in.signed_varint(); }

}  // namespace orrery::policies
