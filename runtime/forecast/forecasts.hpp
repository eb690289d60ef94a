// What the outside (HTTP, tests) may ask of a controller's forecasts. Any thread may call.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/enum_names.hpp"
#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/forecast/forecast_answer.hpp"
#include "runtime/controller/histogram.hpp"

namespace orrery::runtime {

/// Why there is no answer.
enum class ForecastLoss : std::uint8_t {
  None,
  Unavailable,  ///< There is no state to ask, or the controller ends.
  NotStarted,   ///< The program could not be executed.
  Late,         ///< The deadline passed.
  OutOfMemory,
  Ended,   ///< The process ended without a word.
  Failed,  ///< It said why, or what cannot be read.
};

/// What came of a question: an answer, or why there is none.
struct ForecastReply {
  std::shared_ptr<const ForecastAnswer> answer;  ///< Null: none.
  ForecastLoss loss = ForecastLoss::None;
  std::string why;  ///< In words, where there is none.
  Duration age;     ///< Since its state was looked at.
};

/// What the last forecast of all jobs said.
struct KnownForecast {
  std::shared_ptr<const ForecastAnswer> answer;
  std::map<JobId, Instant> starts;  ///< Of jobs that wait and are foreseen to start.
};

/// One job whose start was foretold when it was submitted, and has come.
struct ForecastOutcome {
  JobId job;
  std::string name;  ///< Full.
  Instant submitted;
  Instant foretold_at;  ///< When the forecast was made.
  Instant foretold;     ///< The start that it told.
  Instant started;

  /// |foretold - started| over the time that it waited from its submission, a minute at least.
  double error() const {
    return std::abs((foretold - started).in_seconds()) /
           std::max((started - submitted).in_seconds(), 60.0);
  }
};

/// How right forecasts were.
struct ForecastAccuracy {
  std::uint64_t outcomes = 0;  ///< Those below, of which the latest 10,000 are kept.
  std::uint64_t waiting = 0;   ///< Foretold, and not started yet.
  double error_p50 = 0;
  double error_p90 = 0;
  double error_s_p50 = 0;  ///< The same in seconds.
  double error_s_p90 = 0;
  std::vector<ForecastOutcome> latest;  ///< 100 at most, the newest first.
};

/// For /metrics. Of this process's life.
struct ForecastFigures {
  std::array<std::uint64_t, 7> replies{};  ///< By ForecastLoss; None: answered.
  std::uint64_t refused = 0;               ///< Questions turned away: too many waited.
  std::uint64_t reused = 0;                ///< Answered with what was known already.
  Histogram<8> seconds{{0.05, 0.1, 0.2, 0.3, 0.5, 1, 3, 10}, {}, 0};  ///< Of the process.
  /// The core thread copied its state for so long.
  Histogram<8> copy_seconds{{0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1}, {}, 0};
  Histogram<8> errors{
      {0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1, 3}, {}, 0};  ///< `ForecastOutcome::error`.
};

/// Questions that wait at most.
inline constexpr std::size_t kForecastsWaitingMax = 16;

class Forecasts {
 public:
  virtual ~Forecasts() = default;

  /// Tells the reply on a thread of the forecasts' own, which it must not block. False, and nothing
  /// is done, where too many wait. After the end it is destroyed without a call.
  virtual bool ask(ForecastQuestion question, std::function<void(const ForecastReply&)> done) = 0;

  /// Null: none was made yet, or no job waits.
  virtual std::shared_ptr<const KnownForecast> latest() const = 0;

  virtual std::shared_ptr<const ForecastAccuracy> accuracy() const = 0;

  virtual ForecastFigures figures() const = 0;
};

}  // namespace orrery::runtime

template <>
struct orrery::EnumNames<orrery::runtime::ForecastLoss> {
  static constexpr std::array kNames{
      "none", "unavailable", "not_started", "late", "out_of_memory", "ended", "failed"};
};
