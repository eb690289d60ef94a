// Jobs of public traces on the cluster of a scenario.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/models/device_speeds.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "sim/model/model_job.hpp"
#include "sim/results/summary.hpp"
#include "sim/traces/trace.hpp"

namespace orrery::sim {

/// Turns what a job of a trace holds into what it asks this cluster for.
class TraceRequests {
 public:
  TraceRequests(const scenarios::Scenario& scenario, const scenarios::TraceWorkload& workload);

  /// What of the job the request cannot say.
  struct Notes {
    bool parts_as_whole = false;  ///< Parts of several devices are asked for as whole ones.
    bool one_model = false;       ///< It accepts several models that are here, and asks for one.
    bool no_model = false;        ///< It accepts models of which none is here, and asks for any.
  };

  /// Equal workers that each fit on a node. `notes` may be null.
  RoleSpec role_of(const TraceJob& job, Notes* notes) const;

 private:
  struct ModelDevices {
    std::string model;
    std::int64_t devices = 0;
  };

  std::string model_of(std::string_view accepted, Notes& notes) const;

  std::vector<ModelDevices> models_;  // Those of the cluster, most devices first.
  std::int32_t per_node_;
  bool host_resources_;
};

/// Opens and reads the trace and the tables beside it; counts in `account` what became of its rows,
/// and what of the jobs the cluster of `scenario` cannot be asked for.
Result<Trace> load_trace(const scenarios::Scenario& scenario,
                         const scenarios::TraceWorkload& workload,
                         WorkloadAccount& account);

/// The table of speeds that the workload names, where every model of device in the cluster is one
/// of its models; else null, and all devices are as fast as the workload's `speeds_of`.
Result<std::shared_ptr<const DeviceSpeeds>> load_speeds(const scenarios::Scenario& scenario,
                                                        const scenarios::TraceWorkload& workload);

/// Counts in `account` the jobs whose time is too short for a whole step at their speed.
void count_short_jobs(const scenarios::TraceWorkload& workload,
                      const Trace& trace,
                      const DeviceSpeeds& speeds,
                      WorkloadAccount& account);

/// The jobs of `trace`; all outlive the source. `speeds` may be null.
std::unique_ptr<JobSource> play_trace(const scenarios::Scenario& scenario,
                                      const scenarios::TraceWorkload& workload,
                                      const Trace& trace,
                                      const DeviceSpeeds* speeds);

}  // namespace orrery::sim
