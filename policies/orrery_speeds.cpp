#include "policies/orrery_speeds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "policies/fitted_speed.hpp"
#include "policies/pollux_reports.hpp"

namespace orrery::policies {

namespace {

/// Parts of the noise scale of gradients that do not count as a change.
constexpr double kToleratedNoise = 0.05;

}  // namespace

bool SparseSpeed::add(const ThroughputObservation& observation) {
  if (!profile_.empty()) {
    const auto is_near = [](double told, double seen) {
      return std::fabs(told - seen) <= kToleratedError * seen;
    };
    const double compute_s = gradient_time(parameters_, observation.atomic_batch);
    const double step_s =
        iteration_time(parameters_, observation.spread, {observation.atomic_batch, 0});
    if (is_near(compute_s, observation.compute_s) && is_near(step_s, observation.step_s))
      return true;
  }
  keep(observation);
  return false;
}

void SparseSpeed::keep(const ThroughputObservation& observation) {
  if (!profile_.add(observation)) return;
  parameters_ = profile_.parameters();
  stale_ = true;
}

GoodputTable& SparseSpeed::goodputs(const BatchLimits& limits, const GradientStats& stats) {
  if (std::exchange(stale_, false) || !(limits == limits_))
    table_ = GoodputTable(parameters_, limits_ = limits);
  table_.set_stats(stats);
  return table_;
}

void SparseSpeed::save(ByteWriter& out) const { save_observations(profile_, out); }

void SparseSpeed::load(ByteReader& in) {
  *this = {};
  load_observations(profile_, in);
  if (!profile_.empty()) parameters_ = profile_.parameters();
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

void OrrerySpeeds::learn_from(const ClusterView& view, const JobView& job, Known& known) {
  const JobRow& row = job.row;
  const DeviceModelId kind = kind_held(view, job);
  const std::span<const ProfilingSeries> profilings = view.profilings(row.id);
  Instant latest = known.heard;
  for (const ProfilingSeries& series : profilings)
    if (!series.samples.empty()) latest = std::max(latest, series.samples.back().at);
  if (latest > known.heard) {
    known.heard = latest;
    const GoodputReport report = read_report(profilings, row, static_cast<int>(job.nodes.size()));
    if (is_other_noise(report.stats, known.stats)) known.stats = report.stats;
    known.limits = report.limits;
    if (report.observed) {
      known.fitted[kind].add(*report.observed);
      known.replicas_most = std::max(known.replicas_most, row.replicas);
    }
  }
  const ProgressView& progress = row.progress;
  // A report from before the present allocation speaks of another one.
  if (progress.rate <= 0 || progress.as_of < row.allocated_at || row.replicas == 0) return;
  known.by_kind[kind][row.replicas] = progress.rate;
  known.replicas_most = std::max(known.replicas_most, row.replicas);
}

void OrrerySpeeds::learn(const ClusterView& view) {
  std::erase_if(jobs_, [&](const auto& entry) { return !view.is_live(entry.first); });
  for (const JobId id : view.holding()) {
    const JobView job = view.job(id);
    if (job.row.phase == JobPhase::Running) learn_from(view, job, jobs_[id]);
  }
}

std::int32_t OrrerySpeeds::replicas_known(JobId job) const {
  const auto known = jobs_.find(job);
  return known == jobs_.end() ? 0 : known->second.replicas_most;
}

std::int32_t OrrerySpeeds::replicas_of_batch(JobId job) const {
  const auto known = jobs_.find(job);
  if (known == jobs_.end() || known->second.fitted.empty())
    return std::numeric_limits<std::int32_t>::max();
  return known->second.limits.total_max / known->second.limits.atomic_min;
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

double OrrerySpeeds::goodput(const ClusterView& view,
                             const JobView& job,
                             const KindAndSize& where) {
  const auto entry = jobs_.find(job.row.id);
  Known* known = entry == jobs_.end() ? nullptr : &entry->second;
  if (known != nullptr && !known->fitted.empty()) {
    const auto own = known->fitted.find(where.kind);
    auto& [kind, speed] = own == known->fitted.end() ? *known->fitted.begin() : *own;
    return speed.goodputs(known->limits, known->stats).at({where.nodes, where.replicas}) *
           speed_ratio(view, job, where.kind, kind);
  }
  if (const auto told = estimates_->goodput(view, job, where)) return *told;
  if (known == nullptr || known->by_kind.empty()) return where.replicas;
  const auto own = known->by_kind.find(where.kind);
  const auto& [kind, speeds] = own == known->by_kind.end() ? *known->by_kind.begin() : *own;
  return speed_with(speeds, where.replicas) * speed_ratio(view, job, where.kind, kind);
}

void OrrerySpeeds::save(ByteWriter& out) const {
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
    out.varint(known.fitted.size());
    for (const auto& [kind, speed] : known.fitted) {
      out.u32(kind.value);
      speed.save(out);
    }
    save_batches(known.limits, known.stats, out);
  }
}

void OrrerySpeeds::load_known(ByteReader& in, Known& known) {
  const auto kind = [&] {
    return DeviceModelId{static_cast<decltype(DeviceModelId::value)>(in.u32())};
  };
  known.replicas_most = static_cast<std::int32_t>(in.signed_varint());
  known.heard = Instant{in.i64()};
  for (std::uint64_t kinds = in.varint(); kinds > 0 && in.ok(); --kinds) {
    MeasuredSpeeds& speeds = known.by_kind[kind()];
    for (std::uint64_t n = in.varint(); n > 0 && in.ok(); --n) {
      const auto replicas = static_cast<std::int32_t>(in.signed_varint());
      speeds[replicas] = in.f64();
    }
  }
  for (std::uint64_t kinds = in.varint(); kinds > 0 && in.ok(); --kinds)
    known.fitted[kind()].load(in);
  load_batches(known.limits, known.stats, in);
}

void OrrerySpeeds::load(ByteReader& in) {
  jobs_.clear();
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left)
    load_known(in, jobs_[JobId{in.u32()}]);
}

}  // namespace orrery::policies
