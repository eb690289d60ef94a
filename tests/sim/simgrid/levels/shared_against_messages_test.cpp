// L3 against L0 and L1 on the fabrics alone: few steps, since each message is one in SimGrid. The
// errors that were measured are printed.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <numeric>

#include "scenarios/language/spec/scenario.hpp"
#include "sim/fabric/ideal_fabric.hpp"
#include "sim/fabric/shared_fabric.hpp"
#include "sim/simgrid/message_level.hpp"
#include "tests/sim/simgrid/levels/stage_load.hpp"

namespace orrery::sim {
namespace shared_against_messages_tests {

using test::stage_times;
using test::StageLoad;

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

struct Means {
  double ideal = 0;
  double shared = 0;
  double messages = 0;
};

// One SimGrid engine per process: once in each case.
Means means_of(const StageLoad& load, std::uint64_t seed, double spacing_s) {
  scenarios::Scenario scenario;
  scenario.network = load.network;
  NodeGroup group;
  group.count = load.nodes;
  scenario.groups = {group};
  Result<std::unique_ptr<MessageLevel>> level = MessageLevel::make(scenario);
  if (!level) {
    ADD_FAILURE() << level.errors()[0].text();
    return {};
  }
  const auto jobs = test::draw_jobs(load, seed);
  Means means;
  Instant now;
  IdealFabric ideal(Topology(load.network, load.nodes));
  means.ideal = mean(stage_times(ideal, jobs, spacing_s, now));
  now = Instant::zero();
  SharedFabric shared(Topology(load.network, load.nodes));
  means.shared = mean(stage_times(shared, jobs, spacing_s, now));
  now = Instant::zero();
  means.messages = mean(stage_times((*level)->fabric(), jobs, spacing_s, now));
  std::printf("L0 %.3f s, L1 %.3f s, L3 %.3f s; L1 against L3 %+.2f %%\n",
              means.ideal,
              means.shared,
              means.messages,
              100 * (means.shared / means.messages - 1));
  return means;
}

StageLoad few_steps(double rate_max) {
  StageLoad load;
  load.network.topology = scenarios::NetworkTopology::FatTree;
  load.network.nodes_per_leaf = 4;
  load.network.oversubscription = 2;
  load.jobs = 8;
  load.steps_max = 60;
  load.rate_max = rate_max;
  return load;
}

TEST(MessageLevels, BelowCapacity) {
  const Means means = means_of(few_steps(0.12), 1, 5);
  EXPECT_EQ(means.shared, means.ideal);
  EXPECT_NEAR(means.shared / means.messages, 1, 0.03);
}

TEST(MessageLevels, Saturated) {
  const Means means = means_of(few_steps(0.8), 1, 5);
  EXPECT_GT(means.shared / means.ideal, 1.2);
  EXPECT_NEAR(means.shared / means.messages, 1, 0.08);  // Measured: 3.1 % too fast.
}

}  // namespace shared_against_messages_tests
}  // namespace orrery::sim
