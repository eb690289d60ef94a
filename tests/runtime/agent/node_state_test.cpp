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

}  // namespace
}  // namespace orrery::runtime
