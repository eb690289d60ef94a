#include "policies/shockwave.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <utility>

#include "core/base/invariant.hpp"
#include "policies/changes.hpp"
#include "policies/gang_trial.hpp"
#include "policies/present_progress.hpp"
#include "policies/quotas.hpp"
#include "policies/shockwave_counts.hpp"

namespace orrery::policies {
namespace {

/// Epochs of a job that has no profile.
constexpr int kPlainEpochs = 20;
constexpr double kUnknownRun_s = 3600;

/// The rigid size within what the job's user has asked for since.
std::int32_t round_size(const JobView& job) {
  if (job.row.holds) return job.row.replicas;
  return std::clamp(rigid_replicas(job.spec), job.row.min_replicas, job.row.max_replicas);
}

std::int32_t round_devices(const JobView& job) { return devices_at(job.row, round_size(job)); }

std::int64_t round_room(const JobView& job) {
  return std::max<std::int64_t>(job.row.thousandths_at(round_size(job)), 1);
}

double stated_run_s(const JobSpec& spec) {
  const bool stated = spec.estimate_source != EstimateSource::None;
  return stated ? std::max(spec.estimate.in_seconds(), 1.0) : kUnknownRun_s;
}

/// Part of a job without a profile that is done, by its report or its service.
double part_done(const JobView& job, Instant now) {
  const double all = stated_run_s(job.spec);
  const ProgressView progress = present_progress(job.row);
  if (progress.source != EstimateSource::None && !progress.remaining.is_forever()) {
    const double since = progress.rate > 0 ? (now - progress.as_of).in_seconds() : 0;
    return 1 - (progress.remaining.in_seconds() - since) / all;
  }
  const double devices = std::max(round_devices(job), 1);
  return static_cast<double>(job.row.attained_device_us(now)) / 1e6 / devices / all;
}

}  // namespace

Shockwave::Shockwave(const ShockwaveParameters& parameters,
                     std::shared_ptr<const EpochProfiles> profiles)
    : parameters_(parameters), profiles_(std::move(profiles)) {
  parameters_.window.round_s = parameters_.round.in_seconds();
}

Triggers Shockwave::triggers() const {
  const std::int64_t period = std::gcd(parameters_.round.ns, parameters_.choose_ahead.ns);
  return {.submission = false,
          .completion = chooses_ahead(),
          .capacity = false,
          .period = Duration{period}};
}

Plan Shockwave::allocate(const JobView& /*job*/, const ClusterView& view) {
  misfits_.follow(view);
  return {};
}

Shockwave::Job* Shockwave::find(JobId job) { return find(job, jobs_.size()); }

Shockwave::Job* Shockwave::find(JobId job, std::size_t known) {
  const auto end = jobs_.begin() + static_cast<std::ptrdiff_t>(known);
  const auto found =
      std::lower_bound(jobs_.begin(), end, job, [](const Job& a, JobId id) { return a.id < id; });
  return found != end && found->id == job ? &*found : nullptr;
}

/// Looks for each of them among the first `known`.
void Shockwave::find_present(const std::vector<JobId>& ids, std::size_t known) {
  present_.clear();
  std::size_t next = 0;  // Mostly they are in order.
  for (const JobId id : ids) {
    const bool here = next < known && jobs_[next].id == id;
    Job* const job = here ? &jobs_[next] : find(id, known);
    present_.push_back(job);
    if (job != nullptr) next = static_cast<std::size_t>(job - jobs_.data()) + 1;
  }
}

/// Takes in who has come and gone, and finds those that take part in the round; whether anybody
/// has come or gone.
bool Shockwave::follow(const ClusterView& view) {
  bool changed = std::erase_if(jobs_, [&](const Job& job) { return !view.is_live(job.id); }) > 0;
  const std::vector<JobId> ids = jobs_in_order(view);
  const std::size_t known = jobs_.size();
  find_present(ids, known);
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (present_[i] == nullptr) jobs_.emplace_back().id = ids[i];
  if (jobs_.size() > known) {
    changed = true;
    std::sort(jobs_.begin(), jobs_.end(), [](const Job& a, const Job& b) { return a.id < b.id; });
    find_present(ids, jobs_.size());
  }
  for (Job* const job : present_)
    if (job->predictor == nullptr) predict(view.job(job->id), *job);
  return changed;
}

void Shockwave::predict(const JobView& view, Job& job) const {
  const EpochProfile* profile = nullptr;
  if (profiles_ != nullptr) {
    const auto found = profiles_->find(*view.spec.profile);
    if (found != profiles_->end()) profile = &found->second;
  }
  if (profile == nullptr) {
    job.own = std::make_unique<EpochProfile>();
    job.own->examples = 1;
    job.own->batches.assign(kPlainEpochs, 1);
    job.own->seconds.assign(kPlainEpochs, stated_run_s(view.spec) / kPlainEpochs);
    profile = job.own.get();
  }
  job.predictor = std::make_unique<EpochPredictor>(*profile);
  if (job.factor != 1) job.predictor->restore(job.factor);
}

int Shockwave::epochs_of(const JobView& view, const Job& job, Instant now) {
  const int all = job.predictor->epochs();
  if (job.own == nullptr) return epochs_done(present_progress(view.row), now, all);
  const double done = part_done(view, now) * all;
  return static_cast<int>(std::clamp(done, 0.0, all - 1.0));
}

/// What the view says of every job, and the outlook of each now.
void Shockwave::look_ahead(const ClusterView& view) {
  const Instant now = view.now();
  for (Job* const job : present_) {
    const JobView its = view.job(job->id);
    job->priority = its.row.priority;
    job->replicas = round_size(its);
    job->devices = round_devices(its);
    job->room = round_room(its);
    job->holds = its.row.holds;
    job->kept = its.row.holds && (its.row.is_fixed() || closed_.hold_all_of(its.row));
    if (its.row.holds) job->room = std::max<std::int64_t>(job->room - closed_.held(job->id), 1);
    const EpochPredictor& predictor = *job->predictor;
    const int done = epochs_of(its, *job, now);
    Outlook& last = job->outlook;
    if (last.done == done && last.factor == predictor.factor()) continue;
    last = {done,
            predictor.factor(),
            predictor.remaining_s(done),
            predictor.elapsed_s(done),
            predictor.mean_s(done)};
    job->ahead = {};
  }
}

/// Notes what profiled jobs were seen to do in the round that has just ended.
void Shockwave::measure(const ClusterView& view) {
  if (profiles_ == nullptr) return;
  const std::int64_t round = planned_;
  for (const JobId id : view.holding()) {
    Job* const job = find(id);
    if (job == nullptr || job->own != nullptr) continue;
    const double rate = view.row(id).progress.rate;
    if (rate <= 0 || job->measured.round >= round) continue;
    const int examples = job->predictor->profile().examples;
    job->measured.add(round, rate * examples, parameters_.window.round_s);
  }
}

double Shockwave::share(const ClusterView& view) const {
  const auto devices = static_cast<double>(view.devices_usable());
  return std::clamp(
      devices / static_cast<double>(std::max<std::size_t>(jobs_.size(), 1)), 1e-9, 1.0);
}

/// Membership has changed, and every job's fair finish time with it.
void Shockwave::estimate_finishes(const ClusterView& view) {
  const std::int64_t round = planned_;
  const double part = share(view);
  for (Job* const job : present_) {
    const double solo_s = job->outlook.elapsed_s + job->outlook.remaining_s;
    const double submitted_s = (view.row(job->id).submitted - Instant::zero()).in_seconds();
    job->finish.add(round, submitted_s + solo_s / part);
  }
}

WindowJob Shockwave::window_job(Job& job, Instant now) const {
  WindowJob out;
  out.room = job.room;
  out.epochs = job.predictor->epochs();
  out.done = job.outlook.done;
  out.mean_s = job.outlook.mean_s;
  out.remaining_s = job.outlook.remaining_s;
  // A job that came back from draining has no estimate yet: its predicted end alone.
  const double alone = now.ns / 1e9 + out.remaining_s;
  out.fair_finish_s = job.finish.since < 0 ? alone : job.finish.at(planned_);
  out.fair_finish_s = std::max(out.fair_finish_s, 1.0);
  if (job.ahead.rests_s.empty()) job.ahead = rounds_ahead(out, parameters_.window);
  out.ahead = &job.ahead;
  return out;
}

/// Schedules jobs of one priority in what is left of each round.
void Shockwave::schedule_equals(Instant now, const std::vector<Job*>& equals, WindowPlace& place) {
  struct Late {
    double ratio = 0;
    Job* job = nullptr;
    WindowJob window;
  };

  const auto depth = static_cast<std::size_t>(parameters_.depth);
  std::vector<Late> late;
  late.reserve(equals.size());
  for (Job* const job : equals) {
    const WindowJob window = window_job(*job, now);
    const double ratio = (now.ns / 1e9 + window.remaining_s / place.share) / window.fair_finish_s;
    late.push_back({ratio, job, window});
  }
  if (late.size() > depth) {
    const auto is_later = [](const Late& a, const Late& b) {
      return a.ratio != b.ratio ? a.ratio > b.ratio : a.job->id < b.job->id;
    };
    const auto end = late.begin() + static_cast<std::ptrdiff_t>(depth);
    std::partial_sort(late.begin(), end, late.end(), is_later);
    late.resize(depth);
  }
  std::vector<WindowJob> window;
  window.reserve(late.size());
  for (const Late& each : late) window.push_back(each.window);
  const WindowSchedule made = solver_.solve(window, place, parameters_.window);
  for (std::size_t i = 0; i < late.size(); ++i) {
    const std::span<const std::uint8_t> runs = made.runs[i];
    for (std::size_t round = 0; round < place.rooms.size(); ++round)
      if (runs[round] != 0) place.rooms[round] -= window[i].room;
    late[i].job->runs.assign(runs.begin(), runs.end());
  }
}

void Shockwave::make_schedule(const ClusterView& view) {
  for (Job& job : jobs_) job.runs.clear();
  window_begin_ = planned_;
  const std::int64_t room = std::max<std::int64_t>(thousandths_to_share(view, closed_), 0);
  WindowPlace place{
      window_begin_,
      share(view),
      std::vector<std::int64_t>(static_cast<std::size_t>(parameters_.window.rounds), room)};
  std::vector<Job*> equals;
  for (std::size_t first = 0; first < present_.size();) {
    const std::int32_t priority = present_[first]->priority;
    equals.clear();
    for (; first < present_.size() && present_[first]->priority == priority; ++first)
      if (!present_[first]->kept && present_[first]->room <= room)
        equals.push_back(present_[first]);
    if (!equals.empty()) schedule_equals(decided_for(view.now()), equals, place);
  }
}

/// The schedule's jobs, then those that fill what it leaves idle.
std::vector<RoundPlacement::Wanted> Shockwave::jobs_of_round(const ClusterView& view) {
  struct Candidate {
    const Job* job = nullptr;
    bool scheduled = false;
    double rest_s = 0;
  };

  const auto round = static_cast<std::size_t>(planned_ - window_begin_);
  std::vector<Candidate> candidates;
  candidates.reserve(present_.size());
  for (const Job* const job : present_) {
    if (job->kept) continue;
    if (!job->holds && !view.quota_allows(job->id, job->devices)) continue;
    const bool scheduled = !job->runs.empty() && job->runs[round] != 0;
    candidates.push_back({job, scheduled, scheduled ? 0 : job->outlook.remaining_s});
  }
  // Ties go to the older one.
  std::sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    if (a.job->priority != b.job->priority) return a.job->priority > b.job->priority;
    if (a.scheduled != b.scheduled) return a.scheduled;
    return a.rest_s != b.rest_s ? a.rest_s > b.rest_s : a.job->id < b.job->id;
  });
  std::int64_t left = thousandths_to_share(view, closed_);
  std::vector<RoundPlacement::Wanted> out;
  // Those on closed nodes go on: they take nothing from anybody.
  for (const Job* const job : present_)
    if (job->kept && view.row(job->id).preemptible)
      out.push_back({.job = job->id, .replicas = job->replicas});
  for (const Candidate& candidate : candidates) {
    if (left <= 0) break;
    if (candidate.job->room > left) continue;
    if (!candidate.job->holds) {
      if (!misfits_.may_choose(view, candidate.job->id)) continue;
      misfits_.note_chosen(view, candidate.job->id);
    }
    left -= candidate.job->room;
    out.push_back({.job = candidate.job->id, .replicas = candidate.job->replicas});
  }
  return out;
}

/// Chooses the jobs of the round `planned_`.
void Shockwave::choose(const ClusterView& view) {
  const std::int64_t round = planned_;
  closed_.begin(view);
  const bool changed = follow(view);
  measure(view);
  const bool over = window_begin_ < 0 || round >= window_begin_ + parameters_.window.rounds;
  const bool resolve = changed || over || round - window_begin_ >= parameters_.resolve_rounds;
  if (resolve)
    for (Job* const job : present_) {
      job->predictor->calibrate(job->measured, parameters_.window.round_s);
      job->factor = job->predictor->factor();
    }
  look_ahead(view);
  if (resolve) {
    if (changed) estimate_finishes(view);
    make_schedule(view);
  }
  misfits_.begin();
  chosen_ = jobs_of_round(view);
}

/// Whether some that wait were chosen for the round that begins now and found no place: others
/// could have what they were to have.
bool Shockwave::chooses_again(const ClusterView& view) {
  if (chooses_ahead()) return false;
  for (const RoundPlacement::Found& each : placement_.found())
    misfits_.note_placed(view, each.job, each.place);
  return misfits_.choose_again();
}

/// Gives the round's devices to those chosen who are still there.
Plan Shockwave::begin_round(const ClusterView& view) {
  begun_ = planned_;
  if (chooses_ahead())
    std::erase_if(chosen_, [&](const auto& each) {
      return !view.is_live(each.job) || !(view.row(each.job).holds || waits(view.row(each.job)));
    });
  Plan plan = placement_.plan(view, std::exchange(chosen_, {}));
  while (chooses_again(view)) plan = placement_.plan(view, jobs_of_round(view));
  return plan;
}

/// Those chosen for the next round that wait start in this one where devices are free.
Plan Shockwave::start_early(const ClusterView& view) {
  Plan plan;
  std::vector<RoundPlacement::Wanted> waiting;
  for (const RoundPlacement::Wanted& each : chosen_)
    if (view.is_live(each.job) && waits(view.row(each.job))) waiting.push_back(each);
  if (waiting.empty()) return plan;
  std::stable_sort(waiting.begin(), waiting.end(), [&](const auto& a, const auto& b) {
    return view.row(a.job).thousandths_at(a.replicas) > view.row(b.job).thousandths_at(b.replicas);
  });
  trial_.sync(view.capacity());
  std::vector<NodeCount> nodes;
  for (const RoundPlacement::Wanted& each : waiting) {
    const JobView job = view.job(each.job);
    nodes.clear();
    if (view.quota_allows(each.job, round_devices(job)) &&
        try_start(view, job, each.replicas, trial_, &nodes))
      grant_on(each.job, each.replicas, nodes, plan);
  }
  return plan;
}

Plan Shockwave::optimize(const ClusterView& view) {
  misfits_.follow(view);
  // A call that comes late begins the round at hand before it chooses for one behind it.
  if (begun_ < planned_ && round_of(view.now()) >= planned_) return begin_round(view);
  const std::int64_t round = round_of(decided_for(view.now()));
  if (round != planned_) {
    planned_ = round;
    choose(view);
  }
  if (begun_ == planned_) return {};
  return round_of(view.now()) == planned_ ? begin_round(view) : start_early(view);
}

void Shockwave::save(ByteWriter& out) const {
  out.signed_varint(planned_);
  if (chooses_ahead()) {
    out.signed_varint(begun_);
    out.varint(chosen_.size());
    for (const RoundPlacement::Wanted& each : chosen_) {
      out.u32(each.job.value);
      out.signed_varint(each.replicas);
    }
  }
  out.signed_varint(window_begin_);
  out.varint(jobs_.size());
  std::size_t scheduled = 0;
  for (const Job& job : jobs_) {
    out.u32(job.id.value);
    out.f64s(std::array{job.factor, job.measured.sum});
    out.signed_varint(job.measured.round);
    out.signed_varint(job.finish.since);
    out.f64s(std::array{job.finish.last_s, job.finish.sum, job.finish.rounds});
    scheduled += job.runs.empty() ? 0 : 1;
  }
  out.varint(scheduled);
  for (const Job& job : jobs_) {
    if (job.runs.empty()) continue;
    out.u32(job.id.value);
    out.varint(job.runs.size());
    out.raw(std::as_bytes(std::span(job.runs)));
  }
}

void Shockwave::load(ByteReader& in) {
  jobs_.clear();
  present_.clear();
  planned_ = in.signed_varint();
  begun_ = planned_;
  chosen_.clear();
  if (chooses_ahead()) {
    begun_ = in.signed_varint();
    for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
      const JobId id{in.u32()};
      chosen_.push_back({.job = id, .replicas = static_cast<std::int32_t>(in.signed_varint())});
    }
  }
  window_begin_ = in.signed_varint();
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    Job& job = jobs_.emplace_back();
    job.id = JobId{in.u32()};
    job.factor = in.f64();
    job.measured.sum = in.f64();
    job.measured.round = in.signed_varint();
    job.finish.since = in.signed_varint();
    job.finish.last_s = in.f64();
    job.finish.sum = in.f64();
    job.finish.rounds = in.f64();
  }
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    Job* const job = find(JobId{in.u32()});
    std::vector<std::uint8_t> runs;
    for (std::uint64_t n = in.varint(); n > 0 && in.ok(); --n) runs.push_back(in.u8());
    if (job != nullptr) job->runs = std::move(runs);
  }
}

}  // namespace orrery::policies
