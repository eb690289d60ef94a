// The keeper of one worker. It outlives the agent that started it, and its worker does not outlive
// it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/agent/shim_fence.hpp"
#include "runtime/shim/durable_file.hpp"
#include "runtime/shim/lease_file.hpp"
#include "runtime/shim/log_writer.hpp"
#include "runtime/shim/worker_files.hpp"
#include "runtime/shim/worker_start.hpp"

namespace orrery::runtime {

/// Runs the worker of one folder from start to end, in a program that has one thread and nothing
/// else to do. See worker_files.hpp for the folder.
///
/// It holds the folder's lock as long as it lives, so no two shims run one worker, and a process
/// that gets the lock knows that this one is gone. When the agent's lease is over it kills
/// everything of the worker. It writes the end only when nothing of the worker lives.
class Shim {
 public:
  /// `notify`: a descriptor that gets an "R" once the worker's program runs, then is closed; may be
  /// -1. `kept`: so many descriptors after it are kept open, and from the worker's program, until
  /// nothing of the worker lives.
  Shim(std::string folder, int notify, int kept);

  /// The program's exit status: 0 when the end of the worker is on record, or was before; 1 where
  /// that could not be done; 2 where there is nothing to run or another shim does.
  int run();

 private:
  std::string path(const char* name) const { return folder_ + "/" + name; }

  bool take_lock();
  bool fence_is_over();
  bool start();
  void record_processes();
  void live();
  void wait_for_something();
  void take_signals();
  void take_complaint();
  bool take_output();
  void take_exits();
  void arm_timer();
  void ask();
  void kill_all(EndKind kind, std::string reason);
  void kill_once();
  void clear_away();
  int finish();

  std::string folder_;
  Descriptor notify_;
  std::vector<Descriptor> kept_;
  Descriptor lock_;
  WorkerLaunch launch_;
  std::optional<LeaseFile> lease_;
  ShimFence fence_;
  Descriptor signals_;
  Descriptor timer_;
  HeldWorker worker_;
  std::optional<LogWriter> log_;
  bool killing_ = false;
  bool ended_ = false;        ///< The worker's own process is reaped.
  std::int32_t refused_ = 0;  ///< Of a program that could not be run: the code to tell.
  WorkerStatus status_;
};

}  // namespace orrery::runtime
