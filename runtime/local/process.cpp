#include "runtime/local/process.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace orrery::runtime {
namespace {

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// What the child needs, prepared beforehand: between vfork and exec it may not allocate.
struct Launch {
  char* const* command;
  char* const* environment;
  const char* output;
  pid_t parent;
  int complaints;  ///< Takes the child's errno; closed by a successful exec.
};

[[noreturn]] void complain(const Launch& launch) {
  const int reason = errno;
  // Where even this fails, the parent sees a child that ends with 127.
  static_cast<void>(!write(launch.complaints, &reason, sizeof reason));
  _exit(127);
}

/// The child's part, up to exec. posix_spawn cannot ask for the parent-death signal.
[[noreturn]] void become(const Launch& launch) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have died before the line above.
  if (getppid() != launch.parent) _exit(127);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  std::signal(SIGPIPE, SIG_DFL);
  const int input = open("/dev/null", O_RDONLY);
  const int output = open(launch.output, O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (input < 0 || output < 0 || dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0)
    complain(launch);
  close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  execvpe(launch.command[0], launch.command, launch.environment);
  complain(launch);
}

}  // namespace

Result<Process> Process::start(const ProcessSpec& spec) {
  const auto refused = [](const std::string& subject, const std::string& message) {
    return Error{ErrorCode::Unavailable, {}, 0, subject, message};
  };
  if (spec.command.empty())
    return refused("command", "it is empty, a program was needed; give the role a command");
  const std::vector<char*> command = pointers_to(spec.command);
  const std::vector<char*> environment = pointers_to(spec.environment);
  const std::string output = spec.log_file.empty() ? "/dev/null" : spec.log_file;
  int complaints[2];
  if (pipe2(complaints, O_CLOEXEC) != 0)
    return refused(spec.command[0], std::string("no pipe for its start: ") + std::strerror(errno));
  const Launch launch{command.data(), environment.data(), output.c_str(), getpid(), complaints[1]};
  const pid_t pid = vfork();
  if (pid == 0) become(launch);
  const int not_forked = pid < 0 ? errno : 0;
  close(complaints[1]);
  int reason = 0;
  const bool complained =
      pid > 0 && read(complaints[0], &reason, sizeof reason) == static_cast<ssize_t>(sizeof reason);
  close(complaints[0]);
  if (pid < 0)
    return refused(spec.command[0],
                   std::string("it cannot be started: ") + std::strerror(not_forked));
  Process process(pid);
  if (complained)
    return refused(spec.command[0], std::string("it cannot be run: ") + std::strerror(reason));
  return process;
}

Process::Process(pid_t pid)
    : pid_(pid), exit_descriptor_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      exit_descriptor_(std::exchange(other.exit_descriptor_, -1)) {}

Process& Process::operator=(Process&& other) noexcept {
  if (this == &other) return *this;
  end_now();
  pid_ = std::exchange(other.pid_, -1);
  exit_descriptor_ = std::exchange(other.exit_descriptor_, -1);
  return *this;
}

Process::~Process() { end_now(); }

void Process::end_now() {
  if (pid_ > 0) {
    kill(-pid_, SIGKILL);
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
  }
  if (exit_descriptor_ >= 0) close(exit_descriptor_);
  exit_descriptor_ = -1;
}

void Process::signal(int signal_number) {
  if (pid_ > 0) kill(-pid_, signal_number);
}

std::optional<std::int32_t> Process::take_exit() {
  if (pid_ <= 0) return std::nullopt;
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid == 0)
    return std::nullopt;
  // Not reaped yet, so the group's number cannot have been given to another process.
  kill(-pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace orrery::runtime
