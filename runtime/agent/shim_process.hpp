// One shim as an agent sees it: its own child, or one that an agent before it has started.
#pragma once

#include <poll.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "runtime/shim/durable_file.hpp"
#include "runtime/shim/process_lookup.hpp"
#include "runtime/shim/worker_files.hpp"

namespace orrery::runtime {

/// Watches the shim of one folder (worker_files.hpp) until the end of its worker is known.
///
/// A shim that died without a word is cleared up after: everything that its worker has left is
/// killed, and only when nothing is found any more is the end `Lost` written and told.
class ShimProcess {
 public:
  /// Starts `program` for a folder, in which it writes the spec first. The shim holds copies of
  /// `kept` for as long as it lives; its worker does not get them. Error: the folder cannot be
  /// written, or the program not be run.
  static Result<ShimProcess> start(const std::string& program,
                                   const std::string& folder,
                                   const WorkerLaunch& launch,
                                   std::span<const Descriptor> kept = {});

  /// Takes over what runs in a folder that has a spec and no status; if nothing runs there, its
  /// remains. Nothing where the spec cannot be read: then nothing was ever started.
  static std::optional<ShimProcess> adopt(const std::string& folder, ProcessScan& scan);

  /// The worker gets SIGTERM.
  void ask();

  /// Everything of the worker is killed; at the second call the shim too, which may be stopped.
  void kill();

  /// Looks what has happened. Cheap where nothing has: `woken` says whether a descriptor of this
  /// one was readable. `scan`: made for this round of looks.
  void look(bool woken, ProcessScan& scan);

  /// The worker's program runs, or has run. Never false again.
  bool is_ready() const { return ready_; }

  /// Its shim is dead, and what it has left is being killed.
  bool is_clearing() const { return clearing_; }

  /// It was killed again and again, and all that is left of it waits in the kernel for its end.
  bool is_stuck(ProcessScan& scan) const;

  /// How the worker ended; nothing before nothing of it lives.
  const std::optional<WorkerStatus>& end() const { return end_; }

  /// Adds the descriptors that become readable when it is worth looking.
  void append_descriptors(std::vector<pollfd>& polled) const;

  /// Whether it must be looked at now and then without being woken.
  bool must_be_polled() const;

 private:
  explicit ShimProcess(std::string folder) : folder_(std::move(folder)) {}

  std::string path(const char* name) const { return folder_ + "/" + name; }

  bool try_lock();
  void find_shim();
  void look_for_ready(bool woken);
  bool shim_is_gone();
  bool read_end();
  void clear_up(ProcessScan& scan);
  void kill_directly();

  std::string folder_;
  WorkerLaunch launch_;
  ProcessId shim_;  ///< Number 0: it has not said yet.
  bool is_child_ = false;
  Descriptor exit_;
  Descriptor notify_;
  Descriptor lock_;
  bool ready_ = false;
  bool clearing_ = false;
  bool just_died_ = false;
  int clear_passes_ = 0;
  int kills_ = 0;
  bool asked_ = false;
  std::optional<WorkerStatus> end_;
};

}  // namespace orrery::runtime
