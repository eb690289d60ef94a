#include "runtime/shim/shim.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "runtime/shim/cgroup.hpp"
#include "runtime/shim/lease_file.hpp"
#include "runtime/shim/process_lookup.hpp"
#include "runtime/shim/stored_record.hpp"

namespace orrery::runtime {
namespace {

// How often what does not want to die is killed again.
constexpr int kKillAgainMs = 5;

// Longest sleep where the system has no timer that counts while the machine sleeps.
constexpr int kWithoutTimerMs = 250;

constexpr int kStatusTries = 100;

// For the end of a worker, set aside before it begins.
constexpr std::size_t kStatusRoom = 4096;

// Taken from the pipe at one go, so that no flood of words holds up the fence.
constexpr int kBlocksAtOnce = 8;
constexpr int kLastBlocks = 64;

sigset_t shim_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGCHLD, kShimAsk, kShimKill, SIGINT, SIGHUP, SIGPIPE})
    sigaddset(&set, number);
  return set;
}

}  // namespace

Shim::Shim(std::string folder, int notify, int kept) : folder_(std::move(folder)), notify_(notify) {
  for (int number = notify + 1; number <= notify + kept; ++number) {
    fcntl(number, F_SETFD, FD_CLOEXEC);
    kept_.emplace_back(number);
  }
}

int Shim::run() {
  const sigset_t blocked = shim_signals();
  sigprocmask(SIG_BLOCK, &blocked, nullptr);
  signals_.reset(signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK));
  timer_.reset(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (!signals_.is_open() || !take_lock()) return 2;
  if (access(path("status").c_str(), F_OK) == 0) return 0;
  std::optional<WorkerLaunch> launch =
      restored<WorkerLaunch>(read_file(path("spec")).value_or(std::string()));
  if (!launch) return 2;
  launch_ = *std::move(launch);
  lease_ = LeaseFile::for_reading(launch_.lease_file);
  log_.emplace(path("log"), launch_.log_size, launch_.log_files);
  if (start()) live();
  clear_away();
  return finish();
}

bool Shim::take_lock() {
  lock_.reset(open(path("lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  return lock_.is_open() && flock(lock_.get(), LOCK_EX | LOCK_NB) == 0;
}

bool Shim::fence_is_over() {
  if (lease_->ok()) {
    const LeaseNote note = lease_->read();
    fence_.renew(note.epoch, note.until);
  }
  return fence_.must_kill(boot_time());
}

/// Whether the worker's process is there.
bool Shim::start() {
  if (fence_is_over()) {
    status_.kind = EndKind::Fenced;
    status_.reason = "the lease of its node ran out before it started";
    return false;
  }
  // Without a group the worker is found by its session and its mark.
  if (!launch_.cgroup.empty() && !make_cgroup(launch_.cgroup)) launch_.cgroup.clear();
  Result<HeldWorker> held = hold_worker(launch_);
  if (!held) {
    status_.kind = EndKind::NotStarted;
    status_.reason = held.errors()[0].text();
    return false;
  }
  worker_ = std::move(held).value();
  record_processes();
  return true;
}

/// The worker runs nothing of its own before it can be found by its number, and there is room for
/// its end: one that cannot be told would start again elsewhere.
void Shim::record_processes() {
  WorkerProcesses processes;
  processes.boot = boot_id();
  processes.shim = process_at(getpid()).value_or(ProcessId{});
  processes.worker = process_at(worker_.pid).value_or(ProcessId{});
  if (!reserve_file(path("status"), kStatusRoom) ||
      !replace_file(path("pid"), stored(processes), Survives::PowerLoss)) {
    kill_all(EndKind::NotStarted, "its folder cannot be written");
    return;
  }
  status_.started_at = wall_clock();
  static_cast<void>(!write(worker_.release.get(), "g", 1));
  worker_.release.reset();
}

void Shim::live() {
  while (!ended_) {
    if (!killing_ && fence_is_over())
      kill_all(EndKind::Fenced, "the lease of its node ran out, so it was killed there");
    if (killing_) kill_once();
    wait_for_something();
    take_signals();
    take_complaint();
    take_output();
    take_exits();
  }
}

void Shim::wait_for_something() {
  arm_timer();
  // While it kills, the lease is of no interest any more, and its alarm may be on.
  std::array<pollfd, 4> polled{{{signals_.get(), POLLIN, 0},
                                {killing_ ? -1 : timer_.get(), POLLIN, 0},
                                {worker_.output.get(), POLLIN, 0},
                                {worker_.complaints.get(), POLLIN, 0}}};
  int longest = timer_.is_open() ? -1 : kWithoutTimerMs;
  if (killing_) longest = kKillAgainMs;
  poll(polled.data(), polled.size(), longest);
}

void Shim::arm_timer() {
  if (!timer_.is_open()) return;
  const Instant at = fence_.lease_until();
  itimerspec when{};  // All zero: no alarm.
  if (!at.is_never()) {
    when.it_value.tv_sec = static_cast<time_t>(at.ns / 1'000'000'000);
    when.it_value.tv_nsec = static_cast<long>(std::max<std::int64_t>(at.ns % 1'000'000'000, 1));
  }
  timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

void Shim::take_signals() {
  signalfd_siginfo info{};
  while (read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int number = static_cast<int>(info.ssi_signo);
    if (number == kShimAsk || number == SIGINT) ask();
    if (number == kShimKill && !killing_) kill_all(EndKind::Exited, "killed by the agent");
  }
}

void Shim::ask() {
  // Without a worker there is no number to signal: the negative of none would be everybody's.
  if (killing_ || ended_ || worker_.pid <= 0) return;
  // Before it leads a group of its own it is alone.
  if (kill(-worker_.pid, SIGTERM) != 0) kill(worker_.pid, SIGTERM);
}

void Shim::take_complaint() {
  if (!worker_.complaints.is_open()) return;
  WorkerComplaint complaint;
  const ssize_t count = read(worker_.complaints.get(), &complaint, sizeof complaint);
  if (count < 0) return;
  worker_.complaints.reset();
  if (count == static_cast<ssize_t>(sizeof complaint)) {
    if (killing_) return;
    refused_ = exit_code_of(complaint);
    kill_all(EndKind::NotStarted, text_of(complaint, launch_));
    return;
  }
  if (killing_) return;
  const Descriptor running(open(path("running").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  static_cast<void>(!write(notify_.get(), "R", 1));
  notify_.reset();
}

/// Whether there may be more of it at once.
bool Shim::take_output() {
  char block[1 << 16];
  for (int i = 0; i < kBlocksAtOnce; ++i) {
    if (!worker_.output.is_open()) return false;
    const ssize_t count = read(worker_.output.get(), block, sizeof block);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    if (count == 0) worker_.output.reset();
    log_->write({block, static_cast<std::size_t>(count)});
  }
  return true;
}

/// Reaps what the worker has left to us, and the worker itself last.
void Shim::take_exits() {
  while (!ended_) {
    siginfo_t info{};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
    int how = 0;
    if (info.si_pid == worker_.pid) {
      // Not reaped yet, so its number still means its group.
      kill(-worker_.pid, SIGKILL);
      waitpid(worker_.pid, &how, 0);
      ended_ = true;
      status_.exit_code = WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
      // It may have ended before it was checked whether it ever ran.
      take_complaint();
    } else {
      waitpid(info.si_pid, &how, 0);
    }
  }
}

void Shim::kill_all(EndKind kind, std::string reason) {
  killing_ = true;
  status_.kind = kind;
  status_.reason = std::move(reason);
  kill_once();
}

void Shim::kill_once() {
  if (!launch_.cgroup.empty()) kill_cgroup(launch_.cgroup);
  if (!ended_ && worker_.pid > 0) {
    kill(-worker_.pid, SIGKILL);
    kill(worker_.pid, SIGKILL);
  }
  for (const ProcessId& process : descendants_of(getpid())) send_signal(process, SIGKILL);
}

/// Until nothing that the worker has started lives: processes that it left behind are our children
/// now.
void Shim::clear_away() {
  while (true) {
    pid_t reaped = 0;
    while ((reaped = waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    // Who has no child has no descendant: what loses its parent becomes our child. So there is no
    // need to look through all processes of the host.
    const bool is_alone = reaped < 0 && errno == ECHILD;
    take_output();
    if ((is_alone || descendants_of(getpid()).empty()) &&
        (launch_.cgroup.empty() || cgroup_is_empty(launch_.cgroup)))
      break;
    kill_once();
    pollfd child{signals_.get(), POLLIN, 0};
    poll(&child, 1, kKillAgainMs);
    signalfd_siginfo info{};
    while (read(signals_.get(), &info, sizeof info) > 0) {
    }
  }
  // What is in the pipe. Another process that was handed the other end cannot keep us here.
  for (int i = 0; i < kLastBlocks && take_output(); ++i) {
  }
}

int Shim::finish() {
  kept_.clear();  // Before the agent can read of the end, and start what needs them again.
  status_.ended_at = wall_clock();
  if (status_.kind == EndKind::NotStarted) status_.exit_code = refused_;
  remake_folder(folder_);
  const bool failed = status_.kind != EndKind::Exited || status_.exit_code != 0;
  if (failed) replace_file(path("tail"), log_->tail(), Survives::Kill);
  if (!launch_.cgroup.empty()) remove_cgroup(launch_.cgroup);
  for (int i = 0; i < kStatusTries; ++i) {
    if (replace_file(path("status"), stored(status_), Survives::PowerLoss)) return 0;
    poll(nullptr, 0, 50);  // A full disk may be emptied.
  }
  return 1;
}

}  // namespace orrery::runtime
