// A cluster whose jobs report the steps of their training.
#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <vector>

#include "core/job/profiling.hpp"
#include "tests/support/fake_cluster.hpp"

namespace orrery::testing {

/// Workers that report steps of which each takes 10 ms and 1 ms an example, and synchronise in 200
/// ms where there are several, at the smallest batch that their job may have; it may be up to
/// `batch_max`, with at least 16 examples each.
class ReportingCluster : public FakeCluster {
 public:
  ReportingCluster(double grad_var, int batch_max) : grad_var_(grad_var), batch_max_(batch_max) {}

  /// All that the job reports takes so many times as long.
  void slow_down(JobId id, double times) { times_[id] = times; }

  std::span<const ProfilingSeries> profilings(JobId id) const override {
    const JobRow& of = row(id);
    if (of.replicas == 0) return {};
    const auto found = times_.find(id);
    const double times = found == times_.end() ? 1 : found->second;
    const int batch = std::max(64, 16 * of.replicas);
    const double compute_s = 0.01 + 0.001 * batch / of.replicas;
    series_.clear();
    const auto say = [&](const char* key, double value) {
      series_.push_back({key, {{now(), of.generation, Rank{0}, value}}});
    };
    say("step_time_s", times * (of.replicas > 1 ? compute_s + 0.2 : compute_s));
    say("compute_time_s", times * compute_s);
    say("batch_size", batch);
    say("accum_steps", 0);
    say("grad_sqr", 1);
    say("grad_var", grad_var_);
    say("batch_size_initial", 64);
    say("batch_size_max", batch_max_);
    say("local_batch_min", 16);
    say("local_batch_max", 512);
    return series_;
  }

 private:
  double grad_var_;
  int batch_max_;
  std::map<JobId, double> times_;
  mutable std::vector<ProfilingSeries> series_;
};

}  // namespace orrery::testing
