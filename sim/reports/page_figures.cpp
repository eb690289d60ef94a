#include "sim/reports/page_figures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/base/percentile.hpp"

namespace orrery::sim {
namespace {

/// Thinned by rank, as so many values of `all`, which ascend.
template <class Number, class Write>
std::vector<double> thinned(const std::vector<Number>& all, std::size_t points_max, Write&& write) {
  std::vector<double> out;
  if (all.size() <= points_max) {
    for (const Number value : all) out.push_back(write(value));
    return out;
  }
  const std::size_t last = points_max - 1;
  for (std::size_t i = 0; i <= last; ++i) out.push_back(write(all[i * (all.size() - 1) / last]));
  return out;
}

SortedSample sample_of(std::vector<std::int64_t> values, std::size_t points_max) {
  std::ranges::sort(values);
  SortedSample out;
  out.count = values.size();
  out.p50_s = percentile_of_sorted(values, 0.50) / 1e9;
  out.p90_s = percentile_of_sorted(values, 0.90) / 1e9;
  out.p99_s = percentile_of_sorted(values, 0.99) / 1e9;
  out.values_s = thinned(values, points_max, [](std::int64_t ns) { return page_seconds(ns); });
  return out;
}

/// Lower edges of ten equal parts of a decade, of 10^(i/10), written to three digits.
constexpr std::array kTenths{1.0, 1.26, 1.58, 2.0, 2.51, 3.16, 3.98, 5.01, 6.31, 7.94};

/// Edges in microseconds from 0.01 to 10^9.
std::vector<double> decision_edges() {
  std::vector<double> edges;
  for (double decade = 0.01; decade < 1e9; decade *= 10)
    for (const double tenth : kTenths) edges.push_back(decade * tenth);
  return edges;
}

}  // namespace

double page_seconds(std::int64_t ns) {
  return static_cast<double>((ns + (ns < 0 ? -500 : 500)) / 1000) / 1e6;
}

SortedSample completion_times(const JobTable& jobs, std::size_t points_max) {
  std::vector<std::int64_t> times;
  for (const JobOutcome& job : jobs.rows())
    if (job.exists() && job.phase == JobPhase::Succeeded)
      times.push_back((job.finished - job.submitted).ns);
  return sample_of(std::move(times), points_max);
}

SortedSample slowdowns(const std::vector<JobRatios>& jobs, std::size_t points_max) {
  std::vector<double> all;
  for (const JobRatios& job : jobs) all.push_back(job.slowdown);
  std::ranges::sort(all);
  const std::span<const double> values(all);
  SortedSample out;
  out.count = all.size();
  out.p50_s = percentile_of_sorted(values, 0.50);
  out.p90_s = percentile_of_sorted(values, 0.90);
  out.p99_s = percentile_of_sorted(values, 0.99);
  // To the thousandth, so that the text is short.
  out.values_s =
      thinned(all, points_max, [](double value) { return std::round(value * 1000) / 1000; });
  return out;
}

SortedSample waiting_times(const JobTable& jobs, std::size_t points_max) {
  std::vector<std::int64_t> times;
  for (const JobOutcome& job : jobs.rows())
    if (job.exists() && job.has_started()) times.push_back((job.started - job.submitted).ns);
  return sample_of(std::move(times), points_max);
}

void put_sample(std::string_view name, const SortedSample& sample, JsonText& json) {
  json.key(name);
  put_sample(sample, json);
}

void put_sample(const SortedSample& sample, JsonText& json) {
  json.begin_object().field("count", sample.count).field("p50_s", sample.p50_s);
  json.field("p90_s", sample.p90_s).field("p99_s", sample.p99_s);
  put_column("values_s", sample.values_s, json, [](double value) { return value; });
  json.end_object();
}

void put_series(std::string_view name, const StepSeries& series, JsonText& json) {
  const auto rounded = [](double value) { return std::round(value * 1000) / 1000; };
  json.key(name).begin_object();
  put_column("at_s", series.points(), json, [](const auto& p) { return page_seconds(p.at); });
  put_column("mean", series.points(), json, [&](const auto& p) { return rounded(p.value); });
  json.key("highest").begin_array();
  if (series.is_thinned())
    for (const SeriesPoint& point : series.points()) json.value(rounded(point.highest));
  json.end_array().end_object();
}

double mean_between(const StepSeries& series, Instant from, Instant to) {
  if (to <= from) return 0;
  const std::vector<SeriesPoint>& points = series.points();
  auto next = std::ranges::upper_bound(points, from, {}, &SeriesPoint::at);
  double value = next == points.begin() ? 0 : std::prev(next)->value;
  double sum = 0;
  Instant at = from;
  for (; next != points.end() && next->at < to; ++next) {
    sum += value * (next->at - at).in_seconds();
    at = next->at;
    value = next->value;
  }
  return (sum + value * (to - at).in_seconds()) / (to - from).in_seconds();
}

void put_links(const Timeline& timeline,
               const PageLimits& limits,
               JsonText& json,
               std::vector<std::string>& thinned) {
  json.key("links");
  const std::size_t count = timeline.link_names().size();
  if (count == 0) {
    json.null();
    return;
  }
  std::vector<double> means(count);
  for (std::size_t i = 0; i < count; ++i)
    means[i] = mean_between(timeline.link_use(i), Instant::zero(), timeline.end());
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](auto a, auto b) { return means[a] > means[b]; });
  order.resize(std::min(count, limits.links_max));
  if (order.size() < count)
    thinned.push_back("The heat map shows the " + std::to_string(order.size()) + " busiest of " +
                      std::to_string(count) + " links.");
  const auto columns = static_cast<std::int64_t>(limits.columns);
  std::vector<Instant> edges;
  for (std::int64_t i = 0; i <= columns; ++i)
    edges.push_back(Instant{timeline.end().ns / columns * i});
  edges.back() = timeline.end();
  json.begin_object();
  put_column("name", order, json, [&](std::size_t i) { return timeline.link_names()[i]; });
  put_column("edges_s", edges, json, [](Instant at) { return page_seconds(at); });
  json.key("use").begin_array();
  for (const std::size_t link : order) {
    json.begin_array();
    for (std::size_t i = 0; i + 1 < edges.size(); ++i)
      json.value(std::round(1000 * mean_between(timeline.link_use(link), edges[i], edges[i + 1])) /
                 1000);
    json.end_array();
  }
  json.end_array().end_object();
}

void put_decision_times(const Timeline& timeline, JsonText& json) {
  const std::vector<double> edges = decision_edges();
  std::vector<std::uint64_t> counts(edges.size());
  for (const PlanRow& plan : timeline.plans()) {
    const double us = static_cast<double>(plan.took.ns) / 1000;
    const auto above = std::ranges::upper_bound(edges, us);
    const auto bin = std::max<std::ptrdiff_t>(0, above - edges.begin() - 1);
    counts[static_cast<std::size_t>(bin)] += timeline.plan_stride();
  }
  std::size_t first = 0;
  std::size_t past = counts.size();
  while (first < past && counts[first] == 0) ++first;
  while (past > first && counts[past - 1] == 0) --past;
  json.key("decision_times").begin_object().key("edges_us").begin_array();
  for (std::size_t i = first; past > first && i <= past && i < edges.size(); ++i)
    json.value(edges[i]);
  json.end_array().key("count").begin_array();
  for (std::size_t i = first; i < past; ++i) json.value(counts[i]);
  json.end_array().end_object();
}

}  // namespace orrery::sim
