#include "sim/reports/comparison_data.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "sim/reports/page_figures.hpp"

namespace orrery::sim {
namespace {

/// As `percentile_of_sorted`, of seconds.
double within(const std::vector<double>& ascending, double q) {
  if (ascending.empty()) return 0;
  const double at = q * static_cast<double>(ascending.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, ascending.size() - 1);
  return ascending[low] + (at - static_cast<double>(low)) * (ascending[high] - ascending[low]);
}

/// A figure of a summary under its name there.
struct Figure {
  std::string_view key;
  double (*of)(const Summary&);
};

constexpr std::array<Figure, 10> kFigures{{
    {"jct_avg_s", [](const Summary& s) { return s.jct_avg_s; }},
    {"jct_p50_s", [](const Summary& s) { return s.jct_p50_s; }},
    {"jct_p99_s", [](const Summary& s) { return s.jct_p99_s; }},
    {"queue_avg_s", [](const Summary& s) { return s.queue_avg_s; }},
    {"makespan_s", [](const Summary& s) { return s.makespan_s; }},
    {"gpu_utilization", [](const Summary& s) { return s.gpu_utilization; }},
    {"jobs_failed", [](const Summary& s) { return static_cast<double>(s.jobs_failed); }},
    {"restarts", [](const Summary& s) { return static_cast<double>(s.restarts); }},
    {"reallocations", [](const Summary& s) { return static_cast<double>(s.reallocations); }},
    {"preemptions", [](const Summary& s) { return static_cast<double>(s.preemptions); }},
}};

/// Writes the members of a comparison's page, one after the other.
class ComparisonWriter {
 public:
  ComparisonWriter(const ComparisonPage& page, const PageLimits& limits)
      : page_(page), limits_(limits) {
    const Summary& first = page_.runs.front().summary;
    for (const ComparedRun& run : page_.runs) {
      if (run.summary.policy == first.policy) seeds_.push_back(run.summary.seed);
      if (policies_.empty() || policies_.back() != run.summary.policy)
        policies_.push_back(run.summary.policy);
    }
  }

  std::string take() {
    const Summary& first = page_.runs.front().summary;
    json_.begin_object().field("version", 1).field("kind", "comparison");
    json_.field("scenario", first.scenario).field("world", first.world);
    json_.field("fidelity", page_.fidelity);
    put_column("policies", policies_, json_, [](const auto& name) { return name; });
    put_column("seeds", seeds_, json_, [](auto seed) { return seed; });
    put_column("page", page_.runs, json_, [](const auto& run) { return run.page; });
    put_column(
        "digest", page_.runs, json_, [](const auto& run) { return run.summary.state_digest; });
    put_column("unmet", page_.runs, json_, [](const auto& run) {
      return run.summary.unmet.empty() ? std::string()
                                       : std::to_string(run.summary.unmet.size()) + " unmet";
    });
    put_column("approximated", page_.approximated, json_, [](const auto& text) { return text; });
    json_.key("figures").begin_array();
    for (const Figure& figure : kFigures) put_figure(figure);
    json_.end_array();
    put_jobs();
    put_samples("jct", &ComparedRun::jct);
    put_samples("waiting", &ComparedRun::waiting);
    put_column("thinned", thinned_, json_, [](const auto& text) { return text; });
    put_measured();
    json_.end_object();
    return json_.take();
  }

 private:
  std::span<const ComparedRun> of_policy(std::size_t policy) const {
    return page_.runs.subspan(policy * seeds_.size(), seeds_.size());
  }

  void put_estimate(std::span<const double> values) {
    const MeanOverSeeds estimate = page_.mean_of(values);
    json_.begin_object().field("mean", estimate.mean).field("ci95", estimate.half_width);
    json_.end_object();
  }

  void put_figure(const Figure& figure) {
    std::vector<std::vector<double>> values(policies_.size());
    for (std::size_t policy = 0; policy < policies_.size(); ++policy)
      for (const ComparedRun& run : of_policy(policy))
        values[policy].push_back(figure.of(run.summary));
    json_.begin_object().field("key", figure.key);
    put_column(
        "by_run", page_.runs, json_, [&](const auto& run) { return figure.of(run.summary); });
    json_.key("by_policy").begin_array();
    for (const std::vector<double>& one : values) put_estimate(one);
    json_.end_array().key("difference").begin_array();
    // Pairs of equal seeds differ in the policy alone.
    for (std::vector<double> one : values) {
      for (std::size_t seed = 0; seed < one.size(); ++seed) one[seed] -= values.front()[seed];
      put_estimate(one);
    }
    json_.end_array().end_object();
  }

  void put_times(std::string_view key, std::vector<std::optional<double>> JobChange::*times) {
    json_.key(key).begin_array();
    for (std::size_t run = 0; run < page_.runs.size(); ++run) {
      json_.begin_array();
      for (const JobChange& job : shown_) {
        const std::optional<double>& at = (job.*times)[run];
        if (at)
          json_.value(*at);
        else
          json_.null();
      }
      json_.end_array();
    }
    json_.end_array();
  }

  // Those that change most, where there are too many.
  void put_jobs() {
    if (page_.jobs.empty()) {
      json_.key("jobs").null();
      return;
    }
    shown_.assign(page_.jobs.begin(), page_.jobs.end());
    if (shown_.size() > limits_.jobs_max) {
      const auto change = [](const JobChange& job) {
        double most = 0;
        for (const std::optional<double>& at : job.completed_s)
          most = std::max(most,
                          at && job.completed_s.front() ? std::abs(*at - *job.completed_s.front())
                                                        : std::numeric_limits<double>::infinity());
        return most;
      };
      std::ranges::stable_sort(shown_, std::greater<>(), change);
      shown_.resize(limits_.jobs_max);
      thinned_.push_back("The table has the " + std::to_string(limits_.jobs_max) +
                         " jobs whose completion changes most.");
    }
    json_.key("jobs").begin_object();
    put_column("name", shown_, json_, [](const auto& job) { return job.name; });
    put_column("work_known", shown_, json_, [](const auto& job) { return job.work_known; });
    put_times("waited_s", &JobChange::waited_s);
    put_times("completed_s", &JobChange::completed_s);
    json_.key("restarts").begin_array();
    for (std::size_t run = 0; run < page_.runs.size(); ++run) {
      json_.begin_array();
      for (const JobChange& job : shown_) json_.value(job.restarts[run]);
      json_.end_array();
    }
    json_.end_array().end_object();
  }

  void put_samples(std::string_view name, SortedSample ComparedRun::*member) {
    json_.key(name).begin_array();
    for (std::size_t policy = 0; policy < policies_.size(); ++policy) {
      std::vector<const SortedSample*> samples;
      for (const ComparedRun& run : of_policy(policy)) samples.push_back(&(run.*member));
      const SortedSample all = merged(samples, limits_.sample_max);
      put_sample(all, json_);
      const std::string sentence = "Distributions of more than " +
                                   std::to_string(limits_.sample_max) +
                                   " jobs are drawn with so many of their points.";
      if (all.count > all.values_s.size() && thinned_.empty()) thinned_.push_back(sentence);
    }
    json_.end_array();
  }

  void put_measured() {
    const auto measured = [&](std::string_view name, double Measured::*member) {
      put_column(
          name, page_.runs, json_, [&](const auto& run) { return run.summary.measured.*member; });
    };
    json_.key("measured").begin_object();
    measured("decision_p50_us", &Measured::decision_p50_us);
    measured("decision_p99_us", &Measured::decision_p99_us);
    measured("wall_s", &Measured::wall_s);
    json_.end_object();
  }

  const ComparisonPage& page_;
  const PageLimits& limits_;
  std::vector<std::string> policies_;
  std::vector<std::uint64_t> seeds_;
  std::vector<std::string> thinned_;
  std::vector<JobChange> shown_;
  JsonText json_;
};

}  // namespace

SortedSample merged(std::span<const SortedSample* const> samples, std::size_t points_max) {
  SortedSample out;
  std::vector<std::pair<double, double>> weighted;  // Value, and for how many it stands.
  for (const SortedSample* sample : samples) {
    out.count += sample->count;
    for (const double value : sample->values_s)
      weighted.emplace_back(
          value, static_cast<double>(sample->count) / static_cast<double>(sample->values_s.size()));
  }
  std::ranges::sort(weighted);
  const std::size_t points = std::min(points_max, weighted.size());
  double before = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < points; ++i) {
    const double rank = points == 1 ? 0
                                    : static_cast<double>(out.count - 1) * static_cast<double>(i) /
                                          static_cast<double>(points - 1);
    while (at + 1 < weighted.size() && before + weighted[at].second <= rank + 1e-9)
      before += weighted[at++].second;
    out.values_s.push_back(weighted[at].first);
  }
  out.p50_s = within(out.values_s, 0.50);
  out.p90_s = within(out.values_s, 0.90);
  out.p99_s = within(out.values_s, 0.99);
  return out;
}

std::string comparison_page_data(const ComparisonPage& page, const PageLimits& limits) {
  return ComparisonWriter(page, limits).take();
}

}  // namespace orrery::sim
