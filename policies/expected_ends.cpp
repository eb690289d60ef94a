#include "policies/expected_ends.hpp"

#include <algorithm>

namespace orrery::policies {
namespace {

// More than this and the next question starts from a fresh copy.
constexpr std::size_t kStaleMax = 1 << 16;

}  // namespace

Instant estimated_end(const JobRow& row) {
  const bool stays =
      row.holds && row.phase != JobPhase::Pending && row.phase != JobPhase::Rescheduling;
  if (!stays || row.estimate_source == EstimateSource::None) return Instant::never();
  return row.allocated_at + row.estimate;
}

void ExpectedEnds::clear() {
  order_.clear();
  ends_.clear();
  free_slots_.clear();
  slot_of_.clear();
  near_ = {};
  far_ = {};
  in_parts_ = 0;
  spare_ = nullptr;
  all_moved_ = true;
}

void ExpectedEnds::append(const Demand& demand, std::span<const NodeCount> nodes, Pieces& out) {
  const bool part = demand.devices == 1 && !demand.share.is_whole();
  for (const NodeCount& n : nodes)
    out.push_back({n.node,
                   {demand.cpu.count * n.replicas,
                    demand.memory.count * n.replicas,
                    part ? 0 : demand.devices * n.replicas,
                    part ? demand.share.thousandths * n.replicas : 0}});
}

void ExpectedEnds::set(const ClusterView& view, JobId id, Instant at) {
  if (at.is_never()) return erase(id);
  const JobView job = view.job(id);
  pieces_.clear();
  append(job.row.demand, job.nodes, pieces_);
  std::vector<NodeCount> nodes;
  for (std::size_t r = 0; job.spec.roles.size() > 1 && r < job.spec.roles.size(); ++r) {
    const RoleIndex role{static_cast<std::uint16_t>(r)};
    if (role == job.row.elastic) continue;
    nodes.clear();
    view.append_nodes(id, role, nodes);
    append(view.demand_of(job.spec, role), nodes, pieces_);
  }
  put(id, at, job.row.devices_held);
}

void ExpectedEnds::set(const JobRow& row, std::span<const NodeCount> nodes, Instant at) {
  if (at.is_never()) return erase(row.id);
  pieces_.clear();
  append(row.demand, nodes, pieces_);
  put(row.id, at, row.gang_devices());
}

void ExpectedEnds::set_others(const ClusterView& view) {
  for (const JobId id : view.other_holders())
    if (!view.is_live(id))
      set(view, id, view.is_live_anywhere(id) ? estimated_end(view.row(id)) : Instant::never());
}

void ExpectedEnds::put_in_order(Pieces& pieces) {
  const auto before = [](const Piece& a, const Piece& b) { return a.first < b.first; };
  const auto same = [](const Piece& a, const Piece& b) { return a.first == b.first; };
  if (!std::is_sorted(pieces.begin(), pieces.end(), before))
    std::stable_sort(pieces.begin(), pieces.end(), before);
  if (std::adjacent_find(pieces.begin(), pieces.end(), same) == pieces.end()) return;
  std::size_t last = 0;
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    if (same(pieces[i], pieces[last]))
      pieces[last].second.add(pieces[i].second, 1);
    else
      pieces[++last] = pieces[i];
  }
  pieces.resize(last + 1);
}

bool ExpectedEnds::has_parts(const End& end) {
  return std::ranges::any_of(end.held.list(),
                             [](const Piece& piece) { return piece.second.thousandths > 0; });
}

// The job's pieces are in `pieces_`.
void ExpectedEnds::put(JobId job, Instant at, std::int32_t devices) {
  put_in_order(pieces_);
  if (const std::uint32_t known = slot_of_[job.index()].at;
      known != kNoSlot && ends_[known].at == at && ends_[known].devices == devices &&
      std::ranges::equal(ends_[known].held.list(), pieces_))
    return;
  erase(job);
  std::uint32_t slot = static_cast<std::uint32_t>(ends_.size());
  if (free_slots_.empty()) {
    ends_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  slot_of_[job.index()].at = slot;
  End& end = ends_[slot];
  end.at = at;
  end.devices = devices;
  end.held.assign(pieces_);
  in_parts_ += has_parts(end) ? 1 : 0;
  const EndKey key{at, job, slot};
  order_.insert(key);
  if (near_.covers(key)) add(near_, end, 1);
  if (far_.covers(key)) add(far_, end, 1);
}

void ExpectedEnds::erase(JobId job) {
  Slot* const known = slot_of_.find(job.index());
  if (known == nullptr || known->at == kNoSlot) return;
  const std::uint32_t slot = std::exchange(known->at, kNoSlot);
  const End& end = ends_[slot];
  const EndKey key{end.at, job, slot};
  if (near_.covers(key)) add(near_, end, -1);
  if (far_.covers(key)) add(far_, end, -1);
  order_.erase(key);
  in_parts_ -= has_parts(end) ? 1 : 0;
  free_slots_.push_back(slot);
}

void ExpectedEnds::add(Prefix& prefix, const End& end, std::int32_t times) {
  for (const auto& [node, amount] : end.held.list()) {
    if (prefix.sums.size() <= node.index()) prefix.sums.resize(node.index() + 1);
    prefix.sums[node.index()].add(amount, times);
    if (&prefix == &near_) stale_.push_back(node);
    note_move(node);
  }
  if (stale_.size() < kStaleMax) return;
  stale_.clear();
  spare_ = nullptr;
}

void ExpectedEnds::note_move(NodeId node) {
  if (moved_.size() < kStaleMax) return moved_.push_back(node);
  all_moved_ = true;
}

bool ExpectedEnds::take_moved(std::vector<NodeId>& out) {
  out.insert(out.end(), moved_.begin(), moved_.end());
  moved_.clear();
  return !std::exchange(all_moved_, false);
}

// On which device parts come free is not known: they are added to the emptiest one of the node.
NodeFree ExpectedEnds::sum(NodeFree free, const Amount& more) {
  free.cpu.count += more.cpu;
  free.memory.count += more.memory;
  free.devices += more.devices;
  if (more.thousandths <= 0) return free;
  DeviceParts parts = free.parts ? *free.parts : DeviceParts{};
  if (!parts.empty()) parts.pop_back();
  const std::int32_t sum = free.partial_max + more.thousandths;
  free.devices += sum / 1000;
  if (sum % 1000 > 0) parts.push_back(static_cast<std::int16_t>(sum % 1000));
  set_parts(free, std::move(parts));
  return free;
}

void ExpectedEnds::update(NodeId node) {
  const NodeFree free = node.index() < near_.sums.size()
                            ? sum(spare_->at(node), near_.sums[node.index()])
                            : spare_->at(node);
  if (future_.at(node) == free) return;
  future_.set(node, free);
  note_move(node);
}

void ExpectedEnds::sync(const FreeIndex& spare) {
  changed_.clear();
  const bool follows = spare_ == &spare && future_.size() == spare.size() &&
                       spare.changed_since(spare_version_, changed_);
  spare_ = &spare;
  spare_version_ = spare.version();
  if (follows) {
    for (const NodeId node : changed_) update(node);
    for (const NodeId node : stale_) update(node);
  } else {
    future_.become(spare);
    all_moved_ = true;
    for (std::uint32_t n = 0; n < spare.size(); ++n) update(NodeId{n});
  }
  stale_.clear();
}

void ExpectedEnds::restart() {
  near_ = {};
  all_moved_ = true;
  for (std::uint32_t n = 0; n < spare_->size(); ++n) update(NodeId{n});
}

EndOrder::Place ExpectedEnds::after_mark() const {
  return near_.any ? order_.after(near_.mark) : order_.begin();
}

void ExpectedEnds::give(EndOrder::Place place) {
  near_.any = true;
  near_.mark = order_.at(place);
  add(near_, end_at(place), 1);
  for (const NodeId node : stale_) update(node);
  stale_.clear();
}

bool ExpectedEnds::step_forward() {
  const EndOrder::Place next = after_mark();
  if (next == order_.end()) return false;
  give(next);
  return true;
}

// Takes the last end back; false where it is the only one.
bool ExpectedEnds::step_back() {
  const EndOrder::Place last = order_.previous(after_mark());
  if (last == order_.begin()) return false;
  near_.mark = order_.at(order_.previous(last));
  add(near_, end_at(last), -1);
  for (const NodeId node : stale_) update(node);
  stale_.clear();
  return true;
}

bool ExpectedEnds::counting_is_exact(const JobView& job) {
  const Demand& demand = job.row.demand;
  return job.spec.roles.size() == 1 && demand.devices > 0 && demand.share.is_whole() &&
         demand.cpu.count == 0 && demand.memory.count == 0;
}

bool ExpectedEnds::fits(const ClusterView& view, const JobView& job) {
  if (future_.replicas_by_devices(job.row.demand) < job.row.min_replicas) return false;
  return counting_is_exact(job) || try_job(view, job);
}

// Whether so many replicas would be there, by numbers of devices alone, if the last end were still
// to come. Costs less than `step_back`, which needs not be tried where they would not.
bool ExpectedEnds::counts_without_last(const JobView& job) const {
  const Demand& demand = job.row.demand;
  if (demand.devices == 0 || !demand.share.is_whole()) return true;
  std::int64_t replicas = future_.replicas_by_devices(demand);
  const EndOrder::Place last = order_.previous(after_mark());
  for (const auto& [node, amount] : end_at(last).held.list()) {
    Amount without = near_.sums[node.index()];
    without.add(amount, -1);
    replicas -= replicas_by_devices(future_.at(node), demand);
    replicas += replicas_by_devices(sum(spare_->at(node), without), demand);
  }
  return replicas >= job.row.min_replicas;
}

// Leaves the place in `fit_`. A job of several roles, or with seats, has none that could be found
// without trying it.
bool ExpectedEnds::try_job(const ClusterView& view, const JobView& job) {
  const auto before = [](const NodeCount& a, const NodeCount& b) { return a.node < b.node; };
  fit_.clear();
  demand_ = job.row.demand;
  attempted_ = job.spec.roles.size() > 1 || view.is_seated(job.row.id);
  bool fits = false;
  if (attempted_) {
    attempt_.sync(future_);
    fits = try_start(view, job, job.row.min_replicas, attempt_);
    for (const NodeId node : attempt_.touched()) fit_.push_back({node, 0});
  } else {
    fits = find_place(view, job.row.id, demand_, job.row.min_replicas, future_, attempt_, fit_);
  }
  std::sort(fit_.begin(), fit_.end(), before);
  return fits;
}

std::optional<Instant> ExpectedEnds::first_fit(const ClusterView& view,
                                               const FreeIndex& spare,
                                               const JobView& job) {
  sync(spare);
  // Roles are placed one after the other, so that more room may make a job of several fit less:
  // only a search from the front finds the first.
  if (job.spec.roles.size() > 1) restart();
  if (after_mark() == order_.begin() && !step_forward()) return std::nullopt;
  if (fits(view, job)) {
    while (counts_without_last(job) && step_back()) {
      if (fits(view, job)) continue;
      step_forward();
      break;
    }
  } else {
    do {
      if (!step_forward()) return std::nullopt;
    } while (!fits(view, job));
  }
  return order_.at(order_.previous(after_mark())).at;
}

void ExpectedEnds::take_all_at_end() {
  const Instant at = near_.mark.at;
  for (EndOrder::Place next = after_mark(); next != order_.end() && order_.at(next).at == at;
       next = after_mark())
    give(next);
}

void ExpectedEnds::look_at(const ClusterView& view, const JobView& job, Instant at) {
  try_job(view, job);
  look_until(at);
}

void ExpectedEnds::look_until(Instant at) {
  const EndKey mark{at, JobId::none()};  // After every job that ends at this instant.
  EndOrder::Place from = far_.any ? order_.after(far_.mark) : order_.begin();
  EndOrder::Place to = order_.after(mark);
  const bool forward = !far_.any || far_.mark < mark;
  if (!forward) std::swap(from, to);
  for (; from != to; from = order_.next(from)) add(far_, end_at(from), forward ? 1 : -1);
  far_.any = true;
  far_.mark = mark;
}

NodeFree ExpectedEnds::left_at(const NodeCount& at) const {
  const std::size_t node = at.node.index();
  Amount later;
  if (node < far_.sums.size()) later.add(far_.sums[node], 1);
  if (node < near_.sums.size()) later.add(near_.sums[node], -1);
  return sum(
      attempted_ ? attempt_.index().at(at.node) : less(future_.at(at.node), demand_, at.replicas),
      later);
}

}  // namespace orrery::policies
