#include "sim/explore/part.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "sim/explore/choice.hpp"
#include "sim/explore/seen_states.hpp"

namespace orrery::tests {
namespace {

/// Two machines, of which one refers to the other.
struct Pair {
  struct Reader {
    const int& read;
  };

  int value = 0;
  Reader reader{value};

  void save(ByteWriter& out) const { out.i64(value); }
};

TEST(Part, PutsReferencesBackToWhatLives) {
  sim::Part<Pair> part;
  part.make();
  part.edit().value = 1;
  const auto one = part.keep();
  part.edit().value = 2;
  const auto two = part.keep();
  part.put_back(one);
  EXPECT_EQ(part.get().reader.read, 1);
  part.edit().value = 7;
  EXPECT_EQ(part.get().reader.read, 7);
  part.put_back(two);
  EXPECT_EQ(part.get().reader.read, 2);
  EXPECT_EQ(one->value.value, 1) << "what is kept stays";
}

TEST(Part, KeepsOneCopyOfEqualParts) {
  sim::Part<Pair> part;
  part.make();
  const auto first = part.keep();
  part.edit().value = 1;
  EXPECT_NE(part.keep(), first);
  part.edit().value = 0;
  EXPECT_EQ(part.keep(), first);
}

TEST(Part, MayBeThereOrNot) {
  sim::Part<Pair> part;
  EXPECT_EQ(part.keep(), nullptr);
  part.make();
  const auto there = part.keep();
  part.end();
  EXPECT_FALSE(part.is_there());
  part.put_back(there);
  EXPECT_TRUE(part.is_there());
  part.put_back(nullptr);
  EXPECT_FALSE(part.is_there());
}

TEST(SeenStates, TellsWhatIsNew) {
  sim::SeenStates seen;
  for (std::uint64_t i = 1; i <= 100'000; ++i) EXPECT_TRUE(seen.add({i, i * 64}));
  for (std::uint64_t i = 1; i <= 100'000; ++i) EXPECT_FALSE(seen.add({i, i * 64}));
  EXPECT_EQ(seen.size(), 100'000U);
}

TEST(Choice, IsHeldUpAndFoundAgain) {
  const sim::Choice what{sim::ChoiceKind::ToNode, 1, 2};
  EXPECT_EQ(sim::held_by(sim::hold_of(what)), what);
  EXPECT_EQ(sim::hold_of(what).kind, sim::ChoiceKind::Hold);
  EXPECT_EQ(to_string(sim::ChoiceKind::Release), "release") << "each kind has its name";
}

}  // namespace
}  // namespace orrery::tests
