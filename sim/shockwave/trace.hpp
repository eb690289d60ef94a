// Reader of Shockwave's traces: jobs with a mode of batch-size adaptation.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "core/models/batch_adaptation.hpp"

namespace orrery::sim {

/// One line of a trace.
struct AdaptiveSubmission {
  std::size_t line = 0;  ///< In the file, from 1; the job's name is "line-N".
  std::string job_type;  ///< "ResNet-18 (batch size 32)".
  Instant submit;
  AdaptiveTraining training;  ///< Its epochs are the steps at the first batch, rounded up.
  double steps = 0;           ///< At the first batch, above 0.
  Duration duration;          ///< As the trace states it: at the first batch throughout.
  double weight = 1;
};

/// Reads lines of 12 fields between tabs, without a header: job type, command, folder, steps
/// argument, needs data, steps, GPUs, mode (static, accordion, gns), weight, SLO, duration and
/// arrival, both in seconds. The model is one of the artifact's. Every broken line is reported,
/// with its number; jobs come by arrival, equal ones in the order of the file.
Result<std::vector<AdaptiveSubmission>> parse_shockwave_trace(std::string_view text,
                                                              std::string_view file_name);

}  // namespace orrery::sim
