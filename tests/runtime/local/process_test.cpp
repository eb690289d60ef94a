#include "runtime/local/process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>

#include <csignal>
#include <fstream>
#include <string>

#include "tests/runtime/local/observing.hpp"

namespace orrery::runtime {
namespace {

using ::testing::HasSubstr;

ProcessSpec shell(const std::string& script) { return {{"/bin/sh", "-c", script}, {}, {}}; }

std::int32_t exit_of(Process& process) {
  if (process.exit_descriptor() >= 0) {
    pollfd ended{process.exit_descriptor(), POLLIN, 0};
    poll(&ended, 1, -1);
  }
  while (true) {
    if (const std::optional<std::int32_t> code = process.take_exit()) return *code;
    sched_yield();
  }
}

/// Whether a process runs: neither gone nor waiting to be reaped by the process that inherited it.
bool runs(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(stat, line)) return false;
  return line.substr(line.rfind(')') + 2, 1) != "Z";
}

class ProcessTest : public ::testing::Test {
 protected:
  Scratch scratch_{"process"};
};

TEST_F(ProcessTest, TellsExitCodesAndSignals) {
  Result<Process> leaves = Process::start(shell("exit 7"));
  ASSERT_TRUE(leaves.has_value());
  EXPECT_EQ(exit_of(*leaves), 7);
  EXPECT_EQ(leaves->take_exit(), std::nullopt) << "an exit is taken once";
  Result<Process> killed = Process::start(shell("kill -9 $$"));
  ASSERT_TRUE(killed.has_value());
  EXPECT_EQ(exit_of(*killed), 128 + SIGKILL);
}

TEST_F(ProcessTest, AProgramThatIsNotThereIsAnError) {
  const Result<Process> nothing = Process::start({{"/nowhere/at/all"}, {}, {}});
  ASSERT_FALSE(nothing.has_value());
  EXPECT_THAT(nothing.errors()[0].text(), HasSubstr("/nowhere/at/all: it cannot be run: No such"));
  EXPECT_FALSE(Process::start({}).has_value());
}

TEST_F(ProcessTest, HasTheEnvironmentAndTheLogThatItIsGiven) {
  ProcessSpec spec = shell("echo \"$GREETING $(env | grep -c HOME)\"");
  spec.environment = {"GREETING=hello", "PATH=/usr/bin:/bin"};
  spec.log_file = scratch_.path() / "log";
  Result<Process> process = Process::start(spec);
  ASSERT_TRUE(process.has_value());
  exit_of(*process);
  EXPECT_EQ(line_of(spec.log_file), "hello 0");
}

TEST_F(ProcessTest, DestructionEndsTheWholeGroup) {
  const std::filesystem::path note = scratch_.path() / "pids";
  pid_t parent = 0;
  pid_t child = 0;
  {
    Result<Process> process = Process::start(
        shell("trap '' TERM; sleep 1000 & echo $$ $! > " + note.string() + "; wait"));
    ASSERT_TRUE(process.has_value());
    const std::string pids = line_of(note);
    parent = std::stoi(pids);
    child = std::stoi(pids.substr(pids.find(' ')));
    EXPECT_TRUE(runs(child));
    process->signal(SIGTERM);
    EXPECT_TRUE(runs(parent));
  }
  EXPECT_FALSE(runs(parent));
  while (runs(child)) sched_yield();
}

TEST_F(ProcessTest, WhatALeaderLeavesBehindIsKilledWithItsExit) {
  const std::filesystem::path note = scratch_.path() / "pid";
  Result<Process> process = Process::start(shell("sleep 1000 & echo $! > " + note.string()));
  ASSERT_TRUE(process.has_value());
  EXPECT_EQ(exit_of(*process), 0);
  const pid_t child = std::stoi(line_of(note));
  while (runs(child)) sched_yield();
}

}  // namespace
}  // namespace orrery::runtime
