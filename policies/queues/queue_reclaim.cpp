#include "policies/queues/queue_reclaim.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "policies/changes.hpp"
#include "policies/quotas.hpp"

namespace orrery::policies {
namespace {

// Jobs of one queue that are looked at for one that could be helped,
constexpr int kLookedAt = 16;

// and those that are passed over on the way, since a limit keeps them from running.
constexpr int kPassedOver = 256;

// A turn lasts a thousand times `patience` at most while its job waits.
constexpr int kDoubledMost = 10;

QueueUse gang_use(const ClusterView& view, JobId id) {
  const JobView job = view.job(id);
  return gang_use(job.row, job.spec);
}

}  // namespace

// Whether the queue, and each above it, may take back from others.
bool QueueReclaim::may_claim(const QueueBooks& books, std::uint32_t leaf) {
  for (std::uint32_t queue = leaf; queue != 0; queue = books.tree().node(queue).parent)
    if (!books.tree().node(queue).spec.reclaim) return false;
  return true;
}

bool QueueReclaim::limits_let_run(const ClusterView& view, const QueueBooks& books, JobId id) {
  const QueueUse gang = gang_use(view, id);
  return books.scale().dominant(gang) <= books.scale().total() &&
         view.quota_allows(id, view.row(id).gang_devices()) &&
         !books.loads().block(books.scale(), books.job(id), gang);
}

JobId QueueReclaim::first_waiting(const ClusterView& view,
                                  const QueueBooks& books,
                                  std::uint32_t leaf) {
  JobId first = JobId::none();
  int passed_over = 0;
  books.jobs(leaf).waiting.for_each([&](const WaitEntry& entry) {
    const bool allowed = limits_let_run(view, books, entry.job);
    if (allowed) first = entry.job;
    return !allowed && ++passed_over < kPassedOver;
  });
  return first;
}

void QueueReclaim::end_turn(QueueBooks& books) {
  behind_since_.erase(books.turn());
  books.give_turn({});
  turn_job_ = JobId::none();
  turn_until_ = Instant::never();
}

// Nobody knows whether what the job waits for, such as the end of fixed jobs or a node, will come.
// So each turn in vain lets others have theirs, and the next one lasts twice as long: a job that
// can start when enough has ended does so in the end.
Instant QueueReclaim::waits_until(const QueueBooks& books, Instant now) const {
  const auto found = in_vain_.find(turn_job_);
  const int times = found == in_vain_.end() ? 0 : std::min(found->second, kDoubledMost);
  return now + books.tree().spec().patience * (std::int64_t{1} << times);
}

// Whether the turn that was given goes on; until its job has run for `patience`, the queue keeps
// what it holds of what it was given with the turn, and gets no more by it.
bool QueueReclaim::keep_turn(const ClusterView& view, QueueBooks& books) {
  if (books.turn() == 0) return false;
  const QueueJob* job = books.find(turn_job_);
  const bool lives = job != nullptr && job->queue == books.turn() &&
                     (job->holds || (job->waits && limits_let_run(view, books, turn_job_)));
  if (lives && job->holds && turn_until_.is_never())
    turn_until_ = view.now() + books.tree().spec().patience;
  const bool in_vain = lives && job->waits && view.now() >= turn_waits_until_;
  if (in_vain) ++in_vain_[turn_job_];
  if (!lives || in_vain || view.now() >= turn_until_) {
    end_turn(books);
    return false;
  }
  std::int64_t amount = books.used(books.turn());
  if (job->waits) amount += books.scale().dominant(gang_use(view, turn_job_));
  books.give_turn({books.turn(), std::min(amount, books.turn_amount())});
  return true;
}

void QueueReclaim::track(const ClusterView& view, QueueBooks& books) {
  std::erase_if(kept_until_, [&](const auto& kept) {
    return view.now() >= kept.second || books.find(kept.first) == nullptr;
  });
  std::erase_if(in_vain_, [&](const auto& job) {
    const QueueJob* known = books.find(job.first);
    return known == nullptr || !known->waits;
  });
  if (keep_turn(view, books)) return;
  std::uint32_t longest = 0;
  for (const std::uint32_t leaf : books.leaves()) {
    const bool is_behind = books.lowest_full(leaf) != leaf;
    const JobId first = is_behind ? first_waiting(view, books, leaf) : JobId::none();
    if (first.is_none()) {
      behind_since_.erase(leaf);
      continue;
    }
    Instant& since = behind_since_.try_emplace(leaf, view.now()).first->second;
    for (const JobId id : books.jobs(leaf).holding)
      since = std::max(since, view.row(id).allocated_at);
    if (view.now() - since < books.tree().spec().patience) continue;
    // For less than half of the job others would go further behind than it is. What it misses adds
    // up until it is owed that.
    if (books.missing(leaf) < books.scale().dominant(gang_use(view, first)) / 2) continue;
    if (longest == 0 || since < behind_since_.at(longest)) longest = leaf;
  }
  if (longest == 0) return;
  turn_job_ = first_waiting(view, books, longest);
  turn_waits_until_ = waits_until(books, view.now());
  const std::int64_t gang = books.scale().dominant(gang_use(view, turn_job_));
  books.give_turn({longest, books.used(longest) + gang});
}

// In the order in which they go.
std::vector<QueueRoom::Victim> QueueReclaim::victims(const ClusterView& view,
                                                     const QueueBooks& books) const {
  std::vector<QueueRoom::Victim> found;
  for (const std::uint32_t leaf : books.leaves())
    for (const JobId id : books.jobs(leaf).holding) {
      const JobView job = view.job(id);
      if (!may_be_taken_from(job.row) || !view.partner(id).is_none()) continue;
      found.push_back(
          {id, {job.nodes.begin(), job.nodes.end()}, job.row.replicas, job.row.replicas});
      const auto kept = kept_until_.find(id);
      found.back().is_kept = kept != kept_until_.end() && view.now() < kept->second;
    }
  std::sort(found.begin(), found.end(), [&](const auto& a, const auto& b) {
    const JobRow& one = view.row(a.job);
    const JobRow& other = view.row(b.job);
    if (one.priority != other.priority) return one.priority < other.priority;
    if (one.allocated_at != other.allocated_at) return one.allocated_at > other.allocated_at;
    return b.job < a.job;
  });
  return found;
}

// Whether quotas let the job start beside those that this call has started.
bool QueueReclaim::quotas_allow(const Call& call, JobId id) {
  const JobRow& row = call.view.row(id);
  std::int32_t devices = row.gang_devices();
  for (const QueueRoom::Start& start : call.room.starts()) {
    const JobRow& other = call.view.row(start.job);
    if (share_quota(row, other)) devices += other.gang_devices();
  }
  return call.view.quota_allows(id, devices);
}

bool QueueReclaim::claim(Call& call, const QueueClaim& claim, JobId id) {
  const QueueRoom::Mark before = call.room.mark();
  std::vector<NodeCount> nodes;
  if (!call.room.make_room(id, claim, nodes)) {
    call.room.undo(before);
    return false;
  }
  call.room.start(id, std::move(nodes));
  return true;
}

// From those first that owe it by their shares. What is guaranteed is then taken from others than
// those below a queue that has its share, and for a turn from whom it may.
bool QueueReclaim::claim_share(Call& call, QueueClaim from, JobId id, bool has_turn) {
  if (from.top != from.queue && claim(call, from, id)) return true;
  from.by_turn = has_turn;
  if (!has_turn && (from.guaranteed == 0 || from.top == 0)) return false;
  from.top = 0;
  return claim(call, from, id);
}

// The turn is that of one job. Others of the queue get what its share leaves, as without it.
void QueueReclaim::claim_jobs(Call& call, std::uint32_t leaf) const {
  int looked_at = 0;
  int passed_over = 0;
  call.books.jobs(leaf).waiting.for_each([&](const WaitEntry& entry) {
    const QueueUse gang = gang_use(call.view, entry.job);
    const auto block =
        call.books.loads().block(call.books.scale(), call.books.job(entry.job), gang);
    // Others below the queue whose limit it is may have to give way to it.
    const bool is_above =
        block.has_value() && block->cause == QueueCause::Limit && block->queue != leaf;
    if (!quotas_allow(call, entry.job) || (block.has_value() && !is_above))
      return ++passed_over < kPassedOver;
    const bool needs_rest = call.view.job(entry.job).spec.roles.size() > 1;
    const bool other_rest = std::any_of(
        call.room.starts().begin(), call.room.starts().end(), [&](const QueueRoom::Start& start) {
          return call.view.job(start.job).spec.roles.size() > 1;
        });
    const QueueClaim from{
        leaf, call.books.claim_top(leaf, gang), call.books.guaranteed(leaf, gang)};
    if (is_above && from.top == leaf) return ++passed_over < kPassedOver;
    const bool has_turn = entry.job == turn_job_;
    const bool allowed = !(needs_rest && other_rest) && !call.view.is_seated(entry.job) &&
                         (has_turn || from.top != leaf);
    if (!allowed) return ++looked_at < kLookedAt;
    // Where there is room already, the policy sees to it.
    if (call.room.would_fit(call.view.job(entry.job))) return ++looked_at < kLookedAt;
    if (!claim_share(call, from, entry.job, has_turn)) ++looked_at;
    return looked_at < kLookedAt && !call.room.is_exhausted();
  });
}

// What elastic jobs of the queue may grow by within `room`, in whole replicas, as limits let them.
std::int64_t QueueReclaim::growth_allowed(const ClusterView& view,
                                          const QueueBooks& books,
                                          std::uint32_t leaf,
                                          std::int64_t room) {
  std::int64_t sum = 0;
  for (const JobId id : books.jobs(leaf).holding) {
    const JobView job = view.job(id);
    if (sum >= room) break;
    if (!job.row.preemptible) continue;
    const auto more_at = [&](std::int32_t replicas) {
      QueueUse more = use_at(job.row, job.spec, replicas);
      more -= books.job(id).use;
      return more;
    };
    const auto allowed = [&](std::int32_t replicas) {
      const std::int32_t devices = devices_at(job.row, replicas);
      return sum + books.scale().dominant(more_at(replicas)) <= room &&
             view.quota_allows(id, devices) &&
             !books.loads().block(books.scale(), books.job(id), more_at(replicas));
    };
    std::int32_t most = job.row.replicas;
    for (std::int32_t beyond = job.row.max_replicas + 1; beyond - most > 1;) {
      const std::int32_t middle = most + (beyond - most) / 2;
      (allowed(middle) ? most : beyond) = middle;
    }
    sum += std::max<std::int64_t>(0, books.scale().dominant(more_at(most)));
  }
  return sum;
}

std::int64_t QueueReclaim::growth_missing(const ClusterView& view,
                                          const QueueBooks& books,
                                          std::uint32_t leaf) {
  const std::uint32_t top = books.lowest_full(leaf);
  if (top == leaf || !first_waiting(view, books, leaf).is_none()) return 0;
  std::int64_t missing = INT64_MAX;
  for (std::uint32_t queue = leaf; queue != top; queue = books.tree().node(queue).parent)
    missing = std::min(missing, books.share(queue) + books.slack(queue) - books.used(queue));
  return missing <= 0 ? 0 : growth_allowed(view, books, leaf, missing);
}

// The most that any of the queue's first elastic jobs could take of what is free. Free devices
// alone are no room where CPU or memory is short beside them.
std::int64_t QueueReclaim::free_for_growth(const Call& call,
                                           std::uint32_t leaf,
                                           std::int64_t enough) {
  std::int64_t most = 0;
  int looked_at = 0;
  for (const JobId id : call.books.jobs(leaf).holding) {
    const JobView job = call.view.job(id);
    if (!job.row.preemptible || job.row.replicas >= job.row.max_replicas) continue;
    most = std::max(most, call.room.free_for_growth(job, enough));
    if (most >= enough || ++looked_at == kLookedAt) break;
  }
  return most;
}

void QueueReclaim::claim_growth(Call& call, std::uint32_t leaf) {
  const std::int64_t asked = growth_missing(call.view, call.books, leaf);
  if (asked <= 0) return;
  std::int64_t missing = asked;
  const std::int64_t free = free_for_growth(call, leaf, asked);
  // What is free is its own to take, unless a queue above it has its share.
  if (call.books.is_behind(leaf)) missing -= free;
  const QueueRoom::Mark before = call.room.mark();
  bool took = false;
  for (QueueRoom::Victim& victim : call.room.victims()) {
    const std::uint32_t queue = call.books.job(victim.job).queue;
    const JobView job = call.view.job(victim.job);
    const std::int64_t unit = call.books.scale().dominant(replica_use(job));
    while (missing >= unit && !victim.is_gone && call.books.owes(queue, {leaf}) &&
           call.room.shrink_one(victim)) {
      missing -= unit;
      took = true;
    }
  }
  // What makes up no replica would be given up in vain.
  if (took && free < asked && free_for_growth(call, leaf, asked) <= free) call.room.undo(before);
}

// Whether the limit that keeps the claimant counts the other job, and that one may give.
bool QueueReclaim::counts(const QueueBooks& books,
                          const QueueBlock& block,
                          JobId claimant,
                          JobId other) {
  const QueueJob& one = books.job(claimant);
  const QueueJob& two = books.job(other);
  if (block.cause == QueueCause::UserLimit && one.user != two.user) return false;
  bool is_below = false;
  for (std::uint32_t queue = two.queue; queue != 0; queue = books.tree().node(queue).parent)
    is_below = is_below || queue == block.queue;
  return is_below && (one.queue == two.queue ||
                      (may_claim(books, one.queue) && books.owes(two.queue, {one.queue})));
}

// The one with the most replicas beyond its least; of equal ones the first to go.
QueueRoom::Victim* QueueReclaim::next_below(Call& call, const QueueBlock& block, JobId claimant) {
  QueueRoom::Victim* best = nullptr;
  std::int32_t most = 0;
  for (QueueRoom::Victim& victim : call.room.victims()) {
    if (victim.is_gone || victim.is_moved || call.view.is_seated(victim.job)) continue;
    const std::int32_t beyond = victim.replicas - call.view.row(victim.job).min_replicas;
    if (beyond <= most || !counts(call.books, block, claimant, victim.job)) continue;
    most = beyond;
    best = &victim;
  }
  return best;
}

// Takes replicas until no limit keeps the job, and it fits; or nothing.
bool QueueReclaim::claim_below(Call& call, JobId id) {
  const QueueUse gang = gang_use(call.view, id);
  const QueueRoom::Mark before = call.room.mark();
  const auto keeps = [&] {
    return call.books.loads().block(call.books.scale(), call.books.job(id), gang);
  };
  std::optional<QueueBlock> block = keeps();
  while (block.has_value() && block->cause != QueueCause::Guarantee) {
    QueueRoom::Victim* const victim = next_below(call, *block, id);
    if (victim == nullptr || !call.room.shrink_one(*victim)) break;
    block = keeps();
  }
  std::vector<NodeCount> nodes;
  if (block.has_value() || !call.room.fits(call.view.job(id), nodes)) {
    call.room.undo(before);
    return false;
  }
  call.room.start(id, std::move(nodes));
  return true;
}

void QueueReclaim::claim_below_limits(Call& call, std::uint32_t leaf) {
  int looked_at = 0;
  call.books.jobs(leaf).waiting.for_each([&](const WaitEntry& entry) {
    const auto block = call.books.loads().block(
        call.books.scale(), call.books.job(entry.job), gang_use(call.view, entry.job));
    // One that needs places for other roles would have to come last in the plan.
    const bool can_be_helped = block.has_value() && block->cause != QueueCause::Guarantee &&
                               call.view.job(entry.job).spec.roles.size() == 1 &&
                               !call.view.is_seated(entry.job) && quotas_allow(call, entry.job);
    if (can_be_helped) claim_below(call, entry.job);
    return ++looked_at < kLookedAt && !call.room.is_exhausted();
  });
}

Plan QueueReclaim::run(const ClusterView& view,
                       QueueBooks& books,
                       CapacityTrial& trial,
                       bool sizes_jobs) {
  std::vector<std::uint32_t> behind;
  bool some_wait = false;
  for (const std::uint32_t leaf : books.leaves()) {
    some_wait = some_wait || !books.jobs(leaf).waiting.empty();
    if (leaf == books.turn() || (books.lowest_full(leaf) != leaf && may_claim(books, leaf)))
      behind.push_back(leaf);
  }
  if (behind.empty() && !(sizes_jobs && some_wait)) return {};
  trial.sync(view.capacity());
  std::vector<QueueRoom::Victim> found = victims(view, books);
  if (found.empty()) return {};
  QueueRoom room(view, books, trial, std::move(found));
  Call call{view, books, room};
  for (const std::uint32_t leaf : behind) claim_jobs(call, leaf);
  if (sizes_jobs)
    for (const std::uint32_t leaf : behind) claim_growth(call, leaf);
  if (sizes_jobs)
    for (const std::uint32_t leaf : books.leaves()) claim_below_limits(call, leaf);
  const Instant until = view.now() + books.tree().spec().patience;
  for (const QueueRoom::Start& start : room.starts()) kept_until_[start.job] = until;
  return room.plan();
}

void QueueReclaim::save(ByteWriter& out) const {
  out.varint(behind_since_.size());
  for (const auto& [leaf, since] : behind_since_) {
    out.u32(leaf);
    out.i64(since.ns);
  }
  out.varint(kept_until_.size());
  for (const auto& [job, until] : kept_until_) {
    out.u32(job.value);
    out.i64(until.ns);
  }
  out.varint(in_vain_.size());
  for (const auto& [job, times] : in_vain_) {
    out.u32(job.value);
    out.varint(static_cast<std::uint64_t>(times));
  }
  out.u32(turn_job_.value);
  out.i64(turn_waits_until_.ns);
  out.i64(turn_until_.ns);
}

void QueueReclaim::load(ByteReader& in) {
  behind_since_.clear();
  for (std::uint64_t n = in.varint(); n > 0 && in.ok(); --n) {
    const std::uint32_t leaf = in.u32();
    behind_since_[leaf] = Instant{in.i64()};
  }
  kept_until_.clear();
  for (std::uint64_t n = in.varint(); n > 0 && in.ok(); --n) {
    const JobId job{in.u32()};
    kept_until_[job] = Instant{in.i64()};
  }
  in_vain_.clear();
  for (std::uint64_t n = in.varint(); n > 0 && in.ok(); --n) {
    const JobId job{in.u32()};
    in_vain_[job] = static_cast<int>(in.varint());
  }
  turn_job_ = JobId{in.u32()};
  turn_waits_until_ = Instant{in.i64()};
  turn_until_ = Instant{in.i64()};
}

}  // namespace orrery::policies
