// Prints what an agent takes from the variables of Slurm around it, as one line of JSON, and waits
// for a signal where it is asked to.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "runtime/launch/slurm.hpp"

int main(int argc, char** argv) {
  orrery::runtime::AgentConfig config;
  config.controllers = {"10.0.0.1:22101"};
  config.inventory.devices = 8;
  const auto node =
      orrery::runtime::slurm_node(config, orrery::runtime::own_variables(), "this-host");
  if (!node) {
    for (const auto& error : node.errors()) std::fprintf(stderr, "%s\n", error.text().c_str());
    return 2;
  }
  const auto& found = node->config;
  std::printf(
      "{\"job\": \"%s\", \"node\": \"%s\", \"cpu\": %lld, \"memory\": %lld, \"devices\": %d, "
      "\"address\": \"%s\", \"state\": \"%s\"}\n",
      node->job.c_str(),
      found.node.c_str(),
      static_cast<long long>(found.inventory.cpu.value_or(orrery::MilliCpu{}).count),
      static_cast<long long>(found.inventory.memory.value_or(orrery::Bytes{}).count),
      found.inventory.devices.value_or(-1),
      found.address.c_str(),
      found.state.c_str());
  std::fflush(stdout);
  if (argc < 2 || std::string_view(argv[1]) != "--wait") return 0;
  sigset_t notice;
  sigemptyset(&notice);
  sigaddset(&notice, SIGUSR1);
  sigprocmask(SIG_BLOCK, &notice, nullptr);
  int signal = 0;
  sigwait(&notice, &signal);
  std::printf("notice\n");
  std::fflush(stdout);
  pause();
  return 0;
}
