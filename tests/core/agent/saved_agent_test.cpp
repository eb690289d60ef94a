// Agents in bytes: equal where they go on alike, and only there.
#include <gtest/gtest.h>

#include <string>

#include "core/agent/agent.hpp"

namespace orrery::tests {
namespace {

AgentSettings settings() { return AgentSettings::of(NodeId{0}, 1, Settings{}); }

std::string bytes_of(const Agent& agent) {
  ByteWriter out;
  agent.save(out);
  return std::string(out.text());
}

Instant at(std::int64_t seconds) { return Instant::zero() + Duration::seconds(seconds); }

AgentEvent start(std::uint32_t incarnation) {
  WorkerStart worker;
  worker.rank = Rank{0};
  worker.role = RoleIndex{0};
  worker.node = NodeId{0};
  worker.incarnation = Incarnation{incarnation};
  Command command{Sequence{1}, 0, Epoch{1}, StartWorkers{JobId{0}, Generation{1}, 1, {worker}}};
  return CommandReceived{command};
}

TEST(SavedAgent, IsEqualAfterEqualEvents) {
  Agent one(settings());
  Agent other(settings());
  AgentOutput out;
  for (Agent* agent : {&one, &other}) {
    agent->step(TimePassed{}, at(0), out);
    agent->step(LeaseRenewed{Epoch{1}, at(0)}, at(1), out);
    agent->step(start(1), at(1), out);
  }
  EXPECT_EQ(bytes_of(one), bytes_of(other));
}

TEST(SavedAgent, TellsLeasesHeartbeatsAndWorkersApart) {
  AgentOutput out;
  Agent agent(settings());
  const std::string fresh = bytes_of(agent);
  agent.step(TimePassed{}, at(0), out);
  const std::string beaten = bytes_of(agent);
  EXPECT_NE(beaten, fresh);
  agent.step(LeaseRenewed{Epoch{1}, at(0)}, at(0), out);
  const std::string leased = bytes_of(agent);
  EXPECT_NE(leased, beaten);
  Agent twin = agent;
  agent.step(start(1), at(0), out);
  twin.step(start(2), at(0), out);
  EXPECT_NE(bytes_of(agent), leased);
  EXPECT_NE(bytes_of(agent), bytes_of(twin));
}

}  // namespace
}  // namespace orrery::tests
