// How training jobs change their batch while they train: Accordion and gradient noise scale, as the
// Shockwave artifact models both.
//
// Accordion (Agarwal et al., MLSys 2021) keeps the small batch in critical regimes and takes the
// largest outside; by the gradient noise scale (McCandlish et al., 2018) the batch doubles as
// training goes on. The epochs at which either happens are measured: facts of the Shockwave
// artifact (Zheng et al., NSDI 2023, MIT licence), for its five models.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/enum_names.hpp"

namespace orrery {

/// What decides the batch of an epoch.
enum class BatchAdaptation : std::uint8_t { Static, Accordion, Gns };

/// A training run whose batch may change from epoch to epoch.
struct AdaptiveTraining {
  std::string model;  ///< "ResNet-18", ...; one that the tables lack keeps its batch.
  int batch = 1;      ///< Examples per step and GPU at the start, at least 1.
  int gpus = 1;       ///< At least 1.
  BatchAdaptation adaptation = BatchAdaptation::Static;
  int epochs = 1;  ///< At least 1. A change of the batch does not change it.
};

/// Examples of one epoch of the model's data set; 0 for a model that the artifact does not know.
int examples_of(std::string_view model);

/// Steps of one epoch at `batch`: the last one may be short.
int steps_of_epoch(int examples, int batch);

/// The batch of every epoch, as a profile taken before the run tells it. The artifact keeps the
/// first 30 % of an Accordion job at its first batch there, has two critical regimes more for
/// Recommendation, and lets the last epoch of a Gns job that has passed its second range fall back
/// to the first batch.
std::vector<int> profiled_batches(const AdaptiveTraining& training);

/// The batch of every epoch as the job trains: Accordion by the critical regimes alone; Gns one
/// epoch before the profile says so, since the artifact asks for the doubled batch when the next
/// epoch has it.
std::vector<int> trained_batches(const AdaptiveTraining& training);

template <>
struct EnumNames<BatchAdaptation> {
  static constexpr std::array kNames{"static", "accordion", "gns"};
};

}  // namespace orrery
