// The least that stands behind the HTTP side in a test.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "runtime/controller/control_api.hpp"
#include "runtime/http/exchange.hpp"

namespace orrery::tests {

/// Forgets what it is asked, as a controller that has ended.
class DeafControl : public runtime::ControlApi {
 public:
  void read(std::function<void(const runtime::ControlView&)>) override {}

  void ask(EventBody, std::function<void(const runtime::RequestOutcome&)>) override {}

  void when_durable(std::function<void(const runtime::RequestOutcome&)>) override {}

  std::unique_ptr<runtime::Subscription> follow_events(
      std::size_t, std::function<void(const runtime::EventLine&)>) override {
    return nullptr;
  }

  std::unique_ptr<runtime::Subscription> follow_changes(std::function<void(JobId)>) override {
    return nullptr;
  }

  std::unique_ptr<runtime::Subscription> read_log(
      const runtime::LogQuery&, std::function<void(const runtime::LogPiece&)>) override {
    return nullptr;
  }
};

/// Runs what is posted at once.
class NowExecutor final : public http::Executor {
 public:
  void post(std::function<void()> task) override { task(); }

  std::shared_ptr<void> after(Duration, std::function<void()>) override { return {}; }
};

}  // namespace orrery::tests
