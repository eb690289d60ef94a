// A worker and its agent: memberships, reports, the drain.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "tests/runtime/sdk/fake_cluster.hpp"

namespace orrery::sdk {
namespace {

struct WithAgent : ::testing::Test {
  worker::Child& start(std::vector<std::string> environment = {}) {
    worker::Child& out = cluster.start(SDK_WORKER, {.environment = std::move(environment)});
    name = cluster.name_of("trainer", 0);
    return out;
  }

  FakeCluster cluster;
  std::string name;
  Driver driver = cluster.driver("test");
  RemoteWorker trainer = driver.worker("trainer", 0);
};

TEST_F(WithAgent, HearsWhereTheWorkerListensAndWhatItMeasured) {
  start();
  trainer.call("report");
  EXPECT_TRUE(cluster.heard(name, R"({"endpoint":{"certificate":"","port":)"));
  EXPECT_TRUE(cluster.heard(name, R"({"profiling":{"reward":3,"step_time_s":0.5}})"));
  EXPECT_TRUE(cluster.heard(name, R"({"progress":{"done":12}})"));
}

TEST_F(WithAgent, HearsAgainHowFarTheWorkerIsOnceItHasRestarted) {
  const std::string checkpoint = R"({"progress":{"checkpointed":true,"done":12}})";
  const std::string later = R"({"progress":{"checkpointed":false,"done":13}})";
  start();
  trainer.call("report_progress", 11, true);
  trainer.call("report_progress", 12, true);
  trainer.call("report_progress", 13, false);
  EXPECT_TRUE(cluster.heard(name, later));
  cluster.restart_agent();
  EXPECT_TRUE(cluster.heard(name, checkpoint, 2));
  EXPECT_TRUE(cluster.heard(name, later, 2));
  EXPECT_THAT(cluster.said(name),
              ::testing::Contains(::testing::HasSubstr(R"("done":11)")).Times(1));
}

TEST_F(WithAgent, HearsNothingOfBeforeAMembershipOnceItHasRestarted) {
  start();
  trainer.call("report_progress", 12, true);
  trainer.call("report_progress", 13, false);
  EXPECT_TRUE(cluster.heard(name, R"("done":13)"));
  cluster.form(4);
  while (trainer.call("where")["generation"] != 4) {
  }
  cluster.restart_agent();
  EXPECT_TRUE(cluster.heard(name, R"({"endpoint":)", 2));
  trainer.call("report_progress", 14, false);
  EXPECT_TRUE(cluster.heard(name, R"("done":14)"));
  EXPECT_THAT(cluster.said(name),
              ::testing::Contains(::testing::HasSubstr(R"("done":13)")).Times(1));
  EXPECT_THAT(cluster.said(name),
              ::testing::Contains(::testing::HasSubstr(R"("done":12)")).Times(1));
}

// A program joins, prepares for as long as it takes, and registers its methods.
TEST_F(WithAgent, NoCallComesBeforeTheMethodsAreThere) {
  worker::Child& process =
      cluster.start(SDK_WORKER, {.environment = {"REGISTERS_LATE=yes"}, .listens = false});
  EXPECT_TRUE(cluster.heard(cluster.name_of("trainer", 0), R"({"hello":)"));
  EXPECT_THROW(trainer.within(std::chrono::milliseconds(50)).call("add", 1, 2), Timeout);
  process.tell("register");
  EXPECT_EQ(trainer.call<int>("add", 1, 2), 3);
}

TEST_F(WithAgent, ANewMembershipIsTakenUpBetweenTwoCalls) {
  start();
  Future<bool> held = trainer.submit<bool>("hold");
  EXPECT_TRUE(trainer.call<bool>("is_held"));
  cluster.form(4);
  CallOptions for_4;
  for_4.generation = 4;
  // It waits behind the one that holds, and the membership is taken up before its turn.
  while (true) {
    trainer.call("open");
    held.get();
    try {
      trainer.with(for_4).call("add", 1, 2);
      break;
    } catch (const GenerationChanged&) {
      // The agent's line is still on its way.
      held = trainer.submit<bool>("hold");
      EXPECT_TRUE(trainer.call<bool>("is_held"));
    }
  }
  EXPECT_EQ(trainer.call("where")["generation"], 4);
  EXPECT_EQ(trainer.call("where")["members"], 1);
  EXPECT_THAT(trainer.call<std::vector<std::string>>("read_log"),
              ::testing::Contains("generation 4"));
}

TEST_F(WithAgent, SigtermIsTheDrain) {
  worker::Child& process = start();
  Future<bool> held = trainer.submit<bool>("hold");
  Future<> queued = trainer.submit("add", 1, 2);
  EXPECT_TRUE(trainer.call<bool>("is_held"));
  process.signal(SIGTERM);
  EXPECT_THROW(queued.get(), Cancelled);
  // The one that ran was told, and ended by itself.
  EXPECT_FALSE(held.get());
  EXPECT_EQ(process.exit_code(), 143);
  EXPECT_THAT(process.heard(), ::testing::HasSubstr("saved"));
}

TEST_F(WithAgent, TheDrainAnswersNothingThatHasBegunAsIfItHadNot) {
  worker::Child& process = start();
  Future<bool> held = trainer.with({.retries = 1}).submit<bool>("hold_and_check");
  Future<> queued = trainer.submit("add", 1, 2);
  EXPECT_TRUE(trainer.call<bool>("is_held"));
  process.signal(SIGTERM);
  EXPECT_THROW(queued.get(), Cancelled);
  try {
    held.get();
    ADD_FAILURE() << "an answer of a method that threw";
  } catch (const Remote& error) {
    EXPECT_THAT(error.class_name(), ::testing::HasSubstr("Cancelled"));
  }
  EXPECT_EQ(process.exit_code(), 143);
}

TEST_F(WithAgent, StopEndsWithoutTheDrain) {
  worker::Child& process = start();
  trainer.call("stop");
  EXPECT_EQ(process.exit_code(), 0);
  EXPECT_THAT(process.heard(), ::testing::Not(::testing::HasSubstr("saved")));
}

TEST_F(WithAgent, HearsWhoseFaultItIs) {
  start();
  trainer.call("diagnose", "mine", "a bug", "", -1);
  EXPECT_TRUE(cluster.heard(name, R"({"diagnosis":{"fault":"mine","message":"a bug"}})"));
  const std::string umlauts = [] {
    std::string out = "x";
    for (int i = 0; i < 400; ++i) out += "\xc3\xa4";
    return out;
  }();
  trainer.call("diagnose", "node", umlauts, "", -1);
  EXPECT_TRUE(cluster.heard(
      name, R"({"diagnosis":{"fault":"node","message":")" + umlauts.substr(0, 511) + "\"}}"));
  trainer.call("diagnose", "peer", "no answer", "actor", 1);
  EXPECT_TRUE(cluster.heard(
      name, R"({"diagnosis":{"fault":"peer","message":"no answer","rank":1,"role":"actor"}})"));
  EXPECT_THROW(trainer.call("diagnose", "peer", "", "actor", -1), BadArguments);
  EXPECT_THROW(trainer.call("diagnose", "peer", "", "", 0), BadArguments);
  EXPECT_THROW(trainer.call("diagnose", "node", "", "actor", 0), BadArguments);
}

TEST_F(WithAgent, HearsWhoseFaultItIsThoughTheMessageIsNoText) {
  start();
  trainer.call("diagnose_no_text");
  EXPECT_TRUE(cluster.heard(
      name, "{\"diagnosis\":{\"fault\":\"mine\",\"message\":\"a \xef\xbf\xbd byte\"}}"));
}

TEST_F(WithAgent, HearsWhoseFaultItIsBeforeTheEnd) {
  worker::Child& process = start();
  (void)trainer.submit("diagnose_and_die");
  EXPECT_EQ(process.exit_code(), 9);
  EXPECT_TRUE(cluster.heard(name, "at the end"));
}

TEST_F(WithAgent, HearsWhoseFaultItIsAgainOnceItHasRestarted) {
  start();
  trainer.call("diagnose", "node", "no link", "", -1);
  // What was said is of this start of the worker, whatever the membership.
  cluster.form(4);
  while (trainer.call("where")["generation"] != 4) {
  }
  cluster.restart_agent();
  EXPECT_TRUE(cluster.heard(name, R"({"diagnosis":{"fault":"node","message":"no link"}})", 2));
}

TEST_F(WithAgent, HearsWhatTheProgramSaidAndNotWhatALossWouldSay) {
  worker::Child& process = start({"LOSE=serve", "BLAMES_NODE=yes"});
  cluster.form(3);
  EXPECT_EQ(process.exit_code(), 128 + SIGABRT);
  EXPECT_TRUE(cluster.heard(name, R"({"diagnosis":{"fault":"node","message":"no link"}})"));
  EXPECT_THAT(cluster.said(name),
              ::testing::Not(::testing::Contains(::testing::HasSubstr("it is gone"))));
}

TEST_F(WithAgent, HearsWhoIsToBlameForALossThatTheProgramCatchesAroundItsLoop) {
  const std::vector<std::vector<std::string>> ways{{}, {"RUN_BESIDE=1"}};
  for (std::size_t i = 0; i < ways.size(); ++i) {
    SCOPED_TRACE(i);
    std::vector<std::string> environment{"LOSE=serve", "CATCHES=yes"};
    environment.insert(environment.end(), ways[i].begin(), ways[i].end());
    const auto rank = static_cast<std::int64_t>(i);
    worker::Child& process =
        cluster.start(SDK_WORKER, {.role_rank = rank, .environment = environment});
    cluster.form(3 + i);
    EXPECT_EQ(process.exit_code(), 5);
    EXPECT_TRUE(cluster.heard(
        cluster.name_of("trainer", rank),
        R"({"diagnosis":{"fault":"peer","message":"it is gone","rank":2,"role":"actor"}})"));
  }
}

TEST_F(WithAgent, HearsWhoIsToBlameForALossThatNothingCatches) {
  const std::string blames =
      R"({"diagnosis":{"fault":"peer","message":"it is gone","rank":2,"role":"actor"}})";
  worker::Child& serves = start({"LOSE=serve"});
  cluster.form(3);
  EXPECT_EQ(serves.exit_code(), 128 + SIGABRT);
  EXPECT_TRUE(cluster.heard(name, blames));
  worker::Child& loops = cluster.start(SDK_WORKER, {.role_rank = 1, .environment = {"LOSE=main"}});
  EXPECT_EQ(loops.exit_code(), 128 + SIGABRT);
  EXPECT_TRUE(cluster.heard(cluster.name_of("trainer", 1), blames));
}

TEST_F(WithAgent, HearsNoBlameOfAnotherJobsWorker) {
  const auto says = [&](const std::string& lost, std::int64_t role_rank) {
    worker::Child& process = cluster.start(
        SDK_WORKER, {.role_rank = role_rank, .environment = {"LOSE=serve", "LOST_WORKER=" + lost}});
    cluster.form(3 + role_rank);
    EXPECT_EQ(process.exit_code(), 128 + SIGABRT);
    return cluster.name_of("trainer", role_rank);
  };
  const std::string other = says("71-3-2", 0);
  EXPECT_TRUE(cluster.heard(says("7-3-2", 1), "diagnosis"));
  for (const std::string& line : cluster.said(other))
    EXPECT_EQ(line.find("diagnosis"), std::string::npos) << line;
}

TEST_F(WithAgent, AMainLoopRunsBesideTheCalls) {
  worker::Child& process = start({"RUN_BESIDE=1"});
  EXPECT_EQ(trainer.call<int>("add", 1, 2), 3);
  cluster.form(3);
  while (trainer.call("where")["generation"] != 3) {
  }
  process.signal(SIGTERM);
  EXPECT_EQ(process.exit_code(), 143);
}

}  // namespace
}  // namespace orrery::sdk
