// The lines between worker and agent.
#include "runtime/workers/agent_lines.hpp"

#include <gtest/gtest.h>

namespace orrery::worker {
namespace {

TEST(AgentLinesTest, WhatAWorkerSays) {
  EXPECT_EQ(hello_line("7-1-0", ""), R"({"hello":{"worker":"7-1-0"}})");
  EXPECT_EQ(hello_line("7-1-0", "x"), R"({"hello":{"worker":"7-1-0","token":"x"}})");
  EXPECT_EQ(profiling_line({0.5, 1024, 512}),
            R"({"profiling":{"step_time_s":0.5,"throughput":1024,"batch_size":512}})");
  EXPECT_EQ(progress_line({12, 2, true}),
            R"({"progress":{"done":12,"rate":2,"checkpointed":true}})");
}

TEST(AgentLinesTest, AMembershipIsRead) {
  const auto said = membership_in(
      R"({"membership":{"generation":2,"rank":1,"world_size":2,"members":[)"
      R"({"rank":0,"role":"a","local_rank":0,"node":"n0","address":"10.0.0.7","first_port":22270},)"
      R"({"rank":1,"role":"a","local_rank":1,"node":"n1","address":"10.0.0.8","first_port":22280}]}})");
  ASSERT_TRUE(said);
  ASSERT_TRUE(said->has_value());
  EXPECT_EQ((*said)->generation, 2u);
  EXPECT_EQ((*said)->rank, 1);
  EXPECT_EQ((*said)->world_size, 2);
  EXPECT_EQ((*said)->master_address, "10.0.0.7");
  EXPECT_EQ((*said)->master_port, 22270);
}

TEST(AgentLinesTest, AMasterThatIsSaidWins) {
  const auto said =
      membership_in(R"({"membership":{"generation":2,"rank":0,"world_size":1,"members":[],)"
                    R"("master":{"address":"10.0.0.7","port":22275}}})");
  ASSERT_TRUE(said && said->has_value());
  EXPECT_EQ((*said)->master_port, 22275);
}

TEST(AgentLinesTest, OtherLinesAreNoMembership) {
  const auto said = membership_in(R"({"sub_master":{"role":"a","incident":3,"word":"recover"}})");
  ASSERT_TRUE(said);
  EXPECT_FALSE(said->has_value());
}

TEST(AgentLinesTest, WhatMakesNoSenseIsRefused) {
  for (const char* line :
       {"",
        "{",
        "[]",
        "3",
        R"({"membership":3})",
        R"({"membership":{"generation":-1,"rank":0}})",
        R"({"membership":{"generation":1,"rank":0,"world_size":0}})",
        R"({"membership":{"generation":1e400,"rank":0,"world_size":1}})",
        R"({"membership":{"generation":1,"rank":0,"world_size":2,"members":[]}})",
        R"({"membership":{"generation":1,"rank":0,"world_size":2,"members":[{"rank":0,)"
        R"("address":"10.0.0.7","first_port":70000}]}})"})
    EXPECT_FALSE(membership_in(line)) << line;
}

}  // namespace
}  // namespace orrery::worker
