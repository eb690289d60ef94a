// What hollow agents connect to.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace orrery::bench {

struct ReplicaStarts {
  int ready = 0;  ///< Of running jobs.
  double seconds = 0;
};

class MeasuredController {
 public:
  virtual ~MeasuredController() = default;

  virtual std::string address() const = 0;

  /// Ends, and begins anew from its journal at the same address.
  virtual void restart() = 0;

  /// Submits jobs of `per_job` replicas with `replicas` together, and waits until all run.
  virtual ReplicaStarts start_replicas(int replicas,
                                       int per_job,
                                       const std::function<void()>& progress) = 0;

  /// Submits `jobs` jobs of one device, which run or wait.
  virtual void submit_jobs(int jobs) = 0;

  /// From now on a forecast of all jobs is made all the time, by this program; false: none can be.
  virtual bool forecast(const std::string& program) = 0;

  /// Forecasts that were answered so far.
  virtual std::uint64_t forecasts() const = 0;
};

/// Answers Hello with Welcome and Beat with Renewal, and does nothing else: the transport's cost.
std::unique_ptr<MeasuredController> make_answering_controller();

/// The controller's daemon with a journal in a temporary folder and policy fifo.
std::unique_ptr<MeasuredController> make_whole_controller();

}  // namespace orrery::bench
