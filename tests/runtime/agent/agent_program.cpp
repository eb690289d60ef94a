// agent_program STATE CONTROLLERS SHIM [OPTION...]: one agent as a process of its own, for tests
// that kill it. CONTROLLERS are separated by commas. Options: kill-workers (at its end),
// volumes=FOLDER, user=NAME, log-size=BYTES, runtime=PROGRAM.
#include <iostream>
#include <sstream>
#include <string>

#include "runtime/agent/node_agent.hpp"

int main(int argc, char** argv) {
  using orrery::runtime::AgentConfig;
  if (argc < 4) return 2;
  AgentConfig config;
  config.node = "n0";
  config.state = argv[1];
  config.controllers.clear();
  std::istringstream controllers(argv[2]);
  for (std::string each; std::getline(controllers, each, ',');) config.controllers.push_back(each);
  for (int i = 4; i < argc; ++i) {
    const std::string option = argv[i];
    const std::string value = option.substr(option.find('=') + 1);
    if (option == "kill-workers") config.kill_workers_at_exit = true;
    if (option.starts_with("volumes=")) config.volume_roots.push_back(value);
    if (option.starts_with("user=")) config.worker_user = value;
    if (option.starts_with("log-size=")) config.log_size.count = std::stoll(value);
    if (option.starts_with("runtime=")) config.container_runtime = value;
  }
  auto dialer = orrery::runtime::dial_links({});
  if (!dialer) return 3;
  orrery::runtime::AgentHost host;
  host.dialer = dialer->get();
  host.shim_program = argv[3];
  host.say = [](const std::string& sentence) { std::cerr << "agent: " << sentence << std::endl; };
  host.inventory.devices.resize(2);
  host.inventory.devices[0].model = host.inventory.devices[1].model = "h200";
  return orrery::runtime::run_agent(config, host);
}
