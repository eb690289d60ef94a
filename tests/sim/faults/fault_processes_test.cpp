// Failures at random: rates, lemons, correlated failures, the mix, and streams that do not shift.
#include "sim/faults/fault_processes.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <vector>

#include "tests/support/job_builders.hpp"

namespace orrery::sim {
namespace {

using scenarios::Fault;
using scenarios::FaultKind;
using scenarios::FaultProcess;
using scenarios::ProcessSubject;
using scenarios::Scenario;

constexpr std::int32_t kNodes = 100;

Scenario hundred_nodes(std::vector<FaultProcess> processes) {
  Scenario scenario;
  scenario.seed = 11;
  scenario.groups = {tests::nodes_of(kNodes, 4)};
  scenario.groups[0].nodes_per_rack = 10;
  scenario.nodes_per_switch = {20};
  scenario.fault_processes = std::move(processes);
  return scenario;
}

FaultProcess exponential(double rate) {
  FaultProcess process;
  process.rate_per_1000_node_days = rate;
  return process;
}

/// Failures of one process on all nodes in so many days, in order of nodes and time.
std::vector<Fault> failures(const Scenario& scenario, std::size_t process, double days) {
  FaultProcesses processes(scenario);
  std::vector<Fault> out;
  const Instant end = Instant::zero() + Duration::from_seconds(days * 86400);
  for (std::uint32_t n = 0; n < kNodes; ++n) {
    Instant at = processes.next(process, NodeId{n}, Instant::zero());
    while (at < end) {
      const FaultProcesses::Strike strike = processes.strike(process, NodeId{n}, at);
      out.push_back(strike.fault);
      at = processes.next(process, NodeId{n}, strike.resumes);
    }
  }
  return out;
}

std::map<FaultKind, int> kinds(const std::vector<Fault>& faults) {
  std::map<FaultKind, int> out;
  for (const Fault& fault : faults) ++out[fault.kind];
  return out;
}

TEST(FaultProcesses, KeepTheirMeanRateWhateverTheLaw) {
  FaultProcess process = exponential(10);
  process.repair_median = Duration::seconds(1);
  EXPECT_NEAR(static_cast<double>(failures(hundred_nodes({process}), 0, 3000).size()), 3000, 165);
  // Clusters of failures, so that the number of them varies more.
  process.law = scenarios::FaultLaw::Weibull;
  process.shape = 0.7;
  EXPECT_NEAR(static_cast<double>(failures(hundred_nodes({process}), 0, 3000).size()), 3000, 300);
}

TEST(FaultProcesses, KeepTheirMeanRateInRunsMuchShorterThanTheTimeBetweenFailures) {
  // A node fails every 100 days, and a run lasts one or ten: most nodes never fail in it.
  FaultProcess process = exponential(10);
  process.law = scenarios::FaultLaw::Weibull;
  process.repair_median = Duration::seconds(1);
  for (const double shape : {0.5, 0.7, 1.0, 3.0, 20.0}) {
    process.shape = shape;
    for (const double days : {1.0, 10.0}) {
      Scenario scenario = hundred_nodes({process});
      std::size_t count = 0;
      constexpr std::uint64_t kRuns = 300;
      for (scenario.seed = 0; scenario.seed < kRuns; ++scenario.seed)
        count += failures(scenario, 0, days).size();
      const double declared = days * static_cast<double>(kRuns);
      // Five standard deviations of a count whose failures come alone; clusters widen that.
      EXPECT_NEAR(static_cast<double>(count), declared, 0.3 * declared)
          << "shape " << shape << ", " << days << " days";
    }
  }
}

TEST(FaultProcesses, LemonsAreAsManyAsAskedForAndFailMoreOften) {
  FaultProcess process = exponential(10);
  process.lemons = {.share = 0.05, .factor = 10};
  const Scenario scenario = hundred_nodes({process});
  const FaultProcesses processes(scenario);
  std::map<bool, int> of_lemons;
  int lemons = 0;
  for (std::uint32_t n = 0; n < kNodes; ++n) lemons += processes.is_lemon(0, NodeId{n}) ? 1 : 0;
  EXPECT_EQ(lemons, 5);
  for (const Fault& fault : failures(scenario, 0, 1000))
    ++of_lemons[processes.is_lemon(0, fault.nodes[0])];
  EXPECT_NEAR(of_lemons[true], 500, 70);
  EXPECT_NEAR(of_lemons[false], 950, 95);
}

TEST(FaultProcesses, SomeFailuresTakeTheWholeRackOrSwitch) {
  FaultProcess process = exponential(10);
  process.correlated = {.share = 0.2, .group = scenarios::NodeSet::Rack};
  int racks = 0;
  const std::vector<Fault> faults = failures(hundred_nodes({process}), 0, 1000);
  for (const Fault& fault : faults) {
    if (fault.nodes.size() == 1) continue;
    ++racks;
    ASSERT_EQ(fault.nodes.size(), 10u);
    EXPECT_EQ(fault.nodes[0].value % 10, 0u);
    EXPECT_EQ(fault.kind, FaultKind::Down);
  }
  EXPECT_NEAR(racks, 200, 45);
  process.correlated.group = scenarios::NodeSet::Switch;
  for (const Fault& fault : failures(hundred_nodes({process}), 0, 100))
    EXPECT_TRUE(fault.nodes.size() == 1 || fault.nodes.size() == 20);
}

TEST(FaultProcesses, ComeDownToWhatTheMixSays) {
  FaultProcess process = exponential(10);
  process.mix.process_restart = 0.4;
  process.mix.node_swap = 0.5;
  process.mix.fail_slow = 0.1;
  const std::vector<Fault> faults = failures(hundred_nodes({process}), 0, 1000);
  std::map<FaultKind, int> seen = kinds(faults);
  EXPECT_NEAR(seen[FaultKind::Crash], 400, 65);
  EXPECT_NEAR(seen[FaultKind::Down], 500, 70);
  EXPECT_NEAR(seen[FaultKind::Slow], 100, 35);
  for (const Fault& fault : faults)
    if (fault.kind == FaultKind::Slow) {
      EXPECT_EQ(fault.factor, process.mix.slow_factor);
      EXPECT_EQ(fault.lasting, process.mix.slow_lasting);
    }
}

TEST(FaultProcesses, HitWhatTheyAreOf) {
  FaultProcess process = exponential(1000);
  process.of = ProcessSubject::Device;
  for (const Fault& fault : failures(hundred_nodes({process}), 0, 1)) {
    EXPECT_EQ(fault.kind, FaultKind::DeviceLost);
    EXPECT_NE(fault.devices & 0xF, 0u);
    EXPECT_EQ(fault.devices & (fault.devices - 1), 0u) << "one device";
    EXPECT_EQ(fault.lasting, Duration::seconds(3600));
  }
  process.of = ProcessSubject::Link;
  EXPECT_EQ(kinds(failures(hundred_nodes({process}), 0, 1)).begin()->first, FaultKind::LinkCut);
  process.of = ProcessSubject::Worker;
  process.exit_code = 9;
  const Scenario scenario = hundred_nodes({process});
  FaultProcesses processes(scenario);
  const FaultProcesses::Strike strike = processes.strike(0, NodeId{3}, Instant::zero());
  EXPECT_EQ(strike.fault.kind, FaultKind::Crash);
  EXPECT_EQ(strike.fault.exit_code, 9);
  EXPECT_TRUE(strike.pick.has_value()) << "one of the node's workers";
}

TEST(FaultProcesses, AllOfARunComeInOrderOfTime) {
  FaultProcess process = exponential(50);
  process.lemons = {.share = 0.1, .factor = 5};
  const Scenario scenario = hundred_nodes({process, exponential(70)});
  const std::vector<Fault> all =
      random_failures(scenario, Instant::zero() + Duration::seconds(20 * 86'400));
  EXPECT_EQ(all.size(), failures(scenario, 0, 20).size() + failures(scenario, 1, 20).size());
  EXPECT_TRUE(std::ranges::is_sorted(all, {}, &Fault::at));
  for (const Fault& fault : all) EXPECT_EQ(fault.nodes.size(), 1u);
}

TEST(FaultProcesses, AFurtherProcessShiftsNoOther) {
  const FaultProcess process = exponential(50);
  FaultProcess other = exponential(70);
  other.mix.process_restart = 1;
  const std::vector<Fault> alone = failures(hundred_nodes({process}), 0, 100);
  const std::vector<Fault> beside = failures(hundred_nodes({process, other}), 0, 100);
  ASSERT_EQ(alone.size(), beside.size());
  for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_EQ(alone[i].at, beside[i].at);
}

TEST(FaultProcesses, AnotherChoiceOfAProcessShiftsNoTime) {
  FaultProcess process = exponential(50);
  process.of = ProcessSubject::Device;
  const std::vector<Fault> devices = failures(hundred_nodes({process}), 0, 100);
  process.of = ProcessSubject::Link;
  const std::vector<Fault> links = failures(hundred_nodes({process}), 0, 100);
  ASSERT_EQ(devices.size(), links.size());
  for (std::size_t i = 0; i < devices.size(); ++i) EXPECT_EQ(devices[i].at, links[i].at);
}

}  // namespace
}  // namespace orrery::sim
