#include "sim/reports/timeline.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>
#include <utility>

#include "core/base/invariant.hpp"
#include "core/membership/change.hpp"

namespace orrery::sim {
namespace {

NodeCondition condition_of(const NodeState& node) {
  if (node.silent) return NodeCondition::Silent;
  if (node.excluded) return NodeCondition::Excluded;
  if (node.lost_device) return NodeCondition::DeviceLost;
  if (!node.leaves_at.is_never()) return NodeCondition::Leaving;
  return node.spare ? NodeCondition::Spare : NodeCondition::Up;
}

/// Work of the job at `now`, extrapolated from the last report; -1 where there was none since.
double work_at(const ProgressView& progress, Instant since, Instant now) {
  if (progress.as_of < since || progress.rate == 0) return -1;
  return progress.done + progress.rate * (now - progress.as_of).in_seconds();
}

}  // namespace

Timeline::Timeline(const Timeline& other) = default;
Timeline::Timeline(Timeline&& other) noexcept = default;
Timeline& Timeline::operator=(const Timeline& other) = default;
Timeline& Timeline::operator=(Timeline&& other) noexcept = default;
Timeline::~Timeline() = default;

Timeline::Timeline(std::span<const NodeGroup> groups, TimelineLimits limits)
    : limits_(limits),
      queue_series_(limits.points_max),
      use_series_(limits.points_max),
      fragment_series_(limits.points_max),
      computing_series_(limits.states_max),
      unavailable_series_(limits.states_max) {
  for (const NodeGroup& group : groups)
    for (std::int32_t i = 0; i < group.count; ++i) {
      NodeTrack node;
      node.first_device = static_cast<std::uint32_t>(devices_total_);
      node.devices = group.devices;
      node.usable = i < group.count - group.spares;
      if (!node.usable) {
        node.condition = NodeCondition::Spare;
        unavailable_ += group.devices;
      }
      devices_total_ += group.devices;
      nodes_.push_back(node);
    }
  holders_.assign(static_cast<std::size_t>(devices_total_), 0);
  is_shared_.assign(static_cast<std::size_t>(devices_total_), 0);
  holder_.assign(static_cast<std::size_t>(devices_total_), JobId::none());
}

template <class Row>
void Timeline::keep(std::vector<Row>& rows, std::size_t rows_max, const Row& row) {
  if (rows.size() < rows_max) {
    rows.push_back(row);
  } else {
    ++rows_left_out_;
  }
}

Timeline::JobTrack& Timeline::track(JobId job) {
  if (job.index() >= jobs_.size()) jobs_.resize(job.index() + 1);
  return jobs_[job.index()];
}

void Timeline::advance(Instant at) {
  if (begin_.is_never()) {
    begin_ = now_ = at;
    tell_states();
  }
  if (at <= now_) return;
  const auto passed = static_cast<__int128>((at - now_).ns);
  device_time_.in_use += passed * in_use_;
  device_time_.computing += passed * computing_;
  device_time_.unavailable += passed * unavailable_;
  now_ = at;
}

void Timeline::submitted(JobId job, Instant at) {
  advance(at);
  if (jobs_.empty()) device_time_ = {};  // A schedule begins with its first job.
  track(job).waits = true;
  queue_series_.add(now_, static_cast<double>(++waiting_));
}

void Timeline::observe(std::span<const Notice> notices, const State& state) {
  changed_.clear();
  changed_nodes_.clear();
  for (const Notice& notice : notices) {
    advance(notice.at);
    note(notice);
    if (!notice.job.is_none() && (changed_.empty() || changed_.back() != notice.job))
      changed_.push_back(notice.job);
  }
  for (const NodeId node : changed_nodes_) {
    refresh_node(node, state);
    add_holders(node);  // Whose workers are gone with it, though no notice may name them.
  }
  // A worker that a node's list shows to have ended is named by no notice.
  changed_.insert(changed_.end(), draining_.begin(), draining_.end());
  // Jobs that give up come before jobs that take over.
  for (const JobId job : changed_) end_if_changed(job, state);
  for (std::size_t i = 0; i < changed_.size(); ++i) begin_if_holding(changed_[i], state);
  note_draining(state);
  fragments_.observe(state);
  for (const Notice& notice : notices)
    if (notice.kind == NoticeKind::PhaseChanged && is_final(notice.to)) {
      at_last_end_ = device_time_;
      at_last_end_.unavailable -= static_cast<__int128>((now_ - last_end_).ns) * unavailable_;
      break;
    }
}

void Timeline::note_draining(const State& state) {
  draining_.clear();
  for (const JobId id : changed_)
    if (const JobState* job = state.find(id); job != nullptr && job->draining > 0)
      draining_.push_back(id);
  std::ranges::sort(draining_);
  draining_.erase(std::unique(draining_.begin(), draining_.end()), draining_.end());
}

void Timeline::note(const Notice& notice) {
  switch (notice.kind) {
    case NoticeKind::PhaseChanged:
      phase_changed(notice);
      return;
    case NoticeKind::NodeChanged:
      changed_nodes_.push_back(notice.node);
      return;
    case NoticeKind::IncidentOpened:
      incident_opened(notice);
      return;
    case NoticeKind::IncidentClosed:
      incident_closed(notice);
      return;
    case NoticeKind::Allocated:
    case NoticeKind::Counted:
    case NoticeKind::IgnoredReport:
    case NoticeKind::GrantDropped:
    case NoticeKind::GrantClipped:
    case NoticeKind::PlanLost:
    case NoticeKind::PolicyChosen:
    case NoticeKind::WorkersReported:
    case NoticeKind::WorkerRestarted:
    case NoticeKind::WorkLost:
    case NoticeKind::WorkerSuspected:
      return;
  }
}

void Timeline::phase_changed(const Notice& notice) {
  JobTrack& job = track(notice.job);
  const bool waits = notice.to == JobPhase::Pending;
  if (waits != job.waits) {
    job.waits = waits;
    waiting_ += waits ? 1 : -1;
    queue_series_.add(now_, static_cast<double>(waiting_));
  }
  if (is_final(notice.to)) {
    job.finished = std::min(notice.occurred_at, now_);
    last_end_ = std::max(last_end_, job.finished);
  }
  if (limits_.phases_max > 0)
    keep(phases_, limits_.phases_max, {notice.job, now_, notice.to, notice.reason});
}

void Timeline::incident_opened(const Notice& notice) {
  const std::size_t before = incidents_.size();
  keep(incidents_,
       limits_.rows_max,
       {.job = notice.job,
        .node = notice.node,
        .number = notice.incident,
        .scope = notice.scope,
        .cause = notice.reason,
        .charged = notice.charged,
        .opened = now_});
  if (notice.job.is_none()) return;
  track(notice.job).incident =
      incidents_.size() > before ? static_cast<std::uint32_t>(before) : kNone;
}

void Timeline::incident_closed(const Notice& notice) {
  if (notice.job.is_none()) return;
  JobTrack& job = track(notice.job);
  if (job.incident != kNone) incidents_[job.incident].closed = now_;
  job.incident = kNone;
}

void Timeline::refresh_node(NodeId node, const State& state) {
  NodeTrack& its = nodes_[node.index()];
  const NodeCondition condition = condition_of(state.nodes[node.index()]);
  if (condition != its.condition) {
    its.condition = condition;
    keep(node_rows_, limits_.rows_max, {node, now_, condition});
  }
  const bool usable = state.ledger.node(node).usable;
  if (usable == its.usable) return;
  its.usable = usable;
  its.usable_changed = now_;
  computing_ += usable ? its.in_use : -its.in_use;
  unavailable_ += usable ? -its.devices : its.devices;
  tell_states();
}

// What the job holds after the step, ascending, into `scratch_`.
void Timeline::gather(JobId id, const State& state) {
  scratch_.clear();
  const JobState* job = state.find(id);
  if (job == nullptr || is_final(job->row.phase)) return;
  // While the present members drain, the devices are already those of the coming ones.
  const bool changes = job->after_drain == AfterDrain::Start;
  const std::vector<Worker>& members = changes ? job->next : job->workers;
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    // What has become of one that stays, its present entry knows: the lease of one that has ended
    // meanwhile may be somebody else's.
    const bool stays = changes && job->next_from[rank] != kNew;
    const Worker& worker = stays ? job->workers[job->next_from[rank]] : members[rank];
    if (worker.devices == 0 || worker.lease.is_none()) continue;
    const Lease& lease = state.ledger.lease(worker.lease);
    if (lease.stage == LeaseStage::Releasing) continue;
    const auto number = static_cast<std::int32_t>(rank);
    scratch_.push_back(
        {worker.node, lease.devices, lease.demand.share.thousandths, worker.role, number, number});
  }
  const auto key = [](const DevicePart& part) {
    return std::tuple(part.node,
                      part.thousandths < 1000 ? part.devices : 0,
                      part.thousandths,
                      part.role,
                      part.first_rank);
  };
  std::ranges::sort(scratch_, {}, key);
  std::size_t kept = 0;
  for (const DevicePart& next : scratch_) {
    DevicePart* last = kept > 0 ? &scratch_[kept - 1] : nullptr;
    if (last != nullptr && last->node == next.node && last->role == next.role &&
        last->thousandths == 1000 && next.thousandths == 1000) {
      last->devices |= next.devices;
      last->last_rank = next.last_rank;
    } else {
      scratch_[kept++] = next;
    }
  }
  scratch_.resize(kept);
}

// Jobs that are known to hold something on the node may have changed.
void Timeline::add_holders(NodeId id) {
  const NodeTrack& node = nodes_[id.index()];
  if (node.in_use == 0) return;
  for (std::int32_t i = 0; i < node.devices; ++i) {
    const std::uint32_t device = node.first_device + static_cast<std::uint32_t>(i);
    if (holders_[device] > 0) changed_.push_back(holder_[device]);
  }
  if (!has_shares_) return;
  for (const Live& live : live_)
    if (!live.segment.job.is_none() &&
        std::ranges::any_of(live.parts, [&](const DevicePart& part) { return part.node == id; }))
      changed_.push_back(live.segment.job);
}

void Timeline::end_if_changed(JobId job, const State& state) {
  JobTrack& its = track(job);
  if (its.live == kNone) return;
  gather(job, state);
  if (live_[its.live].parts != scratch_) end_segment(its, state.find(job));
}

void Timeline::begin_if_holding(JobId job, const State& state) {
  if (track(job).live != kNone) return;
  gather(job, state);
  if (scratch_.empty()) return;
  // A job that is known to hold any of it has given it up, or shares it.
  const std::size_t others = changed_.size();
  for (const DevicePart& part : scratch_)
    for (std::uint64_t left = part.devices; left != 0; left &= left - 1) {
      const std::uint32_t device = nodes_[part.node.index()].first_device +
                                   static_cast<std::uint32_t>(std::countr_zero(left));
      if (holders_[device] > 0 && holder_[device] != job) changed_.push_back(holder_[device]);
    }
  if (changed_.size() > others) {
    for (std::size_t i = others; i < changed_.size(); ++i) end_if_changed(changed_[i], state);
    gather(job, state);
  }
  begin_segment(track(job), state.job(job));
}

std::uint32_t Timeline::free_slot() {
  if (free_live_.empty()) {
    live_.emplace_back();
    return static_cast<std::uint32_t>(live_.size() - 1);
  }
  const std::uint32_t slot = free_live_.back();
  free_live_.pop_back();
  return slot;
}

void Timeline::begin_segment(JobTrack& its, const JobState& job) {
  its.live = free_slot();
  Live& live = live_[its.live];
  live.parts.assign(scratch_.begin(), scratch_.end());
  live.segment = {
      .job = job.row.id,
      .from = now_,
      .generation = job.row.generation,
      .phase = job.row.phase,
      .reason = job.after_drain == AfterDrain::Nothing ? job.reason : job.change_reason};
  hold(job.row.id, live.parts, 1);
}

// `job` is null where it is forgotten already.
void Timeline::end_segment(JobTrack& its, const JobState* job, bool cut_off) {
  Live& live = live_[its.live];
  hold(live.segment.job, live.parts, -1);
  free_live_.push_back(its.live);
  its.live = kNone;
  const JobId id = std::exchange(live.segment.job, JobId::none());
  if (live.segment.from == now_) return;
  live.segment.k = ++its.segments;
  live.segment.to = now_;
  live.segment.cut_off = cut_off;
  if (job != nullptr)
    live.segment.work_done =
        work_at(job->row.progress, live.segment.from, std::min(now_, its.finished));
  const bool room = segments_.size() < limits_.segments_max &&
                    parts_.size() + live.parts.size() < std::numeric_limits<std::uint32_t>::max();
  if (!room) {
    ++segments_left_out_;
    return;
  }
  live.segment.first_part = static_cast<std::uint32_t>(parts_.size());
  live.segment.part_count = static_cast<std::uint32_t>(live.parts.size());
  parts_.insert(parts_.end(), live.parts.begin(), live.parts.end());
  segments_.push_back(live.segment);
  segments_.back().job = id;
}

// Parts come to be held (`by` 1) or no longer are (-1).
void Timeline::hold(JobId job, std::span<const DevicePart> parts, int by) {
  for (const DevicePart& part : parts) {
    has_shares_ = has_shares_ || part.thousandths < 1000;
    NodeTrack& node = nodes_[part.node.index()];
    std::int32_t changed = 0;
    for (std::uint64_t left = part.devices; left != 0; left &= left - 1) {
      const auto device = node.first_device + static_cast<std::uint32_t>(std::countr_zero(left));
      std::uint16_t& holders = holders_[device];
      if (holders == (by > 0 ? 0 : 1)) ++changed;
      holders = static_cast<std::uint16_t>(holders + by);
      if (by > 0) holder_[device] = job;
      if (holders > 1) is_shared_[device] = some_shared_ = true;
    }
    node.in_use += by * changed;
    in_use_ += by * changed;
    if (node.usable) computing_ += by * changed;
  }
  use_series_.add(now_, static_cast<double>(in_use_));
  tell_states();
}

// Segments end with their job, those that began later are left out, and device-time counts no more.
void Timeline::cut_at_ends() {
  std::vector<SharedTime> before;
  std::vector<SharedTime> after;
  for (Segment& segment : segments_) {
    JobTrack& job = jobs_[segment.job.index()];
    add_shared(segment, before);
    if (segment.to > job.finished) {
      const Instant to = std::max(segment.from, job.finished);
      count_no_longer(segment, segment.to - to);
      segment.to = to;
      if (to == segment.from) --job.segments;
    }
    add_shared(segment, after);
  }
  std::erase_if(segments_, [](const Segment& segment) { return segment.to == segment.from; });
  const __int128 over = time_in_use(before) - time_in_use(after);
  for (DeviceTime* time : {&device_time_, &at_last_end_}) {
    time->in_use -= over;
    time->computing -= over;
  }
}

// Of the devices that one part alone held, whenever they were held.
void Timeline::count_no_longer(const Segment& segment, Duration last) {
  for (const DevicePart& part : parts(segment)) {
    const NodeTrack& node = nodes_[part.node.index()];
    std::int64_t alone = 0;
    for (std::uint64_t left = part.devices; left != 0; left &= left - 1)
      alone += is_shared_[node.first_device + static_cast<std::uint32_t>(std::countr_zero(left))]
                   ? 0
                   : 1;
    const auto over = static_cast<__int128>(last.ns) * alone;
    // A job comes to its end on nodes that may be used; what became of them later is another
    // matter.
    const bool computed = node.usable || node.usable_changed >= segment.to;
    for (DeviceTime* time : {&device_time_, &at_last_end_}) {
      time->in_use -= over;
      if (computed) time->computing -= over;
    }
  }
}

void Timeline::add_shared(const Segment& segment, std::vector<SharedTime>& out) const {
  if (!some_shared_) return;
  for (const DevicePart& part : parts(segment))
    for (std::uint64_t left = part.devices; left != 0; left &= left - 1) {
      const std::uint32_t device =
          first_device(part.node) + static_cast<std::uint32_t>(std::countr_zero(left));
      if (is_shared_[device]) out.push_back({device, segment.from, segment.to});
    }
}

// Each device as long as anybody held it.
__int128 Timeline::time_in_use(std::vector<SharedTime>& times) {
  std::ranges::sort(times, {}, [](const SharedTime& t) { return std::pair(t.device, t.from); });
  __int128 sum = 0;
  std::uint32_t device = kNone;
  Instant until;
  for (const SharedTime& time : times) {
    if (time.device != device) until = Instant::zero();
    device = time.device;
    const Instant from = std::max(time.from, until);
    if (time.to <= from) continue;
    sum += (time.to - from).ns;
    until = time.to;
  }
  return sum;
}

void Timeline::tell_states() {
  if (limits_.states_max == 0) return;
  computing_series_.add(now_, static_cast<double>(computing_));
  unavailable_series_.add(now_, static_cast<double>(unavailable_));
}

std::span<const Segment> Timeline::segments_of(JobId job) const {
  if (job.index() >= jobs_.size()) return {};
  const JobTrack& its = jobs_[job.index()];
  return std::span(segments_).subspan(its.first_kept, its.kept);
}

void Timeline::struck(std::uint32_t fault, Instant at) {
  advance(at);
  keep(strikes_, limits_.rows_max, {fault, at});
}

void Timeline::planned(Instant at, PlanTrigger trigger, std::uint32_t grants, Duration took) {
  if (plans_seen_++ % plan_stride_ != 0) return;
  plans_.push_back({at, trigger, grants, took});
  if (plans_.size() < limits_.plans_max) return;
  plan_stride_ *= 2;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < plans_.size(); i += 2) plans_[kept++] = plans_[i];
  plans_.resize(kept);
}

void Timeline::declare_links(std::vector<std::string> names) {
  invariant(link_names_.empty(), "links are declared once");
  const std::size_t room = names.empty() ? 8 : limits_.points_max * 64 / names.size();
  link_series_.assign(names.size(),
                      StepSeries(std::clamp<std::size_t>(room, 64, limits_.points_max)));
  link_names_ = std::move(names);
}

void Timeline::link_used(Instant at, std::uint32_t link, double share) {
  invariant(link < link_series_.size(), "a link that is used was declared");
  link_series_[link].add(at, share);
}

void Timeline::close(Instant end) {
  advance(end);
  for (JobTrack& job : jobs_)
    if (job.live != kNone) end_segment(job, nullptr, true);
  cut_at_ends();
  std::ranges::sort(
      segments_, {}, [](const Segment& segment) { return std::tuple(segment.job, segment.k); });
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    JobTrack& job = jobs_[segments_[i].job.index()];
    if (job.kept++ == 0) job.first_kept = static_cast<std::uint32_t>(i);
  }
  for (const FragmentSamples::Point& point : fragments_.points())
    fragment_series_.add(std::min(point.at, end), point.devices);
  fragment_series_.close(end);
  queue_series_.close(end);
  use_series_.close(end);
  computing_series_.close(end);
  unavailable_series_.close(end);
  for (StepSeries& series : link_series_) series.close(end);
}

}  // namespace orrery::sim
