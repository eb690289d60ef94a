#include "sim/calibration/parity.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "core/base/percentile.hpp"
#include "sim/expectations/decision_log.hpp"

namespace orrery::sim {
namespace {

/// What names a row inside a run.
using RowKey = std::tuple<std::string, ParityFigure, std::string>;

double percentile(std::vector<double> values, double q) {
  std::ranges::sort(values);
  return percentile_of_sorted(values, q);
}

Spread spread_of(std::vector<double> values) {
  std::ranges::sort(values);
  if (values.empty()) return {};
  return {values.size(),
          percentile_of_sorted(values, 0.1),
          percentile_of_sorted(values, 0.5),
          percentile_of_sorted(values, 0.9),
          values.front(),
          values.back()};
}

/// All figures of a run that have a value.
std::map<RowKey, double> values_of(const RunFigures& run) {
  std::map<RowKey, double> out;
  for (const JobFigures& job : run.jobs) {
    if (job.completed_s) out[{job.name, ParityFigure::Completion, ""}] = *job.completed_s;
    for (const auto& [replicas, step_s] : job.step_s)
      out[{job.name,
           ParityFigure::Step,
           std::to_string(replicas) + (replicas == 1 ? " replica" : " replicas")}] = step_s;
    int number = 0;
    for (const RecoveryFigure& recovery : job.recoveries) {
      ++number;
      if (recovery.took_s)
        out[{job.name,
             ParityFigure::Recovery,
             std::to_string(number) + ": " + std::string(to_string(recovery.cause))}] =
            *recovery.took_s;
    }
  }
  return out;
}

/// The blocks of a decision log, by the job's name.
std::map<std::string, std::string> blocks_of(const std::string& log) {
  std::map<std::string, std::string> out;
  std::string* block = nullptr;
  for (std::size_t begin = 0; begin < log.size();) {
    const std::size_t end = std::min(log.find('\n', begin), log.size());
    const std::string line = log.substr(begin, end - begin);
    begin = end + 1;
    constexpr std::string_view kJob = "job ";
    if (!line.empty() && line.front() != ' ') {
      block = line.starts_with(kJob) ? &out[line.substr(kJob.size())] : nullptr;
    } else if (block != nullptr) {
      *block += line + "\n";
    }
  }
  return out;
}

std::string percent(double part) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%+.1f %%", part * 100);
  return text.data();
}

std::string seconds(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3f s", value);
  return text.data();
}

class Comparison {
 public:
  Comparison(const std::vector<RunFigures>& measured,
             const std::vector<RunFigures>& predicted,
             const RunFigures& uncalibrated,
             const HeldOutRatios& held_out)
      : measured_(measured),
        predicted_(predicted),
        uncalibrated_(uncalibrated),
        held_out_(held_out) {}

  Parity take() {
    out_.runs_measured = measured_.size();
    out_.runs_predicted = predicted_.size();
    add_rows();
    out_.totals = parity_totals(out_.rows);
    for (const JobFigures& job : predicted_.front().jobs) add_decisions(job.name);
    for (const ParityRow& row : out_.rows) explain(row);
    return std::move(out_);
  }

 private:
  void add_rows() {
    std::map<RowKey, std::vector<double>> measured;
    std::map<RowKey, std::vector<double>> predicted;
    for (const RunFigures& run : measured_)
      for (const auto& [key, value] : values_of(run)) measured[key].push_back(value);
    for (const RunFigures& run : predicted_)
      for (const auto& [key, value] : values_of(run)) predicted[key].push_back(value);
    const std::map<RowKey, double> uncalibrated = values_of(uncalibrated_);
    for (const auto& [key, values] : predicted) measured[key];
    for (auto& [key, values] : measured) {
      ParityRow& row = out_.rows.emplace_back();
      std::tie(row.job, row.figure, row.which) = key;
      const auto foretold = predicted.find(key);
      if (foretold == predicted.end()) {
        row.unmatched = values.size();
        continue;
      }
      row.unmatched = measured_.size() - values.size();
      row.predicted = spread_of(foretold->second);
      widen(row.figure, row.predicted);
      row.measured = spread_of(values);
      row.measured_s = std::move(values);
      const auto written = uncalibrated.find(key);
      row.uncalibrated_s = written == uncalibrated.end() ? row.predicted.p50 : written->second;
    }
  }

  void widen(ParityFigure figure, Spread& spread) const {
    const std::vector<double>& ratios = held_out_[static_cast<std::size_t>(figure)];
    if (ratios.size() < kHeldOutRatiosMin) return;
    spread.p10 = std::min(spread.p10, spread.p50 * percentile(ratios, 0.1));
    spread.p90 = std::max(spread.p90, spread.p50 * percentile(ratios, 0.9));
  }

  void add_decisions(const std::string& job) {
    DecisionPair& pair = out_.decisions.emplace_back();
    pair.job = job;
    const auto block = [&](const RunFigures& run) { return blocks_of(run.decisions)[job]; };
    pair.predicted = block(predicted_.front());
    pair.measured = block(measured_.front());
    for (const RunFigures& run : measured_) {
      for (const DecisionDifference& other :
           decision_differences(run.decisions, predicted_.front().decisions)) {
        if (other.job != job) continue;
        if (pair.runs_other++ == 0) {
          pair.measured = block(run);
          const auto quoted = [](const std::string& line) {
            return line.empty() ? std::string("nothing more") : "'" + line + "'";
          };
          pair.first_other =
              "measured " + quoted(other.found) + ", predicted " + quoted(other.expected) +
              (other.after.empty() ? std::string() : ", after '" + other.after + "'");
        }
        break;
      }
    }
  }

  static std::array<double, kJobTimes> mean_spent(const std::vector<RunFigures>& runs,
                                                  const std::string& job) {
    std::array<double, kJobTimes> out{};
    double count = 0;
    for (const RunFigures& run : runs)
      for (const JobFigures& figures : run.jobs) {
        if (figures.name != job) continue;
        ++count;
        for (std::size_t i = 0; i < kJobTimes; ++i) out[i] += figures.spent_s[i];
      }
    for (double& each : out) each /= std::max(1.0, count);
    return out;
  }

  /// The part of a job's time in which both worlds are furthest apart.
  std::string apart(const std::string& job) const {
    const auto measured = mean_spent(measured_, job);
    const auto predicted = mean_spent(predicted_, job);
    std::size_t most = 0;
    for (std::size_t i = 1; i < kJobTimes; ++i)
      if (std::abs(predicted[i] - measured[i]) > std::abs(predicted[most] - measured[most]))
        most = i;
    return "most of it while " + std::string(orrery::to_string(static_cast<JobTime>(most))) +
           ": predicted " + seconds(predicted[most]) + ", measured " + seconds(measured[most]);
  }

  void explain(const ParityRow& row) {
    const std::string what = row.job + ": " + std::string(orrery::to_string(row.figure)) +
                             (row.which.empty() ? std::string() : " (" + row.which + ")");
    if (row.measured_s.empty()) {
      if (row.unmatched > 0)
        out_.wrong.push_back(what + (row.predicted.count == 0 ? ": measured, and never predicted"
                                                              : ": predicted, and never measured"));
      return;
    }
    double mean = 0;
    for (const double value : row.measured_s) mean += value;
    mean /= static_cast<double>(row.measured_s.size());
    const double error = row.error(mean);
    if (std::abs(error) < kParityWrong) return;
    std::string sentence = what + ": predicted " + seconds(row.predicted.p50) + ", measured " +
                           seconds(mean) + " (" + percent(error) + ")";
    if (row.figure == ParityFigure::Completion) sentence += "; " + apart(row.job);
    const bool inside = mean >= row.predicted.p10 && mean <= row.predicted.p90;
    sentence += inside ? "; inside what was foretold to vary" : "";
    const auto decided = std::ranges::find(out_.decisions, row.job, &DecisionPair::job);
    if (decided != out_.decisions.end() && decided->runs_other > 0)
      sentence += "; decided otherwise in " + std::to_string(decided->runs_other) + " of " +
                  std::to_string(measured_.size()) + " runs";
    out_.wrong.push_back(std::move(sentence));
  }

  const std::vector<RunFigures>& measured_;
  const std::vector<RunFigures>& predicted_;
  const RunFigures& uncalibrated_;
  const HeldOutRatios& held_out_;
  Parity out_;
};

}  // namespace

double ParityRow::relative(double predicted_s, double value_s) const {
  const double least = figure == ParityFigure::Step ? 1e-12 : kParityShortest;
  return (predicted_s - value_s) / std::max(value_s, least);
}

std::array<ParityTotal, 3> parity_totals(const std::vector<ParityRow>& rows) {
  std::array<ParityTotal, 3> out;
  for (std::size_t figure = 0; figure < out.size(); ++figure) {
    ParityTotal& total = out[figure];
    std::vector<double> errors;
    std::vector<double> biases;
    std::vector<double> uncalibrated;
    double inside = 0;
    for (const ParityRow& row : rows) {
      if (static_cast<std::size_t>(row.figure) != figure) continue;
      total.unmatched += row.unmatched;
      for (const double measured : row.measured_s) {
        const double error = row.error(measured);
        biases.push_back(error);
        errors.push_back(std::abs(error));
        uncalibrated.push_back(std::abs(row.relative(row.uncalibrated_s, measured)));
        inside += measured >= row.predicted.p10 && measured <= row.predicted.p90 ? 1 : 0;
      }
    }
    total.count = errors.size();
    if (errors.empty()) continue;
    total.error_p50 = percentile(errors, 0.5);
    total.error_p90 = percentile(errors, 0.9);
    total.error_max = std::ranges::max(errors);
    total.bias = percentile(biases, 0.5);
    total.inside = inside / static_cast<double>(errors.size());
    total.uncalibrated_p50 = percentile(uncalibrated, 0.5);
    total.uncalibrated_max = std::ranges::max(uncalibrated);
  }
  return out;
}

void add_ratios(const RunFigures& measured,
                const std::vector<RunFigures>& predicted,
                HeldOutRatios& ratios) {
  std::map<RowKey, std::vector<double>> foretold;
  for (const RunFigures& run : predicted)
    for (const auto& [key, value] : values_of(run)) foretold[key].push_back(value);
  for (const auto& [key, value] : values_of(measured)) {
    const auto found = foretold.find(key);
    if (found == foretold.end()) continue;
    const double p50 = percentile(found->second, 0.5);
    // Times of less are made of the ways of messages, and their ratios of nothing.
    if (std::get<ParityFigure>(key) != ParityFigure::Step && std::min(value, p50) < kParityShortest)
      continue;
    if (p50 > 0)
      ratios[static_cast<std::size_t>(std::get<ParityFigure>(key))].push_back(value / p50);
  }
}

Parity compare_runs(const std::vector<RunFigures>& measured,
                    const std::vector<RunFigures>& predicted,
                    const RunFigures& uncalibrated,
                    const HeldOutRatios& held_out) {
  return Comparison(measured, predicted, uncalibrated, held_out).take();
}

}  // namespace orrery::sim
