#include "scenarios/language/yaml/yaml_tree.hpp"

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

TEST(YamlTree, KnowsWhereWordsBegin) {
  const auto root = parse_yaml(
      "a: 0-3\n"
      "\"b c\": '4-7'\n"
      "d: &x !!str \"8\"\n"
      "e: |\n"
      "    9\n"
      "f: {g: [1:5, \"6\"]}\n"
      "h: *x\n"
      "i:\n"
      "  &y\n"
      "  word\n",
      "f.yaml",
      0);
  ASSERT_TRUE(root.has_value());
  const auto value = [&](std::string_view key) { return root->find(key)->start; };
  EXPECT_EQ(value("a"), (TextStart{1, 4}));
  EXPECT_EQ(root->entries[1].key_start, (TextStart{2, 2}));
  EXPECT_EQ(value("b c"), (TextStart{2, 9}));
  EXPECT_EQ(value("d"), (TextStart{3, 14}));
  EXPECT_EQ(value("e"), (TextStart{5, 5}));
  const YamlNode* list = root->find("f")->find("g");
  EXPECT_EQ(root->find("f")->entries[0].key_start, (TextStart{6, 5}));
  EXPECT_EQ(list->start, (TextStart{6, 8}));
  EXPECT_EQ(list->items[0].scalar, "1:5");
  EXPECT_EQ(list->items[0].start, (TextStart{6, 9}));
  EXPECT_EQ(list->items[1].start, (TextStart{6, 15}));
  EXPECT_EQ(value("h"), (TextStart{3, 14}));
  EXPECT_EQ(value("i"), (TextStart{10, 3}));
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

TEST(YamlTree, DescribesAValueOnOneLineAndByWholeCharacters) {
  YamlNode node;
  node.kind = YamlNode::Kind::Scalar;
  node.scalar = "x\n\ny";
  EXPECT_EQ(describe(node), "'x??y'");
  node.scalar.clear();
  std::string kept;
  for (int i = 0; i < 31; ++i) {
    if (i < 29) kept += "\u00e9";
    node.scalar += "\u00e9";
  }
  node.scalar.insert(0, "x");
  kept.insert(0, "x");
  EXPECT_EQ(describe(node), "'" + kept + "...'");
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
