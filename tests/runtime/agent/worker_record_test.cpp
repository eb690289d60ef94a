#include "runtime/agent/worker_record.hpp"

#include <gtest/gtest.h>

namespace orrery::runtime {
namespace {

// A start that waited for the one before in its place has been told of later memberships.
TEST(WorkerRecord, KeepsTheGenerationOfTheBirthBesideThePresentOne) {
  SpawnWorker order;
  order.worker = {JobId{7}, Incarnation{2}, Rank{1}};
  order.born = Generation{2};
  order.generation = Generation{3};
  order.rank = Rank{0};
  const WorkerRecord record = record_of(order);
  const AgentWorker found = worker_of(record, AgentWorkerState::Starting);
  EXPECT_EQ(found.name, order.worker);
  EXPECT_EQ(found.born, Generation{2});
  EXPECT_EQ(found.generation, Generation{3});
  EXPECT_EQ(found.environment, Generation{3}) << "what its environment says";
  EXPECT_EQ(ended_of(record, {}).born, Generation{2});
}

}  // namespace
}  // namespace orrery::runtime
