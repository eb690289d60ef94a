#include "policies/shockwave.hpp"

#include <algorithm>

#include "core/base/invariant.hpp"
#include "policies/gang_trial.hpp"
#include "policies/present_progress.hpp"

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

std::int32_t round_devices(const JobView& job) {
  return round_size(job) * job.row.demand.devices + job.row.rest_devices;
}

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
  return {.submission = false, .completion = false, .capacity = false, .period = parameters_.round};
}

Plan Shockwave::allocate(const JobView& /*job*/, const ClusterView& /*view*/) { return {}; }

/// Takes in who has come and gone; whether anybody has.
bool Shockwave::follow(const ClusterView& view, const Jobs& jobs) {
  bool changed = std::erase_if(jobs_, [&](const auto& e) { return !view.is_live(e.first); }) > 0;
  std::erase_if(predictors_, [&](const auto& e) { return !jobs_.contains(e.first); });
  std::erase_if(schedule_, [&](const auto& e) { return !jobs_.contains(e.first); });
  for (const JobId job : jobs) {
    changed = jobs_.try_emplace(job).second || changed;
    if (!predictors_.contains(job)) predictors_.emplace(job, predict(view.job(job)));
  }
  return changed;
}

Shockwave::Predicted Shockwave::predict(const JobView& job) const {
  Predicted out;
  const EpochProfile* profile = nullptr;
  if (profiles_ != nullptr) {
    const auto found = profiles_->find(*job.spec.profile);
    if (found != profiles_->end()) profile = &found->second;
  }
  if (profile == nullptr) {
    out.own = std::make_unique<EpochProfile>();
    out.own->examples = 1;
    out.own->batches.assign(kPlainEpochs, 1);
    out.own->seconds.assign(kPlainEpochs, stated_run_s(job.spec) / kPlainEpochs);
    profile = out.own.get();
  }
  out.predictor = std::make_unique<EpochPredictor>(*profile);
  const double factor = jobs_.at(job.row.id).factor;
  if (factor != 1) out.predictor->restore(factor);
  return out;
}

int Shockwave::epochs_of(const ClusterView& view, const Predicted& predicted, JobId id) const {
  const int all = predicted.predictor->epochs();
  const JobView job = view.job(id);
  if (predicted.own == nullptr) return epochs_done(present_progress(job.row), view.now(), all);
  const double done = part_done(job, view.now()) * all;
  return static_cast<int>(std::clamp(done, 0.0, all - 1.0));
}

/// The outlook of every job now.
void Shockwave::look_ahead(const ClusterView& view, const Jobs& jobs) {
  outlooks_.clear();
  outlooks_.reserve(jobs.size());
  for (const JobId id : jobs) {
    Predicted& predicted = predictors_.at(id);
    const EpochPredictor& predictor = *predicted.predictor;
    const int done = epochs_of(view, predicted, id);
    Outlook& last = predicted.outlook;
    if (last.done != done || last.factor != predictor.factor())
      last = {done,
              predictor.factor(),
              predictor.remaining_s(done),
              predictor.elapsed_s(done),
              predictor.mean_s(done)};
    outlooks_.push_back(last);
  }
}

/// Notes what profiled jobs were seen to do in the round that has just ended.
void Shockwave::measure(const ClusterView& view) {
  const std::int64_t round = round_of(view.now());
  for (const JobId id : view.holding()) {
    const auto remembered = jobs_.find(id);
    const JobRow& row = view.row(id);
    if (remembered == jobs_.end() || predictors_.at(id).own != nullptr) continue;
    MeasuredExamples& measured = remembered->second.measured;
    if (row.progress.rate <= 0) continue;
    const int examples = predictors_.at(id).predictor->profile().examples;
    if (measured.round < round)
      measured.add(round, row.progress.rate * examples, parameters_.window.round_s);
  }
}

double Shockwave::share(const ClusterView& view) const {
  const auto devices = static_cast<double>(view.devices_usable());
  return std::clamp(
      devices / static_cast<double>(std::max<std::size_t>(jobs_.size(), 1)), 1e-9, 1.0);
}

/// Membership has changed, and every job's fair finish time with it.
void Shockwave::estimate_finishes(const ClusterView& view, const Jobs& jobs) {
  const std::int64_t round = round_of(view.now());
  const double part = share(view);
  for (std::size_t at = 0; at < jobs.size(); ++at) {
    const double solo_s = outlooks_[at].elapsed_s + outlooks_[at].remaining_s;
    const double submitted_s = (view.row(jobs[at]).submitted - Instant::zero()).in_seconds();
    jobs_.at(jobs[at]).finish.add(round, submitted_s + solo_s / part);
  }
}

WindowJob Shockwave::window_job(const ClusterView& view, const Jobs& jobs, std::size_t at) const {
  const JobId id = jobs[at];
  const Outlook& outlook = outlooks_[at];
  WindowJob out;
  out.room = round_room(view.job(id));
  out.epochs = predictors_.at(id).predictor->epochs();
  out.done = outlook.done;
  out.mean_s = outlook.mean_s;
  out.remaining_s = outlook.remaining_s;
  // A job that came back from draining has no estimate yet: its predicted end alone.
  const FairFinish& finish = jobs_.at(id).finish;
  const double alone = view.now().ns / 1e9 + out.remaining_s;
  out.fair_finish_s = finish.since < 0 ? alone : finish.at(round_of(view.now()));
  out.fair_finish_s = std::max(out.fair_finish_s, 1.0);
  return out;
}

/// Schedules jobs of one priority, those at the places `equals` of `jobs`, in what is left of each
/// round.
void Shockwave::schedule_equals(const ClusterView& view,
                                const Jobs& jobs,
                                const std::vector<std::size_t>& equals,
                                WindowPlace& place) {
  struct Late {
    double ratio = 0;
    JobId id;
    WindowJob job;
  };

  const auto depth = static_cast<std::size_t>(parameters_.depth);
  std::vector<Late> late;
  late.reserve(equals.size());
  for (const std::size_t at : equals) {
    const WindowJob job = window_job(view, jobs, at);
    late.push_back(
        {(view.now().ns / 1e9 + job.remaining_s / place.share) / job.fair_finish_s, jobs[at], job});
  }
  if (late.size() > depth) {
    std::stable_sort(
        late.begin(), late.end(), [](const Late& a, const Late& b) { return a.ratio > b.ratio; });
    late.resize(depth);
  }
  std::vector<WindowJob> window;
  window.reserve(late.size());
  for (const Late& each : late) window.push_back(each.job);
  const WindowSchedule made = solve_window(window, place, parameters_.window);
  for (std::size_t i = 0; i < late.size(); ++i) {
    for (std::size_t round = 0; round < place.rooms.size(); ++round)
      if (made.runs[i][round] != 0) place.rooms[round] -= window[i].room;
    schedule_[late[i].id] = made.runs[i];
  }
}

void Shockwave::make_schedule(const ClusterView& view, const Jobs& jobs) {
  schedule_.clear();
  window_begin_ = round_of(view.now());
  const std::int64_t room = std::max<std::int64_t>(thousandths_to_share(view), 0);
  WindowPlace place{
      window_begin_,
      share(view),
      std::vector<std::int64_t>(static_cast<std::size_t>(parameters_.window.rounds), room)};
  for (std::size_t first = 0; first < jobs.size();) {
    const std::int32_t priority = view.row(jobs[first]).priority;
    std::vector<std::size_t> equals;
    for (; first < jobs.size() && view.row(jobs[first]).priority == priority; ++first) {
      const JobView job = view.job(jobs[first]);
      const bool kept = job.row.holds && job.row.is_fixed();
      if (!kept && round_room(job) <= room) equals.push_back(first);
    }
    if (!equals.empty()) schedule_equals(view, jobs, equals, place);
  }
}

/// The schedule's jobs, then those that fill what it leaves idle.
std::vector<RoundPlacement::Wanted> Shockwave::jobs_of_round(const ClusterView& view,
                                                             const Jobs& jobs) const {
  struct Candidate {
    JobId job;
    std::int32_t priority = 0;
    bool scheduled = false;
    double rest_s = 0;
  };

  const auto round = static_cast<std::size_t>(round_of(view.now()) - window_begin_);
  std::vector<Candidate> candidates;
  for (std::size_t at = 0; at < jobs.size(); ++at) {
    const JobId id = jobs[at];
    const JobView job = view.job(id);
    if (job.row.holds && job.row.is_fixed()) continue;
    if (!job.row.holds && !view.quota_allows(id, round_devices(job))) continue;
    const auto runs = schedule_.find(id);
    const bool scheduled = runs != schedule_.end() && runs->second[round] != 0;
    candidates.push_back(
        {id, job.row.priority, scheduled, scheduled ? 0 : outlooks_[at].remaining_s});
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    if (a.priority != b.priority) return a.priority > b.priority;
    return a.scheduled != b.scheduled ? a.scheduled : a.rest_s > b.rest_s;
  });
  std::int64_t left = thousandths_to_share(view);
  std::vector<RoundPlacement::Wanted> out;
  for (const Candidate& candidate : candidates) {
    if (left <= 0) break;
    const JobView job = view.job(candidate.job);
    if (round_room(job) > left) continue;
    left -= round_room(job);
    out.push_back({.job = candidate.job, .replicas = round_size(job)});
  }
  return out;
}

Plan Shockwave::optimize(const ClusterView& view) {
  const std::int64_t round = round_of(view.now());
  if (round == planned_) return {};
  planned_ = round;
  const Jobs jobs = jobs_in_order(view);
  const bool changed = follow(view, jobs);
  measure(view);
  const bool over = window_begin_ < 0 || round >= window_begin_ + parameters_.window.rounds;
  const bool resolve = changed || over || round - window_begin_ >= parameters_.resolve_rounds;
  if (resolve)
    for (const JobId id : jobs) {
      EpochPredictor& predictor = *predictors_.at(id).predictor;
      predictor.calibrate(jobs_.at(id).measured, parameters_.window.round_s);
      jobs_.at(id).factor = predictor.factor();
    }
  look_ahead(view, jobs);
  if (resolve) {
    if (changed) estimate_finishes(view, jobs);
    make_schedule(view, jobs);
  }
  return placement_.plan(view, jobs_of_round(view, jobs));
}

void Shockwave::save(ByteWriter& out) const {
  out.signed_varint(planned_);
  out.signed_varint(window_begin_);
  out.varint(jobs_.size());
  for (const auto& [job, remembered] : jobs_) {
    out.u32(job.value);
    out.f64(remembered.factor);
    out.f64(remembered.measured.sum);
    out.signed_varint(remembered.measured.round);
    out.signed_varint(remembered.finish.since);
    out.f64(remembered.finish.last_s);
    out.f64(remembered.finish.sum);
    out.f64(remembered.finish.rounds);
  }
  out.varint(schedule_.size());
  for (const auto& [job, runs] : schedule_) {
    out.u32(job.value);
    out.varint(runs.size());
    for (const std::uint8_t runs_in : runs) out.u8(runs_in);
  }
}

void Shockwave::load(ByteReader& in) {
  jobs_.clear();
  predictors_.clear();
  schedule_.clear();
  planned_ = in.signed_varint();
  window_begin_ = in.signed_varint();
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    Remembered& remembered = jobs_[JobId{in.u32()}];
    remembered.factor = in.f64();
    remembered.measured.sum = in.f64();
    remembered.measured.round = in.signed_varint();
    remembered.finish.since = in.signed_varint();
    remembered.finish.last_s = in.f64();
    remembered.finish.sum = in.f64();
    remembered.finish.rounds = in.f64();
  }
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    std::vector<std::uint8_t>& runs = schedule_[JobId{in.u32()}];
    for (std::uint64_t n = in.varint(); n > 0 && in.ok(); --n) runs.push_back(in.u8());
  }
}

}  // namespace orrery::policies
