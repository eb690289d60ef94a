// The agent of one node at the end of a fake stream, word by word.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tests/runtime/controller/daemon_in_test.hpp"
#include "tests/runtime/controller/fake_nodes.hpp"

namespace orrery::runtime::tests {

/// The agent of one node, which says what the test says. Holds one stream.
class AgentStream {
 public:
  /// Opens the stream with the certificate of the agent of `node`.
  AgentStream(FakeTransport& transport, std::string node)
      : transport_(transport),
        name_(std::move(node)),
        link_(transport_.open(
            [this](const ControllerMessage& message) {
              const std::lock_guard lock(mutex_);
              heard_.push_back(message);
            },
            [this](const std::string&) { over_ = true; },
            Peer{"fake", true, "agent", name_})) {}

  AgentStream(const AgentStream&) = delete;
  AgentStream& operator=(const AgentStream&) = delete;

  ~AgentStream() { transport_.drop(link_); }

  void say(AgentMessage message) { transport_.say(link_, std::move(message)); }

  /// All messages of one kind so far.
  template <class Message>
  std::vector<Message> heard() const {
    const std::lock_guard lock(mutex_);
    std::vector<Message> out;
    for (const ControllerMessage& each : heard_)
      if (const auto* message = std::get_if<Message>(&each)) out.push_back(*message);
    return out;
  }

  bool is_over() const { return over_; }

  const std::string& name() const { return name_; }

  Hello hello(const std::string& node, std::uint64_t session, int devices) const {
    Hello hello;
    hello.node = node;
    hello.session = session;
    hello.address = "127.0.0.1";
    hello.inventory.cpu = MilliCpu{64'000};
    hello.inventory.memory = Bytes{std::int64_t{64} << 30};
    for (int i = 0; i < devices; ++i) hello.inventory.devices.push_back({"fake"});
    return hello;
  }

  void say_hello(int devices) { say_hello(hello(name_, 1, devices)); }

  void say_hello(const Hello& hello) {
    session_ = hello.session;
    say(hello);
    ASSERT_TRUE(eventually([&] { return !heard<Welcome>().empty(); }));
    id_ = heard<Welcome>().front().node;
    epoch_ = heard<Welcome>().front().epoch;
  }

  /// Its next heartbeat. The first one registers.
  Beat beat(std::vector<RunningWorker> workers = {}) {
    Beat beat;
    beat.node = id_;
    beat.epoch = epoch_;
    beat.session = session_;
    beat.number = ++beats_;
    beat.registers = beats_ == 1;
    beat.workers = std::move(workers);
    return beat;
  }

  void register_itself() {
    say(beat());
    ASSERT_TRUE(eventually([&] { return !heard<Renewal>().empty(); }));
  }

  NodeId id() const { return id_; }

 private:
  FakeTransport& transport_;
  const std::string name_;
  mutable std::mutex mutex_;
  std::vector<ControllerMessage> heard_;
  std::atomic<bool> over_{false};
  NodeId id_;
  Epoch epoch_;
  std::uint64_t session_ = 1;
  std::uint64_t beats_ = 0;
  LinkId link_;  // The last: its messages go to the others.
};

}  // namespace orrery::runtime::tests
