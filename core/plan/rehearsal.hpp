// What a policy may ask of a simulator: how the jobs of a view would fare under a candidate.
//
// Policies do not know simulators. One that rehearses is made with a Rehearsal, which the program
// that makes it implements (sim/rehearsal).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/plan/cluster_view.hpp"
#include "core/plan/policy.hpp"

namespace orrery {

/// A job that is over: what the run times of others are guessed from.
struct EndedJob {
  Duration ran;     ///< At its minimum of replicas, as long as its service would have taken.
  Duration stated;  ///< What its user had stated; zero: nothing.

  friend bool operator==(const EndedJob&, const EndedJob&) = default;
};

/// How a candidate is rehearsed. Candidates that are compared are given the same.
struct RehearsalOptions {
  std::uint64_t events_max = 0;      ///< Simulated events; the run ends after so many.
  Instant until = Instant::never();  ///< And there at the latest.
  Duration restart;                  ///< What a job that was stopped loses when it starts again.
  std::uint64_t draw = 0;            ///< Which of the possible run times; equal draws are equal.
  std::vector<EndedJob> ended = {};  ///< Of this cluster, as far as they are remembered.
};

/// One job of the view in a rehearsal.
struct RehearsedJob {
  JobId id;
  Instant submitted;
  Instant started = Instant::never();  ///< Also before the view; never: not within the run.
  Instant ended = Instant::never();    ///< Likewise.
};

/// What came of a rehearsal.
struct RehearsedRun {
  std::vector<RehearsedJob> jobs;  ///< That are live in the view, by id.
  /// How far it came. Never: until all jobs had ended, or nothing could happen any more.
  Instant until;
  std::uint64_t events = 0;  ///< Simulated.
};

/// Runs what a view shows on in a model, by nothing but what the view's controller knows. The
/// candidate is asked for plans when its own triggers say so. Equal views, candidates and options
/// give equal runs.
class Rehearsal {
 public:
  virtual ~Rehearsal() = default;

  /// How the jobs of the view fare if `candidate` decides from now on. The candidate is used up: it
  /// is asked as if the view's future had come. Nothing where there is no state behind the view.
  virtual std::optional<RehearsedRun> run(const ClusterView& view,
                                          Policy& candidate,
                                          const RehearsalOptions& options) = 0;
};

}  // namespace orrery
