#include "sim/simgrid/message_level.hpp"

#include <string>
#include <utility>

#include "sim/simgrid/actor_transport.hpp"
#include "sim/simgrid/message_fabric.hpp"

namespace orrery::sim {
namespace {

// Actors only hand messages over: their stacks stay nearly empty.
const std::vector<std::string> kSmallStacks{"contexts/stack-size:64"};

// Of the controllers' link where no storage has one: bytes per second, never a bottleneck.
constexpr double kUnbounded = 1e15;

class SimGridMessages final : public MessageLevel {
 public:
  SimGridMessages(std::unique_ptr<SimGridEngine> engine, Platform platform, bool storage)
      : engine_(std::move(engine)),
        platform_(std::move(platform)),
        clock_(*engine_),
        transport_(clock_, platform_),
        fabric_(clock_, platform_, {.storage = storage}) {}

  ControlTransport& transport() override { return transport_; }

  Fabric& fabric() override { return fabric_; }

 private:
  std::unique_ptr<SimGridEngine> engine_;
  Platform platform_;
  MessageClock clock_;
  ActorTransport transport_;
  MessageFabric fabric_;
};

}  // namespace

Result<std::unique_ptr<MessageLevel>> MessageLevel::make(const scenarios::Scenario& scenario) {
  Errors errors = refused_at_message_level(scenario);
  if (scenario.node_count() > static_cast<std::int64_t>(ActorTransport::kNodesMax))
    errors.push_back(
        Error{.file = scenario.file,
              .subject = "cluster.nodes",
              .message = std::to_string(scenario.node_count()) + " found, needed " +
                         std::to_string(ActorTransport::kNodesMax) +
                         " at most at fidelity L3, where each node has actors; use L2"});
  if (!errors.empty()) return errors;
  auto engine = std::make_unique<SimGridEngine>(kSmallStacks);
  const bool storage = scenario.network.storage_bandwidth > 0;
  scenarios::NetworkSpec network = scenario.network;
  if (!storage) network.storage_bandwidth = kUnbounded;
  Result<Platform> platform = Platform::make(*engine, network, scenario.node_count());
  if (!platform)
    errors = platform.errors();
  else if (platform->node_count() != static_cast<std::size_t>(scenario.node_count()))
    errors.push_back(Error{.subject = "cluster.network.platform",
                           .message = std::to_string(platform->node_count()) +
                                      " nodes found in the platform file, needed " +
                                      std::to_string(scenario.node_count()) +
                                      " as in the cluster; make them equal"});
  for (Error& error : errors)
    if (error.file.empty()) error.file = scenario.file;
  if (!errors.empty()) return errors;
  return std::unique_ptr<MessageLevel>(
      std::make_unique<SimGridMessages>(std::move(engine), std::move(*platform), storage));
}

}  // namespace orrery::sim
