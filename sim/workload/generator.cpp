#include "sim/workload/generator.hpp"

#include <algorithm>
#include <utility>

#include "core/base/invariant.hpp"
#include "core/base/math.hpp"

namespace orrery::sim {
namespace {

Duration whole_microseconds(Duration d) { return Duration::nanoseconds(d.ns / 1000 * 1000); }

}  // namespace

JobStream::JobStream(GeneratorSpec spec)
    : spec_(std::move(spec)),
      arrivals_(Random::stream(spec_.seed, "workload.arrivals")),
      sizes_(Random::stream(spec_.seed, "workload.sizes")),
      durations_(Random::stream(spec_.seed, "workload.durations")),
      flags_(Random::stream(spec_.seed, "workload.flags")),
      estimates_(Random::stream(spec_.seed, "workload.estimates")),
      users_(Random::stream(spec_.seed, "workload.users")) {
  invariant(check(spec_).empty(), "a generator's spec has been checked");
  for (const GpuClass& gpu_class : spec_.gpu_mix) {
    class_weights_.push_back(gpu_class.weight);
    samplers_.emplace_back(gpu_class.duration ? *gpu_class.duration : spec_.duration);
  }
  double sum = 0.0;
  for (std::uint32_t user = 0; user < spec_.users; ++user) {
    sum += math::pow(static_cast<double>(user) + 1.0, -spec_.user_skew);
    user_weight_sums_.push_back(sum);
  }
  jobs_per_second_ =
      spec_.arrivals.load > 0.0 ? rate_for_load() : spec_.arrivals.jobs_per_hour / 3600.0;
}

std::optional<GeneratedJob> JobStream::next() {
  if (made_ == spec_.jobs) return std::nullopt;
  GeneratedJob job;
  job.index = made_++;
  job.submit = draw_arrival();
  const Size size = draw_size(sizes_, durations_);
  job.gpu_class = size.gpu_class;
  job.duration = size.duration;
  job.gpus = job.gpus_min = job.gpus_max = spec_.gpu_mix[size.gpu_class].gpus;
  job.estimate = draw_estimate(job.duration);
  job.preemptible = flags_.chance(spec_.preemptible_share);
  const bool elastic = flags_.chance(spec_.elastic_share) && job.preemptible;
  if (elastic) {
    job.gpus_min = (job.gpus + spec_.elastic_shrink - 1) / spec_.elastic_shrink;
    job.gpus_max = job.gpus * spec_.elastic_grow;
  }
  job.user = draw_user();
  return job;
}

JobStream::Size JobStream::draw_size(Random& sizes, Random& durations) const {
  const std::size_t index = sizes.choose(class_weights_);
  return {static_cast<std::uint32_t>(index), samplers_[index].draw(durations)};
}

double JobStream::rate_for_load() const {
  if (spec_.jobs == 0) return 1.0;
  Random sizes = sizes_;
  Random durations = durations_;
  double gpu_seconds = 0.0;
  for (std::uint64_t i = 0; i < spec_.jobs; ++i) {
    const Size size = draw_size(sizes, durations);
    gpu_seconds += spec_.gpu_mix[size.gpu_class].gpus * size.duration.in_seconds();
  }
  const double capacity = spec_.arrivals.load * static_cast<double>(spec_.arrivals.cluster_gpus);
  return capacity * static_cast<double>(spec_.jobs) / gpu_seconds;
}

Instant JobStream::draw_arrival() {
  const ArrivalSpec& arrivals = spec_.arrivals;
  // Thinning: candidates come at the highest rate and are kept with probability rate / highest.
  const double highest = jobs_per_second_ * (1.0 + arrivals.amplitude);
  while (true) {
    clock_s_ += arrivals_.exponential(1.0 / highest);
    if (arrivals.amplitude == 0.0) break;
    const double turns = (clock_s_ - arrivals.peak_at.in_seconds()) / arrivals.period.in_seconds();
    const double rate = 1.0 + arrivals.amplitude * math::sin_of_turns(turns + 0.25);
    if (arrivals_.uniform() * (1.0 + arrivals.amplitude) < rate) break;
  }
  return Instant::zero() + whole_microseconds(Duration::from_seconds(clock_s_));
}

Duration JobStream::draw_estimate(Duration duration) {
  double factor = 1.0;
  if (const auto* uniform = std::get_if<UniformEstimate>(&spec_.estimate)) {
    factor = estimates_.uniform(uniform->low, uniform->high);
  } else if (const auto* lognormal = std::get_if<LognormalEstimate>(&spec_.estimate)) {
    factor = lognormal->median * math::exp(lognormal->sigma * estimates_.normal());
  } else {
    return duration;
  }
  const Duration stated =
      whole_microseconds(Duration::from_seconds(duration.in_seconds() * factor));
  return std::max(stated, Duration::nanoseconds(1000));
}

std::uint32_t JobStream::draw_user() {
  if (spec_.users == 1) return 0;
  const double at = users_.uniform() * user_weight_sums_.back();
  const auto found = std::upper_bound(user_weight_sums_.begin(), user_weight_sums_.end(), at);
  const auto user = static_cast<std::uint32_t>(found - user_weight_sums_.begin());
  return std::min(user, spec_.users - 1);
}

}  // namespace orrery::sim
