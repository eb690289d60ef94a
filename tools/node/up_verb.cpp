// up: a controller and agents on this machine, all of it with one command.
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/client/job_sources.hpp"
#include "tools/client/json_reading.hpp"
#include "tools/client/session.hpp"
#include "tools/client/views.hpp"
#include "tools/node/supervisor.hpp"
#include "tools/node/up_folder.hpp"
#include "tools/node/verbs.hpp"

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

class Up {
 public:
  Up(UpOptions options, std::vector<JobSource> sources, Console& console)
      : options_(std::move(options)), sources_(std::move(sources)), console_(console) {}

  ExitCode run() {
    const Clock::time_point begun = Clock::now();
    auto folder = UpFolder::open(options_);
    if (!folder) return fail(folder.errors());
    folder_ = std::move(*folder);
    Supervisor supervisor(children_of(options_, *folder_), folder_->path(), console_);
    if (const Status started = supervisor.start(); !started) return fail(started.errors());
    ExitCode code = become_ready(supervisor);
    if (code == ExitCode::Met) {
      tell_ready_to_people(begun);
      code = submit_all();
      while (supervisor.turn(1h) && supervisor.failure().empty()) {
      }
      if (code == ExitCode::Met) code = ExitCode::Interrupted;
    }
    return end(supervisor, code);
  }

 private:
  ExitCode fail(const Errors& errors) {
    console_.errors(errors);
    return ExitCode::BadInput;
  }

  Client client(std::chrono::milliseconds timeout) const {
    ClientOptions out;
    out.server = *server_address("http://" + options_.http);
    out.timeout = timeout;
    return Client(std::move(out));
  }

  ExitCode become_ready(Supervisor& supervisor) {
    const Clock::time_point limit = Clock::now() + kReadyLimit;
    Client asking = client(1s);
    while (Clock::now() < limit) {
      if (!supervisor.turn(kLook)) return ExitCode::Interrupted;
      if (!supervisor.failure().empty()) {
        console_.err(supervisor.failure());
        return ExitCode::BadInput;
      }
      if (supervisor.all_ready() && nodes_connected(asking) >= options_.agents)
        return ExitCode::Met;
    }
    console_.err("orrery up: not ready after 30 s; the logs are in " + folder_->path() + "\n");
    return ExitCode::Unreachable;
  }

  void tell_ready_to_people(Clock::time_point begun) {
    const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
    char time[32];
    std::snprintf(time, sizeof time, "%.2f", seconds);
    const std::string url = "http://" + options_.http;
    std::string out = std::string("ready in ") + time + " s: controller at " + url + ", " +
                      std::to_string(options_.agents) +
                      (options_.agents == 1 ? " node" : " nodes") + ", state in " +
                      folder_->path() +
                      (folder_->is_temporary() ? " (removed in the end)\n" : "\n");
    out += "Try in another terminal:\n";
    if (options_.http != "127.0.0.1:22100") out += "  export ORRERY_SERVER=" + url + "\n";
    out +=
        "  orrery submit docs/examples/jobs/three_roles.yaml --wait\n  orrery get nodes\n"
        "  orrery top\nCtrl-C ends everything.\n";
    console_.out(out);
  }

  ExitCode submit_all() {
    Client asking = client(10s);
    Session session(asking.options(), console_);
    for (const JobSource& source : sources_) {
      const nlohmann::json document = session.ask(submission(source), source.path);
      for (const nlohmann::json& job : list_of(document, "jobs"))
        console_.out(short_name(text_of(job, "name")) + ": submitted\n");
    }
    return session.code();
  }

  ExitCode end(Supervisor& supervisor, ExitCode code) {
    console_.err("ending: workers are asked to stop (Ctrl-C again kills them)\n");
    const bool clean = supervisor.end();
    console_.err(clean ? "everything has ended; no process is left\n"
                       : "some processes of " + folder_->path() + " could not be ended\n");
    return clean ? code : ExitCode::InvariantBroken;
  }

  UpOptions options_;
  std::vector<JobSource> sources_;
  Console& console_;
  std::unique_ptr<UpFolder> folder_;
};

}  // namespace

ExitCode run_up(const Arguments& arguments, Console& console) {
  auto options = up_options(arguments);
  Errors warnings;
  auto sources = read_job_sources(arguments.operands(), {}, warnings);
  if (!options) console.errors(options.errors());
  if (!sources) console.errors(sources.errors());
  if (!options || !sources) return ExitCode::BadInput;
  for (const Error& warning : warnings) console.err("warning: " + warning.text() + "\n");
  return Up(std::move(*options), std::move(*sources), console).run();
}

}  // namespace orrery::cli
