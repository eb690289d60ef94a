// Waiting jobs that fit by count and on no node.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/plan/cluster_view.hpp"
#include "policies/gang_shape.hpp"

namespace orrery::policies {

/// For policies that choose by count who runs and then look for nodes. What a job was to have that
/// finds no place would stay idle, so they choose again: of jobs of its shape no more than found a
/// place the last time. Each round allows fewer of some shape, so that they end. `kind` tells apart
/// on which devices a job was tried, where the policy chooses them.
///
/// Kept by a policy from plan to plan; what it remembers follows from the views.
class Misfits {
 public:
  /// With which number of replicas jobs are chosen.
  enum class Sizes : std::uint8_t { Least, Rigid };

  explicit Misfits(Sizes sizes = Sizes::Least) : sizes_(sizes) {}

  /// To be shown each view: keeps what is known of shapes in step with the jobs.
  void follow(const ClusterView& view);

  /// Begins a plan: all may be chosen.
  void begin();

  /// Whether one more job of this shape may be chosen in this round.
  bool may_choose(const ClusterView& view, JobId id, DeviceModelId kind = DeviceModelId::none()) {
    if (limits_.empty()) return true;
    const auto limit = limits_.find({shape(view, id), kind});
    return limit == limits_.end() || limit->second.chosen < limit->second.most;
  }

  /// The waiting job was chosen.
  void note_chosen(const ClusterView& view, JobId id, DeviceModelId kind = DeviceModelId::none());

  /// What has become of a waiting job that was chosen.
  void note_placed(const ClusterView& view,
                   JobId id,
                   bool found_place,
                   DeviceModelId kind = DeviceModelId::none());

  /// Ends the round; whether some job found no place, and another round begins.
  bool choose_again();

 private:
  using Key = std::pair<std::uint32_t, DeviceModelId>;

  struct Limit {
    std::int32_t most = 0;
    std::int32_t chosen = 0;
  };

  std::uint32_t shape(const ClusterView& view, JobId id) {
    if (id.index() < of_job_.size() && of_job_[id.index()] != 0) return of_job_[id.index()];
    return look_up(view, id);
  }

  std::uint32_t look_up(const ClusterView& view, JobId id);
  void forget();

  Sizes sizes_;
  std::map<GangShape, std::uint32_t> shapes_;  ///< Their numbers, from 1.
  std::vector<std::uint32_t> of_job_;          ///< By job; 0: not known.
  // Of the present plan.
  std::map<Key, Limit> limits_;
  std::vector<Key> found_;   ///< In this round.
  std::vector<Key> failed_;  ///< Likewise.
};

}  // namespace orrery::policies
