#include "core/models/batch_adaptation.hpp"

#include <algorithm>
#include <span>

#include "core/base/invariant.hpp"

namespace orrery {
namespace {

/// One model of the artifact.
struct TrainedModel {
  std::string_view name;
  int examples;   ///< Of its data set.
  int batch_max;  ///< Largest batch; 0: it keeps its batch.
};

constexpr TrainedModel kModels[] = {
    {"ResNet-18", 50'000, 256},
    {"ResNet-50", 100'000, 128},
    {"Transformer", 10'000, 0},
    {"LM", 59'675, 80},
    {"Recommendation", 117'907, 8192},
    {"CycleGAN", 6'287, 0},
    {"A3C", 4, 0},
};

/// Epochs at which the batch doubles, for one first batch and number of GPUs.
struct Doublings {
  std::string_view model;
  int batch;
  int gpus;
  std::array<int, 4> epochs;  ///< Ascending; 0: no more.
};

constexpr Doublings kDoublings[] = {
    {"ResNet-18", 16, 1, {31, 41, 51, 71}},
    {"ResNet-18", 32, 1, {21, 31, 51, 0}},
    {"ResNet-18", 64, 1, {11, 31, 0, 0}},
    {"ResNet-18", 128, 1, {11, 0, 0, 0}},
    {"ResNet-18", 16, 2, {21, 31, 91, 111}},
    {"ResNet-18", 32, 2, {11, 21, 41, 0}},
    {"ResNet-18", 64, 2, {21, 41, 0, 0}},
    {"ResNet-18", 128, 2, {41, 0, 0, 0}},
    {"ResNet-18", 16, 4, {11, 21, 81, 91}},
    {"ResNet-18", 32, 4, {21, 31, 61, 0}},
    {"ResNet-18", 64, 4, {11, 61, 0, 0}},
    {"ResNet-18", 128, 4, {11, 0, 0, 0}},
    {"ResNet-50", 64, 1, {101, 0, 0, 0}},
    {"ResNet-50", 32, 2, {101, 111, 0, 0}},
    {"ResNet-50", 64, 2, {81, 0, 0, 0}},
    {"ResNet-50", 32, 4, {131, 221, 0, 0}},
    {"ResNet-50", 64, 4, {191, 0, 0, 0}},
    {"LM", 5, 1, {31, 41, 61, 71}},
    {"LM", 10, 1, {11, 21, 41, 0}},
    {"LM", 20, 1, {11, 41, 0, 0}},
    {"LM", 40, 1, {11, 0, 0, 0}},
    {"LM", 5, 2, {31, 51, 61, 71}},
    {"LM", 10, 2, {11, 31, 41, 0}},
    {"LM", 20, 2, {31, 41, 0, 0}},
    {"LM", 40, 2, {11, 0, 0, 0}},
    {"LM", 5, 4, {11, 31, 71, 91}},
    {"LM", 10, 4, {11, 31, 61, 0}},
    {"LM", 20, 4, {11, 61, 0, 0}},
    {"LM", 40, 4, {61, 0, 0, 0}},
    {"Recommendation", 512, 1, {21, 41, 71, 91}},
    {"Recommendation", 1024, 1, {21, 51, 91, 0}},
    {"Recommendation", 2048, 1, {21, 41, 0, 0}},
    {"Recommendation", 4096, 1, {41, 0, 0, 0}},
};

const TrainedModel* find_model(std::string_view name) {
  for (const TrainedModel& model : kModels)
    if (model.name == name) return &model;
  return nullptr;
}

/// The epochs at which such a job doubles its batch.
std::span<const int> doublings_of(const AdaptiveTraining& training) {
  for (const Doublings& row : kDoublings) {
    if (row.model != training.model || row.batch != training.batch || row.gpus != training.gpus)
      continue;
    const auto end = std::find(row.epochs.begin(), row.epochs.end(), 0);
    return {row.epochs.data(), static_cast<std::size_t>(end - row.epochs.begin())};
  }
  return {};
}

bool between(int epoch, int first, int end) { return epoch >= first && epoch < end; }

/// Epochs at the beginning in which the gradients of a job change most.
int first_regime(const AdaptiveTraining& training) {
  if (training.model == "ResNet-18") return training.batch == 256 ? 20 : 10;
  if (training.model != "Recommendation") return 10;
  return training.batch <= 1024 ? 30 : training.batch == 2048 ? 40 : 10;
}

bool is_critical(const AdaptiveTraining& training, int epoch, bool profiled) {
  constexpr int kDecays = 600;  // The profile of ResNet-50 ends there.
  if (training.model == "ResNet-50") return epoch % 30 < 10 && (!profiled || epoch < kDecays);
  if (epoch < first_regime(training)) return true;
  if (training.model == "ResNet-18") return between(epoch, 150, 160) || between(epoch, 250, 260);
  return training.model == "Recommendation" && profiled &&
         (between(epoch, 60, 70) || between(epoch, 80, 90));
}

/// `batch` doubled as often as ranges have begun at `epoch`.
int doubled(const AdaptiveTraining& training, std::span<const int> starts, int epoch) {
  const auto begun = std::upper_bound(starts.begin(), starts.end(), epoch) - starts.begin();
  return training.batch << begun;
}

}  // namespace

int examples_of(std::string_view model) {
  const TrainedModel* known = find_model(model);
  return known == nullptr ? 0 : known->examples;
}

int steps_of_epoch(int examples, int batch) { return (examples + batch - 1) / batch; }

std::vector<int> profiled_batches(const AdaptiveTraining& training) {
  invariant(training.epochs >= 1 && training.batch >= 1, "a training has epochs and a batch");
  const TrainedModel* model = find_model(training.model);
  std::vector<int> batches(static_cast<std::size_t>(training.epochs), training.batch);
  if (model == nullptr || model->batch_max == 0) return batches;
  const std::span<const int> starts = doublings_of(training);
  for (int epoch = 0; epoch < training.epochs; ++epoch) {
    int& batch = batches[static_cast<std::size_t>(epoch)];
    if (training.adaptation == BatchAdaptation::Accordion) {
      // Compared as the artifact does, in doubles.
      const bool early = epoch <= training.epochs * 0.3;
      if (!early && !is_critical(training, epoch, true)) batch = model->batch_max;
    } else if (training.adaptation == BatchAdaptation::Gns) {
      const bool falls_back =
          epoch + 1 >= training.epochs && starts.size() > 1 && epoch >= starts[1];
      if (!falls_back) batch = std::min(doubled(training, starts, epoch), model->batch_max);
    }
  }
  return batches;
}

std::vector<int> trained_batches(const AdaptiveTraining& training) {
  invariant(training.epochs >= 1 && training.batch >= 1, "a training has epochs and a batch");
  const TrainedModel* model = find_model(training.model);
  std::vector<int> batches(static_cast<std::size_t>(training.epochs), training.batch);
  if (model == nullptr || model->batch_max == 0) return batches;
  const std::span<const int> starts = doublings_of(training);
  for (int epoch = 0; epoch < training.epochs; ++epoch) {
    int& batch = batches[static_cast<std::size_t>(epoch)];
    if (training.adaptation == BatchAdaptation::Accordion) {
      if (!is_critical(training, epoch, false)) batch = model->batch_max;
    } else if (training.adaptation == BatchAdaptation::Gns) {
      batch = std::min(doubled(training, starts, epoch + 1), model->batch_max);
    }
  }
  return batches;
}

}  // namespace orrery
