#include "tools/orrery/child_pool.hpp"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>

#include "tools/console/interrupt.hpp"

namespace orrery::cli {
namespace {

constexpr char kProgress = 'p';
constexpr char kResult = 'r';
constexpr std::size_t kHeader = 1 + sizeof(std::uint64_t);  // Kind, length.
constexpr int kPollMs = 100;

/// A child that runs.
struct Child {
  std::size_t task = 0;
  pid_t process = 0;
  int descriptor = -1;
  std::string received;  ///< Bytes of a message not yet whole.
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
};

/// What a child does after the fork; never returns.
[[noreturn]] void be_child(const Task& task, int descriptor) {
  release_interrupts();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  ChildReport report(descriptor);
  ExitCode code = ExitCode::InvariantBroken;
  try {
    code = task(report);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "orrery: a run stopped: %s\n", error.what());
  }
  std::fflush(nullptr);
  // No destructors of the parent's objects: its temporary folder is not the child's to remove.
  _exit(static_cast<int>(code));
}

class Pool {
 public:
  Pool(const std::vector<Task>& tasks, const PoolWatch& watch)
      : tasks_(tasks),
        watch_(watch),
        ends_(tasks.size()),
        progress_(tasks.size()),
        over_(tasks.size()) {}

  std::vector<TaskEnd> run(std::size_t parallel) {
    std::size_t next = 0;
    while ((next < tasks_.size() || !children_.empty()) && !interrupted()) {
      while (next < tasks_.size() && children_.size() < std::max<std::size_t>(parallel, 1)) {
        if (start(next)) {
          ++next;
        } else if (!children_.empty()) {
          parallel = children_.size();  // The system gives no more than these at a time.
        } else {
          give_up(next++);
        }
      }
      wait_for_news();
      watch_.on_change(progress_, over_);
    }
    if (interrupted()) stop_all();
    return std::move(ends_);
  }

 private:
  /// False: the system has no descriptors or no process for it.
  bool start(std::size_t task) {
    int ends[2];
    if (pipe(ends) != 0) return false;
    const pid_t process = fork();
    if (process < 0) {
      const int why = errno;
      close(ends[0]);
      close(ends[1]);
      errno = why;
      return false;
    }
    if (process == 0) {
      close(ends[0]);
      for (const Child& other : children_) close(other.descriptor);
      be_child(tasks_[task], ends[1]);
    }
    close(ends[1]);
    children_.push_back({.task = task, .process = process, .descriptor = ends[0]});
    return true;
  }

  /// Of a task that cannot be started though none runs; `errno` says why.
  void give_up(std::size_t task) {
    TaskEnd& end = ends_[task];
    end.note = std::string("no process can be started for it (") + std::strerror(errno) +
               "); raise the limits of the system (ulimit -n, ulimit -u)";
    over_[task] = true;
    if (watch_.on_end) watch_.on_end(task, end);
  }

  void wait_for_news() {
    std::vector<pollfd> polled;
    for (const Child& child : children_) polled.push_back({child.descriptor, POLLIN, 0});
    if (poll(polled.data(), polled.size(), kPollMs) <= 0) return;
    std::vector<Child> still;
    for (std::size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].revents == 0 || receive(children_[i])) {
        still.push_back(std::move(children_[i]));
      } else {
        reap(children_[i]);
        if (watch_.on_end) watch_.on_end(children_[i].task, ends_[children_[i].task]);
      }
    }
    children_ = std::move(still);
  }

  /// Reads what is there; false once the child has closed its end.
  bool receive(Child& child) {
    char bytes[65536];
    const ssize_t count = read(child.descriptor, bytes, sizeof bytes);
    if (count < 0) return errno == EINTR || errno == EAGAIN;
    if (count == 0) return false;
    child.received.append(bytes, static_cast<std::size_t>(count));
    take_messages(child);
    return true;
  }

  void take_messages(Child& child) {
    std::size_t at = 0;
    while (child.received.size() - at >= kHeader) {
      std::uint64_t length = 0;
      std::memcpy(&length, child.received.data() + at + 1, sizeof length);
      if (child.received.size() - at - kHeader < length) break;
      const std::string_view body(child.received.data() + at + kHeader, length);
      if (child.received[at] == kResult) {
        ends_[child.task].result = body;
      } else if (body.size() == sizeof(TaskProgress)) {
        std::memcpy(&progress_[child.task], body.data(), body.size());
      }
      at += kHeader + length;
    }
    child.received.erase(0, at);
  }

  void reap(const Child& child) {
    close(child.descriptor);
    int status = 0;
    while (waitpid(child.process, &status, 0) < 0 && errno == EINTR) {
    }
    TaskEnd& end = ends_[child.task];
    end.wall_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - child.started).count();
    if (WIFEXITED(status)) {
      end.code = static_cast<ExitCode>(WEXITSTATUS(status));
    } else if (WIFSIGNALED(status)) {
      end.note = "the process of the run was ended by the system: " +
                 std::string(strsignal(WTERMSIG(status)));
    }
    over_[child.task] = true;
  }

  void stop_all() {
    for (const Child& child : children_) kill(child.process, SIGKILL);
    for (const Child& child : children_) reap(child);
    for (std::size_t task = 0; task < tasks_.size(); ++task)
      if (!over_[task] || ends_[task].result.empty()) ends_[task].code = ExitCode::Interrupted;
  }

  const std::vector<Task>& tasks_;
  const PoolWatch& watch_;
  std::vector<TaskEnd> ends_;
  std::vector<TaskProgress> progress_;
  std::vector<bool> over_;
  std::vector<Child> children_;
};

}  // namespace

void ChildReport::progress(const TaskProgress& progress) {
  send(kProgress, {reinterpret_cast<const char*>(&progress), sizeof progress});
}

void ChildReport::result(std::string_view bytes) { send(kResult, bytes); }

void ChildReport::send(char kind, std::string_view bytes) {
  std::string message(1, kind);
  const std::uint64_t length = bytes.size();
  message.append(reinterpret_cast<const char*>(&length), sizeof length);
  message += bytes;
  std::string_view left = message;
  while (!left.empty()) {
    const ssize_t written = write(descriptor_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return;  // The parent is gone, and with it the reader of the answer.
    left.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::vector<TaskEnd> run_in_children(const std::vector<Task>& tasks,
                                     std::size_t parallel,
                                     const PoolWatch& watch) {
  return Pool(tasks, watch).run(parallel);
}

std::size_t processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<std::size_t>(std::max(CPU_COUNT(&set), 1));
}

}  // namespace orrery::cli
