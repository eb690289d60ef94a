// run: a distributed program as a job; with --standalone of a controller of its own.
#include "tools/client/run_verb.hpp"

#include <algorithm>
#include <chrono>
#include <exception>

#include "runtime/devices/host.hpp"
#include "tools/node/local_cluster.hpp"
#include "tools/node/verbs.hpp"

namespace orrery::cli {
namespace {

using namespace std::chrono_literals;

/// Waits beside the daemons, and keeps them running.
class StandaloneHost final : public RunHost {
 public:
  explicit StandaloneHost(Supervisor& supervisor) : supervisor_(supervisor) {}

  bool wait(std::chrono::milliseconds limit) override {
    if (supervisor_.turn(limit)) return true;
    ++interrupts_;
    return false;
  }

  bool has_all_nodes() const override { return true; }

  bool is_in_haste() const { return interrupts_ > 1; }

 private:
  Supervisor& supervisor_;
  int interrupts_ = 0;
};

Result<UpOptions> standalone_options(const RunRequest& request, const Arguments& arguments) {
  UpOptions out;
  Errors errors;
  if (request.nodes_max > kAgentsMax)
    errors.push_back({.subject = "orrery run: --nnodes",
                      .message = std::to_string(request.nodes_max) +
                                 " found beside --standalone, which plays at most " +
                                 std::to_string(kAgentsMax) + "; take fewer"});
  out.agents = std::min(request.nodes_max, kAgentsMax);
  if (const auto text = arguments.value("--ports")) {
    const auto ports = worker_ports("orrery run", *text, out.agents);
    if (ports) {
      out.ports = *ports;
    } else {
      errors.push_back(ports.errors().front());
    }
  }
  const auto http = free_address("127.0.0.1:0");
  if (http) {
    out.http = *http;
  } else {
    errors.push_back(http.errors().front());
  }
  // A job of a range gets at once what there is for it.
  if (request.is_elastic()) out.policy = "fit";
  if (!errors.empty()) return errors;
  return out;
}

/// What the agents will offer; their devices are not looked at.
std::vector<NodeFacts> played_nodes(int agents) {
  const runtime::HostResources share =
      runtime::share_of(runtime::read_host(runtime::read_topology()), agents);
  return std::vector<NodeFacts>(
      static_cast<std::size_t>(agents),
      {.cpu_millis = share.cpu.count, .memory_bytes = share.memory.count});
}

ExitCode run_standalone(const RunRequest& request, const Arguments& arguments, Console& console) {
  const auto options = standalone_options(request, arguments);
  if (!options) {
    console.errors(options.errors());
    return ExitCode::BadInput;
  }
  const RunMode mode{.as_json = arguments.has("--json"), .share = ShareRule::WholeNode};
  if (arguments.has("--dry-run")) {
    if (!request.devices)
      console.err(
          "nothing is started: devices of this machine are not known, none are taken for "
          "granted\n");
    return print_run(request, played_nodes(options->agents), mode, console);
  }
  LocalCluster cluster(*options, console);
  ExitCode code = cluster.start();
  bool in_haste = false;
  if (code == ExitCode::Met) {
    Session session(cluster.client_options(10s), console);
    StandaloneHost host(cluster.supervisor());
    code = run_job(request, mode, session, [&]() -> RunHost& { return host; });
    in_haste = host.is_in_haste();
  }
  const bool clean = in_haste ? cluster.kill() : cluster.end();
  if (clean) return code;
  console.err("some processes of " + cluster.folder().path() + " could not be ended\n");
  return ExitCode::InvariantBroken;
}

}  // namespace

ExitCode run_run(const Arguments& arguments, Console& console) {
  const auto request = run_request(arguments, Caller::of_this_process());
  if (!request) {
    console.errors(request.errors());
    return ExitCode::BadInput;
  }
  tell_notes(*request, console);
  return arguments.has("--standalone") ? run_standalone(*request, arguments, console)
                                       : run_on_cluster(*request, arguments, console);
}

}  // namespace orrery::cli
