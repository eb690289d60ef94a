#include "runtime/devices/helper_process.hpp"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

extern char** environ;

namespace orrery::runtime {
namespace {

/// A line that never ends is none.
constexpr std::size_t kLineMax = std::size_t{64} << 10;

Error cannot_start(const std::string& program, int code) {
  return {ErrorCode::Unavailable,
          program,
          0,
          "helper",
          "cannot be started (" + std::string(std::strerror(code)) +
              "), a program is needed; install it beside the agent"};
}

}  // namespace

Result<HelperProcess> HelperProcess::start(const std::vector<std::string>& words) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return cannot_start(words.front(), errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  // Ctrl-C at a terminal is for the agent.
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& each : words) arguments.push_back(const_cast<char*>(each.c_str()));
  arguments.push_back(nullptr);
  pid_t pid = -1;
  const int code =
      ::posix_spawn(&pid, words.front().c_str(), &actions, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  ::close(ends[1]);
  if (code == 0) return HelperProcess(pid, ends[0]);
  ::close(ends[0]);
  return cannot_start(words.front(), code);
}

HelperProcess::HelperProcess(HelperProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      channel_(std::exchange(other.channel_, -1)),
      read_(std::move(other.read_)),
      ended_(other.ended_) {}

HelperProcess& HelperProcess::operator=(HelperProcess&& other) noexcept {
  if (this == &other) return *this;
  end();
  pid_ = std::exchange(other.pid_, -1);
  channel_ = std::exchange(other.channel_, -1);
  read_ = std::move(other.read_);
  ended_ = other.ended_;
  return *this;
}

HelperProcess::~HelperProcess() { end(); }

void HelperProcess::end() {
  if (channel_ >= 0) ::close(channel_);
  channel_ = -1;
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  // One that hangs inside a driver dies when the driver lets it; it is not waited for.
  for (int i = 0; i < 100; ++i) {
    if (::waitpid(pid_, nullptr, WNOHANG) != 0) break;
    ::poll(nullptr, 0, 10);
  }
  pid_ = -1;
}

bool HelperProcess::say(const std::string& line) const {
  return !ended_ && ::send(channel_, line.data(), line.size(), MSG_NOSIGNAL) ==
                        static_cast<ssize_t>(line.size());
}

std::optional<std::string> HelperProcess::line(Duration longest) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::nanoseconds(longest.ns);
  while (true) {
    const std::size_t found = read_.find('\n');
    if (found != std::string::npos) {
      std::string line = read_.substr(0, found);
      read_.erase(0, found + 1);
      return line;
    }
    if (ended_ || read_.size() > kLineMax) {
      ended_ = true;
      return std::nullopt;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd waiting{channel_, POLLIN, 0};
    const int ready =
        ::poll(&waiting, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return std::nullopt;
    char bytes[4096];
    const ssize_t count = ::recv(channel_, bytes, sizeof bytes, 0);
    if (count > 0)
      read_.append(bytes, static_cast<std::size_t>(count));
    else if (count == 0 || (errno != EINTR && errno != EAGAIN))
      ended_ = true;
  }
}

}  // namespace orrery::runtime
