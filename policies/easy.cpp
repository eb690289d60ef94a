#include "policies/easy.hpp"

#include <algorithm>

#include "core/base/prefetch.hpp"
#include "policies/changes.hpp"

namespace orrery::policies {

void Easy::learn_shape(const ClusterView& view, JobId id) {
  const JobView job = view.job(id);
  const GangShape shape = shape_of(job);
  std::uint16_t& number = shape_of_[id.index()].number;
  number = kNoShape;
  Kind& kind = kinds_[job.row.wait_kind()];
  kind.any_without = kind.any_without || !shape.only.is_none() || shapes_.size() == kNoShape;
  if (!shape.only.is_none()) return;
  if (const auto known = shape_numbers_.find(shape); known != shape_numbers_.end()) {
    number = known->second;
  } else if (shapes_.size() < kNoShape) {
    number = static_cast<std::uint16_t>(shapes_.size());
    shape_numbers_.emplace(shape, number);
    shapes_.push_back({job.row.demand, job.row.min_replicas, job.row.wait_kind()});
    ++kind.shapes;
  }
}

// What this call knows of jobs like this one; null: nothing. Asked only while the call gives away
// and takes nothing back, so that what does not fit stays so.
inline Easy::Shape* Easy::shape_in_call(JobId id) {
  const ShapeNumber* known = shape_of_.find(id.index());
  if (known == nullptr || known->number == kNoShape) return nullptr;
  Shape& shape = shapes_[known->number];
  if (shape.call != call_) begin_call(shape);
  return &shape;
}

void Easy::begin_call(Shape& shape) {
  shape.call = call_;
  shape.fits_now = gang_.trial().index().replicas_by_devices(shape.demand) >= shape.replicas;
  shape.fits_beside = shape.fits_now;
  shape.is_closed = false;
}

void Easy::refresh(const ClusterView& view, JobId id) {
  lower_.refresh(view, id);
  const bool live = view.is_live(id);
  if (live && waits(view.row(id))) learn_shape(view, id);
  ends_.set(view, id, live ? estimated_end(view.row(id)) : Instant::never());
}

void Easy::absorb(const ClusterView& view) {
  const auto reset = [&] {
    lower_.clear();
    ends_.clear();
    foreseen_.clear();
    shape_numbers_.clear();
    shapes_.clear();
    shape_of_.clear();
    kinds_ = {};
  };
  absorb_changes(view, reset, [&](JobId id) { refresh(view, id); });
  ends_.set_others(view);
  for (const JobId id : foreseen_) refresh(view, id);
  foreseen_.clear();
  ++call_;
}

bool Easy::start_or_push(const ClusterView& view, JobId id, Plan& plan) {
  if (gang_.start(id, plan)) return true;
  return lower_.preempt_for(view.row(id), gang_, plan) == GangStarter::Outcome::Started;
}

// The first that quotas allow, or this one where that comes before.
JobId Easy::head_or(const ClusterView& view, JobId id) {
  JobId head;
  view.waiting().for_each([&](const WaitEntry& entry) {
    if (entry.job == id || gang_.quota_allows(entry.job)) head = entry.job;
    return head.is_none();
  });
  return head;
}

Plan Easy::allocate(const JobView& job, const ClusterView& view) {
  absorb(view);
  Plan plan;
  gang_.begin(view);
  const JobRow& row = job.row;
  // A job that goes before the head takes its place, or moves its shadow time: who did not fit
  // beside it may do so now.
  const std::size_t waiting = view.waiting().size();
  const bool is_last = !view.waiting().among_first(waiting - 1, row.priority, row.id);
  if (!is_last && head_or(view, row.id) == row.id) {
    start_all(view, plan);
    return plan;
  }
  // Only the new job can start: whatever else could was started when it became possible.
  if (row.gang_room() > gang_.device_room() && !lower_.any_below(row.priority)) return plan;
  const auto within = static_cast<std::size_t>(options_.backfill_depth) + 1;
  if (options_.backfill_depth > 0 && !view.waiting().among_first(within, row.priority, row.id))
    return plan;
  const JobId head = head_or(view, row.id);
  if (head == row.id || lower_.any_below(row.priority)) {
    start_or_push(view, row.id, plan);
    gang_.finish(plan);
    return plan;
  }
  Reservation reserved = reserve(view, view.job(head));
  const bool stated = row.estimate_source != EstimateSource::None;
  const Duration estimate = stated ? row.estimate : Duration::zero();
  start_beside(view, {row.id, row.gang_room(), estimate}, reserved, plan);
  gang_.finish(plan);
  return plan;
}

Plan Easy::optimize(const ClusterView& view) {
  absorb(view);
  Plan plan;
  gang_.begin(view);
  start_all(view, plan);
  return plan;
}

void Easy::start_all(const ClusterView& view, Plan& plan) {
  JobId head;
  std::size_t place = 0;
  view.waiting().for_each([&](const WaitEntry& entry) {
    if (!start_or_push(view, entry.job, plan) && gang_.quota_allows(entry.job)) head = entry.job;
    place += head.is_none() ? 1 : 0;
    return head.is_none();
  });
  if (!head.is_none()) backfill(view, head, place, plan);
  gang_.finish(plan);
}

// Whether a try is worth its cost. `reserved` is null where there is no reservation yet.
bool Easy::may_start(const WaitEntry& entry,
                     const Shape& shape,
                     const Reservation* reserved) const {
  if (shape.fits_beside) return true;
  return shape.fits_now && (reserved == nullptr || reserved->is_short(entry));
}

// Once no shape of a kind can start in this call, its jobs need not be looked at.
void Easy::close_if_over(Shape& shape, Backfill& fill) {
  const bool any_short = !fill.reserved || fill.reserved->allows_short();
  if (shape.is_closed || shape.fits_beside || (shape.fits_now && any_short)) return;
  shape.is_closed = true;
  Kind& kind = kinds_[shape.kind];
  if (kind.call != call_) kind.closed = 0;
  kind.call = call_;
  if (++kind.closed == kind.shapes && !kind.any_without)
    fill.scan.kinds &= ~(WaitKinds{1} << shape.kind);
}

// Starts the job if that is possible; false where no other can start, either.
bool Easy::look_at(const WaitEntry& entry, Backfill& fill) {
  Shape* shape = shape_in_call(entry.job);
  if (entry.devices > gang_.device_room()) {
    if (shape != nullptr) shape->fits_now = shape->fits_beside = false;
  } else if (shape == nullptr ||
             may_start(entry, *shape, fill.reserved ? &*fill.reserved : nullptr)) {
    // The reservation costs more than the scan, so it is computed when it is first needed.
    if (!fill.reserved) fill.reserved = reserve(fill.view, fill.view.job(fill.head));
    if (fill.reserved->shadow.is_never()) return false;
    if (start_beside(fill.view, entry, *fill.reserved, fill.plan)) {
      if (options_.backfill_depth > 0) ++fill.scan.end;
      return gang_.device_room() > 0;
    }
  }
  if (shape != nullptr) close_if_over(*shape, fill);
  return true;
}

// `place` is the head's in the queue.
void Easy::backfill(const ClusterView& view, JobId head, std::size_t place, Plan& plan) {
  if (gang_.device_room() == 0) return;
  Backfill fill{view, plan, head, {.from = place + 1}, std::nullopt};
  if (options_.backfill_depth > 0)
    fill.scan.end = fill.scan.from + static_cast<std::size_t>(options_.backfill_depth);
  view.waiting().for_each_of(
      fill.scan, [&](const WaitEntry& entry, WaitKind) { return look_at(entry, fill); });
}

// What this call has proposed so far, as if it were so; the next view tells what came of it.
void Easy::foresee(const ClusterView& view) {
  for (const GangStarter::Started& s : gang_.started()) {
    const JobRow& row = view.row(s.job);
    if (row.estimate_source == EstimateSource::None) continue;
    ends_.set(row, gang_.nodes_of(s), view.now() + row.estimate);
    foreseen_.push_back(s.job);
  }
  for (const JobId id : gang_.removed()) {
    ends_.set(view, id, Instant::never());
    foreseen_.push_back(id);
  }
}

Easy::Reservation Easy::reserve(const ClusterView& view, const JobView& head) {
  foresee(view);
  // Where any device will do, counting is exact; else nodes have to come free as a whole.
  const bool counts = !options_.reserve_nodes && !ends_.any_in_parts() &&
                      head.spec.roles.size() == 1 && head.row.demand.devices == 1 &&
                      head.row.demand.share.is_whole() && head.row.demand.model.is_none() &&
                      gang_.free_devices() < head.row.gang_devices();
  return counts ? reserve_by_count(view, head) : reserve_by_node(view, head);
}

Easy::Reservation Easy::reserve_by_count(const ClusterView& view, const JobView& head) {
  Reservation reserved;
  reserved.now = view.now();
  const std::int64_t need = head.row.gang_devices();
  std::int64_t free = gang_.free_devices();
  ends_.for_each([&](Instant expected, std::int32_t devices) {
    const Instant at = std::max(expected, view.now());
    if (at > reserved.shadow) return false;
    free += devices;
    if (free >= need && reserved.shadow.is_never()) reserved.shadow = at;
    return true;
  });
  reserved.extra = free - need;
  return reserved;
}

Easy::Reservation Easy::reserve_by_node(const ClusterView& view, const JobView& head) {
  Reservation reserved;
  reserved.now = view.now();
  reserved.by_node = true;
  reserved.head = head.row.id;
  const std::optional<Instant> end = ends_.first_fit(view, gang_.trial().index(), head);
  if (end) reserved.shadow = std::max(*end, view.now());
  if (end && options_.reserve_nodes) ends_.take_all_at_end();
  return reserved;
}

// Until the shadow time a long job may use what is free now and not the head's by then. What was
// started since the reservation ends by then, so it counts now only.
void Easy::look_beside(const ClusterView& view, Reservation& reserved) {
  if (reserved.looked_beside) return;
  reserved.looked_beside = true;
  ends_.look_at(view, view.job(reserved.head), reserved.shadow);
  beside_.sync(gang_.trial().index(), ends_);
}

// What was started since `mark` leaves no more to long jobs than to others. Where parts of devices
// are taken, the two may take them from different devices, so that the rest is not the same.
void Easy::follow_beside(std::size_t mark) {
  for (const NodeId node : gang_.trial().touched().subspan(mark))
    beside_.reduce(node, gang_.trial().index().at(node));
}

// A plan names nodes: on one of the head's each part may come to lie on a device that is in use now
// and is to be the head's. So many whole ones are left beside it at least.
bool Easy::may_break_up(const Reservation& reserved, std::span<const NodeCount> nodes) const {
  return std::ranges::any_of(nodes, [&](const NodeCount& at) {
    const auto head = std::ranges::find(ends_.fit(), at.node, &NodeCount::node);
    if (head == ends_.fit().end()) return false;
    const auto parts = std::ranges::find(reserved.parts, at.node, &NodeCount::node);
    const std::int32_t before = parts == reserved.parts.end() ? 0 : parts->replicas;
    return ends_.left_at(*head).devices < before + at.replicas;
  });
}

void Easy::note_parts(std::span<const NodeCount> nodes, Reservation& reserved) {
  for (const NodeCount& at : nodes) {
    const auto parts = std::ranges::find(reserved.parts, at.node, &NodeCount::node);
    if (parts == reserved.parts.end())
      reserved.parts.push_back(at);
    else
      parts->replicas += at.replicas;
  }
}

bool Easy::start_beside(const ClusterView& view,
                        const WaitEntry& entry,
                        Reservation& reserved,
                        Plan& plan) {
  if (reserved.shadow.is_never()) return false;
  if (reserved.is_short(entry)) return start_short(entry, reserved, plan);
  if (reserved.by_node) return start_long(view, entry, reserved, plan);
  // The room that it needs is never more than its devices, and is known without a look at the job.
  if (entry.devices > reserved.extra) return false;
  // A part may break up a whole device.
  const std::int32_t devices = view.row(entry.job).gang_devices();
  if (devices > reserved.extra || !gang_.start(entry.job, plan)) return false;
  reserved.extra -= devices;
  return true;
}

bool Easy::start_short(const WaitEntry& entry, const Reservation& reserved, Plan& plan) {
  const std::size_t mark = gang_.trial().mark();
  if (!gang_.start(entry.job, plan)) {
    Shape* shape = shape_in_call(entry.job);
    if (shape != nullptr && gang_.quota_allows(entry.job))
      shape->fits_now = shape->fits_beside = false;
    return false;
  }
  if (reserved.looked_beside) follow_beside(mark);
  return true;
}

bool Easy::start_long(const ClusterView& view,
                      const WaitEntry& entry,
                      Reservation& reserved,
                      Plan& plan) {
  Shape* shape = shape_in_call(entry.job);
  if (shape != nullptr && !shape->fits_beside) return false;
  look_beside(view, reserved);
  // By numbers alone, which needs no look at the job.
  const FreeIndex& beside = beside_.index();
  if (entry.devices > beside.device_room() ||
      (shape != nullptr && beside.replicas_by_devices(shape->demand) < shape->replicas)) {
    if (shape != nullptr) shape->fits_beside = false;
    return false;
  }
  if (!gang_.quota_allows(entry.job)) return false;
  const JobView job = view.job(entry.job);
  std::vector<NodeCount> nodes;
  // Jobs of a shape have one role. Their specification was not read for long, and is when they
  // start: it is fetched meanwhile.
  if (shape == nullptr && job.spec.roles.size() > 1) return false;
  prefetch(&job.spec);
  const JobRow& row = job.row;
  if (!find_place(view, row.id, row.demand, row.min_replicas, beside, scratch_, nodes)) {
    if (shape != nullptr) shape->fits_beside = false;
    return false;
  }
  if (row.has_parts() && may_break_up(reserved, nodes)) return false;
  if (row.has_parts()) note_parts(nodes, reserved);
  const std::size_t mark = gang_.trial().mark();
  gang_.start_on(entry.job, nodes, plan);
  for (const NodeCount& at : nodes) beside_.take(at, row.demand);
  follow_beside(mark);
  return true;
}

}  // namespace orrery::policies
