// What agent and shim tell each other through the folder of a worker.
//
//   spec     by the agent, before it starts the shim: what to run
//   lock     held by the shim while it lives; any other holder knows that there is none
//   pid      by the shim, before the worker's program runs: the ids of both processes
//   running  by the shim: the worker's program runs
//   status   by the shim once nothing of the worker lives; by the agent where the shim died first
//   log, log.1, ...  both outputs of the worker, the newest first
//   log.begin  by the shim, once there was a second file, or where one is kept: what came before it
//   tail     their last 64 KiB, where the worker failed
//   work     the worker's own working directory
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/enum_names.hpp"

namespace orrery::runtime {

/// One host folder, or a file system in memory, made visible at some place, for this worker only.
struct BindMount {
  /// Absolute, without symbolic links; checked again when it is mounted. Empty: a new tmpfs, which
  /// goes with the last process of the worker.
  std::string source;
  std::string target;  ///< Absolute; there already.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("source", self.source);
    v.field("target", self.target);
  }
};

/// File `spec`.
struct WorkerLaunch {
  std::string token;                     ///< Random: marks every process of this worker.
  std::vector<std::string> command;      ///< Program, searched on the PATH below, and arguments.
  std::vector<std::string> environment;  ///< "KEY=value"; all of it.
  std::string working_directory;         ///< Absolute.
  bool as_user = false;                  ///< Whether the three below hold.
  std::uint32_t user = 0;
  std::uint32_t group = 0;
  std::vector<std::uint32_t> groups;
  std::vector<BindMount> mounts;
  std::int64_t log_size = 16 << 20;  ///< Of one file, bytes; at least 1.
  std::int32_t log_files = 2;        ///< Kept, the current one included; at least 1.
  std::string cgroup;                ///< Folder to make for the worker; empty: none.
  std::string lease_file;            ///< See lease_file.hpp.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("token", self.token);
    v.field("command", self.command);
    v.field("environment", self.environment);
    v.field("working_directory", self.working_directory);
    v.field("as_user", self.as_user);
    v.field("user", self.user);
    v.field("group", self.group);
    v.field("groups", self.groups);
    v.field("mounts", self.mounts);
    v.field("log_size", self.log_size);
    v.field("log_files", self.log_files);
    v.field("cgroup", self.cgroup);
    v.field("lease_file", self.lease_file);
  }
};

/// File `log.begin`. While the shim turns to a new file it may be of the one before, which is
/// `log.1` then, or absent.
struct LogBegin {
  std::uint64_t device = 0;  ///< Of the file that it is about,
  std::uint64_t inode = 0;   ///< and its number there: the name of the file changes.
  std::int64_t bytes = 0;    ///< Written before its first one.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("device", self.device);
    v.field("inode", self.inode);
    v.field("bytes", self.bytes);
  }
};

/// One process, also after its number has been given to another one.
struct ProcessId {
  std::int32_t pid = 0;
  std::uint64_t started = 0;  ///< Clock ticks since boot.

  friend bool operator==(const ProcessId&, const ProcessId&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("pid", self.pid);
    v.field("started", self.started);
  }
};

/// File `pid`. Of no meaning after a reboot.
struct WorkerProcesses {
  std::string boot;  ///< The kernel's name of this run of the machine.
  ProcessId shim;
  ProcessId worker;  ///< Also its process group and session.

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("boot", self.boot);
    v.field("shim", self.shim);
    v.field("worker", self.worker);
  }
};

/// How a worker ended.
enum class EndKind : std::uint8_t {
  Exited,      ///< By itself or by a signal: `exit_code` tells.
  NotStarted,  ///< Its program could not be run: `reason` tells why.
  Fenced,      ///< Killed by the shim, since the agent's lease was over.
  Lost,        ///< Its shim died; how the worker ended is unknown.
};

/// File `status`: written once, when no process of the worker is left.
struct WorkerStatus {
  EndKind kind = EndKind::Exited;
  std::int32_t exit_code = 0;   ///< 0 to 255, or 128 plus the signal. NotStarted: kCannotRun or
                                ///< kNotFound where no other try can help, else 0.
  std::string reason;           ///< For people; may be empty.
  std::int64_t started_at = 0;  ///< Wall clock, nanoseconds since the Unix epoch; 0: never.
  std::int64_t ended_at = 0;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("kind", self.kind);
    v.field("exit_code", self.exit_code);
    v.field("reason", self.reason);
    v.field("started_at", self.started_at);
    v.field("ended_at", self.ended_at);
  }
};

/// Name of the variable that holds WorkerLaunch::token, in the shim and in every worker.
inline constexpr const char* kTokenVariable = "ORRERY_WORKER_TOKEN";

/// Name of the variable that holds the path of a file in the worker's folder, in every worker.
inline constexpr const char* kMembershipVariable = "ORRERY_MEMBERSHIP";

/// Signals by which an agent moves a shim.
inline constexpr int kShimAsk = 15;   ///< SIGTERM: the worker gets SIGTERM.
inline constexpr int kShimKill = 10;  ///< SIGUSR1: everything of the worker is killed.

/// Longest end of a log that is kept for a failure.
inline constexpr std::size_t kLogTailBytes = 64 << 10;

}  // namespace orrery::runtime

namespace orrery {

template <>
struct EnumNames<runtime::EndKind> {
  static constexpr std::array kNames{"Exited", "NotStarted", "Fenced", "Lost"};
};

}  // namespace orrery
