#include "tools/node/up_folder.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "runtime/config/address.hpp"
#include "runtime/devices/host.hpp"
#include "tools/node/planner_process.hpp"

namespace orrery::cli {
namespace {

constexpr std::uint64_t kDevicesMax = 64;
constexpr std::size_t kPathMax = 60;  // Room for the names of sockets: a path of one has 107.

Error unfit(std::string subject, std::string message) {
  return Error{.subject = "orrery up: " + std::move(subject), .message = std::move(message)};
}

/// `text` as a YAML string.
std::string yaml_quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

Status write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file) return Done{};
  return Error{.file = path, .message = "cannot be written; check the disk and its rights"};
}

std::string controller_settings(const UpOptions& options, const std::string& folder) {
  std::string out =
      "name: up\nagents_address: " + yaml_quoted("unix:" + folder + "/agents.sock") +
      "\nhttp_address: " + yaml_quoted(options.http) +
      "\nstore: {sqlite: journal.db}\n"
      // All is on one machine: nobody waits for others, but it may stand still itself.
      "settings: {takeover_grace: 5s}\n";
  if (!options.policy.empty()) out += "policy: " + yaml_quoted(options.policy) + "\n";
  return out;
}

std::string agent_settings(const UpOptions& options, const std::string& folder, int agent) {
  const std::string name = UpFolder::node_name(agent);
  std::string out = "node: " + name + "\ncontrollers: [" +
                    yaml_quoted("unix:" + folder + "/agents.sock") +
                    // An address for each: programs of two nodes may want the same port.
                    "]\naddress: 127.0.0." + std::to_string(agent) + "\nstate: " + name +
                    "\nkill_workers_at_exit: true\n";
  // The machine's own devices are one node's.
  const int devices = options.devices >= 0 || agent == 1 ? options.devices : 0;
  const runtime::HostResources share =
      runtime::share_of(runtime::read_host(runtime::read_topology()), options.agents);
  out += "inventory: {cpu: " + std::to_string(share.cpu.count) +
         "m, memory: " + std::to_string(share.memory.count >> 20) + "MiB";
  if (devices >= 0) out += ", devices: " + std::to_string(devices);
  if (devices > 0) out += ", device_model: gpu";
  // Shares of their own, as many programs listen at all addresses of the machine.
  const std::int32_t ports = options.ports.count / options.agents;
  const std::int32_t first = options.ports.first + (agent - 1) * ports;
  out += ", ports: " + std::to_string(first) + "-" + std::to_string(first + ports - 1) + "}\n";
  std::string roots;
  for (const std::string& root : options.volume_roots)
    roots += (roots.empty() ? "" : ", ") + yaml_quoted(root);
  if (!roots.empty()) out += "volume_roots: [" + roots + "]\n";
  return out;
}

Result<std::string> made_folder(const UpOptions& options) {
  if (options.state.empty()) {
    std::string path = (std::filesystem::temp_directory_path() / "orrery-up-XXXXXX").string();
    if (::mkdtemp(path.data()) != nullptr) return path;
    return Error{.file = path, .message = std::strerror(errno)};
  }
  std::error_code code;
  // The journal and the logs in it hold what jobs were given.
  if (std::filesystem::create_directories(options.state, code))
    std::filesystem::permissions(options.state, std::filesystem::perms::owner_all, code);
  const auto path = std::filesystem::canonical(options.state, code);
  if (!code) return path.string();
  return Error{.file = options.state, .message = "cannot be made a folder: " + code.message()};
}

}  // namespace

Result<PortRange> worker_ports(const std::string& verb, const std::string& text, int agents) {
  const std::optional<PortRange> range = parse_port_range(text);
  if (range && range->count >= agents) return *range;
  return Error{.subject = verb + ": --ports",
               .message = "\"" + text +
                          "\" found, needed the first and last port for workers, at least one for "
                          "each agent; write for example 20000-20999"};
}

Result<std::string> free_address(const std::string& text) {
  const auto address = runtime::parse_address(text);
  in_addr number{};
  if (!address || address->is_unix() || ::inet_pton(AF_INET, address->host.c_str(), &number) != 1 ||
      !runtime::is_local(*address))
    return unfit("--http",
                 "\"" + text +
                     "\" found, needed an address of this machine such as "
                     "127.0.0.1:22100; for others start orrery controller with certificates");
  const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  ::setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in wanted{};
  wanted.sin_family = AF_INET;
  wanted.sin_addr = number;
  wanted.sin_port = htons(address->port);
  socklen_t size = sizeof wanted;
  const bool taken = ::bind(probe, reinterpret_cast<sockaddr*>(&wanted), size) != 0;
  const int code = errno;
  ::getsockname(probe, reinterpret_cast<sockaddr*>(&wanted), &size);
  ::close(probe);
  if (taken)
    return unfit("--http",
                 text + " cannot be used: " + std::strerror(code) +
                     "; end what listens there, or take --http 127.0.0.1:0 for any free port");
  return address->host + ":" + std::to_string(ntohs(wanted.sin_port));
}

Result<UpOptions> up_options(const Arguments& arguments) {
  UpOptions out;
  Errors errors;
  const auto number = [&](const char* option, std::uint64_t low, std::uint64_t high, int& to) {
    const auto text = arguments.value(option);
    if (!text) return;
    const auto value = whole_number(std::string("orrery up: ") + option, *text, low, high);
    if (value) {
      to = static_cast<int>(*value);
    } else {
      errors.push_back(value.errors().front());
    }
  };
  number("--agents", 1, kAgentsMax, out.agents);
  number("--devices", 0, kDevicesMax, out.devices);
  if (const auto text = arguments.value("--ports")) {
    const auto ports = worker_ports("orrery up", *text, out.agents);
    if (ports)
      out.ports = *ports;
    else
      errors.push_back(ports.errors().front());
  }
  const auto http = free_address(arguments.value("--http").value_or("127.0.0.1:22100"));
  if (http) {
    out.http = *http;
  } else {
    errors.push_back(http.errors().front());
  }
  for (const std::string& root : arguments.values("--volume-root")) {
    std::error_code code;
    const auto path = std::filesystem::canonical(root, code);
    if (!code && std::filesystem::is_directory(path, code))
      out.volume_roots.push_back(path.string());
    else
      errors.push_back(unfit("--volume-root",
                             "\"" + root + "\" found, needed a folder of this machine" +
                                 (code ? ": " + code.message() : std::string()) +
                                 "; make it, or correct the path"));
  }
  out.policy = arguments.value("--policy").value_or("");
  if (!out.policy.empty())
    if (const auto policy = policy_of({out.policy, {}, 0}); !policy)
      for (const Error& error : policy.errors())
        errors.push_back({.subject = "orrery up: --policy", .message = error.message});
  out.state = arguments.value("--state").value_or("");
  out.sets = arguments.values("--set");
  out.agent_sets = arguments.values("--agent-set");
  out.files = arguments.operands();
  if (!errors.empty()) return errors;
  return out;
}

std::string UpFolder::node_name(int agent) { return "node-" + std::to_string(agent); }

std::string UpFolder::agent_config(int agent) const {
  return path_ + "/agent-" + std::to_string(agent) + ".yaml";
}

Result<std::unique_ptr<UpFolder>> UpFolder::open(const UpOptions& options) {
  const auto path = made_folder(options);
  if (!path) return path.errors();
  const int lock = ::open((*path + "/up.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  // Before anything in it is ours: what is in use by another stays as it is.
  if (lock >= 0 && ::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock);
    return unfit("--state", *path + " is in use by another orrery up; end that, or take another");
  }
  std::unique_ptr<UpFolder> folder(new UpFolder(*path, options.state.empty(), lock));
  if (lock < 0)
    return Error{.file = *path,
                 .message = std::string("cannot be written: ") + std::strerror(errno)};
  if (path->size() > kPathMax)
    return unfit(
        "--state",
        *path + " has " + std::to_string(path->size()) + " characters, needed at most " +
            std::to_string(kPathMax) +
            ", for sockets lie in it and the system bounds their paths; take a shorter one");
  const Status written =
      write_file(folder->controller_config(), controller_settings(options, *path));
  if (!written) return written.errors();
  for (int agent = 1; agent <= options.agents; ++agent)
    if (const Status each =
            write_file(folder->agent_config(agent), agent_settings(options, *path, agent));
        !each)
      return each.errors();
  return folder;
}

UpFolder::~UpFolder() {
  std::error_code code;
  if (temporary_) {
    std::filesystem::remove_all(path_, code);
  } else {
    std::filesystem::remove(path_ + "/agents.sock", code);
  }
  // Last: from then on it may be another's.
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace orrery::cli
