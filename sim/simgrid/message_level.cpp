#include "sim/simgrid/message_level.hpp"

#include <string>
#include <utility>

#include "sim/simgrid/actor_transport.hpp"
#include "sim/simgrid/message_fabric.hpp"

namespace orrery::sim {
namespace {

// Actors only hand messages over: their stacks stay nearly empty.
const std::vector<std::string> kSmallStacks{"contexts/stack-size:64"};

/// A platform file may leave hosts without a way to each other. Control needs one between its seat
/// and every node, there and back.
Errors without_a_way(const Platform& platform) {
  const NodeId seat = platform.has_storage() ? NodeId::none() : NodeId{0};
  Platform::Route route;
  const auto is_reached = [&](NodeId from, NodeId to) {
    platform.find_route(from, to, route);
    return !route.links.empty();
  };
  std::string lost;
  std::size_t count = 0;
  for (std::uint32_t n = 0; n < platform.node_count(); ++n) {
    const NodeId node{n};
    if (node == seat || (is_reached(seat, node) && is_reached(node, seat))) continue;
    if (++count <= 3) lost += (lost.empty() ? "" : ", ") + platform.host(node)->get_name();
  }
  if (count == 0) return {};
  if (count > 3) lost += " and " + std::to_string(count - 3) + " more";
  return {Error{.subject = "cluster.network.platform",
                .message = "no way from or to " + platform.host(seat)->get_name() + " for " + lost +
                           ", needed is one for every node at fidelity L3, whose messages of "
                           "control travel there; add routes to the file, or use L2"}};
}

class SimGridMessages final : public MessageLevel {
 public:
  SimGridMessages(std::unique_ptr<SimGridEngine> engine, Platform platform)
      : engine_(std::move(engine)),
        platform_(std::move(platform)),
        clock_(*engine_),
        transport_(clock_, platform_),
        fabric_(clock_, platform_, {}) {}

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
  Result<Platform> platform = Platform::make(*engine, scenario.network, scenario.node_count());
  if (!platform)
    errors = platform.errors();
  else if (platform->node_count() != static_cast<std::size_t>(scenario.node_count()))
    errors.push_back(Error{.subject = "cluster.network.platform",
                           .message = std::to_string(platform->node_count()) +
                                      " nodes found in the platform file, needed " +
                                      std::to_string(scenario.node_count()) +
                                      " as in the cluster; make them equal"});
  else if (!scenario.network.platform.empty())
    errors = without_a_way(*platform);
  for (Error& error : errors)
    if (error.file.empty()) error.file = scenario.file;
  if (!errors.empty()) return errors;
  return std::unique_ptr<MessageLevel>(
      std::make_unique<SimGridMessages>(std::move(engine), std::move(*platform)));
}

}  // namespace orrery::sim
