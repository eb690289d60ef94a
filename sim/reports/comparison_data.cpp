#include "sim/reports/comparison_data.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "core/base/percentile.hpp"
#include "sim/reports/page_figures.hpp"
#include "sim/statistics/policy_statistics.hpp"
#include "sim/statistics/run_figures.hpp"

namespace orrery::sim {
namespace {

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
    put_figures();
    json_.end_array();
    put_jobs();
    put_samples("jct", &ComparedRun::jct);
    put_samples("waiting", &ComparedRun::waiting);
    put_samples("slowdown", &ComparedRun::slowdown);
    put_scatter();
    json_.field("interval_method", kIntervalMethod).field("test_method", kTestMethod);
    put_column("thinned", thinned_, json_, [](const auto& text) { return text; });
    put_measured();
    json_.end_object();
    return json_.take();
  }

 private:
  std::span<const ComparedRun> of_policy(std::size_t policy) const {
    return page_.runs.subspan(policy * seeds_.size(), seeds_.size());
  }

  static void put_bound(std::string_view name, bool known, double value, JsonText& json) {
    json.key(name);
    if (known)
      json.value(value);
    else
      json.null();
  }

  /// Begins an object that the caller ends.
  void begin_estimate(const SeedEstimate& estimate) {
    const auto& interval = estimate.interval;
    json_.begin_object().field("mean", estimate.mean);
    put_bound("low", interval.has_value(), interval ? interval->low : 0, json_);
    put_bound("high", interval.has_value(), interval ? interval->high : 0, json_);
  }

  void put_figures() {
    std::vector<Summary> summaries;
    for (const ComparedRun& run : page_.runs) summaries.push_back(run.summary);
    const std::vector<PolicyStatistics> statistics = statistics_of(summaries);
    const std::vector<PolicyDifference> differences = differences_of(summaries);
    for (std::size_t i = 0; i < run_figures().size(); ++i) {
      const RunFigure& figure = run_figures()[i];
      json_.begin_object().field("key", figure.key);
      put_column(
          "by_run", page_.runs, json_, [&](const auto& run) { return figure.of(run.summary); });
      json_.key("by_policy").begin_array();
      for (const PolicyStatistics& policy : statistics) {
        begin_estimate(policy.figures[i]);
        json_.end_object();
      }
      json_.end_array().key("pairs").begin_array();
      if (differences.empty()) put_plain_differences(statistics, i);
      for (const PolicyDifference& pair : differences) {
        begin_estimate(pair.figures[i].difference);
        json_.field("p", pair.figures[i].p).field("p_holm", pair.figures[i].p_holm).end_object();
      }
      json_.end_array().end_object();
    }
  }

  /// Of one seed: differences without anything to judge them by.
  void put_plain_differences(const std::vector<PolicyStatistics>& statistics, std::size_t figure) {
    for (std::size_t against = 0; against < statistics.size(); ++against)
      for (std::size_t policy = against + 1; policy < statistics.size(); ++policy) {
        begin_estimate({.mean = statistics[policy].figures[figure].mean -
                                statistics[against].figures[figure].mean});
        json_.key("p").null().key("p_holm").null().end_object();
      }
  }

  /// The jobs of the first seed under every policy.
  void put_scatter() {
    json_.key("scatter").begin_object();
    put_column("name", page_.runs.front().jobs.names, json_, [](const auto& name) { return name; });
    json_.key("jct_s").begin_array();
    for (std::size_t policy = 0; policy < policies_.size(); ++policy) {
      json_.begin_array();
      for (const double jct_s : of_policy(policy).front().jobs.jct_s) {
        if (jct_s < 0)
          json_.null();
        else
          json_.value(jct_s);
      }
      json_.end_array();
    }
    json_.end_array().end_object();
    if (page_.runs.front().jobs.total > page_.runs.front().jobs.names.size())
      thinned_.push_back("The scatter of jobs shows " +
                         std::to_string(page_.runs.front().jobs.names.size()) + " of " +
                         std::to_string(page_.runs.front().jobs.total) + " jobs: one in so many.");
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
  out.p50_s = percentile_of_sorted(std::span<const double>(out.values_s), 0.50);
  out.p90_s = percentile_of_sorted(std::span<const double>(out.values_s), 0.90);
  out.p99_s = percentile_of_sorted(std::span<const double>(out.values_s), 0.99);
  return out;
}

SampledJobs sampled_jobs(const JobTable& jobs, std::size_t jobs_max) {
  SampledJobs out;
  for (const JobOutcome& job : jobs.rows()) out.total += job.exists() ? 1 : 0;
  const std::size_t stride = (jobs.size() + jobs_max - 1) / std::max<std::size_t>(jobs_max, 1);
  for (std::size_t index = 0; index < jobs.size(); index += std::max<std::size_t>(stride, 1)) {
    const JobId id(static_cast<std::uint32_t>(index));
    const JobOutcome& job = jobs.rows()[index];
    if (!job.exists()) continue;
    out.names.emplace_back(display_name(jobs.name(id)));
    out.jct_s.push_back(
        job.phase == JobPhase::Succeeded ? page_seconds((job.finished - job.submitted).ns) : -1);
  }
  return out;
}

std::string comparison_page_data(const ComparisonPage& page, const PageLimits& limits) {
  return ComparisonWriter(page, limits).take();
}

}  // namespace orrery::sim
