// The jobs of a Batsim workload as jobs that a modelled world runs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "scenarios/language/spec/network_spec.hpp"
#include "scenarios/language/spec/step_spec.hpp"
#include "sim/import/batsim_file.hpp"
#include "sim/import/import_notes.hpp"
#include "sim/import/json_tree.hpp"
#include "sim/model/model_job.hpp"

namespace orrery::sim {

/// Most stages that one profile may come to, sequences written out.
inline constexpr std::size_t kBatsimStagesMax = 10'000;

/// What a profile comes to on so many hosts.
struct BatsimWork {
  double units = 0;    ///< Rounds of the program; seconds where there is none. Above 0.
  double alone_s = 0;  ///< All of it, with the network to itself. Above 0.
  std::shared_ptr<const scenarios::TrafficSpec> traffic;  ///< Null: only time passes.
  std::int32_t exit_code = 0;
  bool has_parallel_tasks = false;
  bool has_storage = false;  ///< Reads from or writes to storage.
  bool has_staging = false;
};

/// Plays a workload's jobs by submission, equal times in the order of the file.
///
/// A job is one replica on each of its hosts. Delays take exactly their time. Parallel tasks
/// become compute plus transfers that begin together. A walltime is the job's run deadline and its
/// stated estimate; a run of just the walltime has reached it, as in Batsim.
class BatsimJobs {
 public:
  struct Options {
    /// Of each host, for `cpu` amounts; 0: as the platform file says.
    double flops = 0;
    scenarios::NetworkSpec network;
  };

  /// Works out what each profile comes to. `file` and its jobs must outlive the object. Errors:
  /// jobs whose profile cannot be run, or not on so many hosts.
  static Result<BatsimJobs> plan(const BatsimFile& file, const Options& options);

  std::size_t size() const { return order_.size(); }

  /// The job at a place of the order. `devices` each of its hosts has, unless the job says itself;
  /// 0: jobs take none.
  ModelJob make(std::size_t place, std::int32_t devices) const;

  /// Whether any job computes or sends, rather than only takes time.
  bool sends() const;

  /// Devices of a host where no cluster is declared: what the jobs ask for, at least 1.
  std::int32_t devices_wanted() const;

  /// Their model: the only one that jobs ask for, else "gpu".
  std::string model_wanted() const;

  /// What differs from the file.
  const ImportNotes& notes() const { return notes_; }

 private:
  explicit BatsimJobs(const BatsimFile& file) : file_(&file) {}

  using Shape = std::pair<std::uint32_t, std::int32_t>;  ///< Profile, hosts.

  void note(const BatsimJob& job);

  const BatsimFile* file_;
  std::vector<std::uint32_t> order_;                        ///< By submission.
  std::vector<std::pair<std::string, std::string>> names_;  ///< By job: name, label.
  std::map<Shape, BatsimWork> works_;
  ImportNotes notes_;
};

}  // namespace orrery::sim
