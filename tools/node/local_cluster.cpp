#include "tools/node/local_cluster.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "tools/client/json_reading.hpp"

namespace orrery::cli {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kReadyLimit = 30s;
constexpr auto kLook = 20ms;

std::vector<ChildProcess> children_of(const UpOptions& options, const UpFolder& folder) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  std::vector<ChildProcess> out;
  std::vector<std::string> words{self, "controller", "--config", folder.controller_config()};
  for (const std::string& set : options.sets) words.insert(words.end(), {"--set", set});
  out.emplace_back("controller", std::move(words), folder.log("controller"));
  for (int agent = 1; agent <= options.agents; ++agent) {
    const std::string name = UpFolder::node_name(agent);
    std::vector<std::string> agent_words{self, "agent", "--config", folder.agent_config(agent)};
    for (const std::string& set : options.agent_sets)
      agent_words.insert(agent_words.end(), {"--set", set});
    out.emplace_back("agent of " + name, std::move(agent_words), folder.log(name));
  }
  return out;
}

/// How many nodes the controller hears of.
int nodes_connected(Client& client) {
  const auto reply = client.send({.target = "/api/v1/nodes"});
  if (!reply || !reply->is_good()) return 0;
  int out = 0;
  const nlohmann::json document = nlohmann::json::parse(reply->body, nullptr, false);
  for (const nlohmann::json& node : list_of(document, "nodes"))
    if (truth_of(node, "connected")) ++out;
  return out;
}

/// Why the controller does not take jobs, in its own words; empty where it says nothing.
std::string why_not_ready(Client& client) {
  const auto reply = client.send({.target = "/readyz"});
  if (!reply) return {};
  const nlohmann::json document = nlohmann::json::parse(reply->body, nullptr, false);
  return document.is_object() ? text_of(document, "why") : std::string();
}

}  // namespace

ClientOptions LocalCluster::client_options(std::chrono::milliseconds timeout) const {
  ClientOptions out;
  out.server = *server_address(url());
  out.timeout = timeout;
  return out;
}

ExitCode LocalCluster::start() {
  auto folder = UpFolder::open(options_);
  if (!folder) {
    console_.errors(folder.errors());
    return ExitCode::BadInput;
  }
  folder_ = std::move(*folder);
  supervisor_ =
      std::make_unique<Supervisor>(children_of(options_, *folder_), folder_->path(), console_);
  if (const Status started = supervisor_->start(); !started) {
    console_.errors(started.errors());
    return ExitCode::BadInput;
  }
  return become_ready();
}

ExitCode LocalCluster::become_ready() {
  const Clock::time_point limit = Clock::now() + kReadyLimit;
  Client asking(client_options(1s));
  while (Clock::now() < limit) {
    if (!supervisor_->turn(kLook)) return ExitCode::Interrupted;
    if (!supervisor_->failure().empty()) {
      console_.err(supervisor_->failure());
      return ExitCode::BadInput;
    }
    if (supervisor_->all_ready() && nodes_connected(asking) >= options_.agents)
      return ExitCode::Met;
  }
  const std::string why = why_not_ready(asking);
  console_.err("not ready after 30 s" + (why.empty() ? "" : ", for " + why) + "; the logs are in " +
               folder_->path() + "\n");
  return ExitCode::Unreachable;
}

bool LocalCluster::end() { return supervisor_ == nullptr || supervisor_->end(); }

bool LocalCluster::kill() { return supervisor_ == nullptr || supervisor_->kill(); }

}  // namespace orrery::cli
