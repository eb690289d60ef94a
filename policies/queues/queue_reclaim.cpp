#include "policies/queues/queue_reclaim.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "policies/changes.hpp"
#include "policies/quotas.hpp"

namespace orrery::policies {
namespace {

// Each try asks the placer; what is left over waits for the next period.
constexpr int kTriesMax = 2000;

// Jobs of one queue that are looked at for one that could be helped,
constexpr int kLookedAt = 16;

// and those that are passed over on the way, since a limit keeps them from running.
constexpr int kPassedOver = 256;

QueueUse gang_use(const ClusterView& view, JobId id) {
  const JobView job = view.job(id);
  return use_at(job.row, job.spec, job.row.min_replicas);
}

QueueUse negative(const QueueUse& use) {
  QueueUse out;
  out -= use;
  return out;
}

}  // namespace

// Whether the queue, and each above it, may take back from others.
bool QueueReclaim::may_claim(const QueueBooks& books, std::uint32_t leaf) {
  for (std::uint32_t queue = leaf; queue != 0; queue = books.tree().node(queue).parent)
    if (!books.tree().node(queue).spec.reclaim) return false;
  return true;
}

bool QueueReclaim::limits_let_run(const ClusterView& view, const QueueBooks& books, JobId id) {
  return view.quota_allows(id, view.row(id).gang_devices()) &&
         !books.loads().block(books.scale(), books.job(id), gang_use(view, id));
}

// The first of the queue, in its order, that limits let run.
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

// Whether the turn that was given goes on; until its job has run for `patience`, the queue keeps
// what it holds.
bool QueueReclaim::keep_turn(const ClusterView& view, QueueBooks& books) {
  if (books.turn() == 0) return false;
  const QueueJob* job = books.find(turn_job_);
  const bool lives = job != nullptr && job->queue == books.turn() && (job->waits || job->holds);
  if (lives && job->holds && turn_until_.is_never())
    turn_until_ = view.now() + books.tree().spec().patience;
  if (!lives || view.now() >= turn_until_) {
    end_turn(books);
    return false;
  }
  std::int64_t amount = books.used(books.turn());
  if (job->waits) amount += books.scale().dominant(gang_use(view, turn_job_));
  books.give_turn({books.turn(), amount});
  return true;
}

void QueueReclaim::track(const ClusterView& view, QueueBooks& books) {
  std::erase_if(kept_until_, [&](const auto& kept) {
    return view.now() >= kept.second || books.find(kept.first) == nullptr;
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
    if (longest == 0 || since < behind_since_.at(longest)) longest = leaf;
  }
  if (longest == 0) return;
  turn_job_ = first_waiting(view, books, longest);
  const std::int64_t gang = books.scale().dominant(gang_use(view, turn_job_));
  books.give_turn({longest, books.used(longest) + gang});
}

// Whether a queue, and each above it up to where the claimant's way joins, holds more than its
// share, while all on the claimant's way hold less.
bool QueueReclaim::is_over(const QueueBooks& books, std::uint32_t leaf, std::uint32_t claimant) {
  const QueueTree& tree = books.tree();
  const auto is_above = [&](std::uint32_t queue) {
    for (std::uint32_t at = claimant; at != 0; at = tree.node(at).parent)
      if (at == queue) return true;
    return queue == 0;
  };
  if (leaf == claimant) return false;
  // For a turn all give but what they are guaranteed.
  const bool has_turn = claimant == books.turn();
  std::uint32_t queue = leaf;
  for (; !is_above(queue); queue = tree.node(queue).parent)
    if (has_turn ? books.used(queue) <= books.guarantee(queue) : !books.is_beyond(queue))
      return false;
  if (has_turn) return true;
  for (std::uint32_t at = claimant; at != queue; at = tree.node(at).parent)
    if (books.used(at) >= books.share(at) - books.slack(at)) return false;
  return true;
}

// In the order in which they go.
void QueueReclaim::list_victims(Call& call) const {
  for (const std::uint32_t leaf : call.books.leaves())
    for (const JobId id : call.books.jobs(leaf).holding) {
      const JobView job = call.view.job(id);
      if (!may_be_taken_from(job.row) || !call.view.partner(id).is_none()) continue;
      call.victims.push_back(
          {id, {job.nodes.begin(), job.nodes.end()}, job.row.replicas, job.row.replicas});
      const auto kept = kept_until_.find(id);
      call.victims.back().is_kept = kept != kept_until_.end() && call.view.now() < kept->second;
    }
  std::sort(call.victims.begin(), call.victims.end(), [&](const Victim& a, const Victim& b) {
    const JobRow& one = call.view.row(a.job);
    const JobRow& other = call.view.row(b.job);
    if (one.priority != other.priority) return one.priority < other.priority;
    if (one.allocated_at != other.allocated_at) return one.allocated_at > other.allocated_at;
    return b.job < a.job;
  });
}

// Takes one replica, the last one on the last node.
bool QueueReclaim::shrink_one(Call& call, Victim& victim) {
  const JobView job = call.view.job(victim.job);
  if (victim.replicas <= job.row.min_replicas || victim.is_moved || call.view.is_seated(victim.job))
    return false;
  NodeCount& last = victim.nodes.back();
  call.trial.give(last.node, job.row.demand, 1);
  if (--last.replicas == 0) victim.nodes.pop_back();
  --victim.replicas;
  QueueUse less = use_at(job.row, job.spec, victim.replicas);
  less -= use_at(job.row, job.spec, victim.replicas + 1);
  call.books.hold(victim.job, less);
  return true;
}

void QueueReclaim::take_whole(Call& call, Victim& victim) {
  const JobView job = call.view.job(victim.job);
  give_back(call.view, {job.row, job.spec, victim.nodes}, call.trial);
  call.books.hold(victim.job, negative(use_at(job.row, job.spec, victim.replicas)));
  victim.is_gone = true;
}

// Takes in the trial exactly what the job held, or nothing.
bool QueueReclaim::put_back(Call& call, Victim& victim) {
  const JobView job = call.view.job(victim.job);
  const std::size_t mark = call.trial.mark();
  const auto take = [&](const NodeCount& at, const Demand& demand) {
    if (replicas_that_fit(call.trial.index().at(at.node), demand) < at.replicas) return false;
    call.trial.take(at.node, demand, at.replicas);
    return true;
  };
  bool fits = true;
  for (const NodeCount& at : victim.nodes) fits = fits && take(at, job.row.demand);
  std::vector<NodeCount> nodes;
  for (std::size_t r = 0; fits && job.spec.roles.size() > 1 && r < job.spec.roles.size(); ++r) {
    const RoleIndex role{static_cast<std::uint16_t>(r)};
    if (role == job.row.elastic) continue;
    nodes.clear();
    call.view.append_nodes(victim.job, role, nodes);
    for (const NodeCount& at : nodes) fits = fits && take(at, call.view.demand_of(job.spec, role));
  }
  if (!fits) {
    call.trial.undo(mark);
    return false;
  }
  call.books.hold(victim.job, use_at(job.row, job.spec, victim.replicas));
  victim.is_gone = false;
  return true;
}

// Whether quotas let the job start beside those that this call has started.
bool QueueReclaim::quotas_allow(const Call& call, JobId id) {
  const JobRow& row = call.view.row(id);
  std::int32_t devices = row.gang_devices();
  for (const Start& start : call.starts) {
    const JobRow& other = call.view.row(start.job);
    if (share_quota(row, other)) devices += other.gang_devices();
  }
  return call.view.quota_allows(id, devices);
}

bool QueueReclaim::fits(Call& call, const JobView& job, std::vector<NodeCount>& nodes) {
  if (call.trial.index().device_room() < job.row.gang_room()) return false;
  ++call.tries;
  nodes.clear();
  return try_start(call.view, job, job.row.min_replicas, call.trial, &nodes);
}

// Where enough is free but in pieces: clears nodes, those first on which most is free, of small
// jobs that find room elsewhere. All or nothing.
bool QueueReclaim::make_place(Call& call, const JobView& job, std::vector<NodeCount>& nodes) {
  constexpr int kNodesMax = 16;

  if (job.row.demand.devices < 2 || !job.row.demand.share.is_whole() ||
      call.trial.index().device_room() < job.row.gang_room())
    return false;
  const std::size_t mark = call.trial.mark();
  const std::size_t held = call.books.held();
  std::vector<Victim> before = call.victims;
  std::vector<std::size_t> moved;
  bool fit = false;
  for (int cleared = 0; cleared < kNodesMax && !fit; ++cleared) {
    if (!clear_node(call, job, moved)) break;
    fit = fits(call, job, nodes);
  }
  // The largest is the hardest to place.
  std::sort(moved.begin(), moved.end(), [&](std::size_t a, std::size_t b) {
    const std::int32_t one = call.view.row(call.victims[a].job).devices_held;
    const std::int32_t other = call.view.row(call.victims[b].job).devices_held;
    return one != other ? one > other : a < b;
  });
  for (std::size_t i = 0; i < moved.size() && fit; ++i)
    fit = place_again(call, call.victims[moved[i]]);
  if (fit) return true;
  call.trial.undo(mark);
  call.books.release(held);
  call.victims = std::move(before);
  return false;
}

// Takes away the jobs of the node on which a replica needs the fewest more devices, until it fits
// there; only jobs that are on that node alone.
bool QueueReclaim::clear_node(Call& call, const JobView& job, std::vector<std::size_t>& moved) {
  const Demand& demand = job.row.demand;
  std::map<NodeId, std::vector<std::size_t>> movable;
  for (std::size_t i = 0; i < call.victims.size(); ++i) {
    const Victim& victim = call.victims[i];
    const JobView other = call.view.job(victim.job);
    const bool small = !victim.is_gone && !victim.is_moved && victim.replicas == victim.before &&
                       victim.nodes.size() == 1 && other.spec.roles.size() == 1 &&
                       other.row.devices_held < demand.devices && !other.row.has_parts() &&
                       !call.view.is_seated(victim.job);
    if (small) movable[victim.nodes.front().node].push_back(i);
  }
  NodeId best = NodeId::none();
  std::int32_t best_free = -1;
  for (const auto& [node, victims] : movable) {
    const NodeFree& free = call.trial.index().at(node);
    if (!free.usable || (!demand.model.is_none() && free.model != demand.model) ||
        replicas_that_fit(free, demand) > 0)
      continue;
    std::int32_t after = free.devices;
    for (const std::size_t i : victims) after += call.view.row(call.victims[i].job).devices_held;
    if (after >= demand.devices && free.devices > best_free) {
      best = node;
      best_free = free.devices;
    }
  }
  if (best.is_none()) return false;
  std::vector<std::size_t>& here = movable[best];
  std::sort(here.begin(), here.end(), [&](std::size_t a, std::size_t b) {
    const std::int32_t one = call.view.row(call.victims[a].job).devices_held;
    const std::int32_t other = call.view.row(call.victims[b].job).devices_held;
    return one != other ? one < other : a < b;
  });
  for (const std::size_t i : here) {
    if (replicas_that_fit(call.trial.index().at(best), demand) > 0) break;
    Victim& victim = call.victims[i];
    const JobView other = call.view.job(victim.job);
    for (const NodeCount& at : victim.nodes)
      call.trial.give(at.node, other.row.demand, at.replicas);
    victim.is_moved = true;
    victim.nodes.clear();
    moved.push_back(i);
  }
  return replicas_that_fit(call.trial.index().at(best), demand) > 0;
}

bool QueueReclaim::place_again(Call& call, Victim& victim) {
  const JobView job = call.view.job(victim.job);
  return place(call.view, victim.job, job.row.demand, victim.replicas, call.trial, victim.nodes);
}

// The first job that makes room by itself: not the next to go, but the only one.
bool QueueReclaim::take_one(Call& call,
                            std::uint32_t leaf,
                            const JobView& job,
                            std::vector<NodeCount>& nodes) {
  for (Victim& victim : call.victims) {
    if (call.tries >= kTriesMax) return false;
    if (victim.is_gone || victim.is_moved || (victim.is_kept && !call.guaranteed) ||
        !is_over(call.books, call.books.job(victim.job).queue, leaf))
      continue;
    const std::size_t mark = call.trial.mark();
    const std::size_t held = call.books.held();
    take_whole(call, victim);
    if (fits(call, job, nodes)) return true;
    call.trial.undo(mark);
    call.books.release(held);
    victim.is_gone = false;
  }
  return false;
}

// Takes from others, by and by, until the job fits; then gives back what it did not take.
bool QueueReclaim::make_room(Call& call,
                             std::uint32_t leaf,
                             JobId id,
                             std::vector<NodeCount>& nodes) {
  const JobView job = call.view.job(id);
  const auto is_takeable = [&](const Victim& victim) {
    return !victim.is_gone && !victim.is_moved &&
           is_over(call.books, call.books.job(victim.job).queue, leaf);
  };
  if (make_place(call, job, nodes)) return true;
  for (Victim& victim : call.victims)
    while (is_takeable(victim) && shrink_one(call, victim))
      if (fits(call, job, nodes)) return true;
  if (take_one(call, leaf, job, nodes)) return true;
  std::vector<std::size_t> taken;
  for (std::size_t i = 0; i < call.victims.size() && call.tries < kTriesMax; ++i) {
    if (!is_takeable(call.victims[i]) || (call.victims[i].is_kept && !call.guaranteed)) continue;
    take_whole(call, call.victims[i]);
    taken.push_back(i);
    if (!fits(call, job, nodes) && !make_place(call, job, nodes)) continue;
    // The last one made the difference; of the others, the last to go is the first to be spared.
    taken.pop_back();
    for (; !taken.empty(); taken.pop_back()) put_back(call, call.victims[taken.back()]);
    return true;
  }
  return false;
}

// Whether so much more is guaranteed to the queue, or to one above it.
bool QueueReclaim::is_guaranteed(const QueueBooks& books,
                                 std::uint32_t leaf,
                                 const QueueUse& more) {
  for (std::uint32_t queue = leaf; queue != 0; queue = books.tree().node(queue).parent) {
    QueueUse then = books.loads().use(queue);
    then += more;
    if (books.scale().dominant(then) <= books.guarantee(queue)) return true;
  }
  return false;
}

bool QueueReclaim::claim(Call& call, std::uint32_t leaf, JobId id) {
  call.guaranteed = is_guaranteed(call.books, leaf, gang_use(call.view, id));
  const std::size_t mark = call.trial.mark();
  const std::size_t held = call.books.held();
  const std::vector<Victim> before = call.victims;
  std::vector<NodeCount> nodes;
  if (make_room(call, leaf, id, nodes)) {
    call.books.hold(id, gang_use(call.view, id));
    call.starts.push_back({id, call.view.row(id).min_replicas, std::move(nodes)});
    return true;
  }
  call.trial.undo(mark);
  call.books.release(held);
  call.victims = before;
  return false;
}

void QueueReclaim::claim_jobs(Call& call, std::uint32_t leaf) {
  const bool has_turn = leaf == call.books.turn();
  const std::uint32_t top = call.books.lowest_full(leaf);
  int looked_at = 0;
  int passed_over = 0;
  call.books.jobs(leaf).waiting.for_each([&](const WaitEntry& entry) {
    const QueueUse gang = gang_use(call.view, entry.job);
    if (!quotas_allow(call, entry.job) ||
        call.books.loads().block(call.books.scale(), call.books.job(entry.job), gang))
      return ++passed_over < kPassedOver;
    const bool needs_rest = call.view.job(entry.job).spec.roles.size() > 1;
    const bool other_rest =
        std::any_of(call.starts.begin(), call.starts.end(), [&](const Start& start) {
          return call.view.job(start.job).spec.roles.size() > 1;
        });
    const bool allowed = !(needs_rest && other_rest) && !call.view.is_seated(entry.job) &&
                         (has_turn || call.books.stays_within(leaf, gang, top));
    if (!allowed) return ++looked_at < kLookedAt;
    // Where there is room already, the policy sees to it.
    const std::size_t mark = call.trial.mark();
    std::vector<NodeCount> nodes;
    if (fits(call, call.view.job(entry.job), nodes)) {
      call.trial.undo(mark);
      return ++looked_at < kLookedAt;
    }
    if (!claim(call, leaf, entry.job)) ++looked_at;
    return looked_at < kLookedAt && call.tries < kTriesMax;
  });
}

// What limits let elastic jobs of the queue grow by; it is not looked beyond `enough`.
std::int64_t QueueReclaim::growth_allowed(const ClusterView& view,
                                          const QueueBooks& books,
                                          std::uint32_t leaf,
                                          std::int64_t enough) {
  std::int64_t sum = 0;
  for (const JobId id : books.jobs(leaf).holding) {
    const JobView job = view.job(id);
    if (sum >= enough) break;
    if (!job.row.preemptible) continue;
    const auto more_at = [&](std::int32_t replicas) {
      QueueUse more = use_at(job.row, job.spec, replicas);
      more -= books.job(id).use;
      return more;
    };
    const auto allowed = [&](std::int32_t replicas) {
      const std::int32_t devices = replicas * job.row.demand.devices + job.row.rest_devices;
      return view.quota_allows(id, devices) &&
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
  return missing <= 0 ? 0 : std::min(missing, growth_allowed(view, books, leaf, missing));
}

void QueueReclaim::claim_growth(Call& call, std::uint32_t leaf) {
  std::int64_t missing = growth_missing(call.view, call.books, leaf);
  // What is free is its own to take, unless a queue above it has its share.
  if (call.books.is_behind(leaf)) missing -= call.trial.index().free_thousandths();
  for (Victim& victim : call.victims) {
    const std::uint32_t queue = call.books.job(victim.job).queue;
    const JobView job = call.view.job(victim.job);
    QueueUse replica = use_at(job.row, job.spec, 2);
    replica -= use_at(job.row, job.spec, 1);
    const std::int64_t unit = call.books.scale().dominant(replica);
    while (missing >= unit && !victim.is_gone && is_over(call.books, queue, leaf) &&
           shrink_one(call, victim))
      missing -= unit;
  }
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
  return is_below && (one.queue == two.queue || is_over(books, two.queue, one.queue));
}

// The one with the most replicas beyond its least; of equal ones the first to go.
QueueReclaim::Victim* QueueReclaim::next_below(Call& call,
                                               const QueueBlock& block,
                                               JobId claimant) {
  Victim* best = nullptr;
  std::int32_t most = 0;
  for (Victim& victim : call.victims) {
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
  const std::size_t mark = call.trial.mark();
  const std::size_t held = call.books.held();
  const std::vector<Victim> before = call.victims;
  const auto keeps = [&] {
    return call.books.loads().block(call.books.scale(), call.books.job(id), gang);
  };
  std::optional<QueueBlock> block = keeps();
  while (block.has_value() && block->cause != QueueCause::Guarantee) {
    Victim* const victim = next_below(call, *block, id);
    if (victim == nullptr || !shrink_one(call, *victim)) break;
    block = keeps();
  }
  std::vector<NodeCount> nodes;
  if (!block.has_value() && fits(call, call.view.job(id), nodes)) {
    call.books.hold(id, gang);
    call.starts.push_back({id, call.view.row(id).min_replicas, std::move(nodes)});
    return true;
  }
  call.trial.undo(mark);
  call.books.release(held);
  call.victims = before;
  return false;
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
    return ++looked_at < kLookedAt && call.tries < kTriesMax;
  });
}

Plan QueueReclaim::plan_of(const Call& call) {
  Plan plan;
  const auto grant_on = [&](JobId id, std::int32_t replicas, const std::vector<NodeCount>& nodes) {
    plan.grants.push_back({id,
                           RoleIndex::none(),
                           replicas,
                           static_cast<std::uint32_t>(plan.nodes.size()),
                           static_cast<std::uint32_t>(nodes.size()),
                           JobId::none()});
    plan.nodes.insert(plan.nodes.end(), nodes.begin(), nodes.end());
  };
  for (const Victim& victim : call.victims)
    if (victim.is_gone) plan.preempt(victim.job);
  for (const Victim& victim : call.victims)
    if (!victim.is_gone && (victim.is_moved || victim.replicas < victim.before))
      grant_on(victim.job, victim.replicas, victim.nodes);
  std::vector<const Start*> starts;
  for (const Start& start : call.starts) starts.push_back(&start);
  // The one that needs places for other roles comes last.
  std::stable_partition(starts.begin(), starts.end(), [&](const Start* start) {
    return call.view.job(start->job).spec.roles.size() == 1;
  });
  for (const Start* start : starts) grant_on(start->job, start->replicas, start->nodes);
  return plan;
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
  Call call{view, books, trial, {}, {}, 0};
  list_victims(call);
  if (call.victims.empty()) return {};
  for (const std::uint32_t leaf : behind) claim_jobs(call, leaf);
  if (sizes_jobs)
    for (const std::uint32_t leaf : behind) claim_growth(call, leaf);
  if (sizes_jobs)
    for (const std::uint32_t leaf : books.leaves()) claim_below_limits(call, leaf);
  const Instant until = view.now() + books.tree().spec().patience;
  for (const Start& start : call.starts) kept_until_[start.job] = until;
  return plan_of(call);
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
  out.u32(turn_job_.value);
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
  turn_job_ = JobId{in.u32()};
  turn_until_ = Instant{in.i64()};
}

}  // namespace orrery::policies
