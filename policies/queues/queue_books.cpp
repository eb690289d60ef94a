#include "policies/queues/queue_books.hpp"

#include <algorithm>
#include <utility>

#include "core/queues/vain_wants.hpp"
#include "policies/changes.hpp"

namespace orrery::policies {

QueueUse replica_use(const JobView& job) {
  QueueUse more = use_at(job.row, job.spec, 2);
  more -= use_at(job.row, job.spec, 1);
  return more;
}

QueueBooks::QueueBooks(QueuesSpec spec)
    : tree_(std::move(spec)),
      loads_(tree_),
      usage_(tree_),
      jobs_(tree_.size()),
      shares_(tree_.size(), 0),
      held_(tree_.size(), 0),
      fair_(tree_.size(), 0),
      owed_(tree_.size(), 0),
      guarantees_(tree_.size(), 0) {
  for (std::uint32_t queue = 1; queue < tree_.size(); ++queue)
    if (tree_.node(queue).is_leaf()) leaves_.push_back(queue);
}

const QueueJob* QueueBooks::find(JobId id) const {
  const auto found = known_.find(id);
  return found == known_.end() ? nullptr : &found->second.job;
}

void QueueBooks::forget(JobId id) {
  const auto found = known_.find(id);
  if (found == known_.end()) return;
  const Known& known = found->second;
  loads_.remove(known.job);
  QueueJobs& jobs = jobs_[known.job.queue];
  if (known.job.waits) jobs.waiting.erase(known.priority, id);
  if (known.job.holds)
    jobs.holding.erase(std::lower_bound(jobs.holding.begin(), jobs.holding.end(), id));
  known_.erase(found);
}

void QueueBooks::refresh(const ClusterView& view, JobId id) {
  note_touched(id);
  const QueueJob* before = find(id);
  if (before != nullptr) jobs_[before->queue].touched.push_back(id);
  forget(id);
  if (!view.is_live(id)) return;
  const JobView job = view.job(id);
  const JobRow& row = job.row;
  Known known{queue_job(tree_, row, job.spec, tree_.spec().sizes_jobs), row.priority};
  QueueJobs& jobs = jobs_[known.job.queue];
  jobs.touched.push_back(id);
  if (known.job.waits)
    jobs.waiting.insert(
        row.priority,
        {id,
         row.gang_room(),
         row.estimate_source == EstimateSource::None ? Duration::zero() : row.estimate},
        row.wait_kind());
  if (known.job.holds)
    jobs.holding.insert(std::lower_bound(jobs.holding.begin(), jobs.holding.end(), id), id);
  loads_.add(known.job);
  known_.emplace(id, std::move(known));
}

// Who was not asked for so long is told of all jobs anew.
void QueueBooks::note_touched(JobId id) {
  constexpr std::size_t kMost = 16'384;
  if (touched_.size() == kMost) {
    touched_.clear();
    touched_from_ += kMost;
  }
  touched_.push_back(id);
}

std::span<const JobId> QueueBooks::touched_anywhere(const ClusterView& view,
                                                    std::uint32_t leaf) const {
  if (!touched_complete(leaf)) return view.holding();
  return std::span(touched_).subspan(jobs_[leaf].seen - touched_from_);
}

void QueueBooks::asked(std::uint32_t leaf, bool keeps) {
  QueueJobs& jobs = jobs_[leaf];
  jobs.touched.clear();
  jobs.touched_complete = keeps;
  jobs.seen = touched_from_ + touched_.size();
}

void QueueBooks::rebuild(const ClusterView& view) {
  known_.clear();
  loads_.clear();
  for (QueueJobs& jobs : jobs_) jobs = {};
  touched_from_ += touched_.size();
  touched_.clear();
  for (const JobId id : view.holding()) refresh(view, id);
  view.waiting().for_each([&](const WaitEntry& entry) {
    refresh(view, entry.job);
    return true;
  });
  for (QueueJobs& jobs : jobs_) jobs.touched.clear();
}

// What was missed until now is owed; at most what the whole cluster gives in `patience`, and
// nothing to a queue that asks for nothing.
void QueueBooks::pass(Instant now) {
  const std::int64_t ms = Duration::milliseconds(1).ns;
  const std::int64_t passed = std::max<std::int64_t>(0, now.ns / ms - as_of_.ns / ms);
  __extension__ using Wide = __int128;
  const Wide most = static_cast<Wide>(scale_.total()) * (tree_.spec().patience.ns / ms);
  for (std::uint32_t queue = 1; queue < tree_.size(); ++queue) {
    if (fair_[queue] == 0 && held_[queue] == 0) owed_[queue] = 0;
    const Wide owed = owed_[queue] + static_cast<Wide>(fair_[queue] - held_[queue]) * passed;
    owed_[queue] = static_cast<std::int64_t>(std::clamp(owed, -most, most));
  }
  as_of_ = std::max(as_of_, now);
}

// What was dealt for jobs that nothing keeps but a quota or their own queue would be idle.
void QueueBooks::sum_wants(const ClusterView& view) {
  VainWants vain(loads_, scale_);
  const auto allowed = [&](const QueueJob& known, const JobView& job) {
    return within_quotas(
        known, job.row, job.spec, tree_.spec().sizes_jobs, [&](std::int32_t devices) {
          return view.quota_allows(job.row.id, devices);
        });
  };
  for (const std::uint32_t leaf : leaves_) {
    for (const JobId id : jobs_[leaf].holding)
      if (view.row(id).preemptible && view.row(id).replicas < view.row(id).max_replicas)
        vain.look_holding(job(id), allowed(job(id), view.job(id)));
    jobs_[leaf].waiting.for_each([&](const WaitEntry& entry) {
      const JobView waits = view.job(entry.job);
      vain.look_waiting(
          job(entry.job), gang_use(waits.row, waits.spec), allowed(job(entry.job), waits));
      return vain.looks_at(leaf);
    });
  }
  wants_ = loads_.wants(scale_, vain.found());
}

std::int64_t QueueBooks::credit(std::uint32_t queue) const {
  return owed_[queue] / (tree_.spec().patience.ns / Duration::milliseconds(1).ns);
}

std::int64_t QueueBooks::missing(std::uint32_t queue) const {
  return fair_[queue] + credit(queue) - used(queue);
}

void QueueBooks::deal() {
  fair_ = queue_shares(tree_, scale_, wants_, weights_);
  std::vector<std::int64_t> credits(tree_.size(), 0);
  for (std::uint32_t queue = 1; queue < tree_.size(); ++queue) credits[queue] = credit(queue);
  shares_ = queue_shares(tree_, scale_, wants_, weights_, turn_, credits);
}

void QueueBooks::begin(const ClusterView& view) {
  if (loaded_ || !view.touched_complete()) {
    rebuild(view);
    loaded_ = false;
  } else {
    for (const JobId id : view.touched()) refresh(view, id);
  }
  scale_ = loads_.scale(view.devices_usable(), view.capacity());
  usage_.pass(view.now(), held_);
  pass(view.now());
  guarantees_ = tree_.guarantees(scale_.total());
  weights_ = usage_.weights(scale_.total());
  sum_wants(view);
  deal();
}

void QueueBooks::end() {
  for (std::uint32_t queue = 0; queue < tree_.size(); ++queue) held_[queue] = used(queue);
  release(0);
}

bool QueueBooks::is_behind(std::uint32_t queue) const { return lowest_full(queue) == 0; }

std::uint32_t QueueBooks::lowest_full(std::uint32_t queue) const {
  while (queue != 0 && lacks(queue)) queue = tree_.node(queue).parent;
  return queue;
}

bool QueueBooks::would_cross(std::uint32_t queue, const QueueUse& more) const {
  QueueUse then = loads_.use(queue);
  then += more;
  return scale_.dominant(then) > shares_[queue] + slack(queue);
}

bool QueueBooks::stays_within(std::uint32_t queue, const QueueUse& more) const {
  for (; queue != 0; queue = tree_.node(queue).parent)
    if (would_cross(queue, more)) return false;
  return true;
}

std::uint32_t QueueBooks::claim_top(std::uint32_t queue, const QueueUse& more) const {
  while (queue != 0 && lacks(queue) && !would_cross(queue, more)) queue = tree_.node(queue).parent;
  return queue;
}

// Whether the queue alone holds what it may have to give to the claimant.
bool QueueBooks::owes_itself(std::uint32_t queue,
                             const QueueClaim& claim,
                             std::int64_t at_once) const {
  if (claim.by_turn) return used(queue) > guarantee(queue);
  const bool guaranteed = claim.guaranteed != 0;
  if (guaranteed && used(queue) > std::max(guarantee(queue), fair_[queue]) + slack(queue))
    return true;
  return is_beyond(queue) && (guaranteed || used(queue) - at_once / 2 >= share(queue));
}

bool QueueBooks::is_below(std::uint32_t queue, std::uint32_t top) const {
  while (queue != 0 && queue != top) queue = tree_.node(queue).parent;
  return queue == top;
}

bool QueueBooks::owes(std::uint32_t other, const QueueClaim& claim, std::int64_t at_once) const {
  if (other == claim.queue) return false;
  std::uint32_t joint = other;
  for (; !is_below(claim.queue, joint); joint = tree_.node(joint).parent)
    if (!owes_itself(joint, claim, at_once)) return false;
  if (!is_below(joint, claim.top)) return false;
  if (claim.by_turn) return true;
  for (std::uint32_t at = claim.queue; at != joint; at = tree_.node(at).parent) {
    if (!lacks(at)) return false;
    if (at == claim.guaranteed) return true;
  }
  return true;
}

std::uint32_t QueueBooks::guaranteed(std::uint32_t queue, const QueueUse& more) const {
  for (; queue != 0; queue = tree_.node(queue).parent) {
    QueueUse then = loads_.use(queue);
    then += more;
    if (scale_.dominant(then) <= guarantee(queue)) break;
  }
  return queue;
}

void QueueBooks::give_turn(const QueueTurn& turn) {
  turn_ = turn;
  deal();
}

void QueueBooks::hold(JobId id, const QueueUse& more) {
  loads_.hold(job(id), more);
  held_now_.emplace_back(id, more);
}

void QueueBooks::release(std::size_t held) {
  while (held_now_.size() > held) {
    QueueUse less;
    less -= held_now_.back().second;
    loads_.hold(job(held_now_.back().first), less);
    held_now_.pop_back();
  }
}

void QueueBooks::save(ByteWriter& out) const {
  usage_.save(out);
  out.u32(turn_.queue);
  out.i64(turn_.amount);
  out.varint(held_.size());
  for (std::size_t i = 0; i < held_.size(); ++i) {
    out.signed_varint(held_[i]);
    out.signed_varint(fair_[i]);
    out.signed_varint(owed_[i]);
  }
  out.i64(as_of_.ns);
}

void QueueBooks::load(ByteReader& in) {
  usage_.load(in);
  turn_.queue = in.u32();
  turn_.amount = in.i64();
  if (turn_.queue >= tree_.size()) turn_ = {};
  held_.assign(tree_.size(), 0);
  fair_.assign(tree_.size(), 0);
  owed_.assign(tree_.size(), 0);
  const std::uint64_t count = in.varint();
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    const std::int64_t held = in.signed_varint();
    const std::int64_t fair = in.signed_varint();
    const std::int64_t owed = in.signed_varint();
    if (i >= held_.size()) continue;
    held_[i] = held;
    fair_[i] = fair;
    owed_[i] = owed;
  }
  as_of_ = Instant{in.i64()};
  loaded_ = true;
}

}  // namespace orrery::policies
