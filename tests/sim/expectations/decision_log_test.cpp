#include "sim/expectations/decision_log.hpp"

#include <gtest/gtest.h>

#include "tests/sim/expectations/notices.hpp"

namespace orrery::sim {
namespace {

TEST(DecisionLog, WritesOneBlockPerJobWithoutTimes) {
  DecisionLog log;
  log.on_job(JobId{0}, "default.a");
  log.on_notice(phase(0, JobPhase::Pending, Reason::Submitted, 0));
  log.on_notice(allocated(1, 4));
  log.on_notice(phase(1, JobPhase::Starting, Reason::Granted));
  log.on_notice(reported(2, WorkerFact::Ready, 2, 2));
  log.on_notice(reported(3, WorkerFact::Ready, 0, 2));
  log.on_notice(phase(3, JobPhase::Running, Reason::AllReady));
  log.on_notice(counted(4, Counter::Restarts, 1));
  log.on_notice(ignored(5, Ignored::StaleGeneration));
  log.on_notice(ignored(6, Ignored::StaleGeneration));
  log.on_notice(reported(7, WorkerFact::Exited, 1, 1));
  Notice node;
  node.kind = NoticeKind::NodeChanged;
  node.node = NodeId{3};
  log.on_notice(node);
  EXPECT_EQ(log.text(),
            "job default.a\n"
            "  Pending  Submitted\n"
            "  allocated 4 workers, 4 devices\n"
            "  generation 1: Starting  Granted\n"
            "  ready 0-3\n"
            "  generation 1: Running  AllReady\n"
            "  restarts 1\n"
            "  ignored workers_changed: StaleGeneration (2 times)\n"
            "  exited 0 of 1\n"
            "cluster\n"
            "  node 3 silent\n");
}

TEST(DecisionLog, TheOrderOfReportsInsideARunOfThemDoesNotShow) {
  DecisionLog one;
  one.on_notice(reported(1, WorkerFact::Ready, 0, 1));
  one.on_notice(reported(1, WorkerFact::Ready, 1, 1));
  DecisionLog other;
  other.on_notice(reported(1, WorkerFact::Ready, 1, 1));
  other.on_notice(reported(1, WorkerFact::Ready, 0, 1));
  EXPECT_EQ(one.text(), other.text());
}

TEST(DecisionLog, WhatAnAgentRepeatsUntilItIsRegisteredDoesNotShow) {
  DecisionLog once;
  once.on_notice(reported(1, WorkerFact::Ready, 0, 1));
  once.on_notice(reported(2, WorkerFact::Ready, 1, 1));
  DecisionLog twice;
  twice.on_notice(reported(1, WorkerFact::Ready, 0, 1));
  twice.on_notice(ignored(1, Ignored::AlreadyKnown));
  twice.on_notice(reported(2, WorkerFact::Ready, 1, 1));
  EXPECT_EQ(once.text(), twice.text());
  twice.on_notice(ignored(3, Ignored::StaleGeneration));
  EXPECT_NE(once.text(), twice.text());
}

TEST(DecisionDifferences, NameTheFirstLineOfEachJobThatDiffers) {
  const auto found = decision_differences(
      "job default.a\n  Pending  Submitted\n  ready 0\n"
      "job default.b\n  Pending  Submitted\n  restarts 1\n",
      "job default.b\n  Pending  Submitted\n  restarts 2\n"
      "job default.a\n  Pending  Submitted\n  ready 0\n"
      "job default.c\n  Pending  Submitted\n");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].job, "default.b");
  EXPECT_EQ(found[0].found, "restarts 1");
  EXPECT_EQ(found[0].expected, "restarts 2");
  EXPECT_EQ(found[0].after, "Pending  Submitted");
  EXPECT_EQ(found[1].job, "default.c");
  EXPECT_EQ(found[1].found, "");
}

TEST(DecisionDifferences, AreFoundInEverythingThatIsDecided) {
  for (const char* line : {"generation 1: Running  AllReady",
                           "restarts 1",
                           "allocated 2 workers, 2 devices",
                           "ready 0-3",
                           "exited 137 of 2",
                           "incident 1: WorkerLost takes the worker",
                           "ignored scale_requested: OutOfBounds"})
    EXPECT_EQ(decision_differences(std::string("job a\n  ") + line + "\n", "job a\n").size(), 1U)
        << line;
}

TEST(DecisionDifferences, LeaveOutWhatTellsOfTheMoment) {
  EXPECT_TRUE(decision_differences("job a\n  ready 0\n  ignored workers_changed: StaleGeneration\n"
                                   "  grant dropped: DoesNotFit (3 times)\n  restarts 1\n",
                                   "job a\n  ready 0\n  restarts 1\n  incident 1 closed\n"
                                   "cluster\n  node 3 silent\n")
                  .empty());
}

TEST(DecisionDifferences, ReportsBetweenWhichOnlyTheMomentShowsAreOne) {
  const std::string late = "  ignored workers_changed: RecoveryUnderWay\n";
  const std::string apart =
      "job a\n  exited 0 of 2, 5-6\n" + late + "  exited 0 of 0-1, 4\n" + late;
  EXPECT_TRUE(decision_differences(apart, "job a\n  exited 0 of 0-2, 4-6\n" + late).empty());
  EXPECT_EQ(decision_differences(apart, "job a\n  exited 0 of 0-2, 4-7\n" + late).size(), 1U);
  EXPECT_EQ(decision_differences(apart, "job a\n  exited 1 of 0-2, 4-6\n" + late).size(), 1U);
  const std::string decided = "job a\n  exited 0 of 2\n  restarts 1\n  exited 0 of 1\n";
  EXPECT_EQ(decision_differences(decided, "job a\n  exited 0 of 1-2\n  restarts 1\n").size(), 1U);
}

TEST(DecisionDifferences, LetARunEndBeforeTheLastProcessesOfAJobThatIsOver) {
  const std::string over = "job a\n  generation 1: Failed  StoppedByUser\n";
  EXPECT_TRUE(decision_differences(over + "  exited 143 of 0\n", over).empty());
  EXPECT_TRUE(decision_differences(over, over + "  exited 143 of 0\n").empty());
  const std::string runs = "job a\n  generation 1: Running  AllReady\n";
  EXPECT_EQ(decision_differences(runs, runs + "  exited 0 of 0\n").size(), 1U);
}

}  // namespace
}  // namespace orrery::sim
