// pollux/1: co-adaptive scheduling by goodput, as in the Pollux artifact.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "core/base/digest.hpp"
#include "core/base/random.hpp"
#include "core/models/goodput_table.hpp"
#include "core/models/throughput_profile.hpp"
#include "core/plan/policy.hpp"
#include "policies/pollux_autoscale.hpp"
#include "policies/pollux_jobs.hpp"
#include "policies/pollux_search.hpp"

namespace orrery::policies {

struct PolluxParameters {
  Duration period = Duration::seconds(60);   ///< Of the cycle, above zero.
  Duration restart = Duration::seconds(30);  ///< What a change of a job's allocation costs it.
  SearchOptions search;
  AutoscaleOptions autoscale;
};

/// Sizes and places every elastic job anew each cycle, so that the generalised mean of their
/// speedups against a fair share is greatest. A job's speedup follows from a model of its goodput,
/// fitted to what its workers report of step times and gradients; the job is taken to choose its
/// batch by the same model. A job that has reported nothing is taken to speed up in proportion.
///
/// No job gets more than twice the replicas that it has had before. A job whose allocation changes
/// counts for less, the younger it is and the more often it was restarted. Two jobs on several
/// nodes each share no node.
///
/// With `autoscale.nodes_min`, only the first nodes are used, as many as the utility of the cluster
/// asks for; the others are left without jobs, for whoever runs the cluster to take away.
///
/// (Qiao et al., OSDI 2021, and its artifact.) Priorities come before attained service where two
/// jobs collide. Jobs whose size is no choice, and those that the search has no numbers for
/// (several roles, parts of devices, seats), start at their rigid size where that fits beside the
/// minimum of the older jobs, and then keep what they hold: see `PolluxJobs`.
///
/// A search that moved nothing is not repeated at once while nothing changes but time: the next
/// ones come after 2, 4, 8, ... cycles.
class Pollux : public Policy {
 public:
  Pollux(const PolluxParameters& parameters, std::uint64_t seed);

  std::string_view name() const override { return "pollux/1"; }

  Triggers triggers() const override;

  bool sizes_jobs() const override { return true; }

  bool tunes_batches() const override { return true; }

  /// Nothing: a job starts at a cycle.
  Plan allocate(const JobView& job, const ClusterView& view) override;

  Plan optimize(const ClusterView& view) override;

  void save(ByteWriter& out) const override;
  void load(ByteReader& in) override;

 private:
  /// What is known of one job's speed.
  struct Model {
    ThroughputProfile profile;
    std::int32_t replicas_most = 0;  ///< That it was seen to run with.
    GradientStats stats;
    BatchLimits limits;
    GoodputTable table;  ///< Derived from the above.
    bool stale = true;   ///< The table is, but for its gradients.
  };

  /// When the last search was, and whether another one may find more.
  struct Pace {
    Digest problem;           ///< That was searched, but for the age of its jobs.
    bool moved = true;        ///< It moved some job.
    std::int64_t pause = 1;   ///< Cycles until the next search where nothing changes.
    std::int64_t passed = 0;  ///< Cycles of these.
  };

  class ModelSpeedups;

  bool learn(const ClusterView& view);
  static bool learn_from(const ClusterView& view, const JobView& job, Model& model);
  std::vector<JobId> rows_in_order(const ClusterView& view) const;
  SearchProblem problem_for(const ClusterView& view, const std::vector<JobId>& rows) const;
  SearchRow row_for(const ClusterView& view, const JobView& job) const;
  bool may_find_more(const std::vector<JobId>& rows, const SearchProblem& problem, bool learned);
  std::vector<AllocationMatrix> remembered(const std::vector<JobId>& rows, std::size_t nodes) const;
  static void add_packed(const SearchProblem& problem, std::vector<AllocationMatrix>& starts);
  void start_alone(const ClusterView& view, const PolluxJobs::Gangs& gangs, Plan& plan);
  void search(const ClusterView& view, bool learned, Plan& plan);
  void propose(const ClusterView& view,
               const std::vector<JobId>& rows,
               const SearchProblem& problem,
               const AllocationMatrix& best,
               Plan& plan);
  void save_models(ByteWriter& out) const;
  void load_model(ByteReader& in);

  SearchResult search_within(const std::vector<JobId>& rows,
                             const SearchProblem& whole,
                             std::int32_t nodes,
                             SearchProblem& problem);
  double utility_of(const std::vector<JobId>& rows,
                    const SearchProblem& problem,
                    const AllocationMatrix& state);
  void choose_nodes(const std::vector<JobId>& rows, const SearchProblem& whole);

  PolluxParameters parameters_;
  Random random_;
  std::map<JobId, Model> models_;  ///< Of live jobs that the search sizes and that have run.
  std::int64_t cycle_ = -1;        ///< The last one.
  Pace pace_;
  std::vector<JobId> front_rows_;  ///< Rows of the last search's front.
  std::size_t front_nodes_ = 0;    ///< Its columns.
  std::vector<AllocationMatrix> front_;
  UtilityAutoscaler autoscaler_;
  std::int32_t nodes_used_ = 0;  ///< 0: all.
  PolluxJobs jobs_;
  CapacityTrial trial_;
};

}  // namespace orrery::policies
