// How long a turn takes under a candidate, by simulation of many turns.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "sim/fabric/fabric.hpp"
#include "sim/search/candidate.hpp"
#include "sim/search/searched_job.hpp"
#include "sim/steps/pipeline_turn.hpp"

namespace orrery::sim {

/// What a candidate is predicted to do, over the turns that were simulated.
struct Prediction {
  Candidate candidate;
  std::vector<RolePlaces> places;  ///< By role.
  double step_s = 0;               ///< Mean of the turns.
  double step_p90_s = 0;           ///< The 90th percentile of the turns (core/base/percentile.hpp).
  TurnPath path;                   ///< Mean of the turns.
  double idle = 0;                 ///< Of the devices in use, over the turn: 0 to 1.
  std::int32_t devices = 0;        ///< In use.
};

/// Predicts candidates of one job on turns whose lengths are drawn once, so that all candidates
/// have the same luck.
class Predictor {
 public:
  /// `job` outlives the object; `turns` at least 1, of many sequences fewer are taken. The network
  /// is that of the job's scenario without other jobs. Errors: a network that only SimGrid can
  /// read.
  static Result<std::unique_ptr<Predictor>> make(const SearchedJob& job, std::int32_t turns);

  std::int32_t turns() const { return static_cast<std::int32_t>(lengths_.size()); }

  /// Nothing where the candidate cannot be placed.
  std::optional<Prediction> predict(const Candidate& candidate);

 private:
  Predictor(const SearchedJob& job, std::int32_t turns, std::unique_ptr<Fabric> fabric);

  const std::vector<Generated>& generated(const RolePlaces& places);
  Pipeline pipeline_of(const Candidate& candidate, const std::vector<RolePlaces>& places) const;
  double part_seconds(const SearchedPart& part, const RolePlaces& places) const;
  double weights_seconds(const std::vector<RolePlaces>& places) const;
  double idle_of(const Prediction& prediction,
                 const Pipeline& pipeline,
                 const std::vector<Generated>& turns) const;

  const SearchedJob& job_;
  std::unique_ptr<Fabric> fabric_;
  std::vector<std::vector<double>> lengths_;  // [turn][sequence]: seconds.
  // By replicas and speed of the role that generates.
  std::map<std::pair<std::int32_t, double>, std::vector<Generated>> generated_;
};

}  // namespace orrery::sim
