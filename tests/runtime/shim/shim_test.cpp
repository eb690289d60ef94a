#include "runtime/shim/shim.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "runtime/shim/cgroup.hpp"
#include "runtime/shim/worker_remains.hpp"
#include "tests/runtime/shim/worker_folder.hpp"
#include "tests/support/long_form.hpp"
#include "tests/support/small_disk.hpp"

namespace orrery::runtime {
namespace {

using ::testing::HasSubstr;

/// Starts something that no signal to the worker's group reaches, and tells its number.
std::string leave_a_stray(const std::string& note) {
  return "setsid sh -c 'echo $$ > " + note + "; exec sleep 1000' > /dev/null 2>&1 & ";
}

class ShimTest : public ::testing::Test {
 protected:
  /// One attempt; whether nothing was found.
  bool is_cleared(bool just_died) {
    ProcessScan scan;
    return clear_remains(folder_.launch(), folder_.processes(), just_died, scan);
  }

  pid_t stray() const { return std::stoi(line_of(folder_.path("stray"))); }

  WorkerFolder folder_{"shim"};
};

TEST_F(ShimTest, TellsHowTheWorkerEnded) {
  folder_.start("echo hello; exit 7");
  EXPECT_EQ(folder_.wait_shim(), 0);
  const std::optional<WorkerStatus> status = folder_.status();
  ASSERT_TRUE(status);
  EXPECT_EQ(status->kind, EndKind::Exited);
  EXPECT_EQ(status->exit_code, 7);
  EXPECT_GT(status->started_at, 0);
  EXPECT_GE(status->ended_at, status->started_at);
  EXPECT_EQ(text_of_file(folder_.path("log")), "hello\n");
  EXPECT_EQ(text_of_file(folder_.path("tail")), "hello\n") << "it failed";
  EXPECT_TRUE(std::filesystem::exists(folder_.path("running")));
}

TEST_F(ShimTest, TellsTheSignalThatEndedIt) {
  folder_.start("kill -9 $$");
  EXPECT_EQ(folder_.wait_shim(), 0);
  ASSERT_TRUE(folder_.status());
  EXPECT_EQ(folder_.status()->exit_code, 128 + SIGKILL);
}

TEST_F(ShimTest, SuccessLeavesNoTail) {
  folder_.start("echo fine");
  EXPECT_EQ(folder_.wait_shim(), 0);
  EXPECT_EQ(folder_.status()->exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("tail")));
}

TEST_F(ShimTest, AProgramThatIsNotThereIsNotStarted) {
  folder_.launch().command = {"/nowhere/at/all"};
  folder_.start();
  EXPECT_EQ(folder_.wait_shim(), 0);
  ASSERT_TRUE(folder_.status());
  EXPECT_EQ(folder_.status()->kind, EndKind::NotStarted);
  EXPECT_THAT(folder_.status()->reason,
              HasSubstr("/nowhere/at/all: its program cannot be run: No such file"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path("running")));
}

TEST_F(ShimTest, AWorkingDirectoryThatIsNotThereIsNotStarted) {
  folder_.launch().working_directory = "/nowhere";
  folder_.start("true");
  EXPECT_EQ(folder_.wait_shim(), 0);
  EXPECT_THAT(folder_.status()->reason, HasSubstr("/nowhere: its working directory"));
}

TEST_F(ShimTest, TheProgramIsSearchedOnTheWorkersOwnPath) {
  std::filesystem::create_directory(folder_.path("bin"));
  std::filesystem::create_symlink("/bin/sh", folder_.path("bin/mine"));
  folder_.launch().environment[0] = "PATH=" + folder_.path("bin");
  folder_.launch().command = {"mine", "-c", "echo \"$0 $PATH\""};
  folder_.start();
  EXPECT_EQ(folder_.wait_shim(), 0);
  EXPECT_EQ(text_of_file(folder_.path("log")), "mine " + folder_.path("bin") + "\n");
}

TEST_F(ShimTest, TheWorkerHasNothingOfOurs) {
  folder_.start("ls /proc/self/fd; test -t 0 || echo no terminal; grep SigBlk /proc/self/status");
  EXPECT_EQ(folder_.wait_shim(), 0);
  const std::string log = text_of_file(folder_.path("log"));
  EXPECT_THAT(log, ::testing::StartsWith("0\n1\n2\n3\n")) << "3 is the folder that ls reads";
  EXPECT_THAT(log, ::testing::Not(HasSubstr("\n4\n")));
  EXPECT_THAT(log, HasSubstr("SigBlk:\t0000000000000000"));
}

TEST_F(ShimTest, LogsRotate) {
  folder_.launch().log_size = 1000;
  folder_.launch().log_files = 3;
  folder_.start("i=0; while [ $i -lt 1000 ]; do echo line $i; i=$((i+1)); done; exit 1");
  EXPECT_EQ(folder_.wait_shim(), 0);
  std::string all;
  for (int i = 0; i < 1000; ++i) all += "line " + std::to_string(i) + "\n";
  const std::string kept = text_of_file(folder_.path("log.2")) +
                           text_of_file(folder_.path("log.1")) + text_of_file(folder_.path("log"));
  EXPECT_EQ(text_of_file(folder_.path("log.1")).size(), 1000u);
  EXPECT_GT(kept.size(), 2000u);
  EXPECT_TRUE(all.ends_with(kept));
  EXPECT_FALSE(std::filesystem::exists(folder_.path("log.3")));
  EXPECT_EQ(text_of_file(folder_.path("tail")), all);
}

TEST_F(ShimTest, TheTailIsTheEndOfALongLog) {
  folder_.start("head -c 300000 /dev/zero | tr '\\0' x; echo; echo the end; exit 1");
  EXPECT_EQ(folder_.wait_shim(), 0);
  const std::string tail = text_of_file(folder_.path("tail"));
  EXPECT_EQ(tail.size(), kLogTailBytes);
  EXPECT_TRUE(tail.ends_with("x\nthe end\n"));
}

TEST_F(ShimTest, AsksTheWorkerToEnd) {
  folder_.start("trap 'echo bye; exit 3' TERM; echo up; sleep 1000 & wait");
  line_of(folder_.path("log"));
  kill(folder_.shim().pid, kShimAsk);
  EXPECT_EQ(folder_.wait_shim(), 0);
  EXPECT_EQ(folder_.status()->exit_code, 3);
  EXPECT_THAT(text_of_file(folder_.path("log")), ::testing::EndsWith("bye\n"));
}

TEST_F(ShimTest, KillsWhoDoesNotListen) {
  folder_.start("trap '' TERM; " + leave_a_stray(folder_.path("stray")) +
                "echo up; exec sleep 1000");
  const pid_t stray_pid = stray();
  line_of(folder_.path("log"));
  kill(folder_.shim().pid, kShimAsk);
  kill(folder_.shim().pid, kShimKill);
  EXPECT_EQ(folder_.wait_shim(), 0);
  EXPECT_EQ(folder_.status()->exit_code, 128 + SIGKILL);
  EXPECT_FALSE(runs(stray_pid));
}

TEST_F(ShimTest, TheEndIsOnRecordOnlyWhenNothingIsLeft) {
  folder_.start(leave_a_stray(folder_.path("stray")) + "while [ ! -s " + folder_.path("stray") +
                " ]; do sleep 0.01; done; exit 0");
  EXPECT_EQ(folder_.wait_shim(), 0);
  EXPECT_EQ(folder_.status()->exit_code, 0);
  EXPECT_FALSE(runs(stray()));
}

TEST_F(ShimTest, TheEndIsOnRecordThoughTheDiskIsFull) {
  auto disk = orrery::tests::SmallDisk::mount_at(folder_.path(""));
  if (!disk) GTEST_SKIP() << "no file system can be mounted here: " << std::strerror(errno);
  LeaseFile lease = LeaseFile::for_writing(folder_.path("lease"));
  lease.write({Epoch{1}, boot_time() + Duration::seconds(600)});
  const std::string gate = folder_.path("gate");
  ASSERT_EQ(mkfifo(gate.c_str(), 0600), 0);
  folder_.start("read word < " + gate + "; exit 7");
  ASSERT_TRUE(folder_.comes_up());
  disk->fill();
  std::ofstream(gate) << "on\n";
  EXPECT_EQ(folder_.wait_shim(), 0);
  ASSERT_TRUE(folder_.status());
  EXPECT_EQ(folder_.status()->kind, EndKind::Exited);
  EXPECT_EQ(folder_.status()->exit_code, 7);
}

TEST_F(ShimTest, TheProcessIsOnRecordBeforeItsProgramRuns) {
  folder_.start("cat " + folder_.path("pid") + " > /dev/null && echo $$");
  EXPECT_EQ(folder_.wait_shim(), 0);
  EXPECT_EQ(folder_.status()->exit_code, 0);
  EXPECT_EQ(text_of_file(folder_.path("log")),
            std::to_string(folder_.processes().worker.pid) + "\n");
}

TEST_F(ShimTest, TheWorkerDiesWithTheShim) {
  folder_.start("trap '' TERM; exec sleep 1000");
  ASSERT_TRUE(folder_.comes_up());
  const WorkerProcesses processes = folder_.processes();
  EXPECT_TRUE(is_alive(processes.worker));
  folder_.kill_shim();
  EXPECT_TRUE(eventually([&] { return !is_alive(processes.worker); }));
  EXPECT_FALSE(folder_.status());
}

TEST_F(ShimTest, WhatADeadShimLeavesBehindIsFound) {
  folder_.start(leave_a_stray(folder_.path("stray")) + "exec sleep 1000");
  const pid_t stray_pid = stray();
  folder_.kill_shim();
  EXPECT_TRUE(runs(stray_pid)) << "no parent death signal reaches it";
  EXPECT_FALSE(is_cleared(true));
  EXPECT_TRUE(eventually([&] { return is_cleared(true); }));
  EXPECT_FALSE(runs(stray_pid));
}

TEST_F(ShimTest, WhoBecomesAnotherProgramAllTheTimeIsFound) {
  folder_.start("echo 'exec sh " + folder_.path("again") + "' > " + folder_.path("again") +
                "; setsid sh -c 'echo $$ > " + folder_.path("stray") + "; exec sh " +
                folder_.path("again") + "' > /dev/null 2>&1 & exec sleep 1000");
  const pid_t stray_pid = stray();
  const std::uint64_t wanted = tests::count_of(60, 300);
  for (std::uint64_t scans = 0; scans < wanted; ++scans) {
    ProcessScan scan;
    const std::vector<ProcessId> found = scan.marked(folder_.launch().token);
    ASSERT_TRUE(std::any_of(
        found.begin(), found.end(), [&](const ProcessId& each) { return each.pid == stray_pid; }))
        << "in scan " << scans;
  }
}

TEST_F(ShimTest, AControlGroupFindsWhoHidesItsMark) {
  const std::string base = find_cgroup_base();
  if (base.empty()) GTEST_SKIP() << "no control group can be made here";
  folder_.launch().cgroup = base + "/orrery-" + folder_.launch().token;
  folder_.start("setsid env -i /bin/sh -c 'echo $$ > " + folder_.path("stray") +
                "; exec /bin/sleep 1000' & exec sleep 1000");
  const pid_t stray_pid = stray();
  folder_.kill_shim();
  EXPECT_TRUE(runs(stray_pid));
  EXPECT_TRUE(eventually([&] { return is_cleared(false); }));
  EXPECT_FALSE(runs(stray_pid));
  EXPECT_FALSE(std::filesystem::exists(folder_.launch().cgroup));
}

TEST_F(ShimTest, OneShimRunsAFolderAtATime) {
  folder_.start("echo ran >> " + folder_.path("runs") + "; exec sleep 1000");
  line_of(folder_.path("runs"));
  const ProcessId second = folder_.start_shim();
  int how = 0;
  waitpid(second.pid, &how, 0);
  EXPECT_EQ(WEXITSTATUS(how), 2);
  kill(folder_.shim().pid, kShimKill);
  EXPECT_EQ(folder_.wait_shim(), 0);
  const ProcessId third = folder_.start_shim();
  waitpid(third.pid, &how, 0);
  EXPECT_EQ(WEXITSTATUS(how), 0) << "the end is on record";
  EXPECT_EQ(text_of_file(folder_.path("runs")), "ran\n");
}

TEST_F(ShimTest, RunsAsAnotherUserAndStillDiesWithTheShim) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may become another user";
  folder_.launch().as_user = true;
  folder_.launch().user = 65534;
  folder_.launch().group = 65534;
  folder_.launch().working_directory = "/";
  folder_.start("echo $(id -u) $(id -g) $(id -G); exec sleep 1000");
  EXPECT_EQ(line_of(folder_.path("log")), "65534 65534 65534");
  const WorkerProcesses processes = folder_.processes();
  folder_.kill_shim();
  EXPECT_TRUE(eventually([&] { return !is_alive(processes.worker); }));
}

class MountTest : public ShimTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root may mount";
    std::filesystem::create_directories(folder_.path("source"));
    std::filesystem::create_directories(folder_.path("target"));
    std::ofstream(folder_.path("source/word")) << "shared\n";
    folder_.launch().mounts = {{folder_.path("source"), folder_.path("target")}};
  }
};

TEST_F(MountTest, OnlyTheWorkerSeesItsVolumes) {
  folder_.start("cat " + folder_.path("target/word"));
  EXPECT_EQ(folder_.wait_shim(), 0);
  EXPECT_EQ(text_of_file(folder_.path("log")), "shared\n");
  EXPECT_FALSE(std::filesystem::exists(folder_.path("target/word")));
}

TEST_F(MountTest, ALinkPutInTheWayIsRefused) {
  std::filesystem::rename(folder_.path("source"), folder_.path("elsewhere"));
  std::filesystem::create_symlink(folder_.path("elsewhere"), folder_.path("source"));
  folder_.start("true");
  EXPECT_EQ(folder_.wait_shim(), 0);
  EXPECT_EQ(folder_.status()->kind, EndKind::NotStarted);
  EXPECT_THAT(folder_.status()->reason, HasSubstr("a volume cannot be mounted"));
}

TEST(Doomed, IsWhoHasAKillPendingOrHasEnded) {
  const std::string head = "Name:\tx\nState:\t";
  const std::string none = "SigPnd:\t0000000000000000\nShdPnd:\t0000000000000000\n";
  EXPECT_TRUE(says_doomed(head + "Z (zombie)\n" + none));
  EXPECT_FALSE(says_doomed(head + "D (disk sleep)\n" + none)) << "it may wake and run on";
  EXPECT_TRUE(says_doomed(head + "D (disk sleep)\nSigPnd:\t0000000000000100\nShdPnd:\t0\n"));
  EXPECT_TRUE(says_doomed(head + "D (disk sleep)\nSigPnd:\t0\nShdPnd:\t0000000000000100\n"));
  EXPECT_FALSE(says_doomed(head + "T (stopped)\nSigPnd:\t0000000000004000\nShdPnd:\t0\n"));
  EXPECT_FALSE(says_doomed(""));
  const std::optional<ProcessId> self = process_at(getpid());
  ASSERT_TRUE(self);
  EXPECT_FALSE(is_doomed(*self));
}

}  // namespace
}  // namespace orrery::runtime
