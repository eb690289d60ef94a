// Forecasts that say what a test wants, before a call returns.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/forecast/forecasts.hpp"

namespace orrery::tests {

class FakeForecasts final : public runtime::Forecasts {
 public:
  runtime::ForecastReply reply;
  bool takes = true;  ///< False: too many wait.
  std::vector<ForecastQuestion> asked;
  std::shared_ptr<const runtime::KnownForecast> known;
  runtime::ForecastAccuracy right;

  bool ask(ForecastQuestion question,
           std::function<void(const runtime::ForecastReply&)> done) override {
    if (!takes) return false;
    asked.push_back(std::move(question));
    done(reply);
    return true;
  }

  std::shared_ptr<const runtime::KnownForecast> latest() const override { return known; }

  std::shared_ptr<const runtime::ForecastAccuracy> accuracy() const override {
    return std::make_shared<runtime::ForecastAccuracy>(right);
  }

  runtime::ForecastFigures figures() const override { return {}; }
};

}  // namespace orrery::tests
