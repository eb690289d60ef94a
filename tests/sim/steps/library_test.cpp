// The figures that docs/workloads.md and the scenarios of scenarios/network give for their jobs.
#include <gtest/gtest.h>

#include "scenarios/language/loader.hpp"
#include "sim/fabric/make_fabric.hpp"
#include "tests/sim/steps/gangs.hpp"

namespace orrery::sim {
namespace {

/// One job of a scenario of the library, alone on its cluster.
class LibraryJob {
 public:
  explicit LibraryJob(const std::string& file, std::size_t job = 0) {
    const std::string path =
        std::string(ORRERY_SOURCE_ROOT) + "/scenarios/network/" + file + ".yaml";
    auto loaded = scenarios::load_scenario(path);
    EXPECT_TRUE(loaded) << (loaded ? "" : loaded.errors()[0].text());
    if (!loaded) return;
    scenario_ = *std::move(loaded);
    auto fabric = make_ideal_fabric(scenario_);
    EXPECT_TRUE(fabric);
    if (fabric) fabric_ = std::move(*fabric);
    job_.spec = scenario_.jobs[job].spec;
    job_.work = scenario_.jobs[job].work;
    job_.network = scenario_.network;
  }

  /// Puts a role's workers on these nodes.
  LibraryJob& on(std::uint16_t role, const std::vector<std::uint32_t>& nodes) {
    if (fabric_) job_.add(role, nodes, job_.spec.roles[role].bundle.devices);
    return *this;
  }

  /// Seconds of each stage of a turn, and of all of them.
  std::vector<double> seconds() const {
    std::vector<double> found;
    if (!fabric_) return found;
    const Cycle cycle = job_.cycle();
    for (const Stage& stage : cycle.stages) found.push_back(fabric_->step_alone_s(stage));
    found.push_back(alone_seconds(cycle, *fabric_));
    EXPECT_DOUBLE_EQ(alone_rate(cycle, *fabric_), cycle.units / found.back());
    return found;
  }

  double turn_s() const {
    const auto all = seconds();
    return all.empty() ? 0 : all.back();
  }

 private:
  scenarios::Scenario scenario_;
  std::unique_ptr<Fabric> fabric_;
  Job job_;
};

constexpr double kLatencies = 1e-3;  // Of the messages of a step, which the figures leave out.

TEST(Library, ElasticStepsDependOnTheirSize) {
  EXPECT_NEAR(LibraryJob("elastic_steps").on(0, {0, 1, 2, 3}).turn_s(), 1.84722, kLatencies);
  EXPECT_NEAR(LibraryJob("elastic_steps").on(0, {0, 1}).turn_s(), 2.59722, kLatencies);
  EXPECT_NEAR(LibraryJob("elastic_steps").on(0, {2}).turn_s(), 4.09722, kLatencies);
}

TEST(Library, Pipeline) {
  EXPECT_NEAR(LibraryJob("pipeline").on(0, {0, 1, 2, 3}).turn_s(), 1.31356, kLatencies);
}

TEST(Library, TensorParallel) {
  EXPECT_NEAR(LibraryJob("tensor_parallel", 0).on(0, {0}).turn_s(), 1.175, kLatencies);
  EXPECT_NEAR(LibraryJob("tensor_parallel", 1).on(0, {1, 2}).turn_s(), 2.05, kLatencies);
}

TEST(Library, Transformer) {
  EXPECT_NEAR(LibraryJob("transformer").on(0, {0, 1, 2, 3}).turn_s(), 15.50216, kLatencies);
}

TEST(Library, Loops) {
  const auto collocated = LibraryJob("rl_loop_collocated").on(0, {0, 1}).on(1, {0, 1}).seconds();
  ASSERT_EQ(collocated.size(), 4u);
  EXPECT_NEAR(collocated[0], 40, kLatencies);
  EXPECT_NEAR(collocated[2], 60 + 16.0 / 50 + 1.6 * 16 / 450, kLatencies);
  const auto apart = LibraryJob("rl_loop").on(0, {0, 1}).on(1, {2}).on(2, {3, 4, 5, 6}).seconds();
  ASSERT_EQ(apart.size(), 5u);
  EXPECT_NEAR(apart[0], 181, 4) << "two waves of 64 on each node, until the longest is through";
  EXPECT_NEAR(apart[2], 60 + (16.0 / 50 + 1.75 * 16 / 450) / 2, kLatencies);
  EXPECT_NEAR(apart[3], 2 * 16.0 / 50, kLatencies);
}

// docs/workloads.md has these turns.
TEST(Library, LoopsWhoseRolesPassTheirDevicesOn) {
  std::vector<double> turns;
  for (const std::size_t job : {0, 1, 2})
    turns.push_back(LibraryJob("rl_loop_dynamic", job)
                        .on(0, {0, 0})
                        .on(1, {1, 1, 2, 2, 3})
                        .on(2, {3})
                        .turn_s());
  EXPECT_NEAR(turns[0], 844.9, 0.1);
  EXPECT_NEAR(turns[1], 444.3, 0.1);
  EXPECT_NEAR(turns[2], 372.0, 0.1);
}

}  // namespace
}  // namespace orrery::sim
