#include "core/models/epoch_profile.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/invariant.hpp"

namespace orrery {
namespace {

/// Whole seconds, halves to the even one, at least 1.
double whole_seconds(double seconds) {
  const double floor = std::floor(seconds);
  const double part = seconds - floor;
  const bool odd = std::fmod(floor, 2.0) != 0;
  const double rounded = part > 0.5 || (part == 0.5 && odd) ? floor + 1 : floor;
  return std::max(1.0, rounded);
}

/// What is known of one batch.
struct Mode {
  double epochs = 0;   ///< Expected still to come.
  double seconds = 0;  ///< Of all its epochs, then of one.
  int count = 0;       ///< Epochs of the profile.
};

}  // namespace

double EpochProfile::total_s() const {
  double sum = 0;
  for (const double s : seconds) sum += s;
  return sum;
}

int epochs_done(const ProgressView& progress, Instant now, int epochs) {
  const double since = std::max(0.0, (now - progress.as_of).in_seconds());
  // Reports are made at epoch edges, and a rate times a time falls short by rounding.
  const double done = progress.done + progress.rate * since + 1e-6;
  return static_cast<int>(std::clamp(std::floor(done), 0.0, static_cast<double>(epochs)));
}

EpochPredictor::EpochPredictor(const EpochProfile& profile) : profile_(&profile) {
  invariant(profile.epochs() >= 1 && profile.seconds.size() == profile.batches.size(),
            "a profile has epochs, each with a batch and a time");
  for (const double s : profile.seconds) original_.push_back(whole_seconds(s));
  seconds_ = original_;
}

double EpochPredictor::promised_examples(double span_s) const {
  double passed = 0;
  double examples = 0;
  std::size_t epoch = 0;
  while (epoch < original_.size() && passed + original_[epoch] <= span_s)
    passed += original_[epoch++];
  examples = static_cast<double>(epoch) * profile_->examples;
  // The artifact looks the epoch in progress up in the calibrated times, and stays at the last.
  const std::size_t reached = std::min(epoch, original_.size() - 1);
  if (span_s > passed) examples += profile_->examples * (span_s - passed) / seconds_[reached];
  return examples;
}

void EpochPredictor::calibrate(const MeasuredExamples& measured, double round_s) {
  const double promised = promised_examples(round_s * static_cast<double>(measured.round));
  constexpr double tolerated = 0.4;
  if (measured.sum <= 0 || promised <= 0) return;
  if (std::abs(measured.sum - promised) / promised <= tolerated) return;
  restore(promised / measured.sum);
}

void EpochPredictor::restore(double factor) {
  factor_ = factor;
  for (std::size_t i = 0; i < seconds_.size(); ++i) seconds_[i] = original_[i] * factor;
}

double EpochPredictor::remaining_s(int done) const {
  const int all = epochs();
  const int left = all - done;
  std::map<int, Mode> modes;
  for (std::size_t i = 0; i < seconds_.size(); ++i) {
    Mode& mode = modes[profile_->batches[i]];
    mode.seconds += seconds_[i];
    ++mode.count;
  }
  // The epoch in progress counts as observed.
  const int observed = std::min(done + 1, all);
  const auto batch_of = [&](int epoch) {
    return profile_->batches[static_cast<std::size_t>(epoch)];
  };
  const double prior = static_cast<double>(all) / static_cast<double>(modes.size());
  for (auto& [batch, mode] : modes) mode.epochs = prior;
  for (int epoch = 0; epoch < observed; ++epoch) modes[batch_of(epoch)].epochs += 1;
  double concentration = 0;
  for (const auto& [batch, mode] : modes) concentration += mode.epochs;
  for (auto& [batch, mode] : modes) mode.epochs = all * mode.epochs / concentration;
  for (int epoch = 0; epoch < observed; ++epoch) {
    Mode& mode = modes[batch_of(epoch)];
    if (mode.epochs >= 1) mode.epochs -= 1;
  }
  double expected = 0;
  double seconds = 0;
  for (const auto& [batch, mode] : modes) {
    expected += mode.epochs;
    seconds += mode.epochs * (mode.seconds / mode.count);
  }
  const int inflated = std::max(static_cast<int>(expected + 1), left);
  if (left <= 0 || inflated <= 0) return 1;
  return seconds * (static_cast<double>(left) / inflated);
}

double EpochPredictor::elapsed_s(int done) const {
  double sum = 0;
  for (int epoch = 0; epoch < std::min(done, epochs()); ++epoch)
    sum += seconds_[static_cast<std::size_t>(epoch)];
  return sum;
}

double EpochPredictor::mean_s(int done) const {
  const int through = std::min(done + 1, epochs());
  return elapsed_s(through) / through;
}

}  // namespace orrery
