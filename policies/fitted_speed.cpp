#include "policies/fitted_speed.hpp"

#include <cstdint>

namespace orrery::policies {

void save_observations(const ThroughputProfile& profile, ByteWriter& out) {
  out.varint(profile.observations().size());
  for (const ThroughputObservation& each : profile.observations()) {
    for (const int whole : {each.spread.nodes, each.spread.replicas, each.atomic_batch})
      out.varint(static_cast<std::uint64_t>(whole));
    out.f64(each.compute_s);
    out.f64(each.step_s);
  }
}

void load_observations(ThroughputProfile& profile, ByteReader& in) {
  const auto whole = [&] { return static_cast<int>(in.varint()); };
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    ThroughputObservation each;
    each.spread.nodes = whole();
    each.spread.replicas = whole();
    each.atomic_batch = whole();
    each.compute_s = in.f64();
    each.step_s = in.f64();
    if (in.ok()) profile.add(each);
  }
}

void save_batches(const BatchLimits& limits, const GradientStats& stats, ByteWriter& out) {
  out.f64(stats.sqr);
  out.f64(stats.var);
  for (const int limit :
       {limits.initial_total, limits.total_max, limits.atomic_min, limits.atomic_max})
    out.varint(static_cast<std::uint64_t>(limit));
}

void load_batches(BatchLimits& limits, GradientStats& stats, ByteReader& in) {
  stats.sqr = in.f64();
  stats.var = in.f64();
  for (int* limit :
       {&limits.initial_total, &limits.total_max, &limits.atomic_min, &limits.atomic_max})
    *limit = static_cast<int>(in.varint());
}

}  // namespace orrery::policies
