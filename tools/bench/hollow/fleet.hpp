// Hollow agents: the real state machine and the real transport, without processes to start. One
// thread drives all agents of a process.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "core/agent/agent.hpp"
#include "core/base/random.hpp"
#include "runtime/link/link.hpp"
#include "tools/bench/hollow/fleet_counters.hpp"

namespace orrery::bench {

struct FleetOptions {
  std::string controller;
  int first = 0;  ///< Number of its first node.
  int count = 1;
  int connections = 1;
  Duration ramp = Duration::seconds(5);  ///< Over which they connect at first.
  int devices = 16;                      ///< Of each node.
};

/// The agents of one process.
class Fleet {
 public:
  Fleet(const FleetOptions& options, FleetCounters& counters);
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;
  ~Fleet();

  /// Returns once `stop` says so; asked about ten times a second.
  void run(const std::function<bool()>& stop);

 private:
  struct Node;

  /// What a stream told, on its way to the fleet's thread.
  struct Heard {
    std::size_t node = 0;
    std::uint64_t stream = 0;
    bool open = false;
    bool closed = false;
    std::vector<runtime::ControllerMessage> messages;
  };

  Instant now() const;
  void post(Heard heard);
  void take(Heard& heard);
  void connect(Node& node);
  void lost(Node& node);
  void hear(Node& node, const runtime::ControllerMessage& message);
  void step(Node& node, const AgentEvent& event);
  void carry_out(Node& node);
  void act_on_time(std::size_t index);
  void schedule(Node& node);

  FleetOptions options_;
  FleetCounters& counters_;
  Random random_;
  std::unique_ptr<runtime::LinkDialer> dialer_;
  std::vector<std::unique_ptr<Node>> nodes_;
  using Due = std::pair<Instant, std::size_t>;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;

  std::mutex mutex_;
  std::condition_variable told_;
  std::vector<Heard> heard_;
};

}  // namespace orrery::bench
