#include "scenarios/yaml_tree.hpp"

#include <gtest/gtest.h>

namespace orrery::scenarios {
namespace {

TEST(YamlTree, RemembersLinesAndOrder) {
  const auto root = parse_yaml("b: 1\na:\n  - x\n  - {c: 'd'}\n", "f.yaml", 0);
  ASSERT_TRUE(root.has_value());
  ASSERT_EQ(root->entries.size(), 2U);
  EXPECT_EQ(root->entries[0].key, "b");
  EXPECT_EQ(root->entries[1].key_origin.line, 2);
  const YamlNode& item = root->entries[1].value.items[1];
  EXPECT_EQ(item.origin.line, 4);
  EXPECT_TRUE(item.find("c")->quoted);
}

TEST(YamlTree, AliasesAreCopies) {
  const auto root = parse_yaml("a: &x {k: 1}\nb: *x\n", "f.yaml", 0);
  ASSERT_TRUE(root.has_value());
  EXPECT_EQ(root->find("b")->find("k")->scalar, "1");
}

TEST(YamlTree, RefusesADocumentThatUnfoldsWithoutBound) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) text += (k > 0 ? ", " : "") + last;
    text += "]\n";
  }
  const auto root = parse_yaml(text, "bomb.yaml", 0);
  ASSERT_FALSE(root.has_value());
  EXPECT_NE(root.errors().front().message.find("unfolds to more than"), std::string::npos);
}

TEST(YamlTree, RefusesDeepNesting) {
  EXPECT_FALSE(parse_yaml(std::string(100, '[') + std::string(100, ']'), "f", 0).has_value());
  EXPECT_FALSE(parse_yaml(std::string(100'000, '['), "f", 0).has_value());
}

TEST(YamlTree, RefusesAnAliasInsideItsOwnAnchor) {
  EXPECT_FALSE(parse_yaml("a: &x [*x]\n", "f", 0).has_value());
}

TEST(YamlTree, RefusesASecondDocumentAndBrokenText) {
  const auto second = parse_yaml("a: 1\n---\nb: 2\n", "f.yaml", 0);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.errors().front().line, 2);
  const auto broken = parse_yaml("a: [1,\nb: 2\n", "f.yaml", 0);
  ASSERT_FALSE(broken.has_value());
  EXPECT_EQ(broken.errors().front().file, "f.yaml");
}

}  // namespace
}  // namespace orrery::scenarios
