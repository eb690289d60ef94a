// What a job's epochs were measured to take before it runs, and what is left of it by Shockwave's
// predictor of batch-size schedules.
//
// Source: Zheng et al., *Shockwave*, NSDI 2023, sections 5 and 6, and its artifact, whose numbers
// these formulas give.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "core/job/row.hpp"

namespace orrery {

/// A profile of one kind of job on the GPUs that it asks for, epoch by epoch. At least one epoch;
/// both lists are equally long.
struct EpochProfile {
  std::string model;            ///< As the workload names it.
  int examples = 0;             ///< Of one epoch, at least 1.
  std::vector<int> batches;     ///< Examples of a step, at least 1.
  std::vector<double> seconds;  ///< Above 0.

  int epochs() const { return static_cast<int>(batches.size()); }

  /// Steps a second in `epoch`, 0 to epochs() - 1, as the artifact counts them: examples / batch
  /// over the epoch's time.
  double steps_per_second(int epoch) const {
    const auto at = static_cast<std::size_t>(epoch);
    return static_cast<double>(examples) / batches[at] / seconds[at];
  }

  /// Seconds of all epochs together.
  double total_s() const;
};

/// Profiles by `JobSpec::profile`.
using EpochProfiles = std::map<std::string, EpochProfile, std::less<>>;

/// Epochs that a job whose unit of work is the epoch has completed by `now`, 0 to `epochs`.
int epochs_done(const ProgressView& progress, Instant now, int epochs);

/// Examples that a job was measured to train, summed over its rounds.
struct MeasuredExamples {
  double sum = 0;
  std::int64_t round = 0;  ///< Whose end was measured last.

  /// `rate` examples a second were measured in the round that ends as `ended`, which is later than
  /// `round`; as in the artifact they stand for all rounds since the last measurement.
  void add(std::int64_t ended, double rate, double round_s) {
    sum += rate * (round_s * static_cast<double>(ended - round));
    round = ended;
  }

  friend bool operator==(const MeasuredExamples&, const MeasuredExamples&) = default;
};

/// Predicts the rest of a job from its profile: how many of the epochs to come will have which
/// batch, as a Dirichlet posterior over the batches that the profile knows, and the mean time of an
/// epoch at each.
///
/// What it was told of a run by `calibrate` changes the times of epochs. Where the examples
/// measured differ from those that the profile promises by more than 0.4 of the latter, every epoch
/// takes profile time x promised / measured. The promise for the epoch in progress is counted at
/// its *present* time, so a second call with the same measurements gives other times: the
/// artifact's drift, which is kept, because its schedules depend on it.
class EpochPredictor {
 public:
  /// Times of epochs are rounded to whole seconds, halves to even ones, and at least 1 s.
  /// `profile` outlives the object.
  explicit EpochPredictor(const EpochProfile& profile);

  /// Nothing changes where nothing was measured. `round_s` above 0.
  void calibrate(const MeasuredExamples& measured, double round_s);

  /// Predicted seconds from the start of epoch `done` (0 to epochs) to the end; 1 where nothing is
  /// left.
  double remaining_s(int done) const;

  /// Seconds of the first `done` epochs.
  double elapsed_s(int done) const;

  /// Mean seconds of the epochs up to and with `done`, and of all where it is the last.
  double mean_s(int done) const;

  int epochs() const { return profile_->epochs(); }

  const EpochProfile& profile() const { return *profile_; }

  /// Seconds of each epoch now.
  const std::vector<double>& seconds() const { return seconds_; }

  /// What the profile's times are multiplied by, 1 before any calibration.
  double factor() const { return factor_; }

  /// Takes over the factor that an equal predictor had.
  void restore(double factor);

 private:
  double promised_examples(double span_s) const;

  const EpochProfile* profile_;
  std::vector<double> original_;
  std::vector<double> seconds_;
  double factor_ = 1;
};

}  // namespace orrery
