// Jobs that a driver starts itself: virtual clusters, worker groups on them, through the
// controller.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/sdk/driver.hpp"
#include "runtime/sdk/group.hpp"

namespace orrery::sdk {

/// The keys of `jobs.virtual_clusters` in docs/scenario_format.md; what is empty is left out.
struct VirtualClusterOptions {
  std::string name = "cluster";
  std::int64_t devices_per_bundle = 1;
  std::int64_t max_worker_groups = 1;
  bool unified = false;
  std::string strategy;      ///< pack, strict_pack, spread, strict_spread.
  std::string device_model;  ///< Of all its devices.
  std::string cpu;           ///< Of a bundle.
  std::string memory;        ///< Of a bundle.
  std::string segment_by;    ///< nvlink_domain, rack.
  std::int64_t segment_size = 0;
};

/// Bundles that hold together: those of a logical node, or all where it is unified.
struct PlacementGroup {
  std::int64_t node = 0;  ///< Logical, counted over those that have bundles.
  std::int64_t bundles = 0;

  friend bool operator==(const PlacementGroup&, const PlacementGroup&) = default;
};

/// Bundles that are set aside together when the job starts. A description; nothing runs by it
/// alone.
class VirtualCluster {
 public:
  /// Throws BadArguments: no bundles, or a negative number of them.
  explicit VirtualCluster(std::vector<std::int64_t> bundles_per_node,
                          VirtualClusterOptions options = {});

  const std::string& name() const { return options_.name; }

  /// Bundles of all nodes.
  std::int64_t size() const;

  std::vector<PlacementGroup> placement_groups() const;

  /// As it stands in a job file.
  Value in_job_file() const;

 private:
  std::vector<std::int64_t> bundles_per_node_;
  VirtualClusterOptions options_;
};

/// The workers of a group: their program and where they sit.
struct WorkerConfig {
  std::string role = "worker";
  std::vector<std::string> command;  ///< Program and arguments.
  std::map<std::string, std::string> environment;
  std::vector<std::int64_t> per_node;  ///< Workers on each logical node; empty: one on each bundle.
  Value more = Value::object();        ///< Other keys of the role, as in a job file.
};

/// How a job is started and waited for.
struct LaunchOptions {
  DriverOptions driver;                              ///< Its `job` names the job.
  Value more = Value::object();                      ///< Other keys of the job, as in a job file.
  std::chrono::milliseconds form_deadline{600'000};  ///< Until its workers can be called.
};

/// A job that was started here. Copies are the same job; it goes on when the last one is gone.
class LaunchedJob {
 public:
  explicit LaunchedJob(Driver driver) : driver_(std::move(driver)) {}

  const Driver& driver() const { return driver_; }

  /// Pending, Starting, Running, ... Throws a CallError.
  std::string phase() const;

  /// Asks the controller to drain it.
  void stop();

 private:
  Driver driver_;
};

/// Submits a job file (JSON is YAML) whose job is `options.driver.job`, once even where the answer
/// is lost. Throws BadSettings for what the controller refuses, with its reasons.
LaunchedJob launch(Value job, const LaunchOptions& options);

/// The job file of one worker group on a virtual cluster.
Value job_of(const VirtualCluster& cluster,
             const WorkerConfig& config,
             const LaunchOptions& options);

/// Starts a job of one worker group and waits until its workers can be called. `T` names the
/// program where the config does not: `static std::vector<std::string> command()`.
template <class T>
WorkerGroup create_group(const VirtualCluster& cluster,
                         WorkerConfig config,
                         std::optional<Sharding> sharding,
                         const LaunchOptions& options) {
  if (config.command.empty()) config.command = T::command();
  LaunchedJob job = launch(job_of(cluster, config, options), options);
  GroupOptions group;
  group.sharding = std::move(sharding);
  group.form_deadline = options.form_deadline;
  return WorkerGroup(job.driver(), config.role, std::move(group));
}

}  // namespace orrery::sdk
