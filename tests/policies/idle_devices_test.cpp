// What every policy of the registry keeps, in small clusters: devices that a waiting job could have
// do not stay idle, jobs on nodes that take nothing new go on, and priority comes first. A policy
// whose rule says otherwise is listed with it.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/policies/played_jobs.hpp"
#include "tests/support/fake_rehearsal.hpp"

namespace orrery {
namespace {

using testing::job;

using testing::kHour_s;
using testing::kMinute_s;

/// A policy, a cluster and jobs that come and run.
class EveryPolicy : public testing::PlayedJobs,
                    public ::testing::WithParamInterface<std::string_view> {
 protected:
  EveryPolicy() {
    policy_ =
        policies::make_policy(GetParam(), {.rehearsal = std::make_shared<testing::FakeRehearsal>()})
            .value();
  }

  /// The first job's node takes nothing new from half an hour on; the next job comes after an hour.
  void expect_it_goes_on_beside(JobId first, JobId next) {
    run_until(30 * kMinute_s);
    ASSERT_TRUE(cluster().row(first).holds);
    cluster().cordon(cluster().job(first).nodes[0].node);
    run_until(2 * kHour_s);
    EXPECT_TRUE(has_started(next));
    run_until(5 * kHour_s);
    EXPECT_TRUE(cluster().row(first).holds);
    EXPECT_EQ(cluster().preemptions(), 0u);
  }

  /// Whether the policy's rule says that it need not, as the table has it.
  static bool is_exempt(const std::map<std::string_view, std::string_view>& because) {
    return because.contains(GetParam());
  }
};

const std::map<std::string_view, std::string_view> kStopsAtTheFirst{
    {"fifo", "the first that does not fit ends the pass"},
    {"gavel_fifo", "the first that does not fit has its share, and ends it for the others"}};

const std::map<std::string_view, std::string_view> kPriorityElsewhere{
    {"pollux", "priority is not in the fitness"}};

const std::map<std::string_view, std::string_view> kStaysOnItsDevices{
    {"gavel_fifo", "who has a share keeps its devices"}};

const std::map<std::string_view, std::string_view> kTakesFromPriorityOfItsOwn{
    {"srtf", "the shorter job takes a part back from the longer one"},
    {"srsf", "likewise"},
    {"las", "the less served job takes a part back from the more served one"}};

// Two free devices on each of two nodes: four by count, on no node for who needs four of one.
TEST_P(EveryPolicy, AJobThatFitsByCountAndOnNoNodeKeepsNoDevicesIdle) {
  cluster_.add_nodes(2, 8);
  comes(0, job().devices(6), 10 * kHour_s);
  comes(0, job().devices(6), 10 * kHour_s);
  comes(10 * kMinute_s, job().devices(4), 5 * kHour_s);
  const JobId small = comes(20 * kMinute_s, job(), kHour_s);
  run_until(80 * kMinute_s);
  EXPECT_TRUE(has_started(small) || is_exempt(kStopsAtTheFirst));
}

TEST_P(EveryPolicy, NorDoesOneThatMayBePreempted) {
  cluster_.add_nodes(2, 8);
  comes(0, job().devices(6), 10 * kHour_s);
  comes(0, job().devices(6), 10 * kHour_s);
  comes(10 * kMinute_s, job().devices(4).preemptible(), 5 * kHour_s);
  const JobId small = comes(20 * kMinute_s, job().preemptible(), kHour_s);
  run_until(80 * kMinute_s);
  EXPECT_TRUE(has_started(small) || is_exempt(kStopsAtTheFirst));
}

// A queue of them, so that one of their kind after the other might be tried.
TEST_P(EveryPolicy, NorDoAHundredOfThem) {
  cluster_.add_nodes(2, 8);
  comes(0, job().devices(6), 10 * kHour_s);
  comes(0, job().devices(6), 10 * kHour_s);
  for (int i = 0; i < 100; ++i) comes(10 * kMinute_s, job().devices(4).preemptible(), 5 * kHour_s);
  const JobId small = comes(20 * kMinute_s, job().preemptible(), kHour_s);
  run_until(80 * kMinute_s);
  EXPECT_TRUE(has_started(small) || is_exempt(kStopsAtTheFirst));
}

TEST_P(EveryPolicy, NorDoesOneThatWantsAnotherModel) {
  cluster_.add_nodes(1, 4, 1000, "h100");
  cluster_.add_nodes(1, 4, 1000, "l40s");
  comes(0, job().replicas(4).model("h100"), 10 * kHour_s);
  comes(10 * kMinute_s, job().replicas(4).model("h100"), 10 * kHour_s);
  const JobId other = comes(20 * kMinute_s, job().replicas(4).model("l40s"), kHour_s);
  run_until(80 * kMinute_s);
  EXPECT_TRUE(has_started(other) || is_exempt(kStopsAtTheFirst));
}

TEST_P(EveryPolicy, NorDoesOneThatWaitsForCores) {
  cluster_.add_nodes(1, 8, 16);
  comes(0, job().devices(4).cpu(12), 10 * kHour_s);
  comes(10 * kMinute_s, job().devices(4).cpu(12), 10 * kHour_s);
  const JobId other = comes(20 * kMinute_s, job().replicas(4).cpu(1), kHour_s);
  run_until(80 * kMinute_s);
  EXPECT_TRUE(has_started(other) || is_exempt(kStopsAtTheFirst));
}

// Eight devices of one model suffice by count, and are none of those that it names.
TEST_P(EveryPolicy, AJobOfTwoRolesStartsWhereNoModelHoldsBoth) {
  cluster_.add_nodes(1, 8, 1000, "v100");
  cluster_.add_nodes(1, 4, 1000, "a100");
  const JobId first =
      comes(0, job().replicas(4).model("a100").also(2, 1).preemptible(), 10 * kHour_s);
  run_until(20 * kMinute_s);
  EXPECT_TRUE(has_started(first));
}

// One node would do for its larger role, and has no device for the other.
TEST_P(EveryPolicy, NorDoNodesThatHoldOneRoleOnlyKeepItWaiting) {
  cluster_.add_nodes(1, 4, 1000, "v100");
  cluster_.add_nodes(3, 2, 1000, "a100");
  const JobId first = comes(0, job().devices(4).also(1, 1).preemptible(), 10 * kHour_s);
  run_until(20 * kMinute_s);
  EXPECT_TRUE(has_started(first));
}

// Four devices of one model hold both roles; two of them are taken, and two of another are free.
TEST_P(EveryPolicy, AJobOfTwoRolesDoesNotWaitForOneModelWhileSeveralAreIdle) {
  cluster_.add_nodes(2, 2, 1000, "v100");
  cluster_.add_nodes(2, 1, 1000, "a100");
  comes(0, job().replicas(2).model("v100"), 10 * kHour_s);
  const JobId both = comes(10 * kMinute_s, job().also(2, 1).preemptible(), kHour_s);
  run_until(40 * kMinute_s);
  EXPECT_TRUE(has_started(both));
}

// What jobs hold on a closed node is of use to nobody else, and takes nothing of the other node.
TEST_P(EveryPolicy, AJobOnAClosedNodeGoesOnAndTheOthersAreShared) {
  for (const bool preemptible : {false, true}) {
    SCOPED_TRACE(preemptible ? "preemptible" : "fixed");
    policy_ =
        policies::make_policy(GetParam(), {.rehearsal = std::make_shared<testing::FakeRehearsal>()})
            .value();
    begin_anew();
    cluster_.add_nodes(2, 4);
    const auto of_four = [&] {
      testing::JobBuilder four = job().replicas(4);
      return preemptible ? four.preemptible() : four;
    };
    const JobId first = comes(0, of_four(), 10 * kHour_s);
    const JobId next = comes(kHour_s, of_four(), kHour_s);
    expect_it_goes_on_beside(first, next);
    EXPECT_EQ(cluster().job(first).nodes.size(), 1u);
  }
}

// The same with a part of the job on the closed node: it goes on with both.
TEST_P(EveryPolicy, AJobPartlyOnAClosedNodeGoesOn) {
  cluster_.add_nodes(3, 4);
  const JobId first = comes(0, job().replicas(8).preemptible(), 10 * kHour_s);
  const JobId next = comes(kHour_s, job().replicas(4).preemptible(), kHour_s);
  expect_it_goes_on_beside(first, next);
}

TEST_P(EveryPolicy, AHigherPriorityWaitsBeforeLowerOnes) {
  cluster_.add_nodes(1, 8);
  comes(0, job().replicas(8), 2 * kHour_s);
  comes(10 * kMinute_s, job().replicas(8), 2 * kHour_s);
  comes(11 * kMinute_s, job().replicas(8), 2 * kHour_s);
  const JobId high = comes(20 * kMinute_s, job().replicas(8).priority(1), 2 * kHour_s);
  run_until(3 * kHour_s);
  EXPECT_TRUE(has_started(high));
}

TEST_P(EveryPolicy, AHigherPriorityPushesOutALowerOne) {
  cluster_.add_nodes(1, 8);
  comes(0, job().replicas(8).preemptible(), 10 * kHour_s);
  const JobId high = comes(20 * kMinute_s, job().replicas(4).priority(1).preemptible(), kHour_s);
  run_until(80 * kMinute_s);
  EXPECT_TRUE(has_started(high) || is_exempt(kPriorityElsewhere));
}

// The lower one is the larger, by its minimum too.
TEST_P(EveryPolicy, AHigherPriorityPushesOutALargerLowerOneThatIsElastic) {
  cluster_.add_nodes(1, 8);
  comes(0, job().replicas(8, 16).preemptible(), 10 * kHour_s);
  const JobId high = comes(20 * kMinute_s, job().replicas(4, 8).priority(1).preemptible(), kHour_s);
  run_until(80 * kMinute_s);
  EXPECT_TRUE(has_started(high) || is_exempt(kPriorityElsewhere));
}

// `low` has a device of the only node that would do for `high`, and would fit beside the fixed job.
TEST_P(EveryPolicy, AHigherPriorityDoesNotWaitForALowerOneInItsWay) {
  cluster_.add_nodes(2, 4);
  comes(0, job().devices(3), 10 * kHour_s);
  comes(kMinute_s, job(), kHour_s);
  const JobId low = comes(30 * kMinute_s, job().preemptible(), 10 * kHour_s);
  const JobId high = comes(2 * kHour_s, job().devices(4).priority(1).preemptible(), kHour_s);
  run_until(3 * kHour_s);
  EXPECT_TRUE(has_started(high) || is_exempt(kPriorityElsewhere) || is_exempt(kStaysOnItsDevices));
  EXPECT_TRUE(has_started(low));
  run_until(5 * kHour_s);
  EXPECT_TRUE(cluster().row(low).holds);
}

// One replica fewer of the other job would do: it has all cores.
TEST_P(EveryPolicy, NorForWhatALowerOneHasBeyondItsMinimum) {
  cluster_.add_nodes(1, 8, 8);
  comes(0, job().replicas(2, 4).cpu(2).preemptible(), 10 * kHour_s);
  const JobId high = comes(kHour_s, job().replicas(3).cpu(1).priority(1).preemptible(), kHour_s);
  run_until(3 * kHour_s);
  EXPECT_TRUE(has_started(high) || is_exempt(kPriorityElsewhere));
}

// A plan names nodes and no devices: a part of a device that stays on its node stays on its device.
// The two quarters are on one device, the other one of their node has room beside the fixed part.
TEST_P(EveryPolicy, APartOfADeviceIsNotThoughtToMoveOnItsNode) {
  if (is_exempt(kTakesFromPriorityOfItsOwn)) return;
  cluster_.add_nodes(2, 2);
  comes(0, job().replicas(2), 20 * kMinute_s);
  const JobId quarter = comes(kMinute_s, job().share(250).preemptible(), 20 * kHour_s);
  comes(5 * kMinute_s, job().replicas(3), 20 * kMinute_s);
  comes(6 * kMinute_s, job().share(250).preemptible(), kHour_s);
  comes(8 * kMinute_s, job().share(700), 20 * kHour_s);
  run_until(10 * kHour_s);
  EXPECT_TRUE(cluster().row(quarter).holds);
  EXPECT_EQ(cluster().preemptions(), 0u);
}

std::vector<std::string_view> every_name() {
  std::vector<std::string_view> out;
  for (const policies::PolicyRow& row : policies::rows())
    if (policies::is_available(row)) out.push_back(row.name);
  return out;
}

INSTANTIATE_TEST_SUITE_P(Registry,
                         EveryPolicy,
                         ::testing::ValuesIn(every_name()),
                         [](const auto& row) { return std::string(row.param); });

}  // namespace
}  // namespace orrery
