#include "tools/node/supervisor.hpp"

#include <signal.h>

#include <algorithm>

#include "tools/console/input_file.hpp"
#include "tools/processes/remains.hpp"

namespace orrery::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kControllerGrace = 5s;
constexpr auto kAgentGrace = 40s;  // A job's own drain grace is 30 s by default.
constexpr auto kKillLimit = 5s;
constexpr std::size_t kShownLog = 2000;

sigset_t waited_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGCHLD}) sigaddset(&set, number);
  return set;
}

/// The next of them within `limit`; 0: none.
int next_signal(std::chrono::milliseconds limit) {
  const sigset_t set = waited_signals();
  const timespec time{limit.count() / 1000, limit.count() % 1000 * 1'000'000};
  const int number = ::sigtimedwait(&set, nullptr, &time);
  return std::max(number, 0);
}

std::string end_of_log(const std::string& path) {
  const auto text = read_input(path);
  if (!text) return "";
  return text->substr(text->size() - std::min(text->size(), kShownLog));
}

}  // namespace

Status Supervisor::start() {
  const sigset_t set = waited_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  for (ChildProcess& child : children_)
    if (const Status started = child.start(); !started) return started;
  return Done{};
}

bool Supervisor::all_ready() {
  return std::ranges::all_of(children_, [](ChildProcess& child) { return child.look_ready(); });
}

void Supervisor::reap() {
  for (ChildProcess& child : children_) {
    const auto how = child.reap();
    if (!how || ending_) continue;
    // One that ends by itself before it was ever ready will do so again. One that was ready finds
    // its settings fit; what it misses now, a disk with space for one, may come back.
    if (!child.was_ready() && child.exit_code() >= 0) {
      failure_ += child.name() + " ended with " + *how + ":\n" + end_of_log(child.log());
      continue;
    }
    console_.err(child.name() + " ended (" + *how + "); it is started again\n");
  }
}

void Supervisor::start_due() {
  if (ending_ || !failure_.empty()) return;
  for (ChildProcess& child : children_) {
    if (child.runs() || Clock::now() < child.due()) continue;
    if (const Status started = child.start(); !started) console_.errors(started.errors());
  }
}

bool Supervisor::turn(std::chrono::milliseconds limit) {
  for (const ChildProcess& child : children_) {
    if (child.runs()) continue;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(child.due() - Clock::now());
    limit = std::clamp(left, 0ms, limit);
  }
  const int number = next_signal(limit);
  reap();
  start_due();
  return number != SIGINT && number != SIGTERM;
}

bool Supervisor::wait_until_gone(std::size_t first, std::size_t count, Clock::time_point limit) {
  const auto some_run = [&] {
    return std::any_of(children_.begin() + static_cast<std::ptrdiff_t>(first),
                       children_.begin() + static_cast<std::ptrdiff_t>(first + count),
                       [](const ChildProcess& child) { return child.runs(); });
  };
  while (true) {
    reap();
    if (!some_run()) return true;
    if (Clock::now() >= limit) return false;
    const int number = next_signal(50ms);
    if (number == SIGINT || number == SIGTERM) {
      console_.err("killing all at once\n");
      return false;
    }
  }
}

bool Supervisor::kill_remains() {
  const Clock::time_point limit = Clock::now() + kKillLimit;
  std::vector<pid_t> left = processes_of(folder_);
  while (!left.empty() && Clock::now() < limit) {
    for (const pid_t pid : left) ::kill(pid, SIGKILL);
    next_signal(20ms);
    reap();
    left = processes_of(folder_);
  }
  return left.empty();
}

bool Supervisor::end() {
  ending_ = true;
  const std::size_t agents = children_.size() - 1;
  // The controller first: that the agents end is then no loss that it would record.
  children_[0].signal(SIGTERM);
  const bool orderly = wait_until_gone(0, 1, Clock::now() + kControllerGrace);
  for (std::size_t at = 1; at < children_.size(); ++at) children_[at].signal(SIGTERM);
  if (orderly) wait_until_gone(1, agents, Clock::now() + kAgentGrace);
  return kill();
}

bool Supervisor::kill() {
  ending_ = true;
  for (ChildProcess& child : children_) child.signal(SIGKILL);
  wait_until_gone(0, children_.size(), Clock::now() + kKillLimit);
  return kill_remains();
}

}  // namespace orrery::cli
