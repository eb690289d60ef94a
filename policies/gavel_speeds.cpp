// How fast jobs are on each type, and how long they take.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "core/models/batch_adaptation.hpp"
#include "core/models/speed_estimates.hpp"
#include "policies/gavel.hpp"
#include "policies/present_progress.hpp"
#include "policies/rigid_size.hpp"

namespace orrery::policies {

const Gavel::KnownSpeeds& Gavel::known(const JobView& job) {
  const Demand& demand = job.row.demand;
  const std::int32_t devices = size_of(job) * demand.devices;
  // Rounds ask for one job after the other.
  bool is_new = false;
  if (known_at_ == known_.end() || known_at_->first != job.row.id)
    std::tie(known_at_, is_new) = known_.try_emplace(job.row.id);
  KnownSpeeds& speeds = known_at_++->second;
  if (!is_new && speeds.devices != devices)
    std::erase_if(known_pairs_, [&](const auto& each) {
      return each.first.first == job.row.id || each.first.second == job.row.id;
    });
  if (is_new || speeds.devices != devices || speeds.model != demand.model ||
      speeds.kind != *job.spec.profile) {
    speeds.kind = *job.spec.profile;
    speeds.devices = devices;
    speeds.model = demand.model;
    look_up(speeds);
  }
  if (options_.epochs != nullptr) look_up_epoch(job, speeds);
  return speeds;
}

/// As the artifact's scheduler: a batch that changes is no reason to compute shares anew.
void Gavel::look_up_epoch(const JobView& job, KnownSpeeds& out) const {
  const auto found = options_.epochs->find(*job.spec.profile);
  if (found == options_.epochs->end()) return;
  const EpochProfile& profile = found->second;
  const int last = profile.epochs() - 1;
  const int epoch = std::min(epochs_done(present_progress(job.row), now_, profile.epochs()), last);
  const int batch = profile.batches[static_cast<std::size_t>(epoch)];
  out.profile = &profile;
  if (out.batch == batch) return;
  out.batch = batch;
  out.steps_of_epoch = steps_of_epoch(profile.examples, batch);
  for (std::size_t j = 0; j < types_.size(); ++j)
    if (out.model.is_none() || out.model == types_[j].model)
      out.on_type[j] = profile.steps_per_second(epoch);
}

void Gavel::look_up(KnownSpeeds& out) const {
  const DeviceSpeeds* const table = options_.speeds.get();
  out.in_table = table != nullptr && table->has_kind(out.kind);
  out.stated.reset();
  out.batch = 0;
  if (out.in_table) out.stated = table->steps_per_second(options_.speeds_of, out.kind, out.devices);
  out.on_type.clear();
  for (const Type& type : types_) {
    const bool may_run = out.model.is_none() || out.model == type.model;
    double speed = may_run ? 1 : 0;
    if (may_run && out.in_table)
      speed = table->steps_per_second(type.name, out.kind, out.devices).value_or(0);
    out.on_type.push_back(speed);
  }
}

/// Steps a second on each type; 0 where the type has devices enough and its nodes do not hold the
/// gang even without other jobs. A share there would be one of nothing. A job that runs and has
/// devices of roles besides its elastic one, which do not move with that, stays on its type.
std::vector<double> Gavel::speeds_where_held(const ClusterView& view, const JobView& job) {
  std::vector<double> speeds = known(job).on_type;
  if (speeds.size() == 1) return speeds;  // Who takes part is held by some type.
  const bool is_bound = job.row.holds && job.row.rest_thousandths > 0;
  for (std::size_t type = 0; type < speeds.size(); ++type) {
    if (speeds[type] <= 0 || is_on(view, job.row.id, type)) continue;
    if (is_bound || !empty_kinds_.holds(job, size_of(job), types_[type].model)) speeds[type] = 0;
  }
  return speeds;
}

double Gavel::steps_left(const JobView& job, Instant now) {
  const KnownSpeeds& speeds = known(job);
  if (speeds.profile != nullptr) {
    const ProgressView progress = present_progress(job.row);
    const double done = progress.done + progress.rate * (now - progress.as_of).in_seconds();
    return std::max((speeds.profile->epochs() - done) * speeds.steps_of_epoch, 1.0);
  }
  if (speeds.stated && job.spec.estimate_source != EstimateSource::None) {
    const ProgressView progress = present_progress(job.row);
    const double done = progress.done + progress.rate * (now - progress.as_of).in_seconds();
    return std::max(job.spec.estimate.in_seconds() * *speeds.stated - done, 1.0);
  }
  return LinearEstimates().iterations_left(job.spec, job.row) / size_of(job);
}

/// Whole steps where the world's rounds are made of them, else all of the round.
double Gavel::lease_s(const JobView& job, double speed, Instant now) {
  const double round_s = options_.rounds.round.in_seconds();
  if (!epochs_end_rounds_ || speed <= 0) return round_s;
  const double steps = std::max(std::floor(speed * round_s), 1.0);
  return std::min(steps, std::round(steps_left(job, now))) / speed;
}

/// A pair is done when the slower of the two is.
double Gavel::lease_s(const ClusterView& view, const RoundChoice& choice) {
  const JobView job = view.job(choice.job);
  const Pair* const pair = pair_of(choice.key());
  if (pair == nullptr) return lease_s(job, speed_on(job, choice.type), view.now());
  return std::max(lease_s(job, pair->speeds.first[choice.type], view.now()),
                  lease_s(view.job(choice.other), pair->speeds.second[choice.type], view.now()));
}

}  // namespace orrery::policies
