// Workers that die, hang or are replaced while they are called.
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <future>

#include "runtime/sdk/group.hpp"
#include "runtime/sdk/io.hpp"
#include "tests/runtime/sdk/fake_cluster.hpp"
#include "tests/runtime/sdk/raw_caller.hpp"

namespace orrery::sdk {
namespace {

struct Loss : ::testing::Test {
  /// The worker dies, and another one takes its place as when a job restarts.
  void kill_and_replace() {
    process.signal(SIGKILL);
    process.exit_code();
    cluster.forget(name);
    cluster.set_phase("Restarting");
    cluster.start(SDK_WORKER);
    cluster.set_phase("Running");
  }

  FakeCluster cluster;
  worker::Child& process = cluster.start(SDK_WORKER);
  std::string name = cluster.name_of("trainer", 0);
  Driver driver = cluster.driver("test");
  RemoteWorker trainer = driver.worker("trainer", 0);
};

TEST_F(Loss, AKilledWorkerIsLostAtOnce) {
  Future<bool> held = trainer.submit<bool>("hold");
  Future<> queued = trainer.submit("add", 1, 2);
  EXPECT_TRUE(trainer.call<bool>("is_held"));
  process.signal(SIGKILL);
  try {
    held.get();
    ADD_FAILURE() << "an answer of a dead worker";
  } catch (const WorkerLost& error) {
    EXPECT_EQ(error.rank(), 0);
    EXPECT_EQ(error.role(), "trainer");
    EXPECT_EQ(error.worker(), name);
    EXPECT_EQ(error.generation(), 1);
  }
  EXPECT_THROW(queued.get(), WorkerLost);
  // Nothing listens there any more, and the directory knows of no other one.
  EXPECT_THROW(trainer.call("add", 1, 2), WorkerLost);
}

TEST_F(Loss, AWorkerThatEndsInACallIsLost) { EXPECT_THROW(trainer.call("die"), WorkerLost); }

TEST_F(Loss, AStoppedWorkerIsATimeout) {
  trainer.call("add", 1, 2);
  process.signal(SIGSTOP);
  EXPECT_THROW(trainer.within(std::chrono::milliseconds(50)).call("add", 1, 2), Timeout);
  process.signal(SIGCONT);
  EXPECT_EQ(trainer.call<int>("add", 1, 2), 3);
}

TEST_F(Loss, AStoppedWorkerThatWasNeverReachedIsATimeoutToo) {
  process.signal(SIGSTOP);
  EXPECT_THROW(trainer.within(std::chrono::milliseconds(50)).call("add", 1, 2), Timeout);
  process.signal(SIGCONT);
}

TEST_F(Loss, TheNextCallGoesToTheOneThatTookItsPlace) {
  EXPECT_THROW(trainer.call("die"), WorkerLost);
  cluster.forget(name);
  cluster.start(SDK_WORKER);
  EXPECT_EQ(trainer.call<int>("add", 1, 2), 3);
}

TEST_F(Loss, AnIdempotentCallIsRepeatedThere) {
  Future<bool> held = trainer.with({.retries = 1}).submit<bool>("hold_idempotent");
  EXPECT_TRUE(trainer.call<bool>("is_held"));
  kill_and_replace();
  EXPECT_TRUE(trainer.call<bool>("is_held"));
  trainer.call("open");
  EXPECT_TRUE(held.get());
}

TEST_F(Loss, ACallThatMayRunOnceIsNotRepeated) {
  Future<bool> held = trainer.with({.retries = 1}).submit<bool>("hold");
  EXPECT_TRUE(trainer.call<bool>("is_held"));
  kill_and_replace();
  EXPECT_THROW(held.get(), NotIdempotent);
}

TEST_F(Loss, AWorkerThatDoesNotListenYetIsWaitedFor) {
  Peer there = cluster.peer(name, "");
  Peer not_yet = there;
  not_yet.port = 0;
  cluster.change(name, not_yet);
  Future<int> early = trainer.submit<int>("add", 1, 2);
  EXPECT_FALSE(early.wait_for(std::chrono::milliseconds(5)));
  cluster.change(name, there);
  EXPECT_EQ(early.get(), 3);
}

// As after a change of controllers, until the worker's node has registered.
TEST_F(Loss, AWorkerWhoseTokenIsNotKnownYetWaitsUntilItIs) {
  cluster.start(SDK_WORKER, {.role = "actor"});
  EXPECT_EQ(trainer.call_named("where", Value::object())["rank"], 0);
  cluster.know_tokens(false);
  Future<> asked = trainer.submit("call_peer", "actor", 0, "where");
  EXPECT_TRUE(cluster.refused(2)) << "it asks again";
  cluster.know_tokens(true);
  EXPECT_EQ(asked.get()["role_rank"], 0);
}

// The environment of a worker names the controller that led when it started.
TEST_F(Loss, AWorkerAsksTheControllerThatLeadsNow) {
  const TemporaryFolder folder;
  const std::string file = folder.file("server_url");
  std::ofstream(file) << "http://127.0.0.1:1\n";
  cluster.start(
      SDK_WORKER,
      {.role = "actor",
       .environment = {"ORRERY_SERVER_URL=http://127.0.0.1:1", "ORRERY_SERVER_URL_FILE=" + file}});
  Future<> asked = driver.worker("actor", 0).submit("call_peer", "trainer", 0, "where");
  EXPECT_FALSE(asked.wait_for(std::chrono::milliseconds(5)));
  std::ofstream(file) << cluster.url() << "\n";
  EXPECT_EQ(asked.get()["worker"], name);
}

TEST_F(Loss, TheNextOfSeveralControllersIsAsked) {
  // One that dies ends its connections unanswered; that was taken for an empty answer.
  const auto dying = Io::instance().listen(
      "127.0.0.1", "", Milliseconds(1000), [](const std::shared_ptr<Link>& link) {
        link->close();
      });
  DriverOptions options = cluster.driver_options();
  options.url =
      "http://127.0.0.1:" + std::to_string(dying->port()) + ", http://127.0.0.1:1, " + options.url;
  EXPECT_EQ(Driver(options).worker("trainer", 0).call<int>("add", 1, 2), 3);
}

TEST_F(Loss, AGroupOfAWorkerWhoseTokenIsNotKnownYetWaitsToo) {
  DriverOptions options = cluster.driver_options();
  options.token = cluster.token_of(name);
  cluster.know_tokens(false);
  std::future<int> asked = std::async(std::launch::async, [&] {
    WorkerGroup group(Driver(options), "trainer");
    return group.call<int>("add", 1, 2).result().front();
  });
  EXPECT_TRUE(cluster.refused(2)) << "it asks again";
  cluster.know_tokens(true);
  EXPECT_EQ(asked.get(), 3);
}

TEST_F(Loss, AGroupTakesTheNewMembersAfterOneThrow) {
  worker::Child& second = cluster.start(SDK_WORKER, {.role_rank = 1});
  WorkerGroup group(driver, "trainer");
  EXPECT_EQ(group.call<int>("add", 1, 2).result(), (std::vector<int>{3, 3}));
  const std::string lost = cluster.name_of("trainer", 1);
  GroupFuture<bool> held = group.call<bool>("hold");
  EXPECT_TRUE(group[0].call<bool>("is_held"));
  EXPECT_TRUE(group[1].call<bool>("is_held"));
  second.signal(SIGKILL);
  group[0].call("open");
  held.wait();
  const std::vector<GroupOutcome> outcomes = held.outcomes();
  ASSERT_EQ(outcomes.size(), 2U);
  EXPECT_EQ(outcomes[0].value, true) << "the other one's answer is not lost";
  ASSERT_TRUE(outcomes[1].error);
  EXPECT_EQ(outcomes[1].error->type, "WorkerLost");
  cluster.forget(lost);
  cluster.start(SDK_WORKER, {.role_rank = 1});
  cluster.form(2);
  ASSERT_EQ(group[0].call("where")["generation"], 2);
  EXPECT_EQ(group.call<int>("add", 1, 2).result(), (std::vector<int>{3, 3}));
  EXPECT_EQ(group.generation(), 2U);
}

TEST_F(Loss, AnotherMembershipIsThrownOnceAndThenTaken) {
  WorkerGroup group(driver, "trainer");
  EXPECT_EQ(group.call<int>("add", 1, 2).result(), (std::vector<int>{3}));
  cluster.form(5);
  // The worker hears of it by its agent; then the group's generation is an old one.
  while (group[0].call("where")["generation"] != 5) {
  }
  EXPECT_THROW(group.call("add", 1, 2).result(), GenerationChanged);
  EXPECT_EQ(group.call<int>("add", 1, 2).result(), (std::vector<int>{3}));
  EXPECT_EQ(group.generation(), 5U);
}

TEST_F(Loss, ASecondDriverIsRefusedWhileTheFirstLives) {
  WorkerGroup first(driver, "trainer");
  first.call("add", 1, 2).result();
  Driver other = cluster.driver("other");
  WorkerGroup second(other, "trainer");
  try {
    second.call("add", 1, 2).result();
    ADD_FAILURE() << "two drivers hold one group";
  } catch (const SecondDriver& error) {
    EXPECT_EQ(error.driver(), "driver:test");
  }
  // By role and instance no claim is needed.
  EXPECT_EQ(other.worker("trainer", 0).call<int>("add", 1, 2), 3);
  EXPECT_EQ(second[0].call<int>("add", 1, 2), 3);
  driver.close();
  // Its connection ends at the worker as soon as that has heard.
  while (true) {
    try {
      EXPECT_EQ(second.call<int>("add", 1, 2).result(), (std::vector<int>{3}));
      break;
    } catch (const SecondDriver&) {
    }
  }
}

}  // namespace
}  // namespace orrery::sdk
