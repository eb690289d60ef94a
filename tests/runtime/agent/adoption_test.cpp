// Agents, shims and workers that die at any time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/agent/stub_controller.hpp"

namespace orrery::runtime {
namespace {

using ::testing::HasSubstr;

constexpr JobId kJob{7};

/// Starts something that no signal to the worker's group reaches, and tells its number.
std::string leave_a_stray(const std::string& note) {
  return "setsid sh -c 'echo $$ > " + note + "; exec sleep 1000' > /dev/null 2>&1 & ";
}

class AdoptionTest : public AgentTest {
 protected:
  void start(const std::string& script) {
    ASSERT_TRUE(controller_.until_welcomed());
    controller_.start_job(kJob, role_of(script), 1, Incarnation{1});
  }

  /// Two workers; the first ends with 3, as its successor does, and the second, which waits at the
  /// gate `go` and then ends with 6, takes over its place. The second's processes.
  WorkerProcesses start_one_that_moves() {
    const RoleSpec role = role_of("[ $RANK = 0 ] && exit 3; " + go_.wait() + "; exit 6");
    EXPECT_TRUE(controller_.until_welcomed());
    controller_.start_job(kJob, role, 2, Incarnation{1});
    EXPECT_TRUE(controller_.until_report(kJob, WorkerFact::Exited));
    controller_.start_job(kJob, role, 1, Incarnation{2});
    EXPECT_TRUE(controller_.until_report(kJob, WorkerFact::Exited, 2));
    const WorkerProcesses processes = agent_.processes("7-1-1");
    const std::string told = agent_.folder_of("7-1-1") + "/agent";
    const std::string before = text_of_file(told);
    WorkerStart moved;
    moved.rank = Rank{0};
    moved.birth_rank = Rank{1};
    moved.role = RoleIndex{0};
    moved.local_rank = 0;
    moved.node = controller_.node_;
    moved.incarnation = Incarnation{1};
    controller_.order(UpdateMembership{kJob, Generation{3}, 1, {moved}});
    EXPECT_TRUE(eventually([&] { return text_of_file(told) != before; }));
    controller_.set([](StubController& c) { c.reports_.clear(); });
    return processes;
  }

  /// Waits until the second of those is told, by the name that it was born with.
  void expect_moved(WorkerFact fact, std::int32_t exit_code) {
    EXPECT_TRUE(controller_.until([&](const StubController& c) {
      return std::ranges::any_of(c.reports_, [&](const WorkersChanged& each) {
        const bool as_asked = each.fact == fact || (is_up(each.fact) && is_up(fact));
        return as_asked && each.incarnation == Incarnation{1} && each.first == Rank{1} &&
               each.exit_code == exit_code;
      });
    }));
  }

  /// Tells the first worker to end, and to be killed soon.
  void stop_first() {
    WorkerStop stop;
    stop.rank = stop.birth_rank = Rank{0};
    stop.node = NodeId{0};
    stop.incarnation = Incarnation{1};
    controller_.order(StopWorkers{kJob, Generation{1}, Duration::milliseconds(200), {stop}});
  }

  pid_t stray() const { return std::stoi(line_of(path("stray"))); }

  /// Ends the agent without a word, and has another one start.
  void replace_agent(const std::function<void()>& between) {
    agent_.kill(SIGKILL);
    between();
    const std::size_t before = welcomes();
    agent_.start();
    EXPECT_TRUE(
        controller_.until([&](const StubController& c) { return c.hellos_.size() > before; }));
    EXPECT_TRUE(controller_.until_welcomed());
  }

  std::size_t welcomes() {
    std::size_t count = 0;
    controller_.set([&](const StubController& c) { count = c.hellos_.size(); });
    return count;
  }

  Gate go_{path("go")};
};

TEST_F(AdoptionTest, RunsAWorkerAndTellsItsEnd) {
  start("echo $ORRERY_WORKER $RANK/$WORLD_SIZE $MASTER_ADDR:$MASTER_PORT; exit 7");
  EXPECT_TRUE(controller_.until_report(kJob, WorkerFact::Ready));
  EXPECT_TRUE(controller_.until_report(kJob, WorkerFact::Exited));
  EXPECT_EQ(controller_.exit_code_of(kJob), 7);
  const std::string said = "7-1-0 0/1 127.0.0.1:" + std::to_string(controller_.first_port_) + "\n";
  EXPECT_EQ(text_of_file(agent_.folder_of("7-1-0") + "/log"), said);
  EXPECT_TRUE(controller_.until([](const StubController& c) { return !c.notices_.empty(); }));
  controller_.set([&](const StubController& c) { EXPECT_EQ(c.notices_[0].log_tail, said); });
}

TEST_F(AdoptionTest, AProgramThatIsNotThereIsALaunchFailure) {
  ASSERT_TRUE(controller_.until_welcomed());
  RoleSpec role = role_of("");
  role.command = {"/nowhere/at/all"};
  controller_.start_job(kJob, role, 1, Incarnation{1});
  EXPECT_TRUE(controller_.until_report(kJob, WorkerFact::LaunchFailed));
  EXPECT_TRUE(controller_.until([](const StubController& c) { return !c.notices_.empty(); }));
  controller_.set([](const StubController& c) {
    EXPECT_THAT(c.notices_[0].sentence, HasSubstr("/nowhere/at/all: its program cannot be run"));
  });
}

TEST_F(AdoptionTest, ARestartedAgentTakesItsWorkersOver) {
  start(go_.wait() + "; exit 5");
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::Ready));
  const ProcessId worker = agent_.processes("7-1-0").worker;
  replace_agent([] {});
  EXPECT_TRUE(is_alive(worker));
  EXPECT_TRUE(controller_.until_report(kJob, WorkerFact::Ready, 2)) << "told again";
  controller_.set([](const StubController& c) {
    EXPECT_LT(c.hellos_.front().session, c.hellos_.back().session);
    EXPECT_EQ(c.beats_.back().workers.size(), 1u);
  });
  go_.open();
  EXPECT_TRUE(controller_.until_report(kJob, WorkerFact::Exited));
  EXPECT_EQ(controller_.exit_code_of(kJob), 5);
}

TEST_F(AdoptionTest, AnEndWhileNoAgentLivedIsKnown) {
  start(go_.wait() + "; exit 6");
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::Ready));
  const ProcessId shim = agent_.processes("7-1-0").shim;
  replace_agent([&] {
    go_.open();
    EXPECT_TRUE(eventually([&] { return !is_alive(shim); }));
  });
  EXPECT_TRUE(controller_.until_report(kJob, WorkerFact::Exited));
  EXPECT_EQ(controller_.exit_code_of(kJob), 6);
}

// Who is in a place is told by the membership, to the agent's table and to its core. By the age of
// starts in both the second worker would be killed here, and by that in the table its end not told.
TEST_F(AdoptionTest, AWorkerThatMovedToWhereALaterStartFailedIsTakenOver) {
  const ProcessId worker = start_one_that_moves().worker;
  replace_agent([] {});
  expect_moved(WorkerFact::Ready, 0);
  EXPECT_TRUE(is_alive(worker));
  go_.open();
  expect_moved(WorkerFact::Exited, 6);
}

TEST_F(AdoptionTest, TheEndOfAWorkerThatMovedToWhereALaterStartFailedIsKnown) {
  const ProcessId shim = start_one_that_moves().shim;
  replace_agent([&] {
    go_.open();
    EXPECT_TRUE(eventually([&] { return !is_alive(shim); }));
  });
  expect_moved(WorkerFact::Exited, 6);
}

TEST_F(AdoptionTest, ADeadShimIsALostWorkerAndNothingIsLeft) {
  start(leave_a_stray(path("stray")) + "trap '' TERM; exec sleep 1000");
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::Ready));
  const pid_t stray_pid = stray();
  const WorkerProcesses processes = agent_.processes("7-1-0");
  send_signal(processes.shim, SIGKILL);
  EXPECT_TRUE(controller_.until_report(kJob, WorkerFact::Lost));
  EXPECT_FALSE(is_alive(processes.worker));
  EXPECT_FALSE(runs(stray_pid)) << "reported only when nothing of it lives";
}

TEST_F(AdoptionTest, ShimAndAgentKilledTogether) {
  start(leave_a_stray(path("stray")) + "trap '' TERM; exec sleep 1000");
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::Ready));
  const pid_t stray_pid = stray();
  const WorkerProcesses processes = agent_.processes("7-1-0");
  replace_agent([&] {
    send_signal(processes.shim, SIGKILL);
    EXPECT_TRUE(eventually([&] { return !is_alive(processes.worker); }));
    EXPECT_TRUE(runs(stray_pid));
  });
  EXPECT_TRUE(controller_.until_report(kJob, WorkerFact::Lost));
  EXPECT_FALSE(runs(stray_pid));
}

TEST_F(AdoptionTest, ANewStartWaitsForWhatADeadShimHasLeft) {
  start(leave_a_stray(path("stray")) + "exec sleep 1000");
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::Ready));
  const pid_t stray_pid = stray();
  const ProcessId shim = agent_.processes("7-1-0").shim;
  replace_agent([&] { send_signal(shim, SIGKILL); });
  // Of one that is dead and only waits to be reaped, the command line is empty.
  controller_.start_job(
      kJob,
      role_of("grep -q . /proc/" + std::to_string(stray_pid) + "/cmdline && exit 1; exit 0"),
      1,
      Incarnation{2});
  EXPECT_TRUE(controller_.until_report(kJob, WorkerFact::Exited));
  EXPECT_EQ(controller_.exit_code_of(kJob), 0) << "both ran at once";
}

/// A worker that removes the folder in which its own one lies, and whatever is there, and goes on.
std::string without_folder(const std::string& note, const std::string& then) {
  return "echo $$ > " + note + "; D=$(dirname $PWD); cd /; rm -rf $D; " + then;
}

TEST_F(AdoptionTest, TheEndOfAWorkerIsToldThoughItsFolderIsGone) {
  start(without_folder(path("worker"), go_.wait() + "; exit 3"));
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::Ready));
  const std::string folder = agent_.folder_of("7-1-0");
  ASSERT_TRUE(eventually([&] { return !std::filesystem::exists(folder); }));
  go_.open();
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::Exited));
  EXPECT_EQ(controller_.exit_code_of(kJob), 3);
}

TEST_F(AdoptionTest, AWorkerWithoutAFolderIsStoppedAsOthersAre) {
  start(without_folder(path("worker"), "trap '' TERM; exec sleep 1000"));
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::Ready));
  const std::string folder = agent_.folder_of("7-1-0");
  ASSERT_TRUE(eventually([&] { return !std::filesystem::exists(folder); }));
  stop_first();
  EXPECT_TRUE(controller_.until_report(kJob, WorkerFact::Exited));
  EXPECT_FALSE(runs(std::stoi(line_of(path("worker")))));
}

// A new life of its agent would not know of it, and it would run a second time elsewhere.
TEST_F(AdoptionTest, NothingIsLeftOfAWorkerWhoseFolderWasGoneWhenItsAgentBegan) {
  start(leave_a_stray(path("stray")) + without_folder(path("worker"), "exec sleep 1000"));
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::Ready));
  const std::string folder = agent_.folder_of("7-1-0");
  ASSERT_TRUE(eventually([&] { return !std::filesystem::exists(folder); }));
  const pid_t worker = std::stoi(line_of(path("worker")));
  const pid_t left = stray();
  replace_agent([&] { EXPECT_TRUE(runs(worker) && runs(left)); });
  EXPECT_FALSE(runs(worker));
  EXPECT_FALSE(runs(left));
}

TEST_F(AdoptionTest, StopKillsWhoIgnoresIt) {
  start("trap '' TERM; echo up; exec sleep 1000");
  line_of(agent_.folder_of("7-1-0") + "/log");
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::Ready));
  stop_first();
  EXPECT_TRUE(controller_.until_report(kJob, WorkerFact::Exited));
  EXPECT_EQ(controller_.exit_code_of(kJob), 128 + SIGKILL);
}

TEST_F(AdoptionTest, AStoppedShimCannotHoldAKillUp) {
  start("trap '' TERM; echo up; exec sleep 1000");
  line_of(agent_.folder_of("7-1-0") + "/log");
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::Ready));
  const WorkerProcesses processes = agent_.processes("7-1-0");
  send_signal(processes.shim, SIGSTOP);
  WorkerStop stop;
  stop.rank = stop.birth_rank = Rank{0};
  stop.node = NodeId{0};
  stop.incarnation = Incarnation{1};
  controller_.order(StopWorkers{kJob, Generation{1}, Duration::zero(), {stop}});
  EXPECT_TRUE(eventually([&] { return !is_alive(processes.worker); }));
  EXPECT_TRUE(controller_.until_report(kJob, WorkerFact::Exited));
}

TEST_F(AdoptionTest, AnAgentThatIsAskedToEndLeavesItsWorkers) {
  start("exec sleep 1000");
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::Ready));
  const ProcessId worker = agent_.processes("7-1-0").worker;
  EXPECT_EQ(agent_.kill(SIGTERM), 0);
  EXPECT_TRUE(is_alive(worker));
}

TEST_F(AdoptionTest, AnAgentThatTakesItsWorkersWithItLeavesNothing) {
  agent_.kill(SIGKILL);
  agent_.options = {"kill-workers"};
  agent_.start();
  start(leave_a_stray(path("stray")) + "trap '' TERM; exec sleep 1000");
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::Ready));
  const pid_t stray_pid = stray();
  const WorkerProcesses processes = agent_.processes("7-1-0");
  EXPECT_EQ(agent_.kill(SIGTERM), 0);
  EXPECT_FALSE(is_alive(processes.worker));
  EXPECT_FALSE(runs(stray_pid));
}

TEST_F(AdoptionTest, ASecondAgentIsRefusedTheFolder) {
  ASSERT_TRUE(controller_.until_welcomed());
  AgentProcess second(path("state"), "unix:" + path("link"));
  second.start();
  EXPECT_EQ(second.wait_end(), 2);
}

TEST_F(AdoptionTest, ACleanedJobIsNotToldAgain) {
  start("exit 3");
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::Exited));
  controller_.order(CleanJob{kJob});
  EXPECT_TRUE(
      eventually([&] { return std::filesystem::exists(agent_.folder_of("7-1-0") + "/cleaned"); }));
  controller_.set([](StubController& c) { c.reports_.clear(); });
  replace_agent([] {});
  controller_.start_job(JobId{8}, role_of("exit 0"), 1, Incarnation{1});
  EXPECT_TRUE(controller_.until_report(JobId{8}, WorkerFact::Exited));
  EXPECT_EQ(controller_.exit_code_of(kJob), -1);
  EXPECT_FALSE(std::filesystem::exists(path("state/jobs/7.spec")));
}

TEST_F(AdoptionTest, AnotherClustersWorkersAreKilledAndForgotten) {
  start("exec sleep 1000");
  ASSERT_TRUE(controller_.until_report(kJob, WorkerFact::Ready));
  const ProcessId worker = agent_.processes("7-1-0").worker;
  controller_.set([](StubController& c) {
    c.settings_.cluster = 12;
    c.reports_.clear();
  });
  replace_agent([] {});
  EXPECT_TRUE(eventually([&] { return !is_alive(worker); }));
  EXPECT_TRUE(controller_.until([](const StubController& c) {
    return !c.beats_.empty() && c.beats_.back().registers && c.beats_.back().workers.empty() &&
           c.beats_.back().session == c.hellos_.back().session && c.hellos_.size() >= 3;
  }));
  // The same name means another worker now.
  start("exit 4");
  EXPECT_TRUE(controller_.until_report(kJob, WorkerFact::Exited));
  EXPECT_EQ(controller_.exit_code_of(kJob), 4);
}

}  // namespace
}  // namespace orrery::runtime
