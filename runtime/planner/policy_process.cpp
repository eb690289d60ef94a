#include "runtime/planner/policy_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "runtime/planner/child_side.hpp"

extern char** environ;

namespace orrery::runtime {
namespace {

using namespace std::chrono_literals;

constexpr auto kLastMoment = 500ms;  // For a process that has closed its end to end by itself.
constexpr std::size_t kReadAtOnce = 1 << 20;

/// posix_spawn's settings, freed with this object.
struct SpawnSettings {
  explicit SpawnSettings(int socket) {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, socket, kPlannerFd);
    posix_spawn_file_actions_addclosefrom_np(&actions, kPlannerFd + 1);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }

  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }

  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

Error cannot_start(const std::string& program, int code) {
  return Error{.code = ErrorCode::Unavailable,
               .subject = program,
               .message = std::string("cannot be started: ") + std::strerror(code)};
}

std::string end_in_words(int status) {
  if (!WIFSIGNALED(status)) return "exit code " + std::to_string(WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  const char* words = sigdescr_np(signal);
  return "killed by signal " + std::to_string(signal) +
         (words == nullptr ? "" : " (" + std::string(words) + ")");
}

}  // namespace

Status PolicyProcess::start(const std::vector<std::string>& words) {
  kill();
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return cannot_start(words[0], errno);
  // Not the child's number itself: there, dup2 would leave it to close at exec.
  const int theirs = ::fcntl(ends[1], F_DUPFD_CLOEXEC, kPlannerFd + 1);
  const int failure = errno;
  ::close(ends[1]);
  socket_ = ends[0];
  if (theirs < 0) {
    close_socket();
    return cannot_start(words[0], failure);
  }
  ::fcntl(socket_, F_SETFL, O_NONBLOCK);
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  const SpawnSettings settings(theirs);
  const int code = ::posix_spawn(
      &pid_, pointers[0], &settings.actions, &settings.attributes, pointers.data(), environ);
  ::close(theirs);
  if (code == 0) return Done{};
  pid_ = -1;
  close_socket();
  return cannot_start(words[0], code);
}

void PolicyProcess::close_socket() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

// Done: what was waited for is there.
Exchange PolicyProcess::await(short events, Clock::time_point deadline) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return Exchange::Late;
    std::array<pollfd, 2> fds{pollfd{socket_, events, 0}, pollfd{stop_, POLLIN, 0}};
    const int ready = ::poll(fds.data(), fds.size(), static_cast<int>(std::min(left, 60'000L)));
    if (ready < 0 && errno != EINTR) return Exchange::Ended;
    if (ready <= 0) continue;
    if (fds[1].revents != 0) return Exchange::Stopped;
    return Exchange::Done;
  }
}

Exchange PolicyProcess::write(std::span<const std::byte> bytes, Clock::time_point deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (const Exchange ready = await(POLLOUT, deadline); ready != Exchange::Done) return ready;
    } else if (errno != EINTR) {
      return Exchange::Ended;
    }
  }
  return Exchange::Done;
}

Exchange PolicyProcess::read_all(std::span<std::byte> to, Clock::time_point deadline) {
  while (!to.empty()) {
    const ssize_t got = ::recv(socket_, to.data(), to.size(), 0);
    if (got > 0) {
      to = to.subspan(static_cast<std::size_t>(got));
    } else if (got == 0) {
      return Exchange::Ended;
    } else if (errno == EAGAIN) {
      if (const Exchange ready = await(POLLIN, deadline); ready != Exchange::Done) return ready;
    } else if (errno != EINTR) {
      return Exchange::Ended;
    }
  }
  return Exchange::Done;
}

Exchange PolicyProcess::read(std::uint8_t& kind,
                             std::vector<std::byte>& payload,
                             std::size_t size_max,
                             Clock::time_point deadline) {
  std::array<std::byte, kFrameHead> bytes{};
  if (const Exchange got = read_all(bytes, deadline); got != Exchange::Done) return got;
  const FrameHead head = read_head(bytes);
  kind = head.kind;
  if (head.size > size_max) return Exchange::TooLong;
  payload.clear();
  // What is announced is believed as it comes.
  while (payload.size() < head.size) {
    const std::size_t begin = payload.size();
    payload.resize(std::min<std::size_t>(head.size, begin + kReadAtOnce));
    if (const Exchange got = read_all(std::span(payload).subspan(begin), deadline);
        got != Exchange::Done)
      return got;
  }
  return Exchange::Done;
}

void PolicyProcess::kill() {
  close_socket();
  if (!runs()) return;
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
  pid_ = -1;
}

std::string PolicyProcess::end() {
  close_socket();
  const auto until = Clock::now() + kLastMoment;
  int status = 0;
  while (runs() && Clock::now() < until) {
    const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
    if (ended == pid_) {
      ::kill(-pid_, SIGKILL);  // What it has started.
      pid_ = -1;
      return end_in_words(status);
    }
    std::this_thread::sleep_for(1ms);
  }
  kill();
  return "it closed its connection";
}

}  // namespace orrery::runtime
