#include "runtime/launch/watched_process.hpp"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

namespace orrery::runtime {
namespace {

using Steady = std::chrono::steady_clock;

/// A file descriptor, closed with this object.
class Descriptor {
 public:
  Descriptor() = default;

  explicit Descriptor(int number) : number_(number) {}

  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}

  Descriptor& operator=(Descriptor&& other) noexcept {
    close();
    number_ = std::exchange(other.number_, -1);
    return *this;
  }

  ~Descriptor() { close(); }

  int number() const { return number_; }

  bool is_open() const { return number_ >= 0; }

  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_ = -1;
};

struct Pipe {
  Descriptor from;
  Descriptor to;
};

std::optional<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  Pipe made{Descriptor(ends[0]), Descriptor(ends[1])};
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return made;
}

/// posix_spawn's settings, freed with this object.
struct SpawnSettings {
  SpawnSettings() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigset_t reset;
    sigemptyset(&none);
    sigemptyset(&reset);
    for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGUSR1})
      sigaddset(&reset, signal);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &reset);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }

  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }

  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

/// The child's number, or 0 with errno's number in `reason`.
pid_t spawn(const std::vector<std::string>& command,
            const std::vector<std::string>& extra,
            int output,
            int complaints,
            int& reason) {
  std::vector<char*> environment;
  for (const std::string& each : extra) environment.push_back(const_cast<char*>(each.c_str()));
  for (char** each = environ; *each != nullptr; ++each) environment.push_back(*each);
  environment.push_back(nullptr);
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  SpawnSettings settings;
  posix_spawn_file_actions_addopen(&settings.actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&settings.actions, output, 1);
  posix_spawn_file_actions_adddup2(&settings.actions, complaints, 2);
  posix_spawn_file_actions_addclosefrom_np(&settings.actions, 3);
  pid_t child = 0;
  reason = ::posix_spawnp(
      &child, words[0], &settings.actions, &settings.attributes, words.data(), environment.data());
  return reason == 0 ? child : 0;
}

/// Reads what is there; closes the descriptor at its end.
void drain(Descriptor& from, std::string& to) {
  std::array<char, 4096> part{};
  while (from.is_open()) {
    const ssize_t size = ::read(from.number(), part.data(), part.size());
    if (size > 0) {
      to.append(part.data(), static_cast<std::size_t>(size));
      if (to.size() > 2 * kOutputMax) return;
    } else if (size == 0) {
      from.close();
    } else if (errno != EINTR) {
      return;
    }
  }
}

int status_of(const siginfo_t& info) {
  return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}

/// Whether it has ended; it stays a zombie, so that its group's number is not given away.
bool has_ended(pid_t child, siginfo_t& info) {
  info = {};
  const int waited = ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT);
  return waited != 0 || info.si_pid == child;
}

}  // namespace

ProcessEnd run_watched(const std::vector<std::string>& command,
                       Duration timeout,
                       const std::atomic<bool>& stopping,
                       const std::vector<std::string>& extra) {
  constexpr int kTickMs = 50;
  ProcessEnd end;
  auto output = make_pipe();
  auto complaints = make_pipe();
  int reason = errno;
  const pid_t child =
      output && complaints && !command.empty()
          ? spawn(command, extra, output->to.number(), complaints->to.number(), reason)
          : 0;
  if (child == 0) {
    end.complaint = command.empty() ? "no program is named" : std::strerror(reason);
    return end;
  }
  output->to.close();
  complaints->to.close();

  const auto begun = Steady::now();
  siginfo_t info{};
  end.kind = ProcessEnd::Kind::Exited;
  while (!has_ended(child, info)) {
    if (stopping) end.kind = ProcessEnd::Kind::Stopped;
    if (Steady::now() - begun >= std::chrono::nanoseconds(timeout.ns))
      end.kind = ProcessEnd::Kind::TimedOut;
    if (end.output.size() > kOutputMax) end.kind = ProcessEnd::Kind::TooTalkative;
    if (end.kind != ProcessEnd::Kind::Exited) break;
    std::array<pollfd, 2> ready{pollfd{output->from.number(), POLLIN, 0},
                                pollfd{complaints->from.number(), POLLIN, 0}};
    ::poll(ready.data(), ready.size(), kTickMs);  // A closed one (-1) is passed over.
    drain(output->from, end.output);
    drain(complaints->from, end.complaint);
    if (end.complaint.size() > kComplaintMax)
      end.complaint.erase(0, end.complaint.size() - kComplaintMax);
  }
  ::kill(-child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (end.kind == ProcessEnd::Kind::Exited) end.status = status_of(info);
  drain(output->from, end.output);
  drain(complaints->from, end.complaint);
  if (end.output.size() > kOutputMax) end.kind = ProcessEnd::Kind::TooTalkative;
  return end;
}

}  // namespace orrery::runtime
