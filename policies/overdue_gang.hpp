// A gang that others have passed for long, and who may pass it still.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/plan/cluster_view.hpp"
#include "policies/beside.hpp"
#include "policies/expected_ends.hpp"

namespace orrery::policies {

/// The reservation of one gang, as EASY's for the head of its queue: holders' estimates say when it
/// will fit (the shadow time) and what is left beside it then. Another gang passes it where it fits
/// and either ends by the shadow time or takes only of what is left. Where the shadow time is
/// never, for want of estimates, nobody passes.
///
/// Source: D. Lifka, "The ANL/IBM SP scheduling system", JSSPP 1995.
class OverdueGang {
 public:
  /// Forgets all jobs.
  void clear();

  /// The job as the view has it; `counts`: what it holds is not free before its expected end.
  void refresh(const ClusterView& view, JobId id, bool counts);

  /// Takes over who holds what outside of the view. At each view, as ExpectedEnds::set_others.
  void refresh_others(const ClusterView& view) { ends_.set_others(view); }

  /// A new call: nobody is overdue. To be called once all that changed was refreshed.
  void begin(const ClusterView& view);

  /// This call starts the gang on `nodes`, or takes back what it holds.
  void foresee_start(const ClusterView& view, JobId id, const std::vector<NodeCount>& nodes);
  void foresee_end(const ClusterView& view, JobId id);

  bool is_known() const { return gang_.has_value(); }

  /// Nobody passes this gang but as said above. `trial` has what is free now.
  void reserve(const ClusterView& view, const CapacityTrial& trial, JobId gang);

  /// Starts the gang in the trial if it may pass.
  bool start(const ClusterView& view,
             const WaitEntry& entry,
             CapacityTrial& trial,
             std::vector<NodeCount>& nodes);

 private:
  bool start_long(const ClusterView& view,
                  const JobView& job,
                  CapacityTrial& trial,
                  std::vector<NodeCount>& nodes);
  void look_beside(const ClusterView& view, const CapacityTrial& trial);

  ExpectedEnds ends_;
  std::vector<JobId> foreseen_;  ///< Changed in `ends_` by what the last call proposed.
  std::optional<JobId> gang_;
  Instant shadow_ = Instant::never();
  bool looked_beside_ = false;
  std::size_t seen_ = 0;  ///< So much of the trial is in `beside_`.
  Beside beside_;
  CapacityTrial scratch_;
};

}  // namespace orrery::policies
