// What an agent keeps of its node, and what it is without.
#include "runtime/agent/node_state.hpp"

#include <gtest/gtest.h>

#include "tests/runtime/shim/observing.hpp"

namespace orrery::runtime {
namespace {

std::uint64_t session_in(const std::filesystem::path& folder) {
  const auto state = NodeState::open(folder.string());
  EXPECT_TRUE(state.has_value());
  return state ? state->record().session : 0;
}

TEST(NodeState, EveryLifeHasAHigherNumberThanTheOneBefore) {
  const Scratch scratch("node-state");
  std::uint64_t last = 0;
  for (int life = 0; life < 100; ++life) {
    const std::uint64_t session = session_in(scratch.path() / "node");
    EXPECT_GT(session, last);
    last = session;
  }
}

// Else the controller, which remembers the lives before, takes what it says for theirs.
TEST(NodeState, ALifeOnAnEmptyDiskIsHigherThanAllBeforeIt) {
  const Scratch scratch("node-state");
  std::uint64_t last = 0;
  for (int life = 0; life < 100; ++life) last = session_in(scratch.path() / "node");
  std::filesystem::remove_all(scratch.path() / "node");
  EXPECT_GT(session_in(scratch.path() / "node"), last);
}

TEST(NodeState, AFolderKeepsItsIdAndNoOtherHasIt) {
  const Scratch scratch("node-state");
  const auto id_of = [&](const char* name) {
    const auto state = NodeState::open((scratch.path() / name).string());
    EXPECT_TRUE(state.has_value());
    return state ? state->id() : 0;
  };
  const std::uint64_t id = id_of("node");
  EXPECT_NE(id, 0u);
  EXPECT_EQ(id_of("node"), id);
  EXPECT_NE(id_of("other"), id);
  std::filesystem::remove_all(scratch.path() / "node");
  EXPECT_NE(id_of("node"), id) << "a folder that was wiped is another one";
}

}  // namespace
}  // namespace orrery::runtime
