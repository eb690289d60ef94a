#include "tools/orrery/seed_statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace orrery::cli {
namespace {

/// The 97.5 percent point of Student's distribution, by degrees of freedom from 1; the normal
/// distribution's beyond the table, where it is too narrow by less than 4 percent.
double student_975(std::size_t freedom) {
  constexpr std::array kPoints{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                               2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                               2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                               2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
  return freedom <= kPoints.size() ? kPoints[freedom - 1] : 1.96;
}

/// One number of each summary.
template <class Get>
Estimate over(const std::vector<const sim::Summary*>& runs, Get&& get) {
  std::vector<double> values;
  for (const sim::Summary* run : runs) values.push_back(static_cast<double>(get(*run)));
  return estimate_of(values);
}

PolicyStatistics statistics_of_one(const std::vector<const sim::Summary*>& runs) {
  PolicyStatistics out;
  out.policy = runs.front()->policy;
  out.seeds = runs.size();
  out.jct_avg_s = over(runs, [](const sim::Summary& s) { return s.jct_avg_s; });
  out.jct_p50_s = over(runs, [](const sim::Summary& s) { return s.jct_p50_s; });
  out.jct_p99_s = over(runs, [](const sim::Summary& s) { return s.jct_p99_s; });
  out.queue_avg_s = over(runs, [](const sim::Summary& s) { return s.queue_avg_s; });
  out.makespan_s = over(runs, [](const sim::Summary& s) { return s.makespan_s; });
  out.gpu_utilization = over(runs, [](const sim::Summary& s) { return s.gpu_utilization; });
  out.jobs_failed = over(runs, [](const sim::Summary& s) { return s.jobs_failed; });
  out.restarts = over(runs, [](const sim::Summary& s) { return s.restarts; });
  out.reallocations = over(runs, [](const sim::Summary& s) { return s.reallocations; });
  out.preemptions = over(runs, [](const sim::Summary& s) { return s.preemptions; });
  return out;
}

void put(std::string_view name, const Estimate& estimate, JsonText& json) {
  json.key(name).begin_object();
  json.field("mean", estimate.mean).field("ci95", estimate.half_width);
  json.end_object();
}

}  // namespace

Estimate estimate_of(std::span<const double> values) {
  Estimate out;
  if (values.empty()) return out;
  const auto count = static_cast<double>(values.size());
  for (const double value : values) out.mean += value / count;
  if (values.size() < 2) return out;
  double squares = 0;
  for (const double value : values) squares += (value - out.mean) * (value - out.mean);
  out.half_width = student_975(values.size() - 1) * std::sqrt(squares / (count - 1) / count);
  return out;
}

std::vector<PolicyStatistics> statistics_of(std::span<const sim::Summary> results) {
  std::vector<std::vector<const sim::Summary*>> by_policy;
  for (const sim::Summary& summary : results) {
    const auto known = std::ranges::find_if(
        by_policy, [&](const auto& runs) { return runs.front()->policy == summary.policy; });
    if (known == by_policy.end()) {
      by_policy.push_back({&summary});
    } else {
      known->push_back(&summary);
    }
  }
  std::vector<PolicyStatistics> out;
  for (const auto& runs : by_policy) out.push_back(statistics_of_one(runs));
  return out;
}

void put_statistics(std::span<const PolicyStatistics> statistics, JsonText& json) {
  json.begin_array();
  for (const PolicyStatistics& one : statistics) {
    json.begin_object().field("policy", one.policy).field("seeds", one.seeds);
    put("jct_avg_s", one.jct_avg_s, json);
    put("jct_p50_s", one.jct_p50_s, json);
    put("jct_p99_s", one.jct_p99_s, json);
    put("queue_avg_s", one.queue_avg_s, json);
    put("makespan_s", one.makespan_s, json);
    put("gpu_utilization", one.gpu_utilization, json);
    put("jobs_failed", one.jobs_failed, json);
    put("restarts", one.restarts, json);
    put("reallocations", one.reallocations, json);
    put("preemptions", one.preemptions, json);
    json.end_object();
  }
  json.end_array();
}

}  // namespace orrery::cli
