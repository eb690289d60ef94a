// A job as the model world knows it before it is submitted: what it is and what it will really do.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/rare_part.hpp"
#include "core/base/units.hpp"
#include "core/job/spec.hpp"
#include "core/models/device_profiles.hpp"
#include "core/models/device_speeds.hpp"
#include "core/models/pollux_application.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "sim/model/worker_life.hpp"

namespace orrery::sim {

/// What a job's workers take to come up, where it is their own.
struct StartTimes {
  std::optional<Duration> ready_after;  ///< In place of the world's start time.
  std::optional<Duration> hello_after;  ///< As `ScenarioJob::hello_after`.
};

/// The truth about one job. The core sees only `spec`.
struct ModelJob {
  std::shared_ptr<const JobSpec> spec;
  Instant submit;
  RarePart<std::string>
      label;  ///< The name in the workload's file where the job's own had to differ.
  scenarios::WorkSpec work;
  RarePart<std::vector<scenarios::WorkerScript>> scripts;
  RarePart<std::vector<WorkerLife>> lives;  ///< In place of scripts; sorted.
  RarePart<StartTimes> times;
  const ProfiledApplication* application = nullptr;  ///< With timing `pollux`; outlives the world.
  bool waits_for_all = false;     ///< Stands still while any member is missing, as one with stages.
  bool reports_training = false;  ///< With timing `pollux`: step times and gradients, each tick.
  bool batch_is_fixed = false;    ///< They say that its batch is the only one.
  /// Of work that counts steps: how fast it is on each model of device, by the specification's
  /// profile. Null: as fast on all as `work` says. Outlives the world.
  const DeviceSpeeds* speeds = nullptr;
};

/// Jobs in the order of their submission, each made when asked for.
class JobSource {
 public:
  virtual ~JobSource() = default;

  /// The next job, not submitted before the last one; nothing after the end.
  virtual std::optional<ModelJob> next() = 0;
};

}  // namespace orrery::sim
