#include "sim/import/resource_set.hpp"

#include <gtest/gtest.h>

#include <set>

#include "core/base/random.hpp"
#include "sim/reports/device_sets.hpp"

namespace orrery::sim {
namespace {

TEST(ResourceSet, ReadsWhatBatsimWrites) {
  EXPECT_EQ(ResourceSet::parse("1-3 5")->text(), "1-3 5");
  EXPECT_EQ(ResourceSet::parse("5,1-3")->text(), "1-3 5");
  EXPECT_EQ(ResourceSet::parse(" 7 ")->text(), "7");
  EXPECT_EQ(ResourceSet::parse("")->text(), "");
  EXPECT_EQ(ResourceSet::parse("0-4 8")->size(), 6U);
}

TEST(ResourceSet, IsCanonicalWhateverTheOrder) {
  EXPECT_EQ(ResourceSet::parse("4 3 2-2 9 1")->text(), "1-4 9");
  EXPECT_EQ(ResourceSet::parse("1-5 2-3 5-9")->text(), "1-9");
  EXPECT_EQ(ResourceSet::parse("4294967294 4294967290-4294967293")->text(),
            "4294967290-4294967294");
}

TEST(ResourceSet, RefusesEverythingElse) {
  for (const char* text :
       {"a", "3-1", "1-", "-1", "1--2", "1-2-3", "1;2", "4294967295", "99999999999", "1.5", "1 2x"})
    EXPECT_FALSE(ResourceSet::parse(text)) << text;
}

// Any set of numbers, written in any order, comes back in the one form that jobs.csv
// has for the same devices.
TEST(ResourceSet, WritesTheFormOfJobsCsv) {
  constexpr std::int32_t kNodes = 40;
  NodeGroup group;
  group.count = kNodes;
  group.devices = 1;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const Timeline timeline(std::vector<NodeGroup>{group});
    std::set<std::uint32_t> numbers;
    std::string written;
    for (int i = 0; i < 30; ++i) {
      const auto number = static_cast<std::uint32_t>(random.below(kNodes));
      written += std::to_string(number) + (i % 2 == 0 ? " " : ",");
      numbers.insert(number);
    }
    std::vector<DevicePart> parts;
    for (const std::uint32_t number : numbers)
      parts.push_back({.node = NodeId{number}, .devices = 1});
    std::string expected;
    append_device_set(timeline, parts, expected);
    const auto set = ResourceSet::parse(written);
    ASSERT_TRUE(set) << "seed " << seed;
    EXPECT_EQ(set->text(), expected) << "seed " << seed;
    EXPECT_EQ(set->size(), numbers.size()) << "seed " << seed;
    EXPECT_EQ(*ResourceSet::parse(set->text()), *set) << "seed " << seed;
  }
}

}  // namespace
}  // namespace orrery::sim
