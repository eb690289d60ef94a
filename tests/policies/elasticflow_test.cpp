#include "policies/elasticflow.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/plan/forwarded_view.hpp"
#include "tests/policies/ask.hpp"
#include "tests/policies/contract.hpp"
#include "tests/support/long_form.hpp"

namespace orrery::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// An elastic job of 1 to 8 devices that says how long it takes on one, and when it shall be done.
std::shared_ptr<const JobSpec> with_deadline(std::int64_t work_s, const std::string& deadline) {
  JobSpec spec = *job().replicas(1, 8).preemptible().estimate(work_s).spec();
  spec.labels.push_back({"deadline", deadline});
  return std::make_shared<const JobSpec>(spec);
}

std::unique_ptr<Policy> without_overhead() {
  return policy("elasticflow", {{"overhead", "false"}});
}

TEST(ElasticFlow, GivesNoMoreThanTheDeadlineNeedsWhereOthersWait) {
  FakeCluster cluster;
  cluster.add_nodes(1, 4);
  const auto elasticflow = without_overhead();
  const JobId tight = cluster.submit(with_deadline(1200, "600s"), 1200);
  const JobId loose = cluster.submit(with_deadline(600, "1h"), 600);
  const JobId none = cluster.submit(job().replicas(1).preemptible());
  cluster.carry_out(cluster.ask_optimize(*elasticflow));
  // Twice as fast as on one device is in time. The others take what is left.
  EXPECT_EQ(cluster.replicas(tight), 2);
  EXPECT_EQ(cluster.replicas(loose), 1);
  EXPECT_EQ(cluster.replicas(none), 1);
  EXPECT_THAT(cluster.violations(), IsEmpty());
}

TEST(ElasticFlow, GrowsJobsIntoWhatNobodyNeeds) {
  FakeCluster cluster;
  cluster.add_nodes(1, 8);
  const auto elasticflow = without_overhead();
  const JobId alone = cluster.submit(with_deadline(1200, "1h"), 1200);
  cluster.carry_out(cluster.ask_optimize(*elasticflow));
  EXPECT_EQ(cluster.replicas(alone), 8);
  const JobId second = cluster.submit(with_deadline(1200, "1h"), 1200);
  cluster.advance(60);
  cluster.carry_out(cluster.ask_optimize(*elasticflow));
  EXPECT_EQ(cluster.replicas(alone), 4);
  EXPECT_EQ(cluster.replicas(second), 4);
}

TEST(ElasticFlow, GrowsJobsUpToTheirQuota) {
  FakeCluster cluster;
  cluster.add_nodes(1, 8);
  cluster.set_quota("limited", 4);
  const auto elasticflow = without_overhead();
  const JobId alone = cluster.submit(job().replicas(1, 8).preemptible().group("limited"), 1200);
  cluster.carry_out(cluster.ask_optimize(*elasticflow));
  EXPECT_EQ(cluster.replicas(alone), 4);
  const JobId other = cluster.submit(job().replicas(1, 8).preemptible(), 1200);
  cluster.advance(60);
  cluster.carry_out(cluster.ask_optimize(*elasticflow));
  EXPECT_EQ(cluster.replicas(alone), 4);
  EXPECT_EQ(cluster.replicas(other), 4);
  EXPECT_THAT(cluster.violations(), IsEmpty());
}

/// A cluster whose jobs all have a namespace's quota of 4 devices too, of the number of its
/// group's.
class TwoQuotas final : public ForwardedView {
 public:
  explicit TwoQuotas(const FakeCluster& whole) : ForwardedView(whole) {}

  const JobRow& row(JobId id) const override { return changed(id); }

  JobView job(JobId id) const override { return {changed(id), whole().job(id).spec}; }

  bool quota_allows(JobId, std::int32_t devices) const override { return devices <= 4; }

 private:
  const JobRow& changed(JobId id) const {
    row_ = whole().row(id);
    row_.quota_group = row_.quota_namespace = 0;
    return row_;
  }

  mutable JobRow row_;
};

TEST(ElasticFlow, CountsAQuotaOfAGroupAndOneOfANamespaceApart) {
  FakeCluster cluster;
  cluster.add_nodes(1, 8);
  const auto elasticflow = without_overhead();
  const JobId id = cluster.submit(job().replicas(1, 4).preemptible(), 1200);
  const Plan plan = elasticflow->optimize(TwoQuotas(cluster));
  ASSERT_EQ(plan.grants.size(), 1u);
  EXPECT_EQ(plan.grants[0].job, id);
  EXPECT_EQ(plan.grants[0].replicas, 4);
}

TEST(ElasticFlow, DoesNotAdmitWhatWouldBeLateOrMakeOthersLate) {
  FakeCluster cluster;
  cluster.add_nodes(1, 8);
  const auto elasticflow = without_overhead();
  const JobId first = cluster.submit(with_deadline(4000, "600s"), 4000);
  const JobId too_long = cluster.submit(with_deadline(6000, "600s"), 6000);
  const JobId too_many = cluster.submit(with_deadline(2400, "600s"), 2400);
  cluster.carry_out(cluster.ask_optimize(*elasticflow));
  EXPECT_EQ(cluster.replicas(first), 8) << "8 at once, or 4 and 8 later: 667 s of 8 are needed";
  EXPECT_EQ(cluster.replicas(too_long), 0);
  EXPECT_EQ(cluster.replicas(too_many), 0);
  cluster.advance(540);
  cluster.carry_out(cluster.ask_optimize(*elasticflow));
  EXPECT_FALSE(cluster.is_live(first)) << "in time";
  EXPECT_GT(cluster.replicas(too_long), 0) << "as best effort";
}

TEST(ElasticFlow, TellsWhoIsNotAdmittedEachTimeThatItWaits) {
  FakeCluster cluster;
  cluster.add_nodes(1, 4);
  const auto elasticflow = without_overhead();
  const JobId admitted = cluster.submit(with_deadline(2000, "510s"), 2000);
  JobSpec spec = *job().replicas(4).preemptible().estimate(4000).spec();
  spec.labels.push_back({"deadline", "600s"});
  const JobId late = cluster.submit(std::make_shared<const JobSpec>(spec), 4000);
  const auto cycle = [&] {
    const Plan plan = cluster.ask_optimize(*elasticflow);
    cluster.carry_out(plan);
    cluster.advance(60);
    std::vector<JobId> told;
    for (const Grant& each : plan.grants)
      if (each.is_remark()) told.push_back(each.job);
    return told;
  };
  EXPECT_THAT(cycle(), ElementsAre(late));
  EXPECT_THAT(cycle(), IsEmpty()) << "it knows";
  for (int i = 0; i < 8; ++i) EXPECT_THAT(cycle(), IsEmpty());
  EXPECT_FALSE(cluster.is_live(admitted));
  EXPECT_EQ(cluster.replicas(late), 4);
  cluster.submit(with_deadline(1200, "310s"), 1200);
  EXPECT_THAT(cycle(), IsEmpty()) << "it gives its devices back";
  EXPECT_THAT(cycle(), ElementsAre(late)) << "it waits again";
  EXPECT_EQ(cluster.replicas(late), 0);
}

TEST(ElasticFlow, LetsAJobWaitThatNeedsNothingYet) {
  FakeCluster cluster;
  cluster.add_nodes(1, 1);
  const auto elasticflow = without_overhead();
  const JobId early = cluster.submit(job().preemptible().estimate(300).spec(), 300);
  const JobId urgent = cluster.submit(with_deadline(300, "310s"), 300);
  cluster.carry_out(cluster.ask_optimize(*elasticflow));
  EXPECT_EQ(cluster.replicas(urgent), 1);
  EXPECT_EQ(cluster.replicas(early), 0);
  cluster.advance(300);
  cluster.carry_out(cluster.ask_optimize(*elasticflow));
  EXPECT_FALSE(cluster.is_live(urgent));
  EXPECT_EQ(cluster.replicas(early), 1);
}

// A fixed job with a deadline cannot be interrupted: it is admitted where it runs to its end.
TEST(ElasticFlow, PlansFixedJobsWhole) {
  FakeCluster cluster;
  cluster.add_nodes(1, 4);
  const auto elasticflow = without_overhead();
  JobSpec spec = *job().replicas(4).estimate(300).spec();
  spec.labels.push_back({"deadline", "20min"});
  const JobId soft = cluster.submit(with_deadline(900, "15min"), 900);
  const JobId fixed = cluster.submit(std::make_shared<const JobSpec>(spec), 300);
  cluster.carry_out(cluster.ask_optimize(*elasticflow));
  EXPECT_EQ(cluster.replicas(soft), 4) << "what nobody else can use makes it faster";
  cluster.advance(240);
  cluster.carry_out(cluster.ask_optimize(*elasticflow));
  EXPECT_FALSE(cluster.is_live(soft));
  EXPECT_EQ(cluster.replicas(fixed), 4);
  const JobId other = cluster.submit(with_deadline(60, "1h"), 60);
  cluster.advance(60);
  cluster.carry_out(cluster.ask_optimize(*elasticflow));
  EXPECT_EQ(cluster.replicas(fixed), 4);
  EXPECT_EQ(cluster.replicas(other), 0);
  EXPECT_THAT(cluster.violations(), IsEmpty());
}

TEST(ElasticFlow, DrawsDeadlinesFromStatedRunTimes) {
  FakeCluster cluster;
  cluster.add_nodes(1, 2);
  const auto elasticflow =
      policy("elasticflow", {{"overhead", "false"}, {"deadline_factor", "1.2"}});
  const JobId first = cluster.submit(job().preemptible().estimate(1000), 1000);
  const JobId second = cluster.submit(job().replicas(2).preemptible().estimate(100), 100);
  cluster.carry_out(cluster.ask_optimize(*elasticflow));
  // The second is due at 120 s and takes both devices until then; the first at 1,200 s.
  EXPECT_EQ(cluster.replicas(second), 2);
  EXPECT_EQ(cluster.replicas(first), 0);
  cluster.advance(120);
  cluster.carry_out(cluster.ask_optimize(*elasticflow));
  EXPECT_EQ(cluster.replicas(first), 1);
}

TEST(ElasticFlow, RefusesFactorsThatAreNoRange) {
  const auto made =
      policies::make_policy("elasticflow", {.parameters = {{"deadline_factor", "2,1"}}});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.errors().front().text(), ::testing::StartsWith("policy.deadline_factor: "));
}

// Jobs that start on several nodes leave holes: the big one fits when the small ones move together.
TEST(ElasticFlow, PlacesEverythingAnewWhereThatMakesRoom) {
  FakeCluster cluster;
  cluster.add_nodes(2, 4);
  const auto elasticflow = without_overhead();
  std::vector<JobId> small;
  for (int i = 0; i < 4; ++i)
    small.push_back(cluster.submit(
        job().replicas(1).devices(2).preemptible().estimate(i % 2 == 0 ? 60 : 3600)));
  cluster.carry_out(cluster.ask_optimize(*elasticflow));
  const JobId big = cluster.submit(job().replicas(1).devices(4).preemptible().estimate(600));
  cluster.advance(60);
  cluster.carry_out(cluster.ask_optimize(*elasticflow));
  EXPECT_EQ(cluster.replicas(big), 1);
  EXPECT_EQ(cluster.replicas(small[1]) + cluster.replicas(small[3]), 2);
  EXPECT_THAT(cluster.violations(), IsEmpty());
}

// Eight devices are free, and on no node the four of a second replica.
TEST(ElasticFlow, WhatNoNodeHoldsOfAJobThatWasToHaveMoreIsForThoseThatWait) {
  FakeCluster cluster;
  cluster.add_nodes(2, 4);
  cluster.add_nodes(2, 1);
  const auto elasticflow = without_overhead();
  cluster.submit(job().replicas(2).estimate(20000));
  cluster.carry_out(cluster.ask_optimize(*elasticflow));
  JobSpec spec = *job().devices(4).replicas(1, 2).preemptible().estimate(10000).spec();
  spec.labels.push_back({"deadline", "6000s"});
  const JobId big = cluster.submit(std::make_shared<const JobSpec>(spec));
  cluster.advance(60);
  cluster.carry_out(cluster.ask_optimize(*elasticflow));
  EXPECT_EQ(cluster.replicas(big), 1);
  const JobId small = cluster.submit(job().devices(2).preemptible(), 200);
  cluster.advance(60);
  cluster.carry_out(cluster.ask_optimize(*elasticflow));
  EXPECT_EQ(cluster.replicas(small), 1);
  EXPECT_EQ(cluster.replicas(big), 1);
  EXPECT_THAT(cluster.violations(), IsEmpty());
}

// With deadlines for all jobs that state a run time, of which some can be kept.
// Cores are short, not devices: jobs are started before others are made larger.
TEST(ElasticFlow, AnEnlargedJobGivesBackWhatOthersStartWith) {
  FakeCluster cluster;
  cluster.add_nodes(1, 8, 8);
  const auto elasticflow = without_overhead();
  const JobId large = cluster.submit(job().replicas(2, 4).cpu(2).preemptible(), 1e5);
  cluster.carry_out(cluster.ask_optimize(*elasticflow));
  EXPECT_EQ(cluster.replicas(large), 4);
  const JobId fixed = cluster.submit(job().replicas(3).cpu(1), 1e5);
  const JobId small = cluster.submit(job().cpu(1).preemptible(), 1e5);
  for (int i = 0; i < 3; ++i) {
    cluster.advance(60);
    cluster.carry_out(cluster.ask_optimize(*elasticflow));
    EXPECT_EQ(cluster.replicas(large), 2);
    EXPECT_EQ(cluster.replicas(fixed), 3);
    EXPECT_EQ(cluster.replicas(small), 1);
  }
  EXPECT_THAT(cluster.violations(), IsEmpty());
}

TEST(ElasticFlowContract, IsKeptWithDeadlines) {
  const PolicyMaker make = [] {
    return policies::make_policy("elasticflow",
                                 {.parameters = {{"deadline_factor", "0.5,5"}}, .seed = 7})
        .value();
  };
  for (std::uint64_t seed = 1; seed <= tests::count_of(6, 25); ++seed)
    EXPECT_THAT(broken_promises(make, seed, {}), IsEmpty()) << "seed " << seed;
}

}  // namespace
}  // namespace orrery::testing
