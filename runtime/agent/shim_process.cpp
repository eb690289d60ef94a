#include "runtime/agent/shim_process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "runtime/shim/cgroup.hpp"
#include "runtime/shim/lease_file.hpp"
#include "runtime/shim/stored_record.hpp"
#include "runtime/shim/worker_remains.hpp"

namespace orrery::runtime {
namespace {

// The shim's end of the pipe by which it says that the program runs.
constexpr int kNotify = 3;

// A look must find no process so many times in a row: one look can miss a process that is made
// meanwhile, and the first may be older than the shim's death.
constexpr int kClearPasses = 3;

Error refused(const std::string& subject, const char* what, int reason) {
  return {ErrorCode::Unavailable, {}, 0, subject, std::string(what) + ": " + std::strerror(reason)};
}

/// Copies above all numbers that they get in the shim, so that none is overwritten before it is
/// copied there. Error: EMFILE, as a rule.
Result<std::vector<Descriptor>> out_of_the_way(std::span<const Descriptor> kept) {
  std::vector<Descriptor> copies;
  const int first = kNotify + 1 + static_cast<int>(kept.size());
  for (const Descriptor& each : kept) {
    copies.emplace_back(fcntl(each.get(), F_DUPFD_CLOEXEC, first));
    if (!copies.back().is_open()) return refused("descriptors of the shim", "no copy", errno);
  }
  return copies;
}

/// What posix_spawn is told: a session of its own, our standard descriptors gone, its signals kept
/// back until it has ears for them.
class SpawnTerms {
 public:
  SpawnTerms(int notify, std::span<const Descriptor> kept) {
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_init(&actions);
    sigset_t kept_back;
    sigemptyset(&kept_back);
    for (const int number : {kShimAsk, kShimKill, SIGINT, SIGHUP}) sigaddset(&kept_back, number);
    posix_spawnattr_setsigmask(&attributes, &kept_back);
    sigset_t all;
    sigfillset(&all);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_adddup2(&actions, notify, kNotify);
    for (int i = 0; const Descriptor& each : kept)
      posix_spawn_file_actions_adddup2(&actions, each.get(), kNotify + ++i);
    for (int standard = 0; standard < 3; ++standard)
      posix_spawn_file_actions_addopen(&actions, standard, "/dev/null", O_RDWR, 0);
  }

  SpawnTerms(const SpawnTerms&) = delete;
  SpawnTerms& operator=(const SpawnTerms&) = delete;

  ~SpawnTerms() {
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
  }

  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;
};

}  // namespace

Result<ShimProcess> ShimProcess::start(const std::string& program,
                                       const std::string& folder,
                                       const WorkerLaunch& launch,
                                       std::span<const Descriptor> kept) {
  ShimProcess out(folder);
  out.launch_ = launch;
  if (!replace_file(out.path("spec"), stored(launch), Survives::Kill))
    return refused(out.path("spec"), "it cannot be written", errno);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return refused(program, "no pipe", errno);
  out.notify_.reset(ends[0]);
  const Descriptor shims_end(ends[1]);
  const Result<std::vector<Descriptor>> copies = out_of_the_way(kept);
  if (!copies) return copies.errors();
  std::string mark = std::string(kTokenVariable) + "=" + launch.token;
  std::string notify = std::to_string(kNotify);
  std::string count = std::to_string(kept.size());
  std::string program_text = program;
  std::string folder_text = folder;
  char* arguments[] = {
      program_text.data(), folder_text.data(), notify.data(), count.data(), nullptr};
  char* environment[] = {mark.data(), nullptr};
  const SpawnTerms terms(shims_end.get(), *copies);
  pid_t pid = 0;
  const int reason =
      posix_spawn(&pid, program.c_str(), &terms.actions, &terms.attributes, arguments, environment);
  if (reason != 0) return refused(program, "it cannot be run", reason);
  out.is_child_ = true;
  out.shim_ = process_at(pid).value_or(ProcessId{pid, 0});
  out.exit_.reset(open_exit_descriptor(out.shim_));
  return out;
}

std::optional<ShimProcess> ShimProcess::adopt(const std::string& folder, ProcessScan& scan) {
  ShimProcess out(folder);
  std::optional<WorkerLaunch> launch =
      restored<WorkerLaunch>(read_file(out.path("spec")).value_or(""));
  if (!launch) return std::nullopt;
  out.launch_ = *std::move(launch);
  out.ready_ = access(out.path("running").c_str(), F_OK) == 0;
  out.look(true, scan);
  return out;
}

/// The holder of the lock knows that no shim runs, and none begins to.
bool ShimProcess::try_lock() {
  if (lock_.is_open()) return true;
  remake_folder(folder_);
  Descriptor lock(open(path("lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.is_open() || flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return false;
  lock_ = std::move(lock);
  return true;
}

/// Of an adopted one: it writes down its process id once it has a worker.
void ShimProcess::find_shim() {
  const std::optional<WorkerProcesses> processes =
      restored<WorkerProcesses>(read_file(path("pid")).value_or(""));
  if (!processes || processes->boot != boot_id()) return;
  shim_ = processes->shim;
  exit_.reset(open_exit_descriptor(shim_));
  if (asked_) send_signal(shim_, kShimAsk);
  if (kills_ > 0) kill_directly();
}

void ShimProcess::ask() {
  asked_ = true;
  if (shim_.pid > 0) send_signal(shim_, kShimAsk);
}

void ShimProcess::kill() {
  ++kills_;
  if (!clearing_) kill_directly();
}

/// By our own hand too: the shim may be stopped, and a lease does not wait for it.
void ShimProcess::kill_directly() {
  if (shim_.pid > 0) {
    send_signal(shim_, kills_ > 1 ? SIGKILL : kShimKill);
    send_signal(shim_, SIGCONT);
  }
  if (!launch_.cgroup.empty()) kill_cgroup(launch_.cgroup);
  const std::optional<WorkerProcesses> processes =
      restored<WorkerProcesses>(read_file(path("pid")).value_or(""));
  if (!processes || processes->boot != boot_id() || processes->worker.pid <= 1) return;
  if (!is_alive(processes->worker)) return;
  ::kill(-processes->worker.pid, SIGKILL);
  send_signal(processes->worker, SIGKILL);
}

void ShimProcess::look(bool woken, ProcessScan& scan) {
  if (end_) return;
  if (!clearing_) {
    if (shim_.pid == 0) find_shim();
    if (!ready_) look_for_ready(woken);
    if (!woken && !must_be_polled()) return;
    if (!shim_is_gone()) return;
    if (read_end()) return;
    clearing_ = true;
  }
  clear_up(scan);
}

void ShimProcess::look_for_ready(bool woken) {
  if (notify_.is_open()) {
    if (!woken) return;
    char word = 0;
    const ssize_t count = read(notify_.get(), &word, 1);
    if (count < 0) return;
    notify_.reset();
    ready_ = count == 1;
  } else {
    ready_ = access(path("running").c_str(), F_OK) == 0;
  }
}

bool ShimProcess::shim_is_gone() {
  if (is_child_) {
    int how = 0;
    const pid_t reaped = waitpid(shim_.pid, &how, WNOHANG);
    if (reaped == 0) return false;
    is_child_ = false;
    just_died_ = true;
    return true;
  }
  if (shim_.pid > 0 && is_alive(shim_)) return false;
  // One that has not written its process id holds its lock all the same.
  if (!try_lock()) return false;
  just_died_ = exit_.is_open();  // It was watched until now.
  return true;
}

bool ShimProcess::read_end() {
  end_ = restored<WorkerStatus>(read_file(path("status")).value_or(""));
  if (!end_) return false;
  // It may have been too quick for us to see it run.
  if (end_->kind == EndKind::Exited || access(path("running").c_str(), F_OK) == 0) ready_ = true;
  exit_.reset();
  notify_.reset();
  lock_.reset();
  return true;
}

void ShimProcess::clear_up(ProcessScan& scan) {
  // The shim's last child may hold the lock for a moment more, and a shim that was started and not
  // seen yet may just have written an end.
  if (!try_lock() || read_end()) return;
  const std::optional<WorkerProcesses> processes =
      restored<WorkerProcesses>(read_file(path("pid")).value_or(""));
  if (!clear_remains(launch_, processes, just_died_, scan)) {
    clear_passes_ = 0;
    return;
  }
  if (++clear_passes_ < kClearPasses) return;
  WorkerStatus lost;
  lost.kind = EndKind::Lost;
  lost.reason = "its shim died; what it had left was killed";
  lost.ended_at = wall_clock();
  // Where the disk refuses, a later life of the agent will find and say the same again.
  replace_file(path("status"), stored(lost), Survives::PowerLoss);
  end_ = lost;
  exit_.reset();
  notify_.reset();
  lock_.reset();
}

bool ShimProcess::is_stuck(ProcessScan& scan) const {
  // The first kill is the shim's to carry out, the second ends the shim; then come our own.
  constexpr int kKillsBefore = 4;
  if (end_ || !clearing_ || !lock_.is_open() || kills_ < kKillsBefore) return false;
  const std::optional<WorkerProcesses> processes =
      restored<WorkerProcesses>(read_file(path("pid")).value_or(""));
  return remains_are_doomed(launch_, processes, just_died_, scan);
}

void ShimProcess::append_descriptors(std::vector<pollfd>& polled) const {
  if (clearing_ || end_) return;
  if (exit_.is_open()) polled.push_back({exit_.get(), POLLIN, 0});
  if (notify_.is_open()) polled.push_back({notify_.get(), POLLIN, 0});
}

bool ShimProcess::must_be_polled() const {
  if (end_) return false;
  return clearing_ || !exit_.is_open() || (!ready_ && !notify_.is_open());
}

}  // namespace orrery::runtime
