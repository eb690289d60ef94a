// Environments of roles: folders of their own, filled once on each node.
#pragma once

#include <poll.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "core/job/spec.hpp"
#include "runtime/agent/shim_process.hpp"
#include "runtime/agent/worker_user.hpp"

namespace orrery::runtime {

/// Prepares environments by running each one's program under a shim, as a worker runs: with the
/// workers' user, a log, and the agent's lease over it. One run serves all workers that wait for a
/// key; one that a dead agent has begun is taken over. What failed is removed, and tried again when
/// it is asked for again. Used by one thread.
class Environments {
 public:
  /// What all runs have in common.
  struct Means {
    std::string environments;  ///< Folder: takes one folder for each key.
    std::string preparing;     ///< Folder: takes the folder of each run.
    std::string prepared;      ///< Folder: has a file for each key that is ready.
    std::string lease_file;
    std::string shim_program;
    std::string cgroup_base;  ///< Empty: none.
    std::optional<WorkerUser> user;
  };

  explicit Environments(Means means) : means_(std::move(means)) {}

  /// Where an environment stands.
  struct Standing {
    bool ready = false;
    std::string failure;  ///< Not empty: why it cannot be had. Told once.
  };

  /// Asks for an environment; neither ready nor failed: it is being prepared.
  Standing ask(const IsolationSpec& isolation, Instant now);

  /// The folder of a key.
  std::string folder_of(const std::string& key) const { return means_.environments + "/" + key; }

  void look(const std::vector<int>& readable, Instant now);

  void append_descriptors(std::vector<pollfd>& polled) const;

  bool must_be_polled() const;

  Instant next_deadline() const;

 private:
  struct Run {
    ShimProcess shim;
    Instant deadline;
    bool late = false;
  };

  std::optional<std::string> begin(const IsolationSpec& isolation, Instant now);
  void end(const std::string& key, const Run& run, const WorkerStatus& status);

  Means means_;
  std::map<std::string, Run> runs_;
  std::map<std::string, std::string> failures_;  ///< Not asked about yet.
};

}  // namespace orrery::runtime
