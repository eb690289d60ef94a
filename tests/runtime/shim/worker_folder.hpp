// The folder of one worker as an agent would make it, and its shim as a real process.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/shim/durable_file.hpp"
#include "runtime/shim/lease_file.hpp"
#include "runtime/shim/process_lookup.hpp"
#include "runtime/shim/stored_record.hpp"
#include "runtime/shim/worker_files.hpp"
#include "tests/runtime/shim/observing.hpp"
#include "tests/support/text_of_file.hpp"

namespace orrery::runtime {

/// Waits until `holds`, at most half a minute; whether it came to hold. What takes long is looked
/// at less and less often.
inline bool eventually(const std::function<bool()>& holds) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (int looks = 1; !holds(); ++looks) {
    if (std::chrono::steady_clock::now() > limit) return false;
    poll(nullptr, 0, std::min(1 + looks / 8, 10));
  }
  return true;
}

/// Whether a process runs whose number a worker wrote down.
inline bool runs(pid_t pid) { return process_at(pid).has_value(); }

class WorkerFolder {
 public:
  explicit WorkerFolder(const std::string& name)
      : scratch_(name), lease_(LeaseFile::for_writing(path("lease"))) {
    launch_.token = name + "-" + std::to_string(getpid());
    launch_.working_directory = scratch_.path().string();
    launch_.lease_file = path("lease");
    launch_.environment = {"PATH=/usr/bin:/bin", std::string(kTokenVariable) + "=" + launch_.token};
    hold_lease(Duration::seconds(600));
  }

  ~WorkerFolder() {
    if (!shim_.pid) return;
    send_signal(shim_, SIGKILL);
    waitpid(shim_.pid, nullptr, 0);
  }

  std::string path(const std::string& name) const { return (scratch_.path() / name).string(); }

  WorkerLaunch& launch() { return launch_; }

  void hold_lease(Duration longest) { lease_.write({Epoch{1}, boot_time() + longest}); }

  Instant lease_end() const { return lease_.read().until; }

  void write_spec() { replace_file(path("spec"), stored(launch_), Survives::Kill); }

  /// Starts the shim of a shell script.
  void start(const std::string& script) {
    launch_.command = {"/bin/sh", "-c", script};
    start();
  }

  void start() {
    write_spec();
    shim_ = start_shim();
  }

  /// One more shim for the same folder.
  ProcessId start_shim() {
    std::string folder = scratch_.path().string();
    std::string mark = std::string(kTokenVariable) + "=" + launch_.token;
    std::string program = ORRERY_SHIM_PROGRAM;
    char* arguments[] = {program.data(), folder.data(), nullptr};
    char* environment[] = {mark.data(), nullptr};
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    pid_t pid = 0;
    EXPECT_EQ(posix_spawn(&pid, program.c_str(), nullptr, &attributes, arguments, environment), 0);
    posix_spawnattr_destroy(&attributes);
    return process_at(pid).value_or(ProcessId{pid, 0});
  }

  const ProcessId& shim() const { return shim_; }

  /// Waits for the shim's end and returns its exit status, or -1 where a signal ended it.
  int wait_shim() {
    int how = 0;
    waitpid(shim_.pid, &how, 0);
    shim_ = {};
    return WIFEXITED(how) ? WEXITSTATUS(how) : -1;
  }

  void kill_shim() {
    kill(shim_.pid, SIGKILL);
    wait_shim();
  }

  std::optional<WorkerStatus> status() const {
    return restored<WorkerStatus>(text_of_file(path("status")));
  }

  WorkerProcesses processes() const {
    EXPECT_TRUE(eventually([&] { return std::filesystem::exists(path("pid")); }));
    return restored<WorkerProcesses>(text_of_file(path("pid"))).value_or(WorkerProcesses{});
  }

  /// Whether the worker's program runs.
  bool comes_up() const {
    return eventually([&] { return std::filesystem::exists(path("running")); });
  }

 private:
  Scratch scratch_;
  LeaseFile lease_;
  WorkerLaunch launch_;
  ProcessId shim_;
};

}  // namespace orrery::runtime
