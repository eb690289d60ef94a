// Answers questions about a running controller's future, one at a time, and keeps a forecast of all
// jobs fresh while some wait.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/controller/control_api.hpp"
#include "runtime/forecast/accuracy_book.hpp"
#include "runtime/forecast/forecast_helper.hpp"
#include "runtime/forecast/forecasts.hpp"

namespace orrery::runtime {

struct ForecastDeskOptions {
  ForecastHelperOptions helper;
  Duration refresh = Duration::seconds(30);  ///< Of the forecast of all jobs; 0: none is made.
  std::uint64_t records_max = 2'000'000;     ///< Of one run.
  std::string book;                          ///< Where outcomes are kept; empty: in memory alone.
  /// Takes sentences for the operator, on the desk's thread; may be null.
  std::function<void(const std::string&)> say = nullptr;
};

/// One thread of its own. The core thread only copies its state, once for each forecast, and where
/// nothing has changed not even that; encoding, waiting for the helper and files are this thread's.
///
/// Between forecasts that nobody asked for it rests for 19 times as long as the last one took, and
/// a second at least: less than a twentieth of one core is spent on them.
class ForecastDesk final : public Forecasts {
 public:
  /// `control` outlives the desk.
  ForecastDesk(ControlApi& control, ForecastDeskOptions options);
  ForecastDesk(const ForecastDesk&) = delete;
  ForecastDesk& operator=(const ForecastDesk&) = delete;
  ~ForecastDesk() override;

  bool ask(ForecastQuestion question, std::function<void(const ForecastReply&)> done) override;
  std::shared_ptr<const KnownForecast> latest() const override;
  std::shared_ptr<const ForecastAccuracy> accuracy() const override;
  ForecastFigures figures() const override;

 private:
  using Clock = std::chrono::steady_clock;

  struct Asked {
    ForecastQuestion question;
    std::function<void(const ForecastReply&)> done;
  };

  /// An answer that may do for the same question once more.
  struct Known {
    std::vector<std::byte> question;
    ForecastReply reply;
    Clock::time_point at;
  };

  /// What the core thread found.
  struct Look {
    bool leads = false;
    std::string why;  ///< Where it does not.
    Sequence sequence;
    JobId next_job;
    bool some_wait = false;
    std::unique_ptr<State> state;  ///< Null: it was not needed.
    std::vector<ForecastOutcome> came;
  };

  void live();
  void changed();
  Look look(const std::function<bool(const Look&)>& wants_state);
  void carry_out(const Asked& asked);
  void refresh();
  void take_outcomes(const Look& look);
  ForecastReply run(const Look& look, const ForecastQuestion& question);
  void keep(const ForecastReply& reply, const State& state);
  const Known* known(const std::vector<std::byte>& question) const;

  ControlApi& control_;
  const ForecastDeskOptions options_;
  int stop_;  ///< An eventfd: readable from the desk's end on.

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::deque<Asked> waiting_;
  Clock::time_point look_at_;      ///< When jobs are looked at next.
  Clock::time_point rests_until_;  ///< Not before.
  std::shared_ptr<const KnownForecast> latest_;
  std::shared_ptr<const ForecastAccuracy> accuracy_ = std::make_shared<ForecastAccuracy>();
  ForecastFigures figures_;

  // The thread's own.
  AccuracyBook book_;
  std::deque<Known> answers_;
  JobId next_job_;  ///< Jobs below were foretold, or started at once.
  Clock::time_point refreshed_at_;
  Sequence refreshed_;

  std::unique_ptr<Subscription> changes_;
  std::thread thread_;
};

}  // namespace orrery::runtime
