// orrery-emulated-worker: a real process under a real shim whose story is told by a model
// elsewhere.
//
//   orrery-emulated-worker SOCKET
//
// It connects to SOCKET, where the model's world listens, says who it is (its ORRERY_ variables),
// and from then on passes on what it hears, line by line:
//
//   to the world     "hello PID SHIM", "NAME=VALUE"..., "end"; "asked" (SIGTERM came);
//                    "heard LINE" (of its agent)
//   from the world   "ready" (it says hello to its agent, now and whenever the agent is back);
//                    "say LINE" (to the agent); "exit CODE" (128 and above: by that signal)
//
// Without the world it ends.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>

extern char** environ;

namespace {

constexpr int kTryAgainMs = 20;     // Between two tries to reach the agent.
constexpr int kAnswerMs = 1000;     // Longest wait for the answer to a hello.
constexpr std::size_t kKept = 256;  // Lines for an agent that is away.

int connect_to(const char* path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path == nullptr || std::strlen(path) >= sizeof address.sun_path) return -1;
  std::strcpy(address.sun_path, path);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    ::close(fd);
    return -1;
  }
  return fd;
}

/// One stream of lines.
class Lines {
 public:
  explicit Lines(int fd) : fd_(fd) {}

  int fd() const { return fd_; }

  bool is_open() const { return fd_ >= 0; }

  void open(int fd) {
    close();
    fd_ = fd;
  }

  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
    in_.clear();
  }

  bool send(std::string line) {
    line += '\n';
    for (std::size_t at = 0; at < line.size();) {
      const ssize_t put = ::send(fd_, line.data() + at, line.size() - at, MSG_NOSIGNAL);
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) return false;
      at += static_cast<std::size_t>(put);
    }
    return true;
  }

  /// Reads what is there; false at the end of the stream.
  bool fill() {
    char bytes[4096];
    const ssize_t got = ::read(fd_, bytes, sizeof bytes);
    if (got > 0) in_.append(bytes, static_cast<std::size_t>(got));
    return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
  }

  bool take(std::string& line) {
    const std::size_t end = in_.find('\n');
    if (end == std::string::npos) return false;
    line = in_.substr(0, end);
    in_.erase(0, end + 1);
    return true;
  }

 private:
  int fd_;
  std::string in_;
};

[[noreturn]] void end_with(int code) {
  if (code > 128) {
    const int number = code - 128;
    ::signal(number, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_UNBLOCK, &set, nullptr);
    ::raise(number);
  }
  std::_Exit(code);
}

class Worker {
 public:
  Worker(int world, int signals) : world_(world), signals_(signals) {}

  void live() {
    introduce();
    while (true) {
      if (greets_ && !agent_.is_open()) reach_agent();
      pollfd polled[]{{world_.fd(), POLLIN, 0}, {signals_, POLLIN, 0}, {agent_.fd(), POLLIN, 0}};
      const bool seeks = greets_ && !agent_.is_open();
      if (::poll(polled, 3, seeks ? kTryAgainMs : -1) < 0 && errno != EINTR) end_with(1);
      if (polled[1].revents != 0) take_signal();
      if (polled[0].revents != 0) take_world();
      if (agent_.is_open() && polled[2].revents != 0) take_agent();
    }
  }

 private:
  void introduce() {
    world_.send("hello " + std::to_string(::getpid()) + " " + std::to_string(::getppid()));
    for (char** variable = environ; *variable != nullptr; ++variable)
      if (std::strncmp(*variable, "ORRERY_", 7) == 0 && std::strchr(*variable, '\n') == nullptr)
        world_.send(*variable);
    world_.send("end");
  }

  void take_signal() {
    signalfd_siginfo what{};
    if (::read(signals_, &what, sizeof what) > 0) world_.send("asked");
  }

  void take_world() {
    if (!world_.fill()) end_with(1);
    for (std::string line; world_.take(line);) {
      if (line == "ready") {
        greets_ = true;
        reach_agent();
      } else if (line.rfind("say ", 0) == 0) {
        tell_agent(line.substr(4));
      } else if (line.rfind("exit ", 0) == 0) {
        leave(std::atoi(line.c_str() + 5));
      }
    }
  }

  /// What was said last is heard: the agent answers a hello before it learns of an end.
  void leave(int code) {
    pollfd polled{agent_.fd(), POLLIN, 0};
    if (agent_.is_open() && !answered_) ::poll(&polled, 1, kAnswerMs);
    end_with(code);
  }

  void tell_agent(std::string line) {
    if (agent_.is_open() && agent_.send(line)) return;
    kept_.push_back(std::move(line));
    if (kept_.size() > kKept) kept_.pop_front();
  }

  void reach_agent() {
    agent_.open(connect_to(std::getenv("ORRERY_SOCKET")));
    const char* name = std::getenv("ORRERY_WORKER");
    const char* token = std::getenv("ORRERY_TOKEN");
    if (!agent_.is_open() || name == nullptr || token == nullptr) return;
    agent_.send(std::string("{\"hello\":{\"worker\":\"") + name + "\",\"token\":\"" + token +
                "\"}}");
    for (; !kept_.empty() && agent_.send(kept_.front()); kept_.pop_front()) continue;
  }

  void take_agent() {
    answered_ = true;
    if (!agent_.fill()) return agent_.close();
    for (std::string line; agent_.take(line);) world_.send("heard " + line);
  }

  Lines world_;
  Lines agent_{-1};
  int signals_;
  bool greets_ = false;
  bool answered_ = false;  ///< By the agent, to a hello.
  std::deque<std::string> kept_;
};

}  // namespace

int main(int count, char** words) {
  if (count != 2) {
    std::fputs(
        "orrery-emulated-worker SOCKET: a worker of orrery test --world cluster, which starts it\n",
        stderr);
    return 2;
  }
  sigset_t asked;
  sigemptyset(&asked);
  sigaddset(&asked, SIGTERM);
  sigprocmask(SIG_BLOCK, &asked, nullptr);
  const int signals = ::signalfd(-1, &asked, SFD_CLOEXEC);
  const int world = connect_to(words[1]);
  if (signals < 0 || world < 0) {
    std::perror(words[1]);
    return 1;
  }
  Worker(world, signals).live();
}
