#include "tools/orrery/seed_statistics.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "sim/statistics/run_figures.hpp"

namespace orrery::cli {
namespace {

void put_number(std::string_view name, bool known, double value, JsonText& json) {
  json.key(name);
  if (known)
    json.value(value);
  else
    json.null();
}

void put_fields(const sim::SeedEstimate& estimate, JsonText& json) {
  const bool several = estimate.interval.has_value();
  json.field("mean", estimate.mean);
  put_number("ci95", several, estimate.half_width.value_or(0), json);
  put_number("low", several, several ? estimate.interval->low : 0, json);
  put_number("high", several, several ? estimate.interval->high : 0, json);
}

}  // namespace

void put_statistics(std::span<const sim::PolicyStatistics> statistics, JsonText& json) {
  json.begin_array();
  for (const sim::PolicyStatistics& one : statistics) {
    json.begin_object().field("policy", one.policy).field("seeds", one.seeds);
    for (std::size_t i = 0; i < one.figures.size(); ++i) {
      json.key(sim::run_figures()[i].key).begin_object();
      put_fields(one.figures[i], json);
      json.end_object();
    }
    json.end_object();
  }
  json.end_array();
}

void put_differences(std::span<const sim::PolicyDifference> differences, JsonText& json) {
  json.begin_array();
  for (const sim::PolicyDifference& one : differences) {
    json.begin_object().field("policy", one.policy).field("against", one.against);
    for (std::size_t i = 0; i < one.figures.size(); ++i) {
      const sim::PairedDifference& figure = one.figures[i];
      json.key(sim::run_figures()[i].key).begin_object();
      put_fields(figure.difference, json);
      json.field("p", figure.p).field("p_holm", figure.p_holm).end_object();
    }
    json.end_object();
  }
  json.end_array();
}

std::string advice_on_seeds(std::uint64_t seeds, std::size_t policies) {
  constexpr std::uint64_t kEnough = 6;  // The smallest p is below 0.05.
  if (seeds == 1) return "one seed: no intervals, and no test; --seeds 1..10 gives them";
  if (seeds >= kEnough || policies < 2) return {};
  std::array<char, 32> digits;
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), sim::smallest_p(seeds)).ptr;
  return "with " + std::to_string(seeds) + " seeds p is at least " +
         std::string(digits.data(), end) +
         ", and intervals are too narrow; 6 or more can show a difference: --seeds 1..10";
}

std::string note_on_unfinished(std::span<const sim::Summary> runs) {
  const auto none = std::ranges::count_if(
      runs, [](const sim::Summary& run) { return run.jobs_total > 0 && run.jobs_finished == 0; });
  if (none == 0) return {};
  return std::to_string(none) + " of " + std::to_string(runs.size()) +
         " runs finished no job: in means and differences their times of jobs count as 0, so that "
         "a policy which finishes nothing looks fast";
}

}  // namespace orrery::cli
