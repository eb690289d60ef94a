// agent: the daemon of one node.
#include <filesystem>
#include <memory>
#include <thread>
#include <utility>

#include "runtime/agent/node_agent.hpp"
#include "runtime/config/read/config_reader.hpp"
#include "runtime/devices/device_watcher.hpp"
#include "runtime/devices/inventory.hpp"
#include "runtime/devices/peers/peer_check.hpp"
#include "runtime/link/link.hpp"
#include "runtime/link/tls_contents.hpp"
#include "tools/console/version.hpp"
#include "tools/node/daemon_settings.hpp"
#include "tools/node/daemon_signals.hpp"
#include "tools/node/launching.hpp"
#include "tools/node/verbs.hpp"

namespace orrery::cli {
namespace {

using runtime::AgentConfig;

Result<AgentConfig> read_config(const Arguments& arguments) {
  std::vector<scenarios::Override> more;
  if (const auto launcher = arguments.value("--launcher")) more.push_back({"launcher", *launcher});
  const auto text = open_settings(arguments, std::move(more));
  if (!text) return text.errors();
  return runtime::read_agent_config(*text);
}

/// The program orrery-shim beside this one. Errors: it is not there.
Result<std::string> shim_program() {
  std::error_code code;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", code);
  const auto path = self.parent_path() / "orrery-shim";
  if (!code && std::filesystem::exists(path, code)) return path.string();
  return Error{.code = ErrorCode::NotFound,
               .file = path.string(),
               .message =
                   "is not there, needed the program that keeps a worker, in the folder of "
                   "orrery-node; build or install both"};
}

void check_on_a_thread(const runtime::CheckRequest& request,
                       const std::function<void(runtime::CheckResult)>& done) {
  std::thread([request, done] { done(runtime::check_node_with_peers(request)); }).detach();
}

// A pretended device works again as soon as it is said to.
runtime::DeviceWatcherSettings watch_settings(bool pretended) {
  runtime::DeviceWatcherSettings out;
  if (!pretended) return out;
  out.period = Duration::milliseconds(100);
  out.health.rest = Duration::zero();
  return out;
}

}  // namespace

ExitCode run_agent(const Arguments& arguments, Console& console) {
  const auto fail = [&console](const Errors& errors) {
    console.errors(errors);
    return ExitCode::BadInput;
  };
  if (const Status bound = bind_to_parent(arguments); !bound) return fail(bound.errors());
  hold_signals();
  const auto written = read_config(arguments);
  if (!written) return fail(written.errors());
  if (arguments.has("--print-systemd-unit")) {
    const auto unit = unit_of(arguments, *written);
    if (!unit) return fail(unit.errors());
    console.out(*unit);
    return ExitCode::Met;
  }
  const auto agent = launched(*written);
  if (!agent) return fail(agent.errors());
  const AgentConfig& config = agent->config;
  const auto shim = shim_program();
  if (!shim) return fail(shim.errors());
  const auto say = [&console](const std::string& sentence) { console.err(sentence + "\n"); };
  auto found = runtime::find_inventory(
      config.inventory, runtime::read_topology(), {config.state + "/lost_devices", say});
  if (!found) return fail(found.errors());
  if (agent->slurm)
    if (const Status fits = check_granted(*agent->slurm, found->inventory.devices.size()); !fits)
      return fail(fits.errors());
  for (const std::string& remark : found->remarks) console.err("remark: " + remark + "\n");
  auto dialer = runtime::dial_links(config.tls);
  if (!dialer) return fail(dialer.errors());
  if (config.tls.is_set())
    if (const Status own = runtime::check_own_authority(config.tls); !own)
      return fail(own.errors());
  std::unique_ptr<runtime::DeviceWatcher> watcher;
  runtime::AgentHost host;
  host.dialer = dialer->get();
  host.inventory = std::move(found->inventory);
  host.shim_program = *shim;
  host.version = this_version().number;
  host.notice = notice_of(*agent);
  host.check = check_on_a_thread;
  host.say = say;
  if (found->reader)
    host.watch_devices = [&](std::function<void(std::uint64_t)> lost) {
      watcher = std::make_unique<runtime::DeviceWatcher>(
          std::move(found->reader),
          watch_settings(found->pretended),
          [](std::size_t) { return true; },
          [lost = std::move(lost), &console](const runtime::DeviceFacts& facts) {
            for (const std::string& reason : facts.reasons) console.err(reason + "\n");
            lost(facts.broken);
          });
    };
  if (const Status told = tell_ready(arguments, config.node); !told) return fail(told.errors());
  return static_cast<ExitCode>(runtime::run_agent(config, host));
}

}  // namespace orrery::cli
