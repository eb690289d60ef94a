// The sample worker's command line.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "runtime/workers/collective.hpp"

namespace orrery::worker {

struct Options {
  std::int64_t steps = 100;  ///< 0: until asked to stop.
  std::int32_t size = 256;   ///< Rows and columns of a matrix.
  std::string backend = "auto";
  std::string checkpoint;  ///< File; empty: none.
  std::int64_t checkpoint_every = 10;
  std::int64_t report_every = 5;
  std::int64_t measure = 0;  ///< Rounds of each measurement, in place of training; 0: train.
  Milliseconds step_time_min{0};
  // Both outlast a peer that starts slowly and a restart's longest delay; a newer generation and
  // SIGTERM end either wait.
  Milliseconds membership_timeout{600'000};  ///< From a lost peer to the next generation.
  CollectiveTimes times{.build = Milliseconds(600'000)};
  std::string nccl_library;  ///< File; empty: looked for.
  bool json = false;
  bool help = false;
};

/// Reads the arguments behind the program's name. Errors: all that is wrong with them.
Result<Options> options_of(std::span<const char* const> arguments);

/// The help of a program, whose backends are listed as `auto` tries them.
std::string help_text(std::string_view program, std::string_view backends);

}  // namespace orrery::worker
