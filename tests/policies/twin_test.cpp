// When `twin` adopts another candidate, and what it then does.
#include "policies/twin/twin.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policies/registry.hpp"
#include "policies/twin/candidates.hpp"
#include "tests/support/fake_rehearsal.hpp"
#include "tests/support/fake_view.hpp"

namespace orrery {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using testing::FakeCluster;
using ::testing::HasSubstr;
using testing::ScriptedRehearsal;

using Parameters = std::map<std::string, std::string>;

std::unique_ptr<Policy> twin(std::shared_ptr<Rehearsal> rehearsal, Parameters parameters = {}) {
  parameters.emplace("candidates", "fifo; srtf; las");
  parameters.emplace("margin", "0.02");
  return policies::make_policy(
             "twin", {.parameters = std::move(parameters), .rehearsal = std::move(rehearsal)})
      .value();
}

std::string error_of(Parameters parameters) {
  const auto made =
      policies::make_policy("twin",
                            {.parameters = std::move(parameters),
                             .rehearsal = std::make_shared<testing::FakeRehearsal>()});
  std::string all;
  for (const Error& error : made ? Errors{} : made.errors()) all += error.text() + "\n";
  return all;
}

/// One device, and more jobs than it can run: there is always something to decide.
FakeCluster crowded() {
  FakeCluster cluster;
  cluster.add_nodes(1, 1);
  for (int i = 0; i < 5; ++i) cluster.submit(testing::job().preemptible().estimate(1'000'000));
  return cluster;
}

/// Asks once in each period, and tells what was chosen by then: "" where nothing was told.
std::vector<std::string> choices_of(Policy& policy, FakeCluster& cluster, int periods) {
  std::vector<std::string> out;
  for (int i = 0; i < periods; ++i) {
    cluster.advance(600);
    const Plan plan = cluster.ask_optimize(policy);
    out.push_back(plan.choice.candidate);
    cluster.carry_out(plan);
  }
  return out;
}

/// `srtf` is so much better than the others, in every period.
std::shared_ptr<ScriptedRehearsal> srtf_is_better(double part) {
  return std::make_shared<ScriptedRehearsal>([part](const std::string& policy, const ClusterView&) {
    return policy == "srtf/1" ? 1000 * (1 - part) : 1000;
  });
}

TEST(Twin, TheFirstIsInForceUntilAnotherIsBetter) {
  const auto policy = twin(srtf_is_better(0));
  FakeCluster cluster = crowded();
  EXPECT_THAT(choices_of(*policy, cluster, 4), ElementsAre("fifo", "", "", ""));
}

TEST(Twin, ALargeAdvantageIsEnoughAtOnce) {
  const auto policy = twin(srtf_is_better(0.2));
  FakeCluster cluster = crowded();
  EXPECT_THAT(choices_of(*policy, cluster, 3), ElementsAre("srtf", "", ""));
}

TEST(Twin, ASmallAdvantageHasToLast) {
  const auto policy = twin(srtf_is_better(0.025));
  FakeCluster cluster = crowded();
  // Halves add up: 1.25 %, 1.875 %, 2.19 %.
  EXPECT_THAT(choices_of(*policy, cluster, 4), ElementsAre("fifo", "", "srtf", ""));
}

TEST(Twin, NothingBelowTheMarginIsEverEnough) {
  const auto policy = twin(srtf_is_better(0.019));
  FakeCluster cluster = crowded();
  EXPECT_THAT(choices_of(*policy, cluster, 5), ElementsAre("fifo", "", "", "", ""));
}

TEST(Twin, AnAdvantageThatComesAndGoesIsNoReason) {
  int period = 0;
  const auto rehearsal =
      std::make_shared<ScriptedRehearsal>([&](const std::string& policy, const ClusterView& view) {
        period = static_cast<int>(view.now().ns / 600'000'000'000);
        const double sign = period % 2 == 0 ? 1 : -1;
        return policy == "srtf/1" ? 1000 + sign * 35 : 1000;
      });
  const auto policy = twin(rehearsal);
  FakeCluster cluster = crowded();
  EXPECT_THAT(choices_of(*policy, cluster, 6), ElementsAre("fifo", "", "", "", "", ""));
}

TEST(Twin, TheReasonNamesWhatWasRehearsed) {
  const auto policy = twin(srtf_is_better(0.5));
  FakeCluster cluster = crowded();
  cluster.advance(600);
  EXPECT_EQ(
      cluster.ask_optimize(*policy).choice.reason,
      "in place of fifo: rehearsed mean time to completion of 5 jobs fifo 1000 s, srtf 500 s, "
      "las 1000 s (30 events)");
}

TEST(Twin, WhereNothingWaitsNothingIsRehearsed) {
  const auto rehearsal = srtf_is_better(0.5);
  const auto policy = twin(rehearsal);
  FakeCluster cluster;
  cluster.add_nodes(1, 8);
  const JobId id = cluster.submit(testing::job().preemptible().estimate(1'000'000));
  cluster.carry_out(cluster.ask_allocate(*policy, id));
  EXPECT_THAT(choices_of(*policy, cluster, 3), ElementsAre("fifo", "", ""));
  EXPECT_TRUE(rehearsal->asked.empty());
}

TEST(Twin, CandidatesShareTheBudgetAndTheDraw) {
  const auto rehearsal = srtf_is_better(0);
  const auto policy = twin(rehearsal, {{"events_max", "900"}, {"restart", "45s"}});
  FakeCluster cluster = crowded();
  choices_of(*policy, cluster, 1);
  ASSERT_EQ(rehearsal->asked.size(), 3U);
  for (const auto& asked : rehearsal->asked) {
    EXPECT_EQ(asked.options.events_max, 300U);
    EXPECT_EQ(asked.options.restart, Duration::seconds(45));
    EXPECT_EQ(asked.options.draw, rehearsal->asked.front().options.draw);
  }
}

/// All jobs end at the same time under each candidate; the budget of `las` ends before.
class ShortRehearsal final : public Rehearsal {
 public:
  std::optional<RehearsedRun> run(const ClusterView& view,
                                  Policy& candidate,
                                  const RehearsalOptions& options) override {
    asked.emplace_back(candidate.name(), options.until);
    RehearsedRun run = testing::ends_after(view, 1000);
    if (candidate.name() == "las/1") run.until = view.now() + Duration::seconds(500);
    return run;
  }

  std::vector<std::pair<std::string, Instant>> asked;  ///< And where they had to end.
};

TEST(Twin, NoCandidateIsRehearsedBeyondWhereTheyAreCompared) {
  const auto rehearsal = std::make_shared<ShortRehearsal>();
  const auto policy = twin(rehearsal, {{"candidates", "fifo; las; fit"}});
  FakeCluster cluster = crowded();
  choices_of(*policy, cluster, 1);
  const Instant end = cluster.now() + Duration::seconds(500);
  using Asked = std::pair<std::string, Instant>;
  EXPECT_THAT(
      rehearsal->asked,
      ElementsAre(
          Asked{"fit/1", Instant::never()}, Asked{"las/1", Instant::never()}, Asked{"fifo/1", end}))
      << "those that are asked most often come first";
}

/// Whether it was rehearsed in each of so many periods.
std::vector<bool> decisions_of(Policy& policy,
                               const ScriptedRehearsal& rehearsal,
                               FakeCluster& cluster,
                               int periods) {
  std::vector<bool> out;
  for (int i = 0; i < periods; ++i) {
    const std::size_t before = rehearsal.asked.size();
    choices_of(policy, cluster, 1);
    out.push_back(rehearsal.asked.size() > before);
  }
  return out;
}

TEST(Twin, AfterALongCalmItDecidesLessOften) {
  double part = 0;
  const auto rehearsal =
      std::make_shared<ScriptedRehearsal>([&](const std::string& policy, const ClusterView&) {
        return policy == "srtf/1" ? 1000 * (1 - part) : 1000;
      });
  const auto policy = twin(rehearsal, {{"pause_max", "2"}});
  FakeCluster cluster = crowded();
  EXPECT_THAT(decisions_of(*policy, *rehearsal, cluster, 96), Each(true));
  EXPECT_THAT(decisions_of(*policy, *rehearsal, cluster, 4), ElementsAre(false, true, false, true));
  for (int i = 0; i < 8; ++i) cluster.submit(testing::job().preemptible().estimate(1'000'000));
  EXPECT_THAT(decisions_of(*policy, *rehearsal, cluster, 2), ElementsAre(true, false))
      << "the queue has doubled";
  part = 0.015;
  EXPECT_THAT(decisions_of(*policy, *rehearsal, cluster, 4), Each(true))
      << "another comes near to being better";
}

/// Which were rehearsed in each of so many decisions, by the letters that they begin with.
std::vector<std::string> rehearsed_in(Policy& policy,
                                      const ScriptedRehearsal& rehearsal,
                                      FakeCluster& cluster,
                                      int periods) {
  std::vector<std::string> out;
  for (int i = 0; i < periods; ++i) {
    const std::size_t before = rehearsal.asked.size();
    choices_of(policy, cluster, 1);
    std::string& letters = out.emplace_back();
    for (std::size_t k = before; k < rehearsal.asked.size(); ++k)
      letters += rehearsal.asked[k].policy.front();
  }
  return out;
}

TEST(Twin, WhileItIsCalmThoseBehindAreRehearsedEveryOtherTime) {
  double part = -0.1;
  const auto rehearsal =
      std::make_shared<ScriptedRehearsal>([&](const std::string& policy, const ClusterView&) {
        if (policy == "srtf/1") return 1000 * (1 - part);
        return policy == "fifo/1" ? 1000.0 : policy == "easy/1" ? 1010.0 : 1100.0;
      });
  // Of those behind, las comes first in turn, and easy is not a margin behind.
  const Parameters parameters{{"candidates", "fifo; srtf; las; easy"}, {"pause_max", "1"}};
  auto policy = twin(rehearsal, parameters);
  FakeCluster cluster = crowded();
  EXPECT_THAT(rehearsed_in(*policy, *rehearsal, cluster, 12), Each("lfse"));
  EXPECT_THAT(rehearsed_in(*policy, *rehearsal, cluster, 3), ElementsAre("lfe", "lfse", "lfe"));
  // Who loads it knows who has rested.
  ByteWriter out;
  policy->save(out);
  policy = twin(rehearsal, parameters);
  ByteReader in(out.bytes());
  policy->load(in);
  EXPECT_TRUE(in.finished());
  cluster.everything_changed();
  EXPECT_THAT(rehearsed_in(*policy, *rehearsal, cluster, 2), ElementsAre("lfse", "lfe"));
  for (int i = 0; i < 8; ++i) cluster.submit(testing::job().preemptible().estimate(1'000'000));
  EXPECT_THAT(rehearsed_in(*policy, *rehearsal, cluster, 3), ElementsAre("lfse", "lfe", "lfse"))
      << "the queue has doubled";
  part = 0.3;
  EXPECT_THAT(choices_of(*policy, cluster, 2), ElementsAre("", "srtf"))
      << "seen a period later, and adopted";
}

TEST(Twin, WithoutPausesItDecidesInEveryPeriod) {
  const auto rehearsal = srtf_is_better(0);
  const auto policy = twin(rehearsal, {{"pause_max", "1"}});
  FakeCluster cluster = crowded();
  EXPECT_THAT(decisions_of(*policy, *rehearsal, cluster, 300), Each(true));
}

TEST(Twin, PlansAreThoseOfTheCandidateInForce) {
  const auto policy = twin(srtf_is_better(0.5));
  const auto alone = policies::make_policy("srtf").value();
  FakeCluster cluster = crowded();
  choices_of(*policy, cluster, 1);
  for (int i = 0; i < 20; ++i) {
    cluster.submit(testing::job().preemptible().estimate(100 + 37 * (i % 7)));
    cluster.advance(50);
    cluster.everything_changed();
    Plan plan = cluster.ask_optimize(*policy);
    cluster.everything_changed();
    EXPECT_EQ(plan, cluster.ask_optimize(*alone));
    cluster.carry_out(plan);
  }
}

TEST(Twin, WhatItSavesIsAllItKnows) {
  const auto make = [] { return twin(std::make_shared<testing::FakeRehearsal>()); };
  auto policy = make();
  FakeCluster cluster = crowded();
  for (int i = 0; i < 30; ++i) {
    cluster.advance(350);
    ByteWriter out;
    policy->save(out);
    const auto other = make();
    ByteReader in(out.bytes());
    other->load(in);
    EXPECT_TRUE(in.finished());
    cluster.everything_changed();
    const Plan plan = cluster.ask_optimize(*policy);
    cluster.everything_changed();
    EXPECT_EQ(plan, cluster.ask_optimize(*other)) << i;
    cluster.carry_out(plan);
  }
}

TEST(Twin, HasTheTriggersOfAllCandidates) {
  const auto policy = twin(srtf_is_better(0), {{"candidates", "fifo; las quantum=90s"}});
  EXPECT_EQ(policy->triggers().period, Duration::seconds(30)) << "of 600 s and 90 s";
  EXPECT_FALSE(policy->sizes_jobs());
  EXPECT_TRUE(twin(srtf_is_better(0), {{"candidates", "fifo; fit"}})->sizes_jobs());
}

TEST(Twin, SaysThatItStandsBehindQueues) {
  EXPECT_EQ(twin(srtf_is_better(0))->name(), "twin/1");
  EXPECT_EQ(twin(srtf_is_better(0), {{"queues", "a; b"}})->name(), "twin/1+queues/1");
}

TEST(Twin, SaysWhatIsWrongWithItsCandidates) {
  EXPECT_EQ(error_of({{"candidates", "fifo; las quantum=2h"}}), "");
  for (const char* none : {";;", ";", " ; "})
    EXPECT_THAT(error_of({{"candidates", none}}),
                HasSubstr("policy.candidates: has no policy, one is needed at least; write"));
  EXPECT_EQ(error_of({{"candidates", "fifo, tiresias threshold=600,3000, las"}}), "");
  EXPECT_THAT(error_of({{"candidates", "fifo; lottery"}}),
              HasSubstr("policy.candidates: has a candidate whose name is \"lottery\", one of "));
  EXPECT_THAT(error_of({{"candidates", "las quantum=soon"}}),
              HasSubstr("policy.candidates: has a candidate whose quantum of las is \"soon\""));
  EXPECT_THAT(error_of({{"candidates", "las soon"}}),
              HasSubstr("has \"soon\" after las, a parameter is needed there"));
  EXPECT_THAT(error_of({{"candidates", "fifo; fifo"}}), HasSubstr("has fifo twice"));
  EXPECT_THAT(error_of({{"candidates", "twin; fifo"}}), HasSubstr("has twin itself"));
  EXPECT_THAT(error_of({{"candidates", ""}}), HasSubstr("the name of a policy is needed"));
  EXPECT_THAT(error_of({{"objective", "speed"}}),
              HasSubstr("policy.objective: is \"speed\", one of mean_jct, makespan, p99_wait"));
}

TEST(Twin, WithoutAModelItSaysSo) {
  const auto made = policies::make_policy("twin");
  ASSERT_FALSE(made);
  EXPECT_THAT(made.errors()[0].text(), HasSubstr("rehearses on a model of the cluster"));
}

// ---- Scores ----

RehearsedRun run_of(std::vector<std::pair<int, int>> starts_and_ends, Instant until) {
  RehearsedRun run;
  for (const auto& [start, end] : starts_and_ends) {
    RehearsedJob job{JobId{static_cast<std::uint32_t>(run.jobs.size())}, Instant{}};
    if (start >= 0) job.started = Instant{} + Duration::seconds(start);
    if (end >= 0) job.ended = Instant{} + Duration::seconds(end);
    run.jobs.push_back(job);
  }
  run.until = until;
  return run;
}

TEST(TwinScores, CountWhatAllCameTo) {
  using policies::TwinObjective;
  const Instant now = Instant{} + Duration::seconds(10);
  const std::vector<RehearsedRun> whole{run_of({{10, 50}, {50, 90}}, Instant::never()),
                                        run_of({{10, 60}, {10, 60}}, Instant::never())};
  EXPECT_THAT(policies::scores_of(TwinObjective::MeanJct, now, whole), ElementsAre(60, 50));
  EXPECT_THAT(policies::scores_of(TwinObjective::Makespan, now, whole), ElementsAre(80, 50));
  EXPECT_THAT(policies::scores_of(TwinObjective::P99Wait, now, whole), ElementsAre(50, 10));
  // The second came to 30 s: what happens to the first later does not count.
  const std::vector<RehearsedRun> cut{
      run_of({{10, 20}, {50, 90}}, Instant::never()),
      run_of({{10, -1}, {10, -1}}, Instant{} + Duration::seconds(30))};
  EXPECT_THAT(policies::scores_of(TwinObjective::MeanJct, now, cut), ElementsAre(15, 20));
  EXPECT_THAT(policies::scores_of(TwinObjective::Makespan, now, cut), ElementsAre(30, 40));
  EXPECT_THAT(policies::scores_of(TwinObjective::P99Wait, now, cut), ElementsAre(30, 10));
}

}  // namespace
}  // namespace orrery
