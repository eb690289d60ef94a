#include "tools/cluster_world/daemons.hpp"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include "tools/processes/remains.hpp"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

}  // namespace

Result<ClusterPrograms> ClusterPrograms::find() {
  std::error_code code;
  const fs::path folder = fs::read_symlink("/proc/self/exe", code).parent_path();
  ClusterPrograms out{folder / "orrery-node", folder / "orrery-emulated-worker"};
  for (const std::string& program : {out.node, out.worker})
    if (!fs::exists(program, code))
      return Error{.code = ErrorCode::NotFound,
                   .file = program,
                   .message =
                       "is not there, world cluster runs it; build the target of that name, or "
                       "install the package"};
  return out;
}

bool may_make_networks() {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool made = ::unshare(CLONE_NEWNET) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
    ::_exit(made ? 0 : 1);
  }
  int status = 0;
  return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
}

// --- RunFolder ---

Result<RunFolder> RunFolder::make(const std::string& keep) {
  if (!keep.empty()) {
    std::error_code code;
    fs::create_directories(keep, code);
    if (!code && !fs::is_empty(keep, code))
      return Error{.file = keep,
                   .subject = "--keep",
                   .message = "has something in it, an empty folder is needed; name another"};
    if (code) return Error{.file = keep, .message = "cannot be made a folder: " + code.message()};
    return RunFolder(fs::canonical(keep).string(), true);
  }
  std::string path = (fs::temp_directory_path() / "orrery-w-XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr)
    return Error{.file = path, .message = std::strerror(errno)};
  return RunFolder(fs::canonical(path).string(), false);
}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), keep_(other.keep_) {}

RunFolder::~RunFolder() {
  std::error_code code;
  if (!path_.empty() && !keep_) fs::remove_all(path_, code);
}

// --- Daemons ---

Daemons::Daemons(const ClusterPrograms& programs,
                 const ClusterAddresses& addresses,
                 std::size_t nodes,
                 const NodeLinks* links)
    : folder_(addresses.folder) {
  controller_ = std::make_unique<ChildProcess>(
      "controller",
      std::vector<std::string>{
          programs.node, "controller", "--config", folder_ + "/controller.yaml"},
      folder_ + "/controller.log");
  // Nodes of one host: a network of its own for each, so that they do not share ports.
  const std::vector<std::string> apart =
      ::geteuid() == 0
          ? std::vector<std::string>{"/usr/bin/unshare", "--net", "--"}
          : std::vector<std::string>{"/usr/bin/unshare", "--map-root-user", "--net", "--"};
  for (std::uint32_t n = 0; n < nodes; ++n) {
    const std::string name = node_name(NodeId{n});
    std::vector<std::string> words = links == nullptr ? apart : links->inside(NodeId{n});
    words.insert(words.end(), {programs.node, "agent", "--config", folder_ + "/" + name + ".yaml"});
    agents_.emplace_back("agent of " + name, std::move(words), folder_ + "/" + name + ".log");
  }
}

void Daemons::end(ChildProcess& process) {
  if (!process.runs()) return;
  process.signal(SIGKILL);
  while (process.runs() && !process.reap()) std::this_thread::sleep_for(1ms);
}

void Daemons::stop_controller() {
  controller_->signal(SIGCONT);
  controller_->signal(SIGTERM);
  for (int round = 0; round < 5000 && controller_->runs() && !controller_->reap(); ++round)
    std::this_thread::sleep_for(1ms);
  end(*controller_);
}

void Daemons::kill_node(NodeId node) {
  kill_agent(node);
  // What was being started when the rest was looked up is found by looking again.
  const std::string folder = folder_ + "/" + node_name(node);
  for (int round = 0; round < 100; ++round) {
    const std::vector<pid_t> left = processes_of(folder);
    if (left.empty()) break;
    for (const pid_t pid : left) ::kill(pid, SIGKILL);
    std::this_thread::sleep_for(1ms);
  }
}

void Daemons::empty_disk(NodeId node, const std::string& part) {
  std::error_code code;
  fs::remove_all(folder_ + "/" + node_name(node) + part, code);
}

std::string Daemons::ended_by_itself() {
  const auto look = [](ChildProcess& process) -> std::string {
    const auto how = process.reap();
    return how ? process.name() + " ended (" + *how + "); its log is " + process.log()
               : std::string();
  };
  if (std::string found = look(*controller_); !found.empty()) return found;
  for (ChildProcess& agent : agents_)
    if (std::string found = look(agent); !found.empty()) return found;
  return {};
}

Daemons::~Daemons() {
  end(*controller_);
  for (std::uint32_t n = 0; n < agents_.size(); ++n) end(agents_[n]);
  for (int round = 0; round < 1000; ++round) {
    const std::vector<pid_t> left = processes_of(folder_);
    if (left.empty()) return;
    for (const pid_t pid : left) ::kill(pid, SIGKILL);
    std::this_thread::sleep_for(1ms);
  }
}

}  // namespace orrery::cli
