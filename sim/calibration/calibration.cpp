#include "sim/calibration/calibration.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "core/base/percentile.hpp"

namespace orrery::sim {
namespace {

constexpr std::size_t kQuantiles = 11;
constexpr std::size_t kHeldOutMin = 4;  ///< Samples, before some are held out.

constexpr std::array kKinds{TimeKind::Start,
                            TimeKind::Restart,
                            TimeKind::Stop,
                            TimeKind::Rescale,
                            TimeKind::CheckpointCost,
                            TimeKind::Planner};

/// Ascending.
class Sample {
 public:
  explicit Sample(const std::vector<Duration>& times) {
    for (const Duration time : times) ns_.push_back(time.ns);
    std::ranges::sort(ns_);
  }

  bool empty() const { return ns_.empty(); }

  std::size_t size() const { return ns_.size(); }

  bool is_constant() const { return ns_.front() == ns_.back(); }

  Duration at(double part) const {
    return Duration{static_cast<std::int64_t>(std::llround(percentile_of_sorted(ns_, part)))};
  }

 private:
  std::vector<std::int64_t> ns_;
};

scenarios::TimeSpread spread_of(const Sample& sample) {
  scenarios::TimeSpread out;
  if (sample.is_constant()) return out;
  for (std::size_t k = 0; k < kQuantiles; ++k)
    out.quantiles.push_back(sample.at(static_cast<double>(k) / (kQuantiles - 1)));
  return out;
}

/// How far the samples that were held out are from what the others give.
class HeldOutReader {
 public:
  void judge(const std::vector<Duration>& fitted, const std::vector<Duration>& held_out) {
    if (fitted.empty()) return;
    const Sample sample(fitted);
    const Duration median = sample.at(0.5);
    const Duration low = sample.at(0.1);
    const Duration high = sample.at(0.9);
    for (const Duration time : held_out) {
      const double off = std::abs(static_cast<double>((time - median).ns));
      errors_.push_back(off == 0 ? 0 : off / std::max(1.0, static_cast<double>(median.ns)));
      inside_ += time >= low && time <= high ? 1 : 0;
    }
  }

  std::optional<HeldOut> take() {
    if (errors_.empty()) return std::nullopt;
    std::ranges::sort(errors_);
    return HeldOut{errors_.size(),
                   percentile_of_sorted(errors_, 0.5),
                   percentile_of_sorted(errors_, 0.9),
                   static_cast<double>(inside_) / static_cast<double>(errors_.size())};
  }

 private:
  std::vector<double> errors_;
  std::uint64_t inside_ = 0;
};

std::optional<HeldOut> held_out_of(const std::vector<ObservedTimes>& journals, TimeKind kind) {
  HeldOutReader reader;
  if (journals.size() > 1) {
    for (std::size_t out = 0; out < journals.size(); ++out) {
      std::vector<Duration> others;
      for (std::size_t i = 0; i < journals.size(); ++i)
        if (i != out)
          others.insert(others.end(), journals[i].of(kind).begin(), journals[i].of(kind).end());
      reader.judge(others, journals[out].of(kind));
    }
    return reader.take();
  }
  const std::vector<Duration>& all = journals.front().of(kind);
  if (all.size() < kHeldOutMin) return std::nullopt;
  std::vector<Duration> fitted;
  std::vector<Duration> held_out;
  for (std::size_t i = 0; i < all.size(); ++i) (i % 2 == 0 ? fitted : held_out).push_back(all[i]);
  reader.judge(fitted, held_out);
  return reader.take();
}

/// What a start from a checkpoint takes beyond one without, quantile by quantile.
scenarios::TimeSpread difference(const Sample& restart, const Sample& start) {
  scenarios::TimeSpread out;
  Duration least;
  for (std::size_t k = 0; k < kQuantiles; ++k) {
    const double part = static_cast<double>(k) / (kQuantiles - 1);
    least = std::max(least, restart.at(part) - start.at(part));
    out.quantiles.push_back(least);
  }
  return out;
}

/// The round number within `noise` of a time that is known only so well.
Duration rounded(double seconds, double noise_s) {
  for (const double unit : {60.0, 10.0, 5.0, 1.0, 0.5, 0.1, 0.05, 0.01}) {
    const double near = std::round(seconds / unit) * unit;
    if (near > 0 && std::abs(near - seconds) <= std::max(noise_s, 1e-9 * seconds))
      return Duration::from_seconds(near);
  }
  return Duration::from_seconds(seconds);
}

class Fitter {
 public:
  Fitter(const std::vector<ObservedTimes>& journals, Duration noise)
      : journals_(journals), noise_(noise) {}

  Calibration fit() {
    for (const ObservedTimes& journal : journals_) {
      ++out_.journals;
      out_.jobs += journal.jobs;
      out_.length += journal.length;
    }
    for (const TimeKind kind : kKinds) fit(kind);
    fit_starts();
    fit_others();
    fit_checkpoints();
    fit_speeds();
    add_remarks();
    return std::move(out_);
  }

 private:
  std::vector<Duration> all_of(TimeKind kind) const {
    std::vector<Duration> out;
    for (const ObservedTimes& journal : journals_)
      out.insert(out.end(), journal.of(kind).begin(), journal.of(kind).end());
    return out;
  }

  void fit(TimeKind kind) {
    const Sample sample(all_of(kind));
    if (sample.empty()) return;
    FittedTime& time = out_.times.emplace_back();
    time.kind = kind;
    time.count = sample.size();
    time.spread = spread_of(sample);
    time.shortest = sample.at(0);
    time.p10 = sample.at(0.1);
    time.p50 = sample.at(0.5);
    time.p90 = sample.at(0.9);
    time.longest = sample.at(1);
    time.held_out = held_out_of(journals_, kind);
  }

  void fit_starts() {
    const Sample first(all_of(TimeKind::Start));
    const Sample again(all_of(TimeKind::Restart));
    scenarios::Timing& timing = out_.timing;
    // Where only one of both was seen, it stands for both.
    const Sample& start = first.empty() ? again : first;
    if (start.empty()) return;
    timing.start = start.at(0.5);
    timing.spread.start = spread_of(start);
    if (first.empty() || again.empty()) return;
    timing.spread.restore = difference(again, first);
    timing.restore = timing.spread.restore.at(0.5);
    if (timing.spread.restore.quantiles.front() == timing.spread.restore.longest())
      timing.spread.restore = {};
  }

  void fit_others() {
    if (const FittedTime* stop = out_.find(TimeKind::Stop)) {
      out_.timing.stop = stop->p50;
      out_.timing.spread.stop = stop->spread;
    }
    if (const FittedTime* rescale = out_.find(TimeKind::Rescale)) {
      out_.timing.rescale = rescale->p50;
      out_.timing.spread.rescale = rescale->spread;
    }
    if (const FittedTime* cost = out_.find(TimeKind::CheckpointCost))
      out_.timing.checkpoint_cost = cost->p50;
    if (const FittedTime* planner = out_.find(TimeKind::Planner))
      out_.planner_latency = planner->p50;
  }

  void fit_checkpoints() {
    std::vector<Duration> gaps;
    std::vector<double> lost_s;
    std::vector<double> saved_after_s;
    for (const ObservedTimes& journal : journals_) {
      gaps.insert(gaps.end(), journal.checkpoint_gaps.begin(), journal.checkpoint_gaps.end());
      lost_s.insert(lost_s.end(), journal.lost_s.begin(), journal.lost_s.end());
      saved_after_s.insert(
          saved_after_s.end(), journal.saved_after_s.begin(), journal.saved_after_s.end());
    }
    out_.losses = lost_s.size();
    if (!gaps.empty())
      out_.timing.checkpoint_interval = Sample(gaps).at(0.5) - out_.timing.checkpoint_cost;
    else
      out_.timing.checkpoint_interval = checkpoint_interval_of(lost_s, saved_after_s, noise_);
  }

  // Of profiles and sizes that ran on several models.
  void fit_speeds() {
    std::map<std::pair<std::string, std::int32_t>, std::map<std::string, std::vector<double>>> seen;
    for (const ObservedTimes& journal : journals_)
      for (const ObservedRate& rate : journal.rates)
        seen[{rate.profile, rate.replicas}][rate.model].push_back(rate.rate);
    std::map<std::string, std::uint64_t> counts;
    for (const auto& [work, models] : seen)
      if (models.size() > 1)
        for (const auto& [model, rates] : models) ++counts[model];
    if (counts.empty()) return;
    const auto reference = std::ranges::max_element(
        counts, [](const auto& a, const auto& b) { return a.second < b.second; });
    const auto mean = [](const std::vector<double>& values) {
      double sum = 0;
      for (const double value : values) sum += value;
      return sum / static_cast<double>(values.size());
    };
    out_.speeds.push_back({reference->first, 1, reference->second, 1, 1});
    for (const auto& [model, count] : counts) {
      std::vector<double> ratios;
      for (const auto& [work, models] : seen)
        if (model != reference->first && models.contains(model) &&
            models.contains(reference->first))
          ratios.push_back(mean(models.at(model)) / mean(models.at(reference->first)));
      std::ranges::sort(ratios);
      if (ratios.empty()) continue;
      out_.speeds.push_back(
          {model, percentile_of_sorted(ratios, 0.5), ratios.size(), ratios.front(), ratios.back()});
    }
  }

  void add_remarks() {
    const auto say = [&](const std::string& sentence) { out_.remarks.push_back(sentence); };
    const bool first = out_.find(TimeKind::Start) != nullptr;
    const bool again = out_.find(TimeKind::Restart) != nullptr;
    if (!first && !again) say("no start was seen: start is not said");
    if (!first && again)
      say("no job started afresh: start is that of jobs that went on from a checkpoint");
    if (first && !again) say("no job went on from what was saved: restore is not said");
    if (out_.find(TimeKind::Stop) == nullptr) say("no worker was asked to stop: stop is not said");
    if (out_.find(TimeKind::Rescale) == nullptr)
      say("no job told of progress through a change of membership with workers that stayed: "
          "rescale is not said");
    if (out_.timing.checkpoint_interval == Duration::zero())
      say("no failure took work, and no checkpoints were reported: checkpoint_interval is not "
          "said, and work counts as always safe");
    else if (out_.find(TimeKind::CheckpointCost) == nullptr)
      say("what a checkpoint costs is in the speeds that jobs report: checkpoint_cost is not said");
    std::uint64_t failed = 0;
    std::uint64_t killed = 0;
    for (const ObservedTimes& journal : journals_) {
      failed += journal.starts_failed;
      killed += journal.stops_killed;
    }
    if (failed > 0) say(std::to_string(failed) + " starts that failed are left out");
    if (killed > 0)
      say(std::to_string(killed) +
          " stops that ended by a kill are left out: how long they would have taken is unknown");
  }

  const std::vector<ObservedTimes>& journals_;
  Duration noise_;
  Calibration out_;
};

}  // namespace

const FittedTime* Calibration::find(TimeKind kind) const {
  const auto found = std::ranges::find(times, kind, &FittedTime::kind);
  return found == times.end() ? nullptr : &*found;
}

Calibration fit(const std::vector<ObservedTimes>& journals, Duration noise) {
  return Fitter(journals, noise).fit();
}

Duration checkpoint_interval_of(const std::vector<double>& lost_s,
                                const std::vector<double>& saved_after_s,
                                Duration noise) {
  double lost = 0;
  double saved_least = 0;
  for (const double each : lost_s) lost = std::max(lost, each);
  if (lost <= 0) return {};
  const double noise_s = std::max(noise.in_seconds(), 1e-6);
  std::vector<double> saved;
  for (const double each : saved_after_s)
    if (each > noise_s) saved.push_back(each);
  if (!saved.empty()) saved_least = *std::ranges::min_element(saved);
  for (int k = 1; saved_least / k >= lost - noise_s && !saved.empty(); ++k) {
    const double candidate = saved_least / k;
    // So short that anything is near one of its multiples.
    if (candidate < 4 * noise_s) break;
    double sum = 0;
    double weights = 0;
    const bool fits = std::ranges::all_of(saved, [&](double each) {
      const double times = std::round(each / candidate);
      sum += each * times;
      weights += times * times;
      return std::abs(each - times * candidate) <= noise_s * (1 + times / 2);
    });
    if (fits) return rounded(sum / weights, noise_s);
  }
  // Nothing was saved before any of the failures, or by no clock: what was lost is half of it.
  return Duration::from_seconds(2 * lost);
}

}  // namespace orrery::sim
