#include "tools/orrery/sweep_page.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/base/json_text.hpp"
#include "sim/statistics/bootstrap.hpp"
#include "sim/statistics/run_figures.hpp"

namespace orrery::cli {
namespace {

/// What stands for a value that a point leaves to the scenario.
constexpr const char* kScenariosOwn = "(scenario)";

std::string value_label(const std::optional<SweepSetting>& setting) {
  return setting ? setting->label : kScenariosOwn;
}

void put_page_estimate(const sim::SeedEstimate& estimate, JsonText& json) {
  json.begin_object().field("mean", estimate.mean);
  for (const char* name : {"low", "high"}) {
    json.key(name);
    if (!estimate.interval)
      json.null();
    else
      json.value(name[0] == 'l' ? estimate.interval->low : estimate.interval->high);
  }
  json.end_object();
}

class SweepPageWriter {
 public:
  SweepPageWriter(const SweepPlan& plan, const SweepNumbers& numbers)
      : sweep_(plan.sweep), numbers_(numbers), values_(sweep_.parameters.size()) {
    for (const SweepPoint& point : sweep_.points)
      for (std::size_t p = 0; p < point.size(); ++p) {
        const std::string label = value_label(point[p]);
        if (std::ranges::find(values_[p], label) == values_[p].end()) values_[p].push_back(label);
      }
  }

  std::string take() {
    const sim::Summary& first = numbers_.points.front().front();
    json_.begin_object().field("version", 1).field("kind", "sweep");
    json_.field("name", sweep_.name).field("description", sweep_.description);
    json_.field("scenario", first.scenario).field("world", first.world);
    json_.key("policies").begin_array();
    for (const SweepPolicy& policy : sweep_.policies) json_.value(policy.label);
    json_.end_array().key("seeds").begin_array();
    for (const std::uint64_t seed : sweep_.seeds) json_.value(seed);
    json_.end_array().key("parameters").begin_array();
    for (std::size_t p = 0; p < values_.size(); ++p) {
      json_.begin_object().field("path", sweep_.parameters[p]).key("values").begin_array();
      for (const std::string& label : values_[p]) json_.value(label);
      json_.end_array().end_object();
    }
    json_.end_array().key("points").begin_array();
    for (const SweepPoint& point : sweep_.points) {
      json_.begin_array();
      for (std::size_t p = 0; p < point.size(); ++p) json_.value(index_of(point, p));
      json_.end_array();
    }
    json_.end_array().key("figures").begin_array();
    for (std::size_t figure = 0; figure < sim::run_figures().size(); ++figure) put_figure(figure);
    json_.end_array().field("interval_method", sim::kIntervalMethod).end_object();
    return json_.take();
  }

 private:
  std::size_t index_of(const SweepPoint& point, std::size_t p) const {
    const auto found = std::ranges::find(values_[p], value_label(point[p]));
    return static_cast<std::size_t>(found - values_[p].begin());
  }

  void put_figure(std::size_t figure) {
    json_.begin_object().field("key", sim::run_figures()[figure].key);
    json_.key("by_point").begin_array();
    for (const auto& policies : numbers_.statistics) {
      json_.begin_array();
      for (const sim::PolicyStatistics& policy : policies)
        put_page_estimate(policy.figures[figure], json_);
      json_.end_array();
    }
    json_.end_array().key("by_value").begin_array();
    for (std::size_t p = 0; p < values_.size(); ++p) {
      json_.begin_array();
      for (std::size_t value = 0; value < values_[p].size(); ++value) {
        json_.begin_array();
        for (std::size_t policy = 0; policy < sweep_.policies.size(); ++policy)
          put_page_estimate(estimate_at(figure, p, value, policy), json_);
        json_.end_array();
      }
      json_.end_array();
    }
    json_.end_array().end_object();
  }

  /// Of all points with this value of the parameter: for each seed the mean over the points, then
  /// over the seeds. Where there is one such point it is that of the point.
  sim::SeedEstimate estimate_at(std::size_t figure,
                                std::size_t p,
                                std::size_t value,
                                std::size_t policy) const {
    std::vector<std::size_t> points;
    for (std::size_t point = 0; point < sweep_.points.size(); ++point)
      if (index_of(sweep_.points[point], p) == value) points.push_back(point);
    if (points.size() == 1) return numbers_.statistics[points.front()][policy].figures[figure];
    const std::size_t seeds = sweep_.seeds.size();
    std::vector<double> means(seeds);
    for (std::size_t seed = 0; seed < seeds; ++seed)
      for (const std::size_t point : points)
        means[seed] +=
            sim::run_figures()[figure].of(numbers_.points[point][policy * seeds + seed]) /
            static_cast<double>(points.size());
    return sim::estimate_over_seeds(means);
  }

  const SweepFile& sweep_;
  const SweepNumbers& numbers_;
  std::vector<std::vector<std::string>> values_;  // [parameter]: labels, in order of appearance.
  JsonText json_;
};

}  // namespace

SweepNumbers numbers_of(const SweepPlan& plan, const std::vector<SweepResult>& results) {
  SweepNumbers out;
  out.points.resize(plan.sweep.points.size());
  for (const SweepResult& result : results) {
    std::vector<sim::Summary>& point = out.points[result.cell.point];
    point.push_back(result.summary);
    point.back().policy = plan.sweep.policies[result.cell.policy].label;
  }
  for (const auto& point : out.points) out.statistics.push_back(sim::statistics_of(point));
  return out;
}

std::string sweep_page_data(const SweepPlan& plan, const SweepNumbers& numbers) {
  return SweepPageWriter(plan, numbers).take();
}

}  // namespace orrery::cli
