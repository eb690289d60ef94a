// What a policy may believe about a job's goodput on devices of one kind.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/models/device_profiles.hpp"
#include "core/models/pollux_application.hpp"
#include "core/plan/cluster_view.hpp"

namespace orrery::policies {

/// Where a job might run.
struct KindAndSize {
  DeviceModelId kind;         ///< Of its devices.
  std::int32_t nodes = 1;     ///< At least 1.
  std::int32_t replicas = 1;  ///< At least `nodes`.
};

/// Estimates for the jobs of one run. Not const: answers may be kept for the next question.
class GoodputEstimates {
 public:
  virtual ~GoodputEstimates() = default;

  /// Work per second in a unit of the job's own, the same on all kinds, above 0; nothing where the
  /// job is unknown, or nothing is known of it on devices of this kind.
  virtual std::optional<double> goodput(const ClusterView& view,
                                        const JobView& job,
                                        const KindAndSize& where) = 0;
};

/// Nothing is known beforehand: what reports measure is all there is.
class NoEstimates : public GoodputEstimates {
 public:
  std::optional<double> goodput(const ClusterView&, const JobView&, const KindAndSize&) override {
    return std::nullopt;
  }
};

/// From Pollux profiles, by `JobSpec::profile`, at the job's own total batch: iterations a second
/// on packed nodes. The profiles tell of one kind of device, so all kinds count as equal.
class ProfileGoodput : public GoodputEstimates {
 public:
  /// `gpus_per_node`: how densely replicas are thought to be packed, 1 or more.
  ProfileGoodput(std::shared_ptr<const PolluxProfiles> profiles, int gpus_per_node)
      : profiles_(std::move(profiles)), gpus_per_node_(gpus_per_node) {}

  std::optional<double> goodput(const ClusterView& view,
                                const JobView& job,
                                const KindAndSize& where) override;

 private:
  std::shared_ptr<const PolluxProfiles> profiles_;
  int gpus_per_node_;
};

/// From profiles of each model of device, by `JobSpec::profile`, at the job's own total batch:
/// iterations a second on devices of that kind, packed as evenly as the nodes allow.
class DeviceGoodput : public GoodputEstimates {
 public:
  /// What to say of jobs that choose their batch: nothing, or what holds for the smallest one.
  enum class TunedJobs : std::uint8_t { Unknown, SmallestBatch };

  explicit DeviceGoodput(std::shared_ptr<const DeviceProfiles> profiles,
                         TunedJobs tuned = TunedJobs::Unknown)
      : profiles_(std::move(profiles)), tuned_(tuned) {}

  std::optional<double> goodput(const ClusterView& view,
                                const JobView& job,
                                const KindAndSize& where) override;

 private:
  std::shared_ptr<const DeviceProfiles> profiles_;
  TunedJobs tuned_;
};

}  // namespace orrery::policies
