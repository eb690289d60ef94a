// A world of agents whose messages are carried by another part.
#include <gmock/gmock.h>

#include <algorithm>
#include <deque>

#include "tests/sim/agents/agent_runs.hpp"

namespace orrery::sim {
namespace {

using testing::IsEmpty;

/// Every message takes the same time.
class EvenTransport final : public ControlTransport {
 public:
  explicit EvenTransport(Duration time) : time_(time) {}

  void send(std::uint32_t number, NodeId, Way, std::size_t bytes, Instant now) override {
    EXPECT_GT(bytes, 0u);
    EXPECT_TRUE(under_way_.empty() || under_way_.back().at <= now + time_) << "time steps back";
    under_way_.push_back({now + time_, number});
    ++sent;
  }

  Instant next(Instant limit) override {
    if (under_way_.empty() || under_way_.front().at > limit) return Instant::never();
    // A world must bear to be called for nothing.
    if (++asked_ % 3 == 0) return std::max(last_, under_way_.front().at - Duration{1});
    return under_way_.front().at;
  }

  void take_arrived(Instant now, std::vector<std::uint32_t>& numbers) override {
    last_ = now;
    while (!under_way_.empty() && under_way_.front().at <= now) {
      EXPECT_EQ(under_way_.front().at, now) << "the world has passed an arrival by";
      numbers.push_back(under_way_.front().number);
      under_way_.pop_front();
    }
  }

  std::uint64_t sent = 0;

 private:
  struct Message {
    Instant at;
    std::uint32_t number = 0;
  };

  Duration time_;
  std::deque<Message> under_way_;
  Instant last_;
  int asked_ = 0;
};

constexpr const char* kScenario = R"(
cluster: {nodes: 4, gpus_per_node: 4}
until: 12min
timing: {start: 5s, checkpoint_interval: 20s, stop: 1s}
jobs:
  - {name: a, replicas: 4, backoff_limit: 10, work: 120s}
  - {name: b, replicas: 4, backoff_limit: 10, at: 5s, work: 120s}
faults: [{at: 40s, kind: down, node: 0, lasting: 60s}, {at: 90s, kind: controller_crash}]
)";

TEST(CarriedMessages, AJobOutlivesItsNodeAndItsControllerTwiceAlike) {
  const auto scenario = scenarios::parse_scenario(kScenario, "s.yaml", {});
  ASSERT_TRUE(scenario);
  EvenTransport first(Duration::milliseconds(3));
  TruthTap tap;
  const AgentOutcome once = run_scenario(*scenario, &tap, &first);
  EXPECT_EQ(once.jobs_finished, 2u);
  EXPECT_THAT(tap.found, IsEmpty());
  EXPECT_GT(first.sent, 100u);
  EvenTransport second(Duration::milliseconds(3));
  EXPECT_EQ(run_scenario(*scenario, nullptr, &second).digest, once.digest);
  EvenTransport slow(Duration::milliseconds(30));
  EXPECT_NE(run_scenario(*scenario, nullptr, &slow).digest, once.digest)
      << "the order of events depends on the transport of the messages";
}

TEST(CarriedMessages, ATransportPutsAgentsInControl) {
  const auto scenario = scenarios::parse_scenario(
      "cluster: {nodes: 1, gpus_per_node: 1}\njobs: [{name: a, work: 60s}]\n", "s.yaml", {});
  ASSERT_TRUE(scenario);
  ASSERT_FALSE(scenario->needs_agents());
  EvenTransport transport(Duration::milliseconds(1));
  EXPECT_EQ(run_scenario(*scenario, nullptr, &transport).jobs_finished, 1u);
  EXPECT_GT(transport.sent, 10u);
}

}  // namespace
}  // namespace orrery::sim
