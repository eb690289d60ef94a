#include "tools/processes/child_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

extern char** environ;

namespace orrery::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kFirstPause = 100ms;
constexpr auto kLastPause = 2000ms;
constexpr auto kLongLife = 5s;  // A life of that length clears what was held against it.
constexpr int kReadyFd = 3;     // In the child.

Error cannot_start(const std::string& program, int code) {
  return Error{.code = ErrorCode::Unavailable,
               .subject = program,
               .message = std::string("cannot be started: ") + std::strerror(code)};
}

/// What posix_spawn is told, released in the end.
struct SpawnPlan {
  posix_spawn_file_actions_t files{};
  posix_spawnattr_t attributes{};

  SpawnPlan() {
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
  }

  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
};

void plan_child(SpawnPlan& plan, const std::string& log, int ready) {
  posix_spawn_file_actions_addopen(&plan.files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(
      &plan.files, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&plan.files, STDOUT_FILENO, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&plan.files, ready, kReadyFd);
  sigset_t none;
  sigemptyset(&none);
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_setsigmask(&plan.attributes, &none);
  posix_spawnattr_setsigdefault(&plan.attributes, &all);
  posix_spawnattr_setpgroup(&plan.attributes, 0);
  posix_spawnattr_setflags(&plan.attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
}

std::string end_in_words(int status) {
  if (WIFSIGNALED(status)) return "killed by signal " + std::to_string(WTERMSIG(status));
  return "exit code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

ChildProcess::ChildProcess(std::string name, std::vector<std::string> words, std::string log)
    : name_(std::move(name)), words_(std::move(words)), log_(std::move(log)), pause_(kFirstPause) {}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : name_(std::move(other.name_)),
      words_(std::move(other.words_)),
      log_(std::move(other.log_)),
      pid_(std::exchange(other.pid_, -1)),
      ready_(std::exchange(other.ready_, -1)),
      exit_code_(other.exit_code_),
      was_ready_(other.was_ready_),
      started_(other.started_),
      due_(other.due_),
      pause_(other.pause_) {}

ChildProcess::~ChildProcess() {
  if (runs()) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  close_pipe();
}

void ChildProcess::close_pipe() {
  if (ready_ >= 0) ::close(std::exchange(ready_, -1));
}

Status ChildProcess::start() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return cannot_start(words_[0], errno);
  // Not number 3 itself: there, dup2 would leave it to close at exec.
  const int ready = ::fcntl(ends[1], F_DUPFD_CLOEXEC, kReadyFd + 1);
  ::close(ends[1]);
  close_pipe();
  ready_ = ends[0];
  std::vector<std::string> words = words_;
  words.insert(words.end(),
               {"--parent", std::to_string(::getpid()), "--ready-fd", std::to_string(kReadyFd)});
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  SpawnPlan plan;
  plan_child(plan, log_, ready);
  const int code = ::posix_spawn(
      &pid_, words[0].c_str(), &plan.files, &plan.attributes, pointers.data(), environ);
  ::close(ready);
  if (code != 0) {
    pid_ = -1;
    return cannot_start(words[0], code);
  }
  started_ = Clock::now();
  return Done{};
}

void ChildProcess::signal(int number) const {
  if (runs()) ::kill(pid_, number);
}

std::optional<std::string> ChildProcess::reap() {
  int status = 0;
  if (!runs() || ::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  look_ready();
  pid_ = -1;
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (Clock::now() - started_ > kLongLife) pause_ = kFirstPause;
  due_ = Clock::now() + pause_;
  pause_ = std::min<std::chrono::milliseconds>(pause_ * 2, kLastPause);
  return end_in_words(status);
}

bool ChildProcess::look_ready() {
  if (ready_ < 0) return was_ready_;
  char line[256];
  const ssize_t got = ::read(ready_, line, sizeof line);
  if (got > 0) was_ready_ = true;
  if (got >= 0) close_pipe();
  return was_ready_;
}

}  // namespace orrery::cli
