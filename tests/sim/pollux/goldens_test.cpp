// Outputs of the artifact's own functions (NumPy, SciPy) against ours, to 1e-9 relative.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "core/models/throughput_fit.hpp"
#include "sim/pollux/table.hpp"
#include "tests/sim/pollux/artifact.hpp"

namespace orrery::tests {
namespace {

constexpr double kRelative = 1e-9;

void expect_close(double found, double expected, const std::string& what) {
  EXPECT_LE(std::fabs(found - expected), kRelative * std::fabs(expected))
      << what << ": found " << found << ", expected " << expected;
}

TEST(PolluxGoldens, StepTimesEqualScipysInterpolation) {
  SKIP_WITHOUT_ARTIFACT();
  const std::vector<std::string_view> columns = {
      "application", "placement", "local_bsz", "in_profile", "step_time_s", "sync_time_s"};
  sim::Table table;
  Errors errors =
      sim::read_table(artifact_folder() / "golden" / "throughput_interp.csv", columns, table);
  EXPECT_EQ(table.rows.size(), 900u);
  for (const sim::Table::Row& row : table.rows) {
    sim::RowReader reader(table, row, columns, errors);
    std::vector<int> placement;
    for (const char digit : reader.text(1)) {
      if (digit != '-') placement.push_back(digit - '0');
    }
    const auto application = artifact_profiles().find(reader.text(0));
    ASSERT_NE(application, artifact_profiles().end());
    const auto time = application->second.step_time(placement, reader.whole(2, 1));
    const std::string what = "line " + std::to_string(row.line);
    ASSERT_TRUE(time.has_value()) << what;
    expect_close(time->step_s, reader.number(4, 0), what);
    expect_close(time->sync_s, reader.number(5, 0), what);
  }
  EXPECT_TRUE(errors.empty()) << errors.front().text();
}

std::vector<ThroughputParameters> fitted_parameters(Errors& errors) {
  const std::vector<std::string_view> columns = {"case",
                                                 "application",
                                                 "alpha_c",
                                                 "beta_c",
                                                 "alpha_n",
                                                 "beta_n",
                                                 "alpha_r",
                                                 "beta_r",
                                                 "gamma"};
  sim::Table table;
  errors = sim::read_table(artifact_folder() / "golden" / "perf_fit_params.csv", columns, table);
  std::vector<ThroughputParameters> parameters;
  for (const sim::Table::Row& row : table.rows) {
    sim::RowReader reader(table, row, columns, errors);
    parameters.push_back({.alpha_c = reader.number(2, 0),
                          .beta_c = reader.number(3, 0),
                          .alpha_n = reader.number(4, 0),
                          .beta_n = reader.number(5, 0),
                          .alpha_r = reader.number(6, 0),
                          .beta_r = reader.number(7, 0),
                          .gamma = reader.number(8, 1)});
  }
  return parameters;
}

std::vector<std::vector<ThroughputObservation>> observed_cases(Errors& errors) {
  const std::vector<std::string_view> columns = {"case",
                                                 "application",
                                                 "num_nodes",
                                                 "num_replicas",
                                                 "atomic_bsz",
                                                 "compute_time_s",
                                                 "step_time_s"};
  sim::Table table;
  errors = sim::read_table(artifact_folder() / "golden" / "perf_fit.csv", columns, table);
  std::vector<std::vector<ThroughputObservation>> cases;
  for (const sim::Table::Row& row : table.rows) {
    sim::RowReader reader(table, row, columns, errors);
    const auto number = static_cast<std::size_t>(reader.whole(0, 0));
    if (cases.size() <= number) cases.resize(number + 1);
    cases[number].push_back({{reader.whole(2, 1), reader.whole(3, 1)},
                             reader.whole(4, 1),
                             reader.number(5, 0),
                             reader.number(6, 0)});
  }
  return cases;
}

/// What the fit makes least, written down here once more.
double fit_error(const ThroughputParameters& p, const std::vector<ThroughputObservation>& seen) {
  double compute = 0;
  double step = 0;
  for (const ThroughputObservation& each : seen) {
    const double grad = std::log(gradient_time(p, each.atomic_batch) / each.compute_s);
    const double iteration =
        std::log(iteration_time(p, each.spread, {each.atomic_batch, 0}) / each.step_s);
    compute += grad * grad;
    step += iteration * iteration;
  }
  const auto count = static_cast<double>(seen.size());
  const double between = p.beta_n / p.alpha_n;
  const double within = p.beta_r / p.alpha_r;
  return std::sqrt(compute / count) + std::sqrt(step / count) +
         1e-3 * (p.gamma - 1) * (p.gamma - 1) + 1e-2 * (between * between + within * within);
}

/// The largest relative difference between two models' predictions of what was seen.
double largest_difference(const ThroughputParameters& a,
                          const ThroughputParameters& b,
                          const std::vector<ThroughputObservation>& seen) {
  double largest = 0;
  for (const ThroughputObservation& each : seen) {
    const BatchSplit split{each.atomic_batch, 0};
    const double grad = gradient_time(a, each.atomic_batch) / gradient_time(b, each.atomic_batch);
    const double step =
        iteration_time(a, each.spread, split) / iteration_time(b, each.spread, split);
    largest = std::max({largest, std::fabs(grad - 1), std::fabs(step - 1)});
  }
  return largest;
}

// The artifact's optimiser stops early now and then; where predictions differ by more than 1 %,
// ours have the smaller error.
TEST(PolluxGoldens, FitsPredictAsTheArtifactsOrFitBetter) {
  SKIP_WITHOUT_ARTIFACT();
  Errors errors;
  const std::vector<ThroughputParameters> published = fitted_parameters(errors);
  const auto cases = observed_cases(errors);
  ASSERT_EQ(cases.size(), published.size());
  int equal = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const ThroughputParameters ours = fit_throughput(cases[i]);
    const double difference = largest_difference(ours, published[i], cases[i]);
    if (difference <= 0.01) {
      ++equal;
      continue;
    }
    EXPECT_LT(fit_error(ours, cases[i]), fit_error(published[i], cases[i]))
        << "case " << i << ", predictions differ by " << difference;
  }
  EXPECT_GE(equal, 20) << "of " << cases.size() << " cases within 1 %";
  EXPECT_TRUE(errors.empty()) << errors.front().text();
}

TEST(PolluxGoldens, BatchSearchEqualsTheArtifacts) {
  SKIP_WITHOUT_ARTIFACT();
  Errors errors;
  const std::vector<ThroughputParameters> parameters = fitted_parameters(errors);
  const std::vector<std::string_view> columns = {"case",
                                                 "application",
                                                 "grad_sqr",
                                                 "grad_var",
                                                 "init_batch_size",
                                                 "max_batch_size",
                                                 "min_local_bsz",
                                                 "max_local_bsz",
                                                 "num_nodes",
                                                 "num_replicas",
                                                 "goodput_examples_per_s",
                                                 "atomic_bsz",
                                                 "accum_steps"};
  sim::Table table;
  const Errors broken =
      sim::read_table(artifact_folder() / "golden" / "goodput_opt.csv", columns, table);
  EXPECT_TRUE(broken.empty());
  EXPECT_EQ(table.rows.size(), 180u);
  for (const sim::Table::Row& row : table.rows) {
    sim::RowReader reader(table, row, columns, errors);
    const GoodputModel model(parameters.at(static_cast<std::size_t>(reader.whole(0, 0))),
                             {.sqr = reader.number(2, 0), .var = reader.number(3, 0)},
                             {.initial_total = reader.whole(4, 1),
                              .total_max = reader.whole(5, 1),
                              .atomic_min = reader.whole(6, 1),
                              .atomic_max = reader.whole(7, 1)});
    const auto best =
        model.best_split({.nodes = reader.whole(8, 1), .replicas = reader.whole(9, 1)});
    const std::string what = "line " + std::to_string(row.line);
    ASSERT_TRUE(best.has_value()) << what;
    expect_close(best->goodput, reader.number(10, 0), what);
    EXPECT_EQ(best->split.atomic_batch, reader.whole(11, 0)) << what;
    EXPECT_EQ(best->split.accumulation_steps, reader.whole(12, 0)) << what;
  }
  EXPECT_TRUE(errors.empty()) << errors.front().text();
}

}  // namespace
}  // namespace orrery::tests
