#include "runtime/shim/worker_start.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/job/job_enums.hpp"
#include "runtime/shim/cgroup.hpp"

namespace orrery::runtime {
namespace {

enum class Step : int { Descriptors, Mount, User, Folder, Program };

constexpr std::array kSteps{"its descriptors cannot be set up",
                            "a volume cannot be mounted",
                            "it cannot run as its user",
                            "its working directory cannot be entered",
                            "its program cannot be run"};

/// What the new process has in its hands.
struct Ends {
  int release = -1;
  int complaints = -1;
  int output = -1;
};

[[noreturn]] void complain(const Ends& ends, Step step, int reason) {
  const WorkerComplaint complaint{static_cast<int>(step), reason};
  // Where even this fails, the shim sees a process that ends with 127.
  static_cast<void>(!write(ends.complaints, &complaint, sizeof complaint));
  _exit(127);
}

/// Whether the descriptor shows the very path: no link was put in its way since it was
/// checked.
bool is_at(int descriptor, const std::string& path) {
  char buffer[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t length = readlink(link.c_str(), buffer, sizeof buffer);
  return length > 0 && std::string_view(buffer, static_cast<std::size_t>(length)) == path;
}

bool mount_all(const std::vector<BindMount>& mounts) {
  if (mounts.empty()) return true;
  if (unshare(CLONE_NEWNS) != 0) return false;
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  for (const BindMount& each : mounts) {
    if (each.source.empty()) {
      // As /dev/shm: the worker's user, whichever it is, may write there.
      if (mount("tmpfs", each.target.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") != 0)
        return false;
      continue;
    }
    const int source = open(each.source.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (source < 0) return false;
    if (!is_at(source, each.source)) {
      errno = ELOOP;
      return false;
    }
    const std::string from = "/proc/self/fd/" + std::to_string(source);
    if (mount(from.c_str(), each.target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
      return false;
    close(source);
  }
  return true;
}

bool become_user(const WorkerLaunch& launch) {
  if (!launch.as_user) return true;
  const std::vector<gid_t> groups(launch.groups.begin(), launch.groups.end());
  return setgroups(groups.size(), groups.data()) == 0 &&
         setresgid(launch.group, launch.group, launch.group) == 0 &&
         setresuid(launch.user, launch.user, launch.user) == 0 &&
         // No program may give back what was given up, whatever is mounted where.
         prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

void reset_signals() {
  for (int number = 1; number < NSIG; ++number) std::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// The new process's part, up to its program. The shim has one thread, so this may allocate.
[[noreturn]] void become_worker(const WorkerLaunch& launch, const Ends& ends, pid_t shim) {
  setsid();
  if (!launch.cgroup.empty()) enter_cgroup(procs_file_of(launch.cgroup).c_str());
  if (!mount_all(launch.mounts)) complain(ends, Step::Mount, errno);
  if (!become_user(launch)) complain(ends, Step::User, errno);
  // After the change of user, which would forget it. The shim may have died before.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != shim) _exit(127);
  const int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (input < 0 || dup2(input, 0) < 0 || dup2(ends.output, 1) < 0 || dup2(ends.output, 2) < 0)
    complain(ends, Step::Descriptors, errno);
  if (chdir(launch.working_directory.c_str()) != 0) complain(ends, Step::Folder, errno);
  char word = 0;
  ssize_t count = 0;
  do count = read(ends.release, &word, 1);
  while (count < 0 && errno == EINTR);
  if (count != 1) _exit(127);
  umask(022);
  syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
  std::vector<char*> environment = pointers_to(launch.environment);
  const std::vector<char*> command = pointers_to(launch.command);
  environ = environment.data();  // The program is searched on the worker's own PATH.
  reset_signals();
  execvp(command[0], command.data());
  complain(ends, Step::Program, errno);
}

}  // namespace

Result<HeldWorker> hold_worker(const WorkerLaunch& launch) {
  const auto refused = [&](const char* what) {
    return Error{
        ErrorCode::Unavailable, {}, 0, {}, std::string(what) + ": " + std::strerror(errno)};
  };
  if (launch.command.empty())
    return Error{ErrorCode::InvalidInput, {}, 0, "command", "it is empty; give the role a command"};
  int release[2];
  int complaints[2];
  int output[2];
  if (pipe2(release, O_CLOEXEC) != 0) return refused("no pipe to be had");
  Descriptor release_end(release[0]);
  HeldWorker held;
  held.release.reset(release[1]);
  if (pipe2(complaints, O_CLOEXEC) != 0) return refused("no pipe to be had");
  held.complaints.reset(complaints[0]);
  Descriptor complaints_end(complaints[1]);
  if (pipe2(output, O_CLOEXEC) != 0) return refused("no pipe to be had");
  held.output.reset(output[0]);
  Descriptor output_end(output[1]);
  fcntl(held.output.get(), F_SETFL, O_NONBLOCK);
  fcntl(held.complaints.get(), F_SETFL, O_NONBLOCK);
  const pid_t shim = getpid();
  held.pid = fork();
  if (held.pid < 0) return refused("no process to be had");
  if (held.pid == 0) {
    held.release.reset();
    become_worker(launch, {release[0], complaints[1], output[1]}, shim);
  }
  return held;
}

std::int32_t exit_code_of(const WorkerComplaint& complaint) {
  const bool by_its_command = complaint.step == static_cast<int>(Step::Program) ||
                              complaint.step == static_cast<int>(Step::Folder);
  if (!by_its_command) return 0;
  switch (complaint.reason) {
    case ENOENT:
    case ENOTDIR:
      return kNotFound;
    case EACCES:
    case EPERM:
    case EISDIR:
    case ENOEXEC:
    case ENAMETOOLONG:
    case ELOOP:
    case EINVAL:
    case E2BIG:
    case ELIBBAD:
      return kCannotRun;
    default:
      // Short of memory, processes or descriptors, a file that is being written, a disk that fails.
      return 0;
  }
}

std::string text_of(const WorkerComplaint& complaint, const WorkerLaunch& launch) {
  const auto step = static_cast<std::size_t>(complaint.step);
  std::string subject;
  if (complaint.step == static_cast<int>(Step::Program)) subject = launch.command[0] + ": ";
  if (complaint.step == static_cast<int>(Step::Folder)) subject = launch.working_directory + ": ";
  return subject + (step < kSteps.size() ? kSteps[step] : "it could not be started") + ": " +
         std::strerror(complaint.reason);
}

}  // namespace orrery::runtime
