#include "sim/traces/trace_summary.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "core/base/percentile.hpp"

namespace orrery::sim {
namespace {

/// Thousandths of GPUs; a job that no reader made may give whole ones alone.
std::int64_t gpu_milli(const TraceJob& job) {
  return job.gpu_milli == 0 ? std::int64_t{1000} * job.gpus : job.gpu_milli;
}

void add(TraceGroup& group, const TraceJob& job) {
  ++group.jobs;
  const double gpus = static_cast<double>(gpu_milli(job)) / 1000.0;
  group.gpu_hours += gpus * job.duration.in_seconds() / 3600.0;
}

/// `label` left, jobs and GPU hours right, in columns.
std::string line(std::string_view label, const TraceGroup& group) {
  char buffer[96];
  std::snprintf(buffer,
                sizeof buffer,
                "  %-16.16s %10llu jobs %14.1f GPU hours\n",
                std::string(label).c_str(),
                static_cast<unsigned long long>(group.jobs),
                group.gpu_hours);
  return buffer;
}

void write_group(JsonText& json, const TraceGroup& group) {
  json.field("jobs", group.jobs).field("gpu_hours", group.gpu_hours).end_object();
}

}  // namespace

double TraceSummary::offered_load(std::int64_t gpus) const {
  if (span <= Duration::zero() || gpus <= 0) return 0.0;
  return all.gpu_hours * 3600.0 / (static_cast<double>(gpus) * span.in_seconds());
}

std::string TraceSummary::text() const {
  char buffer[200];
  std::snprintf(buffer,
                sizeof buffer,
                "span %.1f days; durations: mean %.0f s, median %.0f s, 90%% %.0f s, 99%% %.0f s, "
                "longest %.0f s\n",
                span.in_seconds() / 86'400.0,
                mean.in_seconds(),
                median.in_seconds(),
                p90.in_seconds(),
                p99.in_seconds(),
                longest.in_seconds());
  std::string out = buffer + line("all", all);
  out += "by GPUs\n";
  for (const auto& [gpus, group] : by_gpus) out += line(std::to_string(gpus), group);
  if (shares.jobs > 0) out += line("of them parts", shares);
  if (by_model.size() > 1 || (by_model.size() == 1 && !by_model.begin()->first.empty())) {
    out += "by device model\n";
    for (const auto& [model, group] : by_model) out += line(model.empty() ? "(any)" : model, group);
  }
  out += "by virtual cluster\n";
  for (const auto& [vc, group] : by_vc) out += line(vc.empty() ? "(none)" : vc, group);
  return out;
}

void TraceSummary::write(JsonText& json) const {
  json.begin_object().field("jobs", all.jobs).field("gpu_hours", all.gpu_hours);
  json.field("span_s", span.in_seconds()).field("duration_avg_s", mean.in_seconds());
  json.field("duration_p50_s", median.in_seconds()).field("duration_p90_s", p90.in_seconds());
  json.field("duration_p99_s", p99.in_seconds()).field("duration_max_s", longest.in_seconds());
  json.key("by_gpus").begin_array();
  for (const auto& [gpus, group] : by_gpus) {
    json.begin_object().field("gpus", gpus);
    write_group(json, group);
  }
  json.end_array().key("shares").begin_object();
  write_group(json, shares);
  json.key("by_model").begin_array();
  for (const auto& [model, group] : by_model) {
    json.begin_object().field("model", model);
    write_group(json, group);
  }
  json.end_array().key("by_vc").begin_array();
  for (const auto& [vc, group] : by_vc) {
    json.begin_object().field("vc", vc);
    write_group(json, group);
  }
  json.end_array().end_object();
}

TraceSummary summarise(const std::vector<TraceJob>& jobs) {
  TraceSummary summary;
  if (jobs.empty()) return summary;
  std::vector<std::int64_t> durations;
  double seconds = 0.0;
  Instant first = Instant::never();
  Instant last = Instant::zero();
  for (const TraceJob& job : jobs) {
    add(summary.all, job);
    add(summary.by_gpus[job.gpus], job);
    if (gpu_milli(job) != std::int64_t{1000} * job.gpus) add(summary.shares, job);
    add(summary.by_model[job.models], job);
    add(summary.by_vc[job.vc], job);
    durations.push_back(job.duration.ns);
    seconds += job.duration.in_seconds();
    first = std::min(first, job.submit);
    last = std::max(last, job.submit);
  }
  std::sort(durations.begin(), durations.end());
  const auto at = [&](double q) {
    return Duration{static_cast<std::int64_t>(percentile_of_sorted(durations, q))};
  };
  summary.span = last - first;
  summary.mean = Duration::from_seconds(seconds / static_cast<double>(durations.size()));
  summary.median = at(0.5);
  summary.p90 = at(0.9);
  summary.p99 = at(0.99);
  summary.longest = Duration{durations.back()};
  return summary;
}

}  // namespace orrery::sim
