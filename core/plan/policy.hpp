// The policy interface: proposes, never acts, never runs inside `step`.
#pragma once

#include <string_view>

#include "core/base/bytes.hpp"
#include "core/base/units.hpp"
#include "core/plan/cluster_view.hpp"
#include "core/record/plan.hpp"

namespace orrery {

/// When a policy wants to be asked. `allocate` is asked for every submission in any case.
struct Triggers {
  bool submission = false;  ///< Run `optimize` after a submission too.
  bool completion = true;   ///< A job ended and its devices came free.
  bool capacity = true;     ///< Nodes came or went; targets or quotas changed; a job waits again.
  Duration period = Duration::zero();  ///< Zero: no cycle. Cycles fall on multiples of the period.
};

/// A scheduling policy. Equal views and equal state give equal plans; ties break by id.
/// Parameters, models and a seeded random stream come through the constructor.
class Policy {
 public:
  virtual ~Policy() = default;

  /// Versioned name, for example "las/1"; the journal records it.
  virtual std::string_view name() const = 0;

  virtual Triggers triggers() const = 0;

  /// Whether it chooses how many replicas a preemptible job has. What a user asks for is a bound
  /// then; under the other policies, which start a job with its minimum, the core brings the job to
  /// it.
  virtual bool sizes_jobs() const { return false; }

  /// Whether its plans assume that jobs which can choose their batch do so.
  virtual bool tunes_batches() const { return false; }

  /// The placer that the policy was made with, for settings that name none; empty: the initial one.
  virtual std::string_view usual_placer() const { return {}; }

  /// The queues that stand in front of it, as text (core/queues/queue_text.hpp); empty: none.
  virtual std::string_view queues() const { return {}; }

  /// What to do about one newly submitted job; empty: it waits.
  virtual Plan allocate(const JobView& job, const ClusterView& view) = 0;

  /// The changes against the allocations in the view; empty when nothing should change.
  virtual Plan optimize(const ClusterView& view) = 0;

  /// Whether, asked in cycles to come, it would plan nothing and be as it is now: until a job is
  /// touched or reports, or nodes change. False where it depends on time alone.
  virtual bool is_settled() const { return false; }

  /// All state: queues, deficits, populations, generator. After `load`, the next view's
  /// `touched_complete()` is false.
  virtual void save(ByteWriter& out) const = 0;
  virtual void load(ByteReader& in) = 0;
};

}  // namespace orrery
