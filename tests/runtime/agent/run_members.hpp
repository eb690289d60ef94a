// The workers of one job as processes, with what an agent would tell each by its environment.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "runtime/agent/worker_environment.hpp"

namespace orrery::runtime {

/// The start of `member` as an agent hears of it.
inline SpawnWorker spawn_order_of(const WorkerStart& member, JobId job, std::uint32_t world_size) {
  SpawnWorker order;
  order.worker = {job, member.incarnation, member.rank};
  order.slot = {member.role, member.local_rank};
  order.generation = Generation{1};
  order.rank = member.rank;
  order.world_size = world_size;
  order.devices = member.devices;
  order.share = member.share;
  order.hardware = member.hardware;
  order.first_port = member.first_port;
  return order;
}

/// Runs the commands of all members until they have ended, each of which must be well.
inline void run_members(const JobSpec& spec, const std::vector<WorkerStart>& members, JobId job) {
  std::vector<pid_t> running;
  for (const WorkerStart& member : members) {
    const auto environment = environment_of(
        spawn_order_of(member, job, static_cast<std::uint32_t>(members.size())), spec, members);
    ASSERT_TRUE(environment.has_value()) << environment.errors()[0].text();
    std::vector<std::string> command = spec.roles[member.role.index()].command;
    std::vector<std::string> variables = *environment;
    std::vector<char*> words;
    std::vector<char*> entries;
    for (std::string& word : command) words.push_back(word.data());
    for (std::string& entry : variables) entries.push_back(entry.data());
    words.push_back(nullptr);
    entries.push_back(nullptr);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      execve(words[0], words.data(), entries.data());
      _exit(127);
    }
    running.push_back(child);
  }
  for (const pid_t child : running) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
}

}  // namespace orrery::runtime
