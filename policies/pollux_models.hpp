// What pollux knows of the speed of jobs: models of goodput, fitted to what their workers report.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "core/plan/cluster_view.hpp"
#include "policies/fitted_speed.hpp"
#include "policies/pollux_search.hpp"

namespace orrery::policies {

/// What speedups are measured against: an equal share of all that is searched, blocks or not.
struct ClusterShare {
  std::int64_t devices = 0;
  std::int64_t nodes = 0;
  std::int64_t jobs = 0;
};

/// Models of live jobs that the search sizes and that have run.
class PolluxModels {
 public:
  /// Takes in what the workers of the jobs of `sized` that run have reported; whether any model is
  /// another one now. Costs O(running), and the fits of those that reported something new.
  bool learn(const ClusterView& view, const std::set<JobId>& sized);

  /// The most replicas that the job may get, before its own bounds: twice what it was seen with,
  /// and no more than its batch can be shared out to.
  std::int32_t replicas_most(JobId job) const;

  void save(ByteWriter& out) const;
  void load(ByteReader& in);

 private:
  friend class ModelSpeedups;

  /// What is known of one job's speed.
  struct Model {
    FittedSpeed speed;
    std::int32_t replicas_most = 0;  ///< That it was seen to run with.
    GradientStats stats;
    BatchLimits limits;
  };

  static bool learn_from(const ClusterView& view, const JobView& job, Model& model);
  void load_model(ByteReader& in);

  std::map<JobId, Model> models_;
};

/// Speedups of the rows of one search against a fair share of the cluster. Must not outlive the
/// models, nor be used once these have learned.
class ModelSpeedups final : public Speedups {
 public:
  ModelSpeedups(PolluxModels& models,
                const std::vector<JobId>& rows,
                const SearchProblem& problem,
                const ClusterShare& share);

  double at(std::size_t row, ReplicaSpread spread) override {
    const Row& r = rows_[row];
    return (r.table == nullptr ? spread.replicas : r.table->at(spread)) / r.base;
  }

 private:
  struct Row {
    GoodputTable* table = nullptr;  ///< Null: in proportion to the replicas.
    double base = 1;                ///< Goodput on a fair share.
  };

  std::vector<Row> rows_;
};

}  // namespace orrery::policies
