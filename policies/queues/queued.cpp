#include "policies/queues/queued.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/queues/queue_text.hpp"
#include "policies/changes.hpp"
#include "policies/quotas.hpp"

namespace orrery::policies {
namespace {

// So often one queue's policy is asked again, with less that it may do each time.
constexpr int kRoundsMax = 8;

QueueUse difference(QueueUse a, const QueueUse& b) {
  a -= b;
  return a;
}

bool is_growth(const QueueUse& more) { return more.devices > 0 || more.cpu > 0 || more.memory > 0; }

// What the job takes when it holds so many devices in all, as quotas count them.
QueueUse use_with(const JobRow& row, const JobSpec& spec, std::int32_t devices) {
  if (row.demand.devices == 0) return use_at(row, spec, std::max(row.replicas, row.min_replicas));
  return use_at(row, spec, (devices - row.rest_devices) / row.demand.devices);
}

QueuesSpec with_sizes(QueuesSpec spec, const Policy& policy) {
  spec.sizes_jobs = policy.sizes_jobs();
  return spec;
}

bool gives_up(const ClusterView& view, const Plan& plan) {
  return std::any_of(plan.grants.begin(), plan.grants.end(), [&](const Grant& grant) {
    return !grant.is_remark() && view.row(grant.job).holds;
  });
}

}  // namespace

Queued::Queued(QueuesSpec spec, const Maker& make) : Queued(std::move(spec), make, make()) {}

Queued::Queued(QueuesSpec spec, const Maker& make, std::unique_ptr<Policy> first)
    : books_(with_sizes(std::move(spec), *first)),
      text_(queues_text(books_.tree().spec())),
      name_(std::string(first->name()) + "+queues/1"),
      policies_(books_.tree().size()),
      sizes_(first->sizes_jobs()) {
  for (const std::uint32_t leaf : books_.leaves())
    policies_[leaf] = first != nullptr ? std::exchange(first, nullptr) : make();
}

Triggers Queued::triggers() const {
  Triggers triggers = first().triggers();
  triggers.completion = triggers.capacity = true;
  const std::int64_t own = books_.tree().spec().period.ns;
  triggers.period = Duration{triggers.period.ns == 0 ? own : std::gcd(own, triggers.period.ns)};
  // Periods that hardly ever meet are not worth a plan each second.
  if (triggers.period < Duration::seconds(1)) triggers.period = Duration::seconds(1);
  return triggers;
}

// What the policy of a queue may take from its own jobs.
QueueUse Queued::takeable(const ClusterView& view, std::uint32_t leaf) const {
  QueueUse sum;
  for (const JobId id : books_.jobs(leaf).holding)
    if (may_be_taken_from(view.row(id))) sum += books_.job(id).use;
  return sum;
}

// What one elastic job may grow to: what the queue's share leaves beside the least of all its jobs
// is dealt evenly, and what that leaves of replicas is put together for some of them. A job that
// waits for a limit needs nothing yet.
void Queued::size_jobs(const ClusterView& view, std::uint32_t leaf) {
  most_.clear();
  if (!sizes_) return;
  const QueueScale& scale = books_.scale();
  QueueVector left;
  left.fill(0);
  left[0] = books_.share(leaf) + books_.slack(leaf);
  const auto least = [&](JobId id) {
    const JobView job = view.job(id);
    return scale.dominant(gang_use(job.row, job.spec));
  };
  std::vector<JobId> jobs;
  std::vector<std::int64_t> units;
  std::vector<ShareClaim> claims;
  for (const JobId id : books_.jobs(leaf).holding) {
    const JobRow& row = view.row(id);
    const bool is_elastic = row.preemptible && row.max_replicas > row.min_replicas;
    left[0] -= is_elastic ? least(id) : scale.dominant(books_.job(id).use);
    if (!is_elastic) continue;
    jobs.push_back(id);
    units.push_back(std::max<std::int64_t>(1, scale.dominant(replica_use(view.job(id)))));
    ShareClaim claim;
    claim.most = std::max<std::int64_t>(0, scale.dominant(books_.job(id).want) - least(id));
    claims.push_back(claim);
  }
  if (jobs.empty()) return;
  books_.jobs(leaf).waiting.for_each([&](const WaitEntry& entry) {
    if (QueueReclaim::limits_let_run(view, books_, entry.job)) left[0] -= least(entry.job);
    return left[0] > 0;
  });
  left[0] = std::max<std::int64_t>(0, left[0]);
  std::vector<std::int64_t> dealt = deal_shares(claims, left);
  std::int64_t rest = left[0];
  for (std::size_t i = 0; i < jobs.size(); ++i) rest -= dealt[i] - dealt[i] % units[i];
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Who is nearest to another replica comes first.
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return units[a] - dealt[a] % units[a] < units[b] - dealt[b] % units[b];
  });
  for (const std::size_t i : order) {
    const std::int64_t whole = dealt[i] - dealt[i] % units[i];
    if (units[i] > rest || whole + units[i] > claims[i].most) continue;
    dealt[i] = whole + units[i];
    rest -= units[i];
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) most_[jobs[i]] = least(jobs[i]) + dealt[i];
}

// Whether a queue that may not borrow may start a job: it holds less than its share, which the job
// may cross; of a fixed job while another has its turn, not even that.
bool Queued::may_start(const Question& question,
                       bool fixed,
                       const QueueUse& more,
                       const QueueUse& spared) const {
  const QueueTree& tree = books_.tree();
  // What is borrowed while another has its turn can be taken back for it, but not of fixed jobs.
  const bool strict = fixed && books_.turn() != 0 && books_.turn() != question.leaf;
  if (question.borrows && !strict) return true;
  for (std::uint32_t queue = question.leaf; queue != 0; queue = tree.node(queue).parent) {
    QueueUse then = difference(books_.loads().use(queue), spared);
    if (!strict && books_.scale().dominant(then) >= books_.share(queue) - books_.slack(queue))
      return false;
    then += more;
    if (strict && books_.scale().dominant(then) > books_.share(queue)) return false;
  }
  return true;
}

// Whether a job with devices may have more: its queue stays within its share, or only the last
// replica crosses it.
bool Queued::may_grow(const ClusterView& view,
                      const Question& question,
                      JobId id,
                      const QueueUse& more) const {
  if (books_.stays_within(question.leaf, more)) return true;
  if (!question.crosses) return false;
  const QueueUse before = difference(more, replica_use(view.job(id)));
  for (std::uint32_t queue = question.leaf; queue != 0; queue = books_.tree().node(queue).parent) {
    QueueUse then = books_.loads().use(queue);
    then += before;
    if (books_.scale().dominant(then) >= books_.share(queue) - books_.slack(queue)) return false;
  }
  return true;
}

// Beside what other queues were given in this call: quotas of the cluster may count jobs of
// several.
bool Queued::quotas_allow(const ClusterView& view, JobId id, std::int32_t devices) const {
  for (const auto& [other, more] : promised_)
    if (share_quota(view.row(id), view.row(other))) devices += more;
  return view.quota_allows(id, devices);
}

bool Queued::may_hold(const ClusterView& view,
                      const Question& question,
                      const QueueUse& spared,
                      JobId id,
                      std::int32_t devices) const {
  const QueueJob* known = books_.find(id);
  if (known == nullptr) return false;
  const JobView job = view.job(id);
  const QueueUse more = difference(use_with(job.row, job.spec, devices), known->use);
  if (!is_growth(more)) return true;
  const auto is_in = [&](const std::vector<JobId>& list) {
    return std::find(list.begin(), list.end(), id) != list.end();
  };
  if (is_in(refused_) || (narrow_ && !known->holds && !is_in(kept_))) return false;
  QueueJob as_taken = *known;
  as_taken.fixed = false;
  if (books_.loads().block(books_.scale(), as_taken, difference(more, spared))) return false;
  if (known->fixed && books_.loads().block(books_.scale(), *known, difference(more, spared)))
    return false;
  const QueueUse least = gang_use(job.row, job.spec);
  if (!known->holds && !is_growth(difference(more, least)))
    return may_start(question, known->fixed, more, spared);
  const auto most = most_.find(id);
  QueueUse then = known->use;
  then += more;
  if (!question.crosses && most != most_.end() && books_.scale().dominant(then) > most->second)
    return false;
  return may_grow(view, question, id, difference(more, spared));
}

// Counts what the plan gives, after what it takes, in its order; drops what queues do not allow.
// Whether nothing was dropped.
bool Queued::accept(const ClusterView& view, const Question& question, Plan& plan) {
  const auto change = [&](const Grant& grant) {
    const JobView job = view.job(grant.job);
    const QueueUse then =
        grant.replicas == 0 ? QueueUse{} : use_at(job.row, job.spec, grant.replicas);
    return difference(then, books_.job(grant.job).use);
  };
  std::erase_if(plan.grants, [&](const Grant& grant) {
    return !grant.is_remark() && books_.find(grant.job) == nullptr;
  });
  for (const Grant& grant : plan.grants)
    if (!grant.is_remark() && !is_growth(change(grant))) books_.hold(grant.job, change(grant));
  const std::size_t asked = plan.grants.size();
  std::erase_if(plan.grants, [&](const Grant& grant) {
    if (grant.is_remark()) return false;
    const QueueUse more = change(grant);
    if (!is_growth(more)) return false;
    const QueueJob& job = books_.job(grant.job);
    const bool allowed = !books_.loads().block(books_.scale(), job, more) &&
                         (job.holds ? may_grow(view, question, grant.job, more)
                                    : may_start(question, job.fixed, more, {}));
    if (!allowed) {
      refused_.push_back(grant.job);
      return true;
    }
    if (!job.holds) started_.push_back(grant.job);
    books_.hold(grant.job, more);
    return false;
  });
  return plan.grants.size() == asked;
}

// The first jobs of the queue that may start and fit, without the policy.
Plan Queued::in_order(const ClusterView& view, const Question& question) {
  constexpr int kLookedAt = 64;
  Plan plan;
  int looked_at = 0;
  const std::size_t mark = trial_.mark();
  books_.jobs(question.leaf).waiting.for_each([&](const WaitEntry& entry) {
    const JobView job = view.job(entry.job);
    const QueueUse gang = gang_use(job.row, job.spec);
    const bool allowed = may_start(question, job.row.is_fixed(), gang, {}) &&
                         quotas_allow(view, entry.job, job.row.gang_devices()) &&
                         !books_.loads().block(books_.scale(), books_.job(entry.job), gang);
    if (allowed && try_start(view, job, job.row.min_replicas, trial_)) {
      plan.grant(entry.job, job.row.min_replicas);
      books_.hold(entry.job, gang);
      promised_.emplace_back(entry.job, job.row.gang_devices());
    }
    return ++looked_at < kLookedAt;
  });
  trial_.undo(mark);
  return plan;
}

Plan Queued::ask(const ClusterView& view, const Question& question) {
  Policy& policy = *policies_[question.leaf];
  ByteWriter saved;
  policy.save(saved);
  size_jobs(view, question.leaf);
  refused_.clear();
  kept_.clear();
  const std::size_t held = books_.held();
  const QueueUse takeable = this->takeable(view, question.leaf);
  for (int round = is_growth(takeable) ? 0 : 1; true; ++round) {
    const QueueUse spared = round == 0 ? takeable : QueueUse{};
    narrow_ = round > 1;
    const QueueView own(view,
                        books_,
                        question.leaf,
                        trial_.index(),
                        question.borrows,
                        [&](JobId id, std::int32_t devices) {
                          return quotas_allow(view, id, devices) &&
                                 may_hold(view, question, spared, id, devices);
                        });
    Plan plan =
        question.job != nullptr ? policy.allocate(*question.job, own) : policy.optimize(own);
    books_.asked(question.leaf, true);
    started_.clear();
    if (accept(view, question, plan)) return plan;
    if (round == kRoundsMax && !gives_up(view, plan)) return plan;
    books_.release(held);
    // A policy that asks for the same in vain again and again must not hold its queue up.
    if (round == kRoundsMax) return in_order(view, question);
    ByteReader in(saved.bytes());
    policy.load(in);
    books_.asked(question.leaf, false);
    // What was asked for while the policy hoped is no sign of what it would do otherwise.
    if (round == 0) refused_.clear();
    if (round > 0) kept_ = started_;
  }
}

// Those with jobs: the one first that has the least of its share, and those behind it before all
// others.
std::vector<std::uint32_t> Queued::in_turn() const {
  struct Place {
    bool is_ahead;
    std::int64_t part;
    std::uint32_t leaf;
  };

  __extension__ using Wide = __int128;
  std::vector<Place> places;
  for (const std::uint32_t leaf : books_.leaves()) {
    const QueueJobs& jobs = books_.jobs(leaf);
    if (jobs.waiting.empty() && jobs.holding.empty()) continue;
    const std::int64_t share = std::max<std::int64_t>(1, books_.share(leaf));
    const auto part =
        static_cast<std::int64_t>(static_cast<Wide>(books_.used(leaf)) * 1'000'000 / share);
    const bool has_turn = books_.turn() == leaf;
    places.push_back({!has_turn && !books_.is_behind(leaf), has_turn ? -1 : part, leaf});
  }
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    if (a.is_ahead != b.is_ahead) return b.is_ahead;
    return a.part != b.part ? a.part < b.part : a.leaf < b.leaf;
  });
  std::vector<std::uint32_t> out;
  for (const Place& place : places) out.push_back(place.leaf);
  return out;
}

// Whether something is free beside what jobs of other queues may grow by.
bool Queued::others_leave_room(const ClusterView& view, std::uint32_t leaf, Kept kept) const {
  std::int64_t missing = 0;
  for (const std::uint32_t other : books_.leaves())
    if (other != leaf && books_.is_behind(other) &&
        (kept == Kept::All || !left_for_long(view, other)))
      missing += QueueReclaim::growth_missing(view, books_, other);
  return missing < trial_.index().free_thousandths();
}

bool Queued::left_for_long(const ClusterView& view, std::uint32_t leaf) const {
  const auto found = left_.find(leaf);
  return found != left_.end() && view.now() - found->second.since >= books_.tree().spec().patience;
}

// A policy may take only sizes that what is free does not make up, and nobody knows whether it ever
// will.
void Queued::note_what_is_left(const ClusterView& view) {
  for (const std::uint32_t leaf : books_.leaves()) {
    const bool could_grow = trial_.index().free_thousandths() > 0 && books_.is_behind(leaf) &&
                            QueueReclaim::growth_missing(view, books_, leaf) > 0;
    if (!could_grow) {
      left_.erase(leaf);
      continue;
    }
    const Left now{view.now(), books_.used(leaf)};
    Left& left = left_.try_emplace(leaf, now).first->second;
    if (left.used != now.used) left = now;
  }
}

// Whether queues at their shares may take what is free.
bool Queued::may_borrow(const ClusterView& view, std::uint32_t leaf) const {
  return !books_.is_behind(leaf) &&
         (!sizes_ || others_leave_room(view, leaf, Kept::UnlessLeftForLong));
}

// Shares are no whole replicas: where all queues stayed within theirs, what they leave would be
// idle.
bool Queued::may_cross(const ClusterView& view, std::uint32_t leaf) const {
  return sizes_ && books_.turn() == 0 && books_.is_behind(leaf) &&
         QueueReclaim::first_waiting(view, books_, leaf).is_none() &&
         QueueReclaim::growth_missing(view, books_, leaf) == 0 &&
         others_leave_room(view, leaf, Kept::All);
}

Plan Queued::allocate(const JobView& job, const ClusterView& view) {
  books_.begin(view);
  Plan plan;
  const QueueJob* known = books_.find(job.row.id);
  if (known != nullptr) {
    trial_.sync(view.capacity());
    promised_.clear();
    plan = ask(view, {known->queue, &job, may_borrow(view, known->queue), false});
  }
  books_.end();
  return plan;
}

Plan Queued::optimize(const ClusterView& view) {
  books_.begin(view);
  const std::int64_t cycle = view.now().ns / books_.tree().spec().period.ns;
  if (cycle > cycle_) {
    cycle_ = cycle;
    reclaim_.track(view, books_);
    Plan plan = reclaim_.run(view, books_, trial_, sizes_);
    if (!plan.empty()) {
      books_.end();
      return plan;
    }
  }
  trial_.sync(view.capacity());
  promised_.clear();
  std::vector<Given> given;
  bool good = true;
  for (const std::uint32_t leaf : in_turn()) {
    Given next;
    next.plan = ask(view, {leaf, nullptr, may_borrow(view, leaf), may_cross(view, leaf)});
    good = give_on(view, next);
    if (!next.plan.empty()) given.push_back(std::move(next));
    if (!good) break;
  }
  if (sizes_ && good) note_what_is_left(view);
  books_.end();
  return joined(view, given);
}

// Takes from the trial what the plan takes, so that the next queue finds what is left. False where
// it cannot be told: then no other is asked in this call.
bool Queued::give_on(const ClusterView& view, Given& given) {
  const std::vector<Grant>& grants = given.plan.grants;
  given.nodes.resize(grants.size());
  bool good = true;
  for (const Grant& grant : grants) {
    if (grant.is_remark()) continue;
    const JobView job = view.job(grant.job);
    const std::int32_t devices = devices_at(job.row, grant.replicas);
    if (grant.replicas > 0 && devices > job.row.devices_held)
      promised_.emplace_back(grant.job, devices - job.row.devices_held);
    if (!job.row.holds) continue;
    given.gives_up = true;
    if (!view.partner(grant.job).is_none()) good = false;
    if (!good) continue;
    if (grant.replicas == 0)
      give_back(view, job, trial_);
    else if (grant.node_count > 0)
      for (const NodeCount& at : job.nodes) trial_.give(at.node, job.row.demand, at.replicas);
  }
  for (std::size_t i = 0; i < grants.size() && good; ++i)
    if (!grants[i].is_remark() && grants[i].replicas > 0)
      good = take_grant(view, given.plan, grants[i], given.nodes[i]);
  return good;
}

bool Queued::take_grant(const ClusterView& view,
                        const Plan& plan,
                        const Grant& grant,
                        std::vector<NodeCount>& nodes) {
  const JobView job = view.job(grant.job);
  if (!grant.beside.is_none()) return false;
  if (grant.node_count == 0) {
    if (!job.row.holds) return try_start(view, job, grant.replicas, trial_, &nodes);
    const std::int32_t more = grant.replicas - job.row.replicas;
    return more <= 0 || place(view, grant.job, job.row.demand, more, trial_, nodes);
  }
  for (std::uint32_t n = 0; n < grant.node_count; ++n) {
    const NodeCount& at = plan.nodes[grant.first_node + n];
    if (at.node.index() >= trial_.index().size() ||
        replicas_that_fit(trial_.index().at(at.node), job.row.demand) < at.replicas)
      return false;
    trial_.take(at.node, job.row.demand, at.replicas);
  }
  if (job.row.holds) return true;
  std::vector<NodeCount> others;
  for (std::size_t r = 0; r < job.spec.roles.size(); ++r) {
    const RoleIndex role{static_cast<std::uint16_t>(r)};
    if (role == job.row.elastic) continue;
    if (!place(view,
               grant.job,
               view.demand_of(job.spec, role),
               view.target(grant.job, role),
               trial_,
               others))
      return false;
  }
  return true;
}

// One plan of all. What one of them takes back is free for the first grant of any: then each start
// names its nodes, and one at most also needs places for other roles, and comes last.
Plan Queued::joined(const ClusterView& view, std::vector<Given>& given) const {
  if (given.empty()) return {};
  if (given.size() == 1) return std::move(given.front().plan);
  const bool gives_up =
      std::any_of(given.begin(), given.end(), [](const Given& each) { return each.gives_up; });
  Plan plan;
  std::vector<Grant> last;
  for (Given& each : given)
    for (std::size_t i = 0; i < each.plan.grants.size(); ++i) {
      Grant grant = each.plan.grants[i];
      const bool starts = !grant.is_remark() && grant.replicas > 0 && !view.row(grant.job).holds;
      std::span<const NodeCount> nodes =
          std::span(each.plan.nodes).subspan(grant.first_node, grant.node_count);
      if (grant.is_remark()) nodes = {};
      if (gives_up && starts && nodes.empty() && grant.beside.is_none() &&
          !view.is_seated(grant.job))
        nodes = each.nodes[i];
      if (!grant.is_remark()) {
        grant.first_node = static_cast<std::uint32_t>(plan.nodes.size());
        grant.node_count = static_cast<std::uint32_t>(nodes.size());
        plan.nodes.insert(plan.nodes.end(), nodes.begin(), nodes.end());
      }
      // One with seats keeps its turn: what starts before it would take its seats.
      const bool needs_rest =
          starts && view.job(grant.job).spec.roles.size() > 1 && !view.is_seated(grant.job);
      (gives_up && needs_rest ? last : plan.grants).push_back(grant);
    }
  if (!last.empty()) plan.grants.push_back(last.front());
  return plan;
}

void Queued::save(ByteWriter& out) const {
  books_.save(out);
  reclaim_.save(out);
  out.signed_varint(cycle_);
  for (const std::uint32_t leaf : books_.leaves()) {
    ByteWriter own;
    policies_[leaf]->save(own);
    out.string(own.text());
  }
  out.varint(left_.size());
  for (const auto& [leaf, left] : left_) {
    out.u32(leaf);
    out.i64(left.since.ns);
    out.i64(left.used);
  }
}

void Queued::load(ByteReader& in) {
  books_.load(in);
  reclaim_.load(in);
  cycle_ = in.signed_varint();
  for (const std::uint32_t leaf : books_.leaves()) {
    const std::string own(in.string());
    ByteReader reader(std::as_bytes(std::span(own)));
    policies_[leaf]->load(reader);
  }
  left_.clear();
  // What was saved before such were kept ends here.
  if (in.remaining() == 0) return;
  for (std::uint64_t n = in.varint(); n > 0 && in.ok(); --n) {
    const std::uint32_t leaf = in.u32();
    const Instant since{in.i64()};
    left_[leaf] = {since, in.i64()};
  }
}

}  // namespace orrery::policies
