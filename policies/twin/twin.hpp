// A policy that rehearses: it holds candidates, and lets the one decide that a model of the cluster
// likes best.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/enum_names.hpp"
#include "core/plan/policy.hpp"
#include "core/plan/rehearsal.hpp"
#include "policies/twin/ended_jobs.hpp"

namespace orrery::policies {

/// What a candidate is judged by. Less is better.
enum class TwinObjective : std::uint8_t {
  MeanJct,   ///< Mean time from submission to completion.
  Makespan,  ///< When the last job ends.
  P99Wait,   ///< The wait for the first start that 99 % of the jobs do not exceed.
};

struct TwinParameters {
  TwinObjective objective = TwinObjective::MeanJct;
  Duration period = Duration::seconds(600);  ///< Between two decisions, at least.
  std::int64_t pause_max = 8;                ///< At most so many periods, at least 1.
  std::uint64_t events_max = 20'000;         ///< Of all candidates together, in one decision.
  double margin = 0.02;                      ///< By which part another must be better, 0 to 1.
  Duration restart = Duration::seconds(30);  ///< What a preempted job loses, in rehearsals.
  std::uint64_t seed = 0;
};

/// A policy that may be adopted.
struct TwinCandidate {
  std::string name;                               ///< As its user wrote it.
  std::function<std::unique_ptr<Policy>()> make;  ///< All that it makes are equal.
};

/// What the rehearsals of one decision say, in seconds, by candidate: what the objective comes to
/// within the time that all of them came to.
std::vector<double> scores_of(TwinObjective objective,
                              Instant now,
                              std::span<const RehearsedRun> runs);

/// The candidate in force is asked for plans, as if it were alone. Once a period all are rehearsed:
/// the one in force goes on from where it is, the others begin anew, which is what they do when
/// they are adopted. The first is in force until another has shown to be better.
///
/// Where for long no other has come near to being better, decisions move apart, by a period for
/// each 48 of them and up to `pause_max`; unless the queue doubles before the next one.
///
/// After a shorter while of the kind, candidates that are behind by more than `margin` are
/// rehearsed at every other decision only.
///
/// Another is adopted where its advantage, halved with each decision that is past, is above
/// `margin`: an advantage of two margins is enough at once, one of little more than a margin has to
/// last. What a change costs is part of the rehearsal: who is preempted loses `restart`.
class Twin final : public Policy {
 public:
  /// At least one candidate. `rehearsal` outlives the policy.
  Twin(TwinParameters parameters,
       std::vector<TwinCandidate> candidates,
       std::shared_ptr<Rehearsal> rehearsal);

  std::string_view name() const override { return name_; }

  Triggers triggers() const override { return triggers_; }

  bool sizes_jobs() const override { return sizes_jobs_; }

  bool tunes_batches() const override { return tunes_batches_; }

  std::string_view usual_placer() const override { return current_->usual_placer(); }

  std::string_view queues() const override { return current_->queues(); }

  Plan allocate(const JobView& job, const ClusterView& view) override;
  Plan optimize(const ClusterView& view) override;
  void save(ByteWriter& out) const override;
  void load(ByteReader& in) override;

 private:
  bool is_burst(const ClusterView& view) const;
  bool is_worth_rehearsing(const ClusterView& view) const;
  void decide_next(const ClusterView& view, bool is_close);
  PlanChoice decide(const ClusterView& view);
  std::vector<std::size_t> rehearsed_now(const ClusterView& view);
  std::vector<RehearsedRun> rehearse(const ClusterView& view,
                                     std::span<const std::size_t> candidates) const;
  void put_in_turn(const std::vector<Duration>& periods);
  std::unique_ptr<Policy> copy_of_current() const;
  void adopt(std::size_t candidate);
  std::string reason_of(std::span<const std::size_t> candidates,
                        std::span<const double> scores,
                        std::span<const RehearsedRun> runs,
                        std::size_t before) const;

  TwinParameters parameters_;
  std::string name_ = "twin/1";
  std::vector<TwinCandidate> candidates_;
  std::shared_ptr<Rehearsal> rehearsal_;
  std::vector<std::size_t> in_turn_;  ///< Candidates in the order of their rehearsals.
  Triggers triggers_;
  bool sizes_jobs_ = false;
  bool tunes_batches_ = false;
  std::size_t in_force_ = 0;
  std::unique_ptr<Policy> current_;
  bool is_new_ = false;        ///< It has seen no view yet.
  bool told_ = false;          ///< Users know which one is in force.
  std::int64_t cycle_ = 0;     ///< The period now.
  std::int64_t due_ = 0;       ///< That of the next decision.
  std::int64_t calm_ = 0;      ///< Decisions in a row at which no other came near to being better.
  std::uint64_t waiting_ = 0;  ///< Jobs that waited at the last decision.
  std::vector<std::int64_t> ahead_;  ///< By candidate: advantage over the one in force, millionths.
  std::vector<std::uint8_t> rested_;  ///< By candidate: the last decision passed it over.
  EndedJobs ended_;
};

}  // namespace orrery::policies

namespace orrery {

template <>
struct EnumNames<policies::TwinObjective> {
  static constexpr std::array kNames{"mean_jct", "makespan", "p99_wait"};
};

}  // namespace orrery
