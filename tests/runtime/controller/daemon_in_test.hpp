// A controller daemon over a fake transport, and calls that wait for its answers.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "core/driver/memory_store.hpp"
#include "policies/registry.hpp"
#include "runtime/controller/controller_daemon.hpp"
#include "runtime/election/sole_election.hpp"
#include "tests/runtime/controller/fake_nodes.hpp"
#include "tests/support/job_builders.hpp"

namespace orrery::runtime::tests {

using orrery::tests::JobBuilder;

/// Waits until `holds` is true; false where it never became so.
inline bool eventually(const std::function<bool()>& holds) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

using OpenStore = std::function<Result<std::unique_ptr<StateStore>>(const Leadership&)>;
using MakeElection = std::function<std::unique_ptr<Election>(Election::Lost)>;

inline ControllerConfig quick_config() {
  ControllerConfig config;
  config.name = "test";
  config.settings.node_lease = Duration::seconds(10);
  config.settings.fence_margin = Duration::seconds(2);
  return config;
}

/// What `look` returns of a consistent view.
template <class Look>
auto looked(ControlApi& api, Look look) {
  using Value = decltype(look(std::declval<const ControlView&>()));
  auto promise = std::make_shared<std::promise<Value>>();
  std::future<Value> future = promise->get_future();
  api.read([promise, look](const ControlView& view) { promise->set_value(look(view)); });
  return future.get();
}

inline Admission admission_of(ControlApi& api) {
  return looked(api, [](const ControlView& view) { return view.facts.admission; });
}

inline std::unique_ptr<ControllerDaemon> start_daemon(FakeTransport& transport,
                                                      OpenStore open_store,
                                                      ControllerConfig config = quick_config(),
                                                      MakeElection election = {}) {
  ControllerParts parts;
  parts.config = std::move(config);
  parts.listen = [&transport](LinkListener& listener) {
    return Result<std::unique_ptr<LinkServer>>(transport.listen(listener));
  };
  parts.election = election ? std::move(election) : [](Election::Lost) {
    return std::unique_ptr<Election>(std::make_unique<SoleElection>(Candidate{"test", "http://t"}));
  };
  parts.open_store = std::move(open_store);
  parts.policy = [] { return std::move(policies::make_policy("fifo")).value(); };
  auto daemon = std::move(ControllerDaemon::start(std::move(parts))).value();
  EXPECT_TRUE(eventually([&] { return admission_of(*daemon) == Admission::Open; }));
  return daemon;
}

/// What happened so far, a line each: for messages of failed tests.
inline std::string history_of(ControlApi& api) {
  std::string out;
  const auto lines = api.follow_events(1000, [&](const EventLine& line) {
    out += line.event.name + " " + line.job + line.node + ": " + line.event.message + "\n";
  });
  return out;
}

inline RequestOutcome asked(ControlApi& api, EventBody request) {
  auto promise = std::make_shared<std::promise<RequestOutcome>>();
  std::future<RequestOutcome> future = promise->get_future();
  api.ask(std::move(request),
          [promise](const RequestOutcome& outcome) { promise->set_value(outcome); });
  return future.get();
}

inline RequestOutcome submitted(ControlApi& api, JobSpec spec, std::uint64_t request = 0) {
  return asked(api, JobSubmitted{request, std::make_shared<const JobSpec>(std::move(spec))});
}

inline JobPhase phase_of(ControlApi& api, JobId job) {
  return looked(api, [job](const ControlView& view) {
    const JobState* state = view.state.find(job);
    return state == nullptr ? JobPhase::Unknown : state->row.phase;
  });
}

}  // namespace orrery::runtime::tests
