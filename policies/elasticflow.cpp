#include "policies/elasticflow.hpp"

#include <algorithm>
#include <queue>
#include <string>
#include <tuple>
#include <utility>

#include "core/base/invariant.hpp"
#include "core/base/random.hpp"
#include "policies/changes.hpp"
#include "policies/gang_trial.hpp"
#include "policies/parameters.hpp"

namespace orrery::policies {
namespace {

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

bool is_resizable(const ClusterView& view, const JobView& job) {
  return job.row.preemptible && job.spec.roles.size() == 1 && !view.is_seated(job.row.id);
}

/// Sizes that the job may have, ascending.
std::vector<std::int32_t> sizes_of(const ClusterView& view, const JobView& job) {
  if (!is_resizable(view, job)) return {job.row.holds ? job.row.replicas : job.row.min_replicas};
  std::vector<std::int32_t> sizes;
  for (std::int64_t n = job.row.min_replicas; n < job.row.max_replicas; n *= 2)
    sizes.push_back(static_cast<std::int32_t>(n));
  sizes.push_back(job.row.max_replicas);
  return sizes;
}

}  // namespace

ElasticFlow::ElasticFlow(const ElasticFlowParameters& parameters,
                         std::unique_ptr<SpeedEstimates> estimates)
    : parameters_(parameters), estimates_(std::move(estimates)) {
  invariant(estimates_ != nullptr, "elasticflow has estimates to ask");
}

Triggers ElasticFlow::triggers() const {
  return {
      .submission = false, .completion = false, .capacity = false, .period = parameters_.period};
}

// ---- Following the views ----

/// By its label, else by its stated run time; never where it has none.
Instant ElasticFlow::deadline_of(const JobView& job) const {
  for (const KeyValue& label : job.spec.labels)
    if (label.key == kDeadlineLabel)
      if (const auto within = duration_of(label.value)) return job.row.submitted + *within;
  const std::vector<double>& factors = parameters_.deadline_factors;
  if (factors.empty() || job.row.estimate_source == EstimateSource::None ||
      job.row.estimate.is_forever())
    return Instant::never();
  Random random =
      Random::stream(parameters_.seed, "elasticflow/deadline/" + std::to_string(job.row.id.value));
  const double drawn = static_cast<double>(random.below(1'000'001)) / 1e6;
  const double factor = factors.front() + (factors.back() - factors.front()) * drawn;
  return job.row.submitted + Duration::from_seconds(job.row.estimate.in_seconds() * factor);
}

void ElasticFlow::look_at(const ClusterView& view, JobId id) {
  const Instant deadline = view.is_live(id) ? deadline_of(view.job(id)) : Instant::never();
  if (deadline.is_never()) {
    claims_.erase(id);
    return;
  }
  // A user may change the label: it is a new question then.
  Claim& claim = claims_.try_emplace(id, Claim{Verdict::New, deadline}).first->second;
  if (claim.deadline != deadline) claim = {Verdict::New, deadline};
}

void ElasticFlow::note_changes(const ClusterView& view) {
  if (!view.touched_complete()) {
    follows_ = false;
    changed_.clear();
  }
  if (follows_) changed_.insert(changed_.end(), view.touched().begin(), view.touched().end());
}

void ElasticFlow::absorb(const ClusterView& view) {
  note_changes(view);
  if (!follows_) {
    std::erase_if(claims_, [&](const auto& entry) { return !view.is_live(entry.first); });
    changed_ = jobs_in_order(view);
    follows_ = true;
  }
  for (const JobId id : changed_) look_at(view, id);
  changed_.clear();
  // Whose deadline has passed has no claim any more.
  for (auto& [id, claim] : claims_)
    if (claim.deadline <= view.now()) claim.verdict = Verdict::BestEffort;
}

/// What is free over time but for fixed jobs and those that change at the moment.
FreeProfile ElasticFlow::free_of_fixed(const ClusterView& view) const {
  FreeProfile free(view.devices_usable() * 1000);
  for (const JobId id : view.holding()) {
    const JobRow& row = view.row(id);
    if (may_be_taken_from(row)) continue;
    std::int64_t until_s = kPlanNever;
    const bool knows_end = row.estimate_source != EstimateSource::None && !claims_.empty();
    if (knows_end && !row.estimate.is_forever()) {
      const Duration left = row.allocated_at + row.estimate - view.now();
      const std::int64_t slots =
          std::max<std::int64_t>(1, (left.ns + parameters_.period.ns - 1) / parameters_.period.ns);
      until_s = slots * slot_s();
    }
    free.take(0, until_s, closed_.held_elsewhere(row));
  }
  return free;
}

// ---- Candidates ----

/// Iterations left now: what the last report says less what was done since, or the stated work less
/// the service so far.
double ElasticFlow::iterations_left(const ClusterView& view, const JobView& job) {
  const JobRow& row = job.row;
  const double left = estimates_->iterations_left(job.spec, row);
  double done = 0;
  if (row.progress.source == EstimateSource::None) {
    const std::int64_t devices = std::max(1, row.demand.devices);
    done = static_cast<double>(row.attained_device_us(view.now())) / 1e6 /
           static_cast<double>(devices);
  } else if (row.holds && row.phase == JobPhase::Running && row.progress.rate > 0) {
    const auto iteration = estimates_->iteration_time(job.spec, std::max(1, row.replicas));
    const Duration since = view.now() - std::max(row.progress.as_of, row.allocated_at);
    if (iteration && *iteration > Duration::zero() && since > Duration::zero())
      done = since.in_seconds() / iteration->in_seconds();
  }
  return std::max(1.0, left - done);
}

ElasticFlow::Candidate ElasticFlow::candidate(const ClusterView& view, JobId id, Instant deadline) {
  const JobView job = view.job(id);
  Candidate made;
  made.id = id;
  made.priority = job.row.priority;
  made.may_change = job.row.preemptible;
  // With the size that it has it keeps its nodes, and of closed ones it takes nothing from anybody.
  std::vector<std::int32_t> sizes = sizes_of(view, job);
  const bool within =
      job.row.replicas >= job.row.min_replicas && job.row.replicas <= job.row.max_replicas;
  const std::int64_t closed = job.row.holds && within ? closed_.held(id) : 0;
  const std::int64_t takes_now = job.row.thousandths_at(job.row.replicas) - closed;
  if (closed > 0) {
    std::erase_if(sizes, [&](std::int32_t n) {
      return n == job.row.replicas ||
             (n < job.row.replicas && job.row.thousandths_at(n) >= takes_now);
    });
    sizes.insert(std::lower_bound(sizes.begin(), sizes.end(), job.row.replicas), job.row.replicas);
  }
  if (const std::int32_t most = cut_.most(id); !sizes.empty() && sizes.back() > most) {
    std::erase_if(sizes, [&](std::int32_t n) { return n > most; });
    if (sizes.empty() || sizes.back() < most) sizes.push_back(most);
  }
  for (const std::int32_t n : sizes) {
    const auto iteration = estimates_->iteration_time(job.spec, n);
    const double rate =
        iteration && *iteration > Duration::zero() ? 1 / iteration->in_seconds() : n;
    // A larger size that is no faster is of no use.
    if (!made.columns.empty() && (!iteration || rate <= made.columns.back().rate)) continue;
    made.replicas.push_back(n);
    const bool stays = closed > 0 && n == job.row.replicas;
    made.columns.push_back({stays ? takes_now : job.row.thousandths_at(n), rate});
  }
  made.iterations = iterations_left(view, job);
  if (deadline.is_never()) return made;
  made.deadline_s = (deadline - view.now()).ns / kNanosecondsPerSecond;
  if (parameters_.overhead)
    made.deadline_s -= published_overhead_s(
        view.devices_usable(), devices_at(job.row, made.replicas.back()), false, false);
  return made;
}

// ---- Admission ----

SharePlan ElasticFlow::planned(const FreeProfile& free,
                               const Candidate& job,
                               std::int64_t from_s) const {
  return job.may_change ? minimum_share(free, from_s, job.work(), slot_s())
                        : whole_run(free, from_s, job.work(), slot_s());
}

std::vector<JobId> ElasticFlow::late_among(FreeProfile free,
                                           std::span<const Candidate> jobs) const {
  std::vector<JobId> late;
  for (const Candidate& job : jobs) {
    const SharePlan plan = planned(free, job);
    if (!plan.on_time) late.push_back(job.id);
    take_share(free, plan, job.columns);
  }
  return late;
}

/// Decides about new jobs, one after the other: each is admitted if it ends in time and makes none
/// late that was not, of its own priority or a higher one. `admitted` stays in the order of plans.
void ElasticFlow::admit(const ClusterView& view,
                        const FreeProfile& free,
                        std::vector<Candidate>& admitted) {
  const auto goes_first = [](const Candidate& a, const Candidate& b) {
    return std::tuple(-a.priority, a.deadline_s, a.id) <
           std::tuple(-b.priority, b.deadline_s, b.id);
  };
  std::vector<JobId> fresh;
  for (const auto& [id, claim] : claims_) {
    const JobRow& row = view.row(id);
    const bool takes_part = may_be_taken_from(row) || waits(row);
    if (claim.verdict == Verdict::New && (takes_part || row.holds)) fresh.push_back(id);
    if (claim.verdict == Verdict::Admitted && takes_part)
      admitted.push_back(candidate(view, id, claim.deadline));
  }
  std::sort(admitted.begin(), admitted.end(), goes_first);
  if (fresh.empty()) return;
  std::sort(fresh.begin(), fresh.end(), [&](JobId a, JobId b) {
    return comes_before(view.row(a), view.row(b));
  });
  std::vector<JobId> late = late_among(free, admitted);
  for (const JobId id : fresh) {
    Claim& claim = claims_[id];
    if (!may_be_taken_from(view.row(id)) && view.row(id).holds) {
      claim.verdict = Verdict::Admitted;  // It has what it can have.
      continue;
    }
    std::vector<Candidate> with = admitted;
    Candidate job = candidate(view, id, claim.deadline);
    with.insert(std::upper_bound(with.begin(), with.end(), job, goes_first), job);
    const std::vector<JobId> late_with = late_among(free, with);
    const bool harms = std::any_of(late_with.begin(), late_with.end(), [&](JobId other) {
      return other == id || (view.row(other).priority >= job.priority &&
                             std::find(late.begin(), late.end(), other) == late.end());
    });
    claim.verdict = harms ? Verdict::BestEffort : Verdict::Admitted;
    if (harms) continue;
    admitted = std::move(with);
    late = late_with;
  }
}

// ---- The cycle ----

/// Gives the job its column where quotas let it; what it holds is its own.
bool ElasticFlow::grant(const ClusterView& view,
                        Candidate& job,
                        std::int32_t column,
                        Cycle& cycle) const {
  const JobRow& row = view.row(job.id);
  const std::int32_t devices = devices_at(row, job.replicas[static_cast<std::size_t>(column)]);
  const auto more_now = [&](std::int32_t at) {
    return at < 0 ? 0
                  : std::max(0,
                             devices_at(row, job.replicas[static_cast<std::size_t>(at)]) -
                                 row.devices_held);
  };
  const std::int32_t own = more_now(job.column);
  if (devices > row.devices_held &&
      !view.quota_allows(job.id, devices + cycle.given.of_others(row, own)))
    return false;
  cycle.given.add(row, more_now(column) - own);
  job.column = column;
  return true;
}

/// Whether the job, if it waits, finds a place on nodes as far as this cycle knows.
bool ElasticFlow::may_start(const ClusterView& view, JobId id) {
  return view.row(id).holds || misfits_.may_choose(view, id);
}

/// It was granted something.
void ElasticFlow::note_started(const ClusterView& view, const Candidate& job) {
  if (!view.row(job.id).holds && job.column >= 0) misfits_.note_chosen(view, job.id);
}

/// Admitted jobs of a priority from `above` on: each its share of now, and then to those that need
/// nothing yet what is left.
void ElasticFlow::serve_admitted(const ClusterView& view, std::int32_t above, Cycle& cycle) {
  while (cycle.admitted_next < cycle.admitted.size() &&
         cycle.admitted[cycle.admitted_next].priority >= above) {
    const std::int32_t priority = cycle.admitted[cycle.admitted_next].priority;
    const std::size_t first = cycle.candidates.size();
    for (; cycle.admitted_next < cycle.admitted.size() &&
           cycle.admitted[cycle.admitted_next].priority == priority;
         ++cycle.admitted_next) {
      Candidate job = std::move(cycle.admitted[cycle.admitted_next]);
      if (!may_start(view, job.id)) {
        // It waits for nodes: from the next cycle on it is planned for.
        take_share(cycle.free, planned(cycle.free, job, slot_s()), job.columns);
        continue;
      }
      job.plan = planned(cycle.free, job);
      std::int32_t column = job.plan.first_column();
      while (column >= 0 && (job.columns[static_cast<std::size_t>(column)].room > cycle.left() ||
                             !grant(view, job, column, cycle)))
        --column;
      take_share(cycle.free, job.plan, job.columns);
      note_started(view, job);
      cycle.candidates.push_back(std::move(job));
    }
    for (std::size_t i = first; i < cycle.candidates.size(); ++i) {
      Candidate& job = cycle.candidates[i];
      if (job.column >= 0 || !job.may_change || job.plan.first_column() >= 0) continue;
      if (job.columns[0].room > cycle.left() || !may_start(view, job.id) ||
          !grant(view, job, 0, cycle))
        continue;
      note_started(view, job);
      cycle.soft += job.columns[0].room;
    }
  }
}

void ElasticFlow::start_best_effort(const ClusterView& view, JobId id, Cycle& cycle) {
  const auto claim = claims_.find(id);
  if (claim != claims_.end() && claim->second.verdict == Verdict::Admitted) return;
  Candidate job = candidate(view, id, Instant::never());
  const bool holds = view.row(id).holds;
  const std::int64_t room = job.columns[0].room;
  bool fits = room <= cycle.left();
  if (fits && !job.may_change) {
    job.plan = whole_run(cycle.free, 0, job.work(), slot_s());
    fits = job.plan.first_column() == 0;
  }
  if (!fits || !grant(view, job, 0, cycle)) {
    if (holds) cycle.candidates.push_back(std::move(job));
    return;
  }
  if (job.may_change && cycle.admitted_next == cycle.admitted.size()) {
    cycle.soft += room;
  } else {
    if (job.may_change) job.plan = minimum_share(cycle.free, 0, job.work(), slot_s());
    take_share(cycle.free, job.plan, job.columns);
  }
  note_started(view, job);
  cycle.candidates.push_back(std::move(job));
}

/// The queue may be thousands of jobs long where a few can be served, so it is read in its own
/// order, and of a job that needs more than is left nothing is read but its entry.
void ElasticFlow::serve_best_effort(const ClusterView& view, Cycle& cycle) {
  const std::vector<JobId> holders = holders_in_order(view);
  auto next = holders.begin();
  const auto serve_holder = [&] {
    const JobId id = *next++;
    serve_admitted(view, view.row(id).priority, cycle);
    if (may_be_taken_from(view.row(id))) start_best_effort(view, id, cycle);
  };
  view.waiting().for_each([&](const WaitEntry& entry) {
    // What is left never grows. The entry's devices are thousandths rounded up.
    if ((std::int64_t{entry.devices} - 1) * 1000 >= cycle.left()) return true;
    if (!misfits_.may_choose(view, entry.job)) return true;
    const JobRow& row = view.row(entry.job);
    while (next != holders.end() && comes_before(view.row(*next), row)) serve_holder();
    serve_admitted(view, row.priority, cycle);
    start_best_effort(view, entry.job, cycle);
    return true;
  });
  while (next != holders.end()) serve_holder();
  serve_admitted(view, INT32_MIN, cycle);
}

/// Device time for each device added by the next larger size, in seconds.
double ElasticFlow::cost_of_more(Cycle& cycle, const Candidate& job) const {
  const std::int32_t column = job.column + 1;
  SharePlan now = job.plan;
  if (now.first_column() == job.column && now.end_s < kPlanNever) {
    take_share(cycle.free, now, job.columns, -1);
    const double cost = marginal_cost(cycle.free, 0, job.work(), slot_s(), now, column);
    take_share(cycle.free, now, job.columns);
    return cost;
  }
  // It runs on what nobody is promised: at either size to its end.
  const FreeProfile all(kPlanNever);
  now = share_from(all, 0, job.work(), slot_s(), job.column);
  return marginal_cost(all, 0, job.work(), slot_s(), now, column);
}

/// Step by step to the job, of the highest priority, that has the size already or for which a step
/// costs least.
void ElasticFlow::grow(const ClusterView& view, Cycle& cycle) {
  struct Offer {
    std::int32_t priority;
    bool has_it;
    double cost;
    std::size_t position;

    bool operator<(const Offer& other) const {
      if (priority != other.priority) return priority < other.priority;
      if (has_it != other.has_it) return other.has_it;
      return cost != other.cost ? cost > other.cost : position > other.position;
    }
  };

  std::priority_queue<Offer> offers;
  const auto added = [](const Candidate& job) {
    const auto column = static_cast<std::size_t>(job.column);
    return job.columns[column + 1].room - job.columns[column].room;
  };
  const auto offer = [&](std::size_t position) {
    const Candidate& job = cycle.candidates[position];
    const bool larger = job.may_change && job.column >= 0 &&
                        static_cast<std::size_t>(job.column) + 1 < job.columns.size();
    if (!larger || added(job) > cycle.left()) return;
    const JobRow& row = view.row(job.id);
    const bool has_it =
        row.holds && row.replicas >= job.replicas[static_cast<std::size_t>(job.column) + 1];
    offers.push({job.priority, has_it, has_it ? 0 : cost_of_more(cycle, job), position});
  };
  for (std::size_t position = 0; position < cycle.candidates.size(); ++position) offer(position);
  while (!offers.empty()) {
    const std::size_t position = offers.top().position;
    offers.pop();
    Candidate& job = cycle.candidates[position];
    const std::int64_t more = added(job);
    if (more > cycle.left() || !grant(view, job, job.column + 1, cycle)) continue;
    cycle.soft += more;
    offer(position);
  }
}

/// Who is not admitted and still waits is told so, once for each time that it waits.
void ElasticFlow::tell_best_effort(const ClusterView& view, Plan& plan) {
  std::vector<JobId> starting;
  for (const Grant& grant : plan.grants)
    if (grant.replicas > 0) starting.push_back(grant.job);
  std::sort(starting.begin(), starting.end());
  for (auto& [id, claim] : claims_) {
    const bool tells = claim.verdict == Verdict::BestEffort && waits(view.row(id)) &&
                       !std::binary_search(starting.begin(), starting.end(), id);
    if (tells && !claim.told) plan.remark(id, PlanRemark::NotAdmitted);
    claim.told = tells;
  }
}

Plan ElasticFlow::allocate(const JobView& /*job*/, const ClusterView& view) {
  note_changes(view);
  misfits_.follow(view);
  return {};
}

Plan ElasticFlow::optimize(const ClusterView& view) {
  absorb(view);
  misfits_.follow(view);
  // Between two cycles nothing is planned anew.
  const std::int64_t number = view.now().ns / parameters_.period.ns;
  if (number <= cycle_) return {};
  cycle_ = number;
  closed_.begin(view);
  misfits_.begin();
  cut_.begin();
  Plan plan = plan_round(view);
  while (chooses_again(view, plan)) plan = plan_round(view);
  tell_best_effort(view, plan);
  return plan;
}

/// Whether others could have what was chosen and fits by count and on no node: what a job that
/// waits was to have, or, while some wait that get nothing, what one was to have more.
bool ElasticFlow::chooses_again(const ClusterView& view, const Plan& plan) {
  const bool again = misfits_.choose_again();
  if (placer_.cut_short().empty()) return again;
  const std::vector<JobId> granted = granted_jobs(plan);
  bool some_wait = false;
  view.waiting().for_each([&](const WaitEntry& entry) {
    some_wait = !std::binary_search(granted.begin(), granted.end(), entry.job);
    return !some_wait;
  });
  bool is_new = false;
  for (const SizedJob& each : placer_.cut_short())
    is_new = cut_.note(each.id, each.replicas) || is_new;
  return again || (is_new && some_wait);
}

/// Chooses sizes by count, and nodes for them.
Plan ElasticFlow::plan_round(const ClusterView& view) {
  Cycle cycle{free_of_fixed(view), 0, {}, 0, {}, {}};
  admit(view, cycle.free, cycle.admitted);
  serve_best_effort(view, cycle);
  const auto size = [](const Candidate& job) {
    return job.column < 0 ? 0 : job.replicas[static_cast<std::size_t>(job.column)];
  };
  std::vector<SizedJob> sized;
  for (const Candidate& job : cycle.candidates) sized.push_back({job.id, 0, size(job)});
  grow(view, cycle);
  for (std::size_t i = 0; i < sized.size(); ++i) sized[i].replicas = size(cycle.candidates[i]);
  return placer_.place(view, std::move(sized), misfits_);
}

void ElasticFlow::save(ByteWriter& out) const {
  out.signed_varint(cycle_);
  out.varint(claims_.size());
  for (const auto& [job, claim] : claims_) {
    out.u32(job.value);
    out.u8(static_cast<std::uint8_t>(claim.verdict));
    out.i64(claim.deadline.ns);
    out.boolean(claim.told);
  }
}

void ElasticFlow::load(ByteReader& in) {
  follows_ = false;
  changed_.clear();
  claims_.clear();
  cycle_ = in.signed_varint();
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    Claim& claim = claims_[JobId{in.u32()}];
    claim.verdict = static_cast<Verdict>(in.u8());
    claim.deadline.ns = in.i64();
    claim.told = in.boolean();
  }
}

}  // namespace orrery::policies
