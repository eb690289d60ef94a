// The processes of one node's workers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/agent/agent.hpp"
#include "core/job/spec.hpp"
#include "runtime/local/process.hpp"

namespace orrery::runtime {

/// One worker that has ended.
struct WorkerEnd {
  WorkerName worker;
  std::int32_t exit_code = 0;
};

/// Starts, signals and watches worker processes. Used by one thread; destruction kills them all.
class ProcessTable {
 public:
  /// `log_folder` takes one file per worker; empty: their output is dropped.
  explicit ProcessTable(std::string log_folder) : log_folder_(std::move(log_folder)) {}

  /// Starts a worker of a job; its environment is that of worker_environment.hpp.
  Status spawn(const SpawnWorker& order, const JobSpec& spec, std::span<const WorkerStart> members);

  /// Asks with SIGTERM, kills with SIGKILL.
  void signal(const SignalWorker& order);

  /// Takes those that have ended, in the order of their names.
  std::vector<WorkerEnd> take_ends();

  /// Descriptors that become readable when a worker ends.
  void append_descriptors(std::vector<int>& descriptors) const;

  /// Whether some process gives no descriptor and must be asked at intervals.
  bool must_be_polled() const;

  bool empty() const { return processes_.empty(); }

 private:
  std::string log_folder_;
  std::map<WorkerName, Process> processes_;
};

}  // namespace orrery::runtime
