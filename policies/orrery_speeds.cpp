#include "policies/orrery_speeds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "core/base/math.hpp"
#include "policies/fitted_speed.hpp"
#include "policies/pollux_reports.hpp"

namespace orrery::policies {

namespace {

/// Parts of the noise scale of gradients that do not count as a change.
constexpr double kToleratedNoise = 0.1;

/// Of a step of that shape.
double step_time(const ThroughputParameters& parameters, const ThroughputObservation& observed) {
  return iteration_time(parameters, observed.spread, {observed.atomic_batch, 0});
}

}  // namespace

bool SparseSpeed::add(const ThroughputObservation& observation) {
  if (!profile_.empty()) {
    const auto is_near = [&](double told, double seen) {
      return std::fabs(told - seen) <= tolerated_ * seen;
    };
    const double compute_s = gradient_time(parameters_, observation.atomic_batch);
    if (is_near(compute_s, observation.compute_s) &&
        is_near(step_time(parameters_, observation), observation.step_s))
      return true;
  }
  keep(observation);
  return false;
}

bool SparseSpeed::contradicts(const ThroughputObservation& observation) const {
  const auto differs = [](double a, double b) {
    return std::fabs(a - b) > kAlike * std::max(a, b);
  };
  for (const ThroughputObservation& known : profile_.observations())
    if (known.spread == observation.spread && known.atomic_batch == observation.atomic_batch)
      return differs(known.compute_s, observation.compute_s) ||
             differs(known.step_s, observation.step_s);
  return false;
}

void SparseSpeed::keep(const ThroughputObservation& observation) {
  if (!profile_.add(observation)) return;
  fit();
  stale_ = true;
}

void SparseSpeed::fit() {
  parameters_ = profile_.parameters();
  double squares = 0;
  for (const ThroughputObservation& known : profile_.observations()) {
    const double error = step_time(parameters_, known) / known.step_s - 1;
    squares += error * error;
  }
  const double mean = squares / static_cast<double>(profile_.observations().size());
  tolerated_ = std::max(kToleratedError, kToleratedErrors * math::sqrt(mean));
}

GoodputTable& SparseSpeed::goodputs(const BatchLimits& limits, const GradientStats& stats) {
  if (std::exchange(stale_, false) || !(limits == limits_)) {
    table_ = GoodputTable(parameters_, limits_ = limits, kBatches);
    ++version_;
  }
  table_.set_stats(stats);
  return table_;
}

void SparseSpeed::save(ByteWriter& out) const { save_observations(profile_, out); }

void SparseSpeed::load(ByteReader& in) {
  *this = {};
  load_observations(profile_, in);
  if (!profile_.empty()) fit();
}

namespace {

/// Whether batches are worth something else by these gradients.
bool is_other_noise(const GradientStats& now, const GradientStats& before) {
  if (before.sqr <= 0 || before.var <= 0) return !(now == before);
  return std::fabs(now.var * before.sqr - before.var * now.sqr) >
         kToleratedNoise * std::fabs(before.var * now.sqr);
}

}  // namespace

DeviceModelId kind_held(const ClusterView& view, const JobView& job) {
  if (job.nodes.empty()) return DeviceModelId::none();
  return view.capacity().at(job.nodes.front().node).model;
}

OrrerySpeeds::Known* OrrerySpeeds::known_of(JobId job) {
  const auto known = jobs_.find(job);
  return known == jobs_.end() ? nullptr : &known->second;
}

/// Null where there are none.
OrrerySpeeds::Steps* OrrerySpeeds::steps_of(const JobView& job, Known* known) {
  Steps* steps = nullptr;
  if (known != nullptr && known->is_apart) {
    steps = &known->own;
  } else if (alike_ && !job.spec.profile->empty()) {
    const auto found = profiles_.find(*job.spec.profile);
    if (found != profiles_.end()) steps = &found->second.steps;
  }
  return steps == nullptr || steps->fitted.empty() ? nullptr : steps;
}

/// Where the observation is to be kept: with those of the profile, unless it was other jobs that
/// they are of.
OrrerySpeeds::Steps& OrrerySpeeds::steps_for(const JobView& job,
                                             Known& known,
                                             DeviceModelId kind,
                                             const ThroughputObservation& observed,
                                             const BatchLimits& limits) {
  known.is_apart = known.is_apart || !alike_ || job.spec.profile->empty();
  if (!known.is_apart) {
    Steps& shared = profiles_[*job.spec.profile].steps;
    if (shared.fitted.empty()) return shared;
    const auto there = shared.fitted.find(kind);
    known.is_apart = !(shared.limits == limits) ||
                     (there != shared.fitted.end() && there->second.contradicts(observed));
    if (!known.is_apart) return shared;
  }
  return known.own;
}

void OrrerySpeeds::learn_steps(const ClusterView& view, const JobView& job, Known& known) {
  const std::span<const ProfilingSeries> profilings = view.profilings(job.row.id);
  Instant latest = known.heard;
  for (const ProfilingSeries& series : profilings)
    if (!series.samples.empty()) latest = std::max(latest, series.samples.back().at);
  if (latest <= known.heard) return;
  known.heard = latest;
  const GoodputReport report = read_report(profilings, job.row, static_cast<int>(job.nodes.size()));
  if (is_other_noise(report.stats, known.stats)) known.stats = report.stats;
  if (!report.observed) return;
  const DeviceModelId kind = kind_held(view, job);
  Steps& steps = steps_for(job, known, kind, *report.observed, report.limits);
  if (steps.fitted.empty()) steps.first = known.stats;
  steps.fitted[kind].add(*report.observed);
  steps.limits = report.limits;
  steps.replicas_most = std::max(steps.replicas_most, job.row.replicas);
}

void OrrerySpeeds::learn_from(const ClusterView& view, const JobView& job, Known& known) {
  learn_steps(view, job, known);
  const JobRow& row = job.row;
  known.had = static_cast<double>(row.attained_device_us(view.now())) * 1e-6;
  if (row.progress.epoch != known.epochs) {
    known.epochs = row.progress.epoch;
    // What it has had since the epoch ended belongs to the next one.
    const double since = std::max(0.0, (view.now() - row.progress.as_of).in_seconds());
    known.had_in_epochs = std::max(known.had_in_epochs, known.had - since * row.devices_held);
  }
  if (alike_ && !job.spec.profile->empty()) {
    known.profile = *job.spec.profile;
    profiles_[known.profile].used = view.now();
  }
  const ProgressView& progress = row.progress;
  // A report from before the present allocation speaks of another one.
  if (progress.rate <= 0 || progress.as_of < row.allocated_at || row.replicas == 0) return;
  known.by_kind[kind_held(view, job)][row.replicas] = progress.rate;
  known.replicas_most = std::max(known.replicas_most, row.replicas);
}

void OrrerySpeeds::end(const Known& known) {
  const auto profile = profiles_.find(known.profile);
  if (profile == profiles_.end()) return;
  auto& [steps, ended, mean, used] = profile->second;
  ++ended;
  mean += (known.had - mean) / static_cast<double>(ended);
}

void OrrerySpeeds::forget_profiles() {
  if (profiles_.size() <= kProfilesMax) return;
  // One that is learned anew begins with versions that tables of the old one have.
  for (auto& [id, known] : jobs_) known.tables.clear();
  while (profiles_.size() > kProfilesMax)
    profiles_.erase(std::ranges::min_element(
        profiles_, {}, [](const auto& entry) { return entry.second.used; }));
}

void OrrerySpeeds::learn(const ClusterView& view) {
  std::erase_if(jobs_, [&](const auto& entry) {
    if (view.is_live(entry.first)) return false;
    end(entry.second);
    return true;
  });
  for (const JobId id : view.holding()) {
    const JobView job = view.job(id);
    if (job.row.phase == JobPhase::Running) learn_from(view, job, jobs_[id]);
  }
  forget_profiles();
}

std::int32_t OrrerySpeeds::OfJob::replicas_known() const {
  return std::max(steps_ == nullptr ? 0 : steps_->replicas_most,
                  known_ == nullptr ? 0 : known_->replicas_most);
}

std::int32_t OrrerySpeeds::OfJob::replicas_of_batch() const {
  if (steps_ == nullptr) return std::numeric_limits<std::int32_t>::max();
  return steps_->limits.total_max / steps_->limits.atomic_min;
}

std::optional<double> OrrerySpeeds::total_of(const JobView& job) const {
  if (!alike_ || job.spec.profile->empty()) return std::nullopt;
  const auto found = profiles_.find(*job.spec.profile);
  if (found == profiles_.end() || found->second.ended == 0) return std::nullopt;
  return found->second.total_mean;
}

double OrrerySpeeds::had_in_epochs(const JobView& job) const {
  const auto known = jobs_.find(job.row.id);
  return known == jobs_.end() ? 0 : known->second.had_in_epochs;
}

double OrrerySpeeds::speed_ratio(const ClusterView& view,
                                 const JobView& job,
                                 DeviceModelId kind,
                                 DeviceModelId other) {
  if (kind == other) return 1;
  const auto here = estimates_->goodput(view, job, {kind, 1, 1});
  const auto there = estimates_->goodput(view, job, {other, 1, 1});
  return here && there && *there > 0 ? *here / *there : 1;
}

/// Of the speed on that kind, for the gradients of the job; where it has reported none, for those
/// at the beginning.
GoodputTable& OrrerySpeeds::table_of(Known* known, DeviceModelId kind, Steps& steps) {
  SparseSpeed& speed = steps.fitted.at(kind);
  GoodputTable& common = speed.goodputs(steps.limits, steps.first);
  if (known == nullptr || known->heard == Instant{}) return common;
  OwnTable& table = known->tables[kind];
  if (table.version != speed.version() || table.is_own != known->is_apart)
    table = {common, speed.version(), known->is_apart};
  table.goodputs.set_stats(known->stats);
  return table.goodputs;
}

double OrrerySpeeds::OfJob::at(const KindAndSize& where) {
  if (steps_ == nullptr) return all_.goodput_by_others(view_, job_, known_, where);
  if (table_ == nullptr || kind_ != where.kind) {
    kind_ = where.kind;
    const auto own = steps_->fitted.find(kind_);
    const DeviceModelId from =
        own == steps_->fitted.end() ? steps_->fitted.begin()->first : own->first;
    table_ = &table_of(known_, from, *steps_);
    ratio_ = all_.speed_ratio(view_, job_, kind_, from);
  }
  return table_->at({where.nodes, where.replicas}) * ratio_;
}

/// Where no steps were reported.
double OrrerySpeeds::goodput_by_others(const ClusterView& view,
                                       const JobView& job,
                                       const Known* known,
                                       const KindAndSize& where) {
  if (const auto told = estimates_->goodput(view, job, where)) return *told;
  if (known == nullptr || known->by_kind.empty()) return where.replicas;
  const auto own = known->by_kind.find(where.kind);
  const auto& [kind, speeds] = own == known->by_kind.end() ? *known->by_kind.begin() : *own;
  return speed_with(speeds, where.replicas) * speed_ratio(view, job, where.kind, kind);
}

void OrrerySpeeds::save_steps(const Steps& steps, ByteWriter& out) {
  out.varint(steps.fitted.size());
  for (const auto& [kind, speed] : steps.fitted) {
    out.u32(kind.value);
    speed.save(out);
  }
  save_batches(steps.limits, steps.first, out);
  out.signed_varint(steps.replicas_most);
}

void OrrerySpeeds::save(ByteWriter& out) const {
  out.varint(profiles_.size());
  for (const auto& [name, profile] : profiles_) {
    out.string(name);
    save_steps(profile.steps, out);
    out.signed_varint(profile.ended);
    out.f64(profile.total_mean);
    out.i64(profile.used.ns);
  }
  out.varint(jobs_.size());
  for (const auto& [job, known] : jobs_) {
    out.u32(job.value);
    out.signed_varint(known.replicas_most);
    out.i64(known.heard.ns);
    out.varint(known.by_kind.size());
    for (const auto& [kind, speeds] : known.by_kind) {
      out.u32(kind.value);
      out.varint(speeds.size());
      for (const auto& [replicas, rate] : speeds) {
        out.signed_varint(replicas);
        out.f64(rate);
      }
    }
    out.f64(known.stats.sqr);
    out.f64(known.stats.var);
    out.string(known.profile);
    out.f64(known.had);
    out.signed_varint(known.epochs);
    out.f64(known.had_in_epochs);
    out.boolean(known.is_apart);
    if (known.is_apart) save_steps(known.own, out);
  }
}

namespace {

DeviceModelId read_kind(ByteReader& in) {
  return DeviceModelId{static_cast<decltype(DeviceModelId::value)>(in.u32())};
}

}  // namespace

void OrrerySpeeds::load_steps(ByteReader& in, Steps& steps) {
  for (std::uint64_t kinds = in.varint(); kinds > 0 && in.ok(); --kinds)
    steps.fitted[read_kind(in)].load(in);
  load_batches(steps.limits, steps.first, in);
  steps.replicas_most = static_cast<std::int32_t>(in.signed_varint());
}

void OrrerySpeeds::load_known(ByteReader& in, Known& known) {
  known.replicas_most = static_cast<std::int32_t>(in.signed_varint());
  known.heard = Instant{in.i64()};
  for (std::uint64_t kinds = in.varint(); kinds > 0 && in.ok(); --kinds) {
    MeasuredSpeeds& speeds = known.by_kind[read_kind(in)];
    for (std::uint64_t n = in.varint(); n > 0 && in.ok(); --n) {
      const auto replicas = static_cast<std::int32_t>(in.signed_varint());
      speeds[replicas] = in.f64();
    }
  }
  known.stats.sqr = in.f64();
  known.stats.var = in.f64();
  known.profile = in.string();
  known.had = in.f64();
  known.epochs = static_cast<std::int32_t>(in.signed_varint());
  known.had_in_epochs = in.f64();
  known.is_apart = in.boolean();
  if (known.is_apart) load_steps(in, known.own);
}

void OrrerySpeeds::load(ByteReader& in) {
  jobs_.clear();
  profiles_.clear();
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    const std::string name(in.string());
    Profile& profile = profiles_[name];
    load_steps(in, profile.steps);
    profile.ended = in.signed_varint();
    profile.total_mean = in.f64();
    profile.used = Instant{in.i64()};
  }
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left)
    load_known(in, jobs_[JobId{in.u32()}]);
}

}  // namespace orrery::policies
