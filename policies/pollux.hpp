// pollux/1: co-adaptive scheduling by goodput, as in the Pollux artifact.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/digest.hpp"
#include "core/base/random.hpp"
#include "core/plan/policy.hpp"
#include "policies/pollux_autoscale.hpp"
#include "policies/pollux_blocks.hpp"
#include "policies/pollux_jobs.hpp"
#include "policies/pollux_models.hpp"
#include "policies/pollux_search.hpp"

namespace orrery::policies {

struct PolluxParameters {
  Duration period = Duration::seconds(60);     ///< Of the cycle, above zero.
  Duration restart = Duration::seconds(30);    ///< What a change of a job's allocation costs it.
  SearchOptions search{.budget = 10'000'000};  ///< Its budget is that of a cycle.
  std::int64_t update_after = 16;              ///< Cycles, at least 1.
  std::int32_t update_population = 16;         ///< Of an update, at least 2.
  std::int32_t update_patience = 4;            ///< Of an update, generations, at least 1.
  std::int32_t block_nodes = 16;  ///< A larger cluster is searched in blocks; 0: none is.
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
/// ones come after 2, 4, 8, ... cycles. Where no model has changed for `update_after` cycles (jobs
/// report nothing), a search is an *update*, with a smaller population and less patience.
///
/// A cluster of more than `block_nodes` nodes is searched in blocks (`BlockMaker`), as many a cycle
/// as the budget allows; jobs have their turn one after the other.
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
  /// When the last search was, and whether another one may find more.
  struct Pace {
    Digest problem;           ///< That was searched, but for the age of its jobs.
    bool moved = true;        ///< It moved some job.
    bool learned = false;     ///< A model has changed since.
    std::int64_t pause = 1;   ///< Cycles until the next search where nothing changes.
    std::int64_t passed = 0;  ///< Cycles of these.
    std::int64_t left = 0;    ///< Jobs that have not had their turn in this round of blocks.
  };

  /// The jobs of one cycle that the search sizes.
  struct Rows {
    std::vector<JobId> jobs;            ///< Where two collide, the earlier one is kept.
    std::vector<SearchRow> limits;      ///< Of each, less its room.
    std::vector<std::int32_t> devices;  ///< By node: what they may share.
    std::int64_t devices_in_all = 0;
  };

  /// What a search is to change: where a job shall have its replicas.
  struct Move {
    std::size_t row = 0;
    std::vector<NodeCount> nodes;  ///< Ascending; none: nowhere.
  };

  void absorb(const ClusterView& view);
  bool is_quiet(const ClusterView& view) const;
  Rows rows_of(const ClusterView& view) const;
  std::vector<JobId> rows_in_order(const ClusterView& view) const;
  SearchRow row_for(const ClusterView& view, const JobView& job) const;
  Digest digest_of(const ClusterView& view, const Rows& rows) const;
  SearchProblem problem_for(const ClusterView& view, const Rows& rows, const Block& part) const;
  bool may_find_more(Digest problem, bool always);
  std::vector<AllocationMatrix> remembered(const std::vector<JobId>& rows, std::size_t nodes) const;
  static void add_packed(const SearchProblem& problem, std::vector<AllocationMatrix>& starts);
  static void add_moves(const SearchProblem& problem,
                        const AllocationMatrix& best,
                        const Block& part,
                        std::vector<Move>& moves);
  void start_alone(const ClusterView& view, const PolluxJobs::Gangs& gangs, Plan& plan);
  static void drop_hopeless(const ClusterView& view, Rows& rows);
  void search(const ClusterView& view, Plan& plan);
  std::vector<Move> search_whole(const ClusterView& view,
                                 const Rows& rows,
                                 const SearchOptions& options);
  std::vector<std::uint32_t> seeds_in_turn(const Rows& rows,
                                           const std::vector<BlockRow>& parts) const;
  std::vector<Move> search_blocks(const ClusterView& view,
                                  const Rows& rows,
                                  std::int32_t nodes,
                                  const SearchOptions& options);
  void propose(const ClusterView& view,
               const std::vector<JobId>& rows,
               std::vector<Move> moves,
               Plan& plan);

  SearchResult search_within(const std::vector<JobId>& rows,
                             const SearchProblem& whole,
                             std::int32_t nodes,
                             const SearchOptions& options,
                             SearchProblem& problem);
  double utility_of(const std::vector<JobId>& rows,
                    const SearchProblem& problem,
                    const AllocationMatrix& state);
  void choose_nodes(const std::vector<JobId>& rows,
                    const SearchProblem& whole,
                    const SearchOptions& options);

  PolluxParameters parameters_;
  Random random_;
  PolluxModels models_;
  std::int64_t cycle_ = -1;  ///< The last one.
  Pace pace_;
  std::int64_t unlearned_ = 0;     ///< Cycles since a model changed last.
  JobId turn_ = JobId::none();     ///< The last job that had its turn in blocks.
  std::vector<JobId> front_rows_;  ///< Rows of the last search's front.
  std::size_t front_nodes_ = 0;    ///< Its columns.
  std::vector<AllocationMatrix> front_;
  UtilityAutoscaler autoscaler_;
  std::int32_t nodes_used_ = 0;  ///< 0: all.
  PolluxJobs jobs_;
  CapacityTrial trial_;
  // Derived: whether the last cycle started no gang and asked `may_find_more`, and whether anything
  // but time has passed since.
  bool settled_ = false;
  bool changed_ = true;
  std::uint64_t capacity_version_ = 0;
};

}  // namespace orrery::policies
