// A job's model of goodput on devices of one kind, fitted to what its workers report.
#pragma once

#include <utility>

#include "core/base/bytes.hpp"
#include "core/models/goodput_table.hpp"
#include "core/models/throughput_profile.hpp"

namespace orrery::policies {

/// All observations of a profile. What is loaded is added.
void save_observations(const ThroughputProfile& profile, ByteWriter& out);
void load_observations(ThroughputProfile& profile, ByteReader& in);

/// Observations, the throughput model fitted to them, and the best goodputs by size that follow
/// from it, for the batch of each size that is best.
class FittedSpeed {
 public:
  /// Notes the observation; whether it was new.
  bool add(const ThroughputObservation& observation) {
    const bool is_new = profile_.add(observation);
    stale_ |= is_new;
    return is_new;
  }

  /// Nothing was observed: there is no model yet.
  bool empty() const { return profile_.empty(); }

  /// Most replicas that anything was observed with; 0 where nothing was.
  int replicas_most() const { return profile_.replicas_most(); }

  /// Goodputs, in examples of initial-batch worth per second, within these limits of the batch. Not
  /// to be asked while `empty`. Valid until the next call.
  GoodputTable& goodputs(const BatchLimits& limits, const GradientStats& stats) {
    if (std::exchange(stale_, false) || !(limits == limits_))
      table_ = GoodputTable(profile_.parameters(), limits_ = limits);
    table_.set_stats(stats);
    return table_;
  }

  void save(ByteWriter& out) const { save_observations(profile_, out); }

  /// Adds what was saved.
  void load(ByteReader& in) {
    load_observations(profile_, in);
    stale_ = true;
  }

 private:
  ThroughputProfile profile_;
  BatchLimits limits_;
  GoodputTable table_;  ///< Derived from both.
  bool stale_ = true;   ///< The table is.
};

/// What a job's reports say of its batches, whatever it runs on.
void save_batches(const BatchLimits& limits, const GradientStats& stats, ByteWriter& out);
void load_batches(BatchLimits& limits, GradientStats& stats, ByteReader& in);

}  // namespace orrery::policies
