#include "policies/tiresias.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "policies/changes.hpp"
#include "policies/quotas.hpp"
#include "policies/rigid_size.hpp"

namespace orrery::policies {

namespace {

constexpr std::int64_t kMicrosecondsPerSecond = 1'000'000;
constexpr std::int64_t kUnreached = std::numeric_limits<std::int64_t>::max();

/// Devices of the whole job at its rigid size, as quotas count them.
std::int32_t devices_wanted(const JobView& job) { return devices_at(job.row, size_of(job)); }

/// When a job that holds devices has had so much service in all.
Instant when_served(const JobRow& row, std::int64_t total_us) {
  if (row.devices_held <= 0 || total_us == kUnreached) return Instant::never();
  const std::int64_t missing = std::max<std::int64_t>(0, total_us - row.attained_us);
  return row.attained_as_of + Duration{(missing + row.devices_held - 1) / row.devices_held * 1000};
}

}  // namespace

Tiresias::Tiresias(TiresiasParameters parameters) : parameters_(std::move(parameters)) {
  for (const std::int64_t threshold : parameters_.thresholds_device_s)
    thresholds_us_.push_back(threshold * kMicrosecondsPerSecond);
}

Triggers Tiresias::triggers() const {
  return {
      .submission = false, .completion = false, .capacity = false, .period = parameters_.period};
}

// ---- Places in the queues ----

std::int64_t Tiresias::service_us(const JobRow& row, Instant now) const {
  const auto moved = moved_.find(row.id);
  return row.attained_device_us(now) - (moved == moved_.end() ? 0 : moved->second.started_us);
}

std::uint32_t Tiresias::queue_of(JobId id) const {
  const auto moved = moved_.find(id);
  if (moved == moved_.end()) return 0;
  return std::min(moved->second.queue, static_cast<std::uint32_t>(thresholds_us_.size()));
}

std::uint32_t Tiresias::queue_by_service(std::int64_t service_us) const {
  return static_cast<std::uint32_t>(
      std::upper_bound(thresholds_us_.begin(), thresholds_us_.end(), service_us) -
      thresholds_us_.begin());
}

/// When the job, left alone, changes its queue or its index next.
Instant Tiresias::next_change(const ClusterView& view,
                              const JobView& job,
                              std::uint32_t queue) const {
  const JobRow& row = job.row;
  const std::int64_t service = service_us(row, view.now());
  const std::int64_t forgiven = row.attained_device_us(view.now()) - service;
  if (row.holds) {
    std::int64_t next = queue < thresholds_us_.size() ? thresholds_us_[queue] : kUnreached;
    next = std::min(next, parameters_.gittins.next_change(service));
    return when_served(row, next == kUnreached ? kUnreached : next + forgiven);
  }
  if (parameters_.promote_after <= 0 || queue == 0 || service <= 0) return Instant::never();
  const double ran_s =
      static_cast<double>(service) / kMicrosecondsPerSecond / std::max(1, devices_wanted(job));
  return row.attained_as_of + Duration::from_seconds(ran_s * parameters_.promote_after);
}

/// Demotes or promotes the job where its time has come; whether it did.
bool Tiresias::move(const ClusterView& view, const JobView& job) {
  const JobRow& row = job.row;
  const std::uint32_t queue = queue_of(row.id);
  const std::uint32_t served = queue_by_service(service_us(row, view.now()));
  if (served > queue) {
    Moved& moved = moved_[row.id];
    moved = {served, view.now(), ++moves_, moved.started_us};
    return true;
  }
  if (row.holds || next_change(view, job, queue) > view.now()) return false;
  moved_[row.id] = {0, view.now(), ++moves_, row.attained_us};
  return true;
}

Tiresias::Known Tiresias::known_now(const ClusterView& view, const JobView& job) const {
  const JobRow& row = job.row;
  Known known;
  known.runs = row.holds && !row.is_fixed();
  known.waits = !row.holds;
  // Moves come behind all that has arrived by then.
  known.place = {row.priority, queue_of(row.id), 0, row.submitted, row.id.value, row.id, 0};
  const auto moved = moved_.find(row.id);
  if (!parameters_.gittins.empty()) {
    known.place.index = parameters_.gittins.index_at(service_us(row, view.now()));
  } else if (moved != moved_.end()) {
    constexpr std::uint64_t behind_arrivals = std::uint64_t{1} << 32;
    known.place.entered = moved->second.at;
    known.place.order = behind_arrivals + moved->second.order;
  }
  known.place.thousandths = row.thousandths_at(size_of(job));
  known.group = {known.place.thousandths,
                 shape_of(view, job, size_of(job)),
                 row.quota_group,
                 row.quota_namespace,
                 has_quota(row) ? devices_wanted(job) : 0};
  known.next = next_change(view, job, known.place.queue);
  return known;
}

// ---- Following the views ----

void Tiresias::forget(JobId id) {
  const auto found = known_.find(id);
  if (found == known_.end()) return;
  const Known& known = found->second;
  if (known.runs) running_.erase(known.place);
  if (known.waits) {
    const auto group = waiting_.find(known.group);
    group->second.erase(known.place);
    if (group->second.empty()) waiting_.erase(group);
  }
  if (!known.next.is_never()) due_.erase({known.next, id});
  known_.erase(found);
}

/// Looks the job up again, after it was moved where that is due.
void Tiresias::refresh(const ClusterView& view, JobId id) {
  forget(id);
  const JobView job = view.job(id);
  // A live job that neither waits nor holds (it drains) is not scheduled now.
  if (!job.row.holds && !waits(job.row)) return;
  move(view, job);
  const Known known = known_now(view, job);
  if (known.runs) running_.insert(known.place);
  if (known.waits) waiting_[known.group].insert(known.place);
  if (!known.next.is_never()) due_.insert({known.next, id});
  known_.emplace(id, known);
}

void Tiresias::note_changes(const ClusterView& view) {
  if (!view.touched_complete()) {
    follows_ = false;
    changed_.clear();
  }
  if (follows_) changed_.insert(changed_.end(), view.touched().begin(), view.touched().end());
}

void Tiresias::absorb(const ClusterView& view) {
  note_changes(view);
  if (!follows_) {
    known_.clear();
    waiting_.clear();
    running_.clear();
    due_.clear();
    std::erase_if(moved_, [&](const auto& entry) { return !view.is_live(entry.first); });
    changed_ = jobs_in_order(view);
    follows_ = true;
  }
  for (auto next = due_.begin(); next != due_.end() && next->first <= view.now(); ++next)
    changed_.push_back(next->second);
  std::erase_if(changed_, [&](JobId id) {
    if (view.is_live(id)) return false;
    forget(id);
    moved_.erase(id);
    return true;
  });
  // Who is moved at the same time is moved in this order.
  std::sort(changed_.begin(), changed_.end(), [&](JobId a, JobId b) {
    return comes_before(view.row(a), view.row(b));
  });
  changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
  for (const JobId id : changed_) refresh(view, id);
  changed_.clear();
}

// ---- The plan ----

Tiresias::Scan Tiresias::whole_scan(const ClusterView& view) const {
  Scan scan{{}, running_.begin(), thousandths_to_share(view, closed_)};
  for (const auto& [group, places] : waiting_)
    scan.heap.push_back({&group, places.begin(), places.end(), false});
  std::make_heap(scan.heap.begin(), scan.heap.end());
  return scan;
}

/// Whether quotas let the cursor's job run: asked once for its group where that says it of all.
bool Tiresias::quotas_admit(const ClusterView& view, Cursor& cursor) {
  if (cursor.quota_asked && view.quotas_count_devices()) return true;
  cursor.quota_asked = true;
  const JobId id = cursor.next->job;
  return view.quota_allows(id, devices_wanted(view.job(id)));
}

/// Whether this job of the group and all behind it are blocked.
bool Tiresias::Choice::blocks(const Group& group, const Place& place) const {
  return std::any_of(blocked_groups.begin(), blocked_groups.end(), [&](const Blocked& each) {
    return each.group == &group && !(place < each.from);
  });
}

/// Blocks the job; where nothing is taken back, which might make room for another one of the group
/// yet, all behind it as well.
void Tiresias::Choice::block(const Group& group, const Place& place) {
  const auto at = std::lower_bound(blocked.begin(), blocked.end(), place.job);
  if (at == blocked.end() || *at != place.job) blocked.insert(at, place.job);
  if (!preempted.empty()) return;
  for (Blocked& each : blocked_groups)
    if (each.group == &group) {
      each.from = std::min(each.from, place);
      return;
    }
  blocked_groups.push_back({&group, place});
}

/// Puts the first cursor, which is another one now, to where it belongs in the heap: with a pop and
/// a push in its place, a run of 20,000 jobs takes a tenth longer.
void Tiresias::sink_first(std::vector<Cursor>& heap) {
  const Cursor moved = heap.front();
  std::size_t at = 0;
  for (std::size_t child = 1; child < heap.size(); child = 2 * at + 1) {
    if (child + 1 < heap.size() && heap[child] < heap[child + 1]) ++child;
    if (!(moved < heap[child])) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = moved;
}

/// Looks at the first waiting job. What is left never grows, so a group that may not run is looked
/// at no more.
void Tiresias::scan_waiting(const ClusterView& view, Choice& choice) {
  Scan& scan = choice.scan;
  const Group& group = *scan.heap.front().group;
  const Place& place = *scan.heap.front().next;
  const bool fits = group.thousandths <= scan.left && !choice.blocks(group, place);
  const bool may_run = fits && quotas_admit(view, scan.heap.front());
  if (!fits || (!may_run && view.quotas_count_devices())) {
    std::pop_heap(scan.heap.begin(), scan.heap.end());
    scan.heap.pop_back();
    return;
  }
  if (may_run && !std::binary_search(choice.blocked.begin(), choice.blocked.end(), place.job)) {
    choice.starting.push_back({place.job, &group, place, scan, choice.preempted.size()});
    scan.left -= group.thousandths;
  }
  Cursor& first = scan.heap.front();
  if (++first.next == first.end) {
    first = scan.heap.back();
    scan.heap.pop_back();
  }
  if (!scan.heap.empty()) sink_first(scan.heap);
}

/// Thousandths of devices that others could have if the runner gave up its own.
std::int64_t Tiresias::taken_by(const Place& runner) const {
  return closed_.none() ? runner.thousandths
                        : std::max<std::int64_t>(0, runner.thousandths - closed_.held(runner.job));
}

/// Merges the groups of waiting jobs and the running ones in their common order, from where the
/// scan stands to the end.
void Tiresias::scan(const ClusterView& view, Choice& choice) const {
  Scan& scan = choice.scan;
  while (!scan.heap.empty() || scan.runner != running_.end()) {
    const bool waits_first = !scan.heap.empty() && (scan.runner == running_.end() ||
                                                    *scan.heap.front().next < *scan.runner);
    if (waits_first) {
      scan_waiting(view, choice);
      continue;
    }
    if (const std::int64_t takes = taken_by(*scan.runner); takes <= scan.left) {
      scan.left -= takes;
    } else {
      choice.preempted.push_back(scan.runner->job);
    }
    ++scan.runner;
  }
}

/// Begins the plan: all that the choice takes back is free.
void Tiresias::take_back(const ClusterView& view, const Choice& choice, Placing& placing) {
  placer_.begin(view);
  placing = {};
  for (const JobId id : choice.preempted) {
    placing.plan.preempt(id);
    placer_.give_back(view, view.job(id));
  }
  placer_.settle_parts(view);
}

/// Places the chosen jobs behind those that have a mark; blocks those that do not fit although
/// their count does. The first of them; the number of chosen jobs where there is none.
std::size_t Tiresias::place(const ClusterView& view, Choice& choice, Placing& placing) {
  std::size_t misfit = choice.starting.size();
  for (std::size_t i = placing.marks.size(); i < choice.starting.size(); ++i) {
    const Starting& starting = choice.starting[i];
    const JobId id = starting.job;
    placing.marks.push_back(
        {placer_.mark(), placing.plan.grants.size(), placing.plan.nodes.size()});
    const JobView job = view.job(id);
    std::vector<NodeCount> nodes;
    if (!choice.blocks(*starting.group, starting.place) &&
        placer_.place(view, job, rigid_size(job), nodes)) {
      grant_on(id, rigid_size(job), nodes, placing.plan);
      continue;
    }
    choice.block(*starting.group, starting.place);
    misfit = std::min(misfit, i);
  }
  return misfit;
}

/// Whether a chosen job that found no place finds one where all are placed by priority: by count
/// there is enough for all of them, so that one of lower priority may be in its way.
bool Tiresias::lower_ones_give_way(const ClusterView& view,
                                   const Choice& choice,
                                   const Placing& placing) {
  std::set<JobId> unplaced;
  for (const Starting& each : choice.starting) unplaced.insert(each.job);
  for (const Grant& grant : placing.plan.grants) unplaced.erase(grant.job);
  std::vector<JobId> preempted = choice.preempted;
  std::sort(preempted.begin(), preempted.end());
  std::vector<SizedJob> jobs;
  jobs.reserve(running_.size() + choice.starting.size());
  auto runner = running_.begin();
  const auto add_runner = [&] {
    const JobId id = (runner++)->job;
    const bool goes = std::binary_search(preempted.begin(), preempted.end(), id);
    const std::int32_t replicas = goes ? 0 : view.row(id).replicas;
    jobs.push_back({id, replicas, replicas});
  };
  for (const Starting& each : choice.starting) {
    while (runner != running_.end() && *runner < each.place) add_runner();
    const std::int32_t replicas = rigid_size(view.job(each.job));
    jobs.push_back({each.job, replicas, replicas});
  }
  while (runner != running_.end()) add_runner();
  return by_priority_.place(view, jobs, unplaced);
}

/// Chooses again from the first job that did not fit; whether that takes back the same as before.
bool Tiresias::choose_anew(const ClusterView& view, std::size_t misfit, Choice& choice) const {
  Starting& first = choice.starting[misfit];
  choice.scan = std::move(first.scan);
  const std::vector<JobId> before(
      choice.preempted.begin() + static_cast<std::ptrdiff_t>(first.preempted),
      choice.preempted.end());
  choice.preempted.resize(first.preempted);
  choice.starting.resize(misfit);
  const std::size_t kept = choice.preempted.size();
  scan(view, choice);
  return std::equal(choice.preempted.begin() + static_cast<std::ptrdiff_t>(kept),
                    choice.preempted.end(),
                    before.begin(),
                    before.end());
}

Plan Tiresias::allocate(const JobView& /*job*/, const ClusterView& view) {
  note_changes(view);
  return {};
}

Plan Tiresias::optimize(const ClusterView& view) {
  absorb(view);
  closed_.begin(view);
  Choice choice;
  choice.scan = whole_scan(view);
  scan(view, choice);
  Placing placing;
  take_back(view, choice, placing);
  // Where some job does not fit, what is taken back may help nobody, and what it was to have may be
  // enough for others: the choice is made again without that job. Each round blocks a job more, so
  // the loop ends.
  std::set<Group> tried;
  while (true) {
    const std::size_t misfit = place(view, choice, placing);
    if (misfit == choice.starting.size()) return placing.plan;
    const Starting& first = choice.starting[misfit];
    if (!running_.empty() && running_.rbegin()->priority < first.place.priority &&
        tried.insert(*first.group).second && lower_ones_give_way(view, choice, placing))
      return by_priority_.plan(view);
    const Placing::Mark mark = placing.marks[misfit];
    if (choose_anew(view, misfit, choice)) {
      placer_.undo(mark.trial);
      placing.plan.grants.resize(mark.grants);
      placing.plan.nodes.resize(mark.nodes);
      placing.marks.resize(misfit);
    } else {
      take_back(view, choice, placing);
    }
  }
}

void Tiresias::save(ByteWriter& out) const {
  out.varint(moves_);
  out.varint(moved_.size());
  for (const auto& [job, moved] : moved_) {
    out.u32(job.value);
    out.varint(moved.queue);
    out.i64(moved.at.ns);
    out.varint(moved.order);
    out.signed_varint(moved.started_us);
  }
}

void Tiresias::load(ByteReader& in) {
  follows_ = false;
  changed_.clear();
  moved_.clear();
  moves_ = in.varint();
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    const JobId job{in.u32()};
    Moved& moved = moved_[job];
    moved.queue = static_cast<std::uint32_t>(in.varint());
    moved.at.ns = in.i64();
    moved.order = in.varint();
    moved.started_us = in.signed_varint();
  }
}

}  // namespace orrery::policies
