// Inventories in few words.
#include "scenarios/language/rlinf/inventory_words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::scenarios {
namespace inventory_words_tests {

using ::testing::HasSubstr;

std::string text_of(const Result<YamlNode>& nodes) {
  if (!nodes) return nodes.errors().front().text();
  std::string out;
  for (const YamlNode& node : nodes->items) {
    out += out.empty() ? "{" : " {";
    for (const YamlEntry& entry : node.entries) out += entry.key + "=" + entry.value.scalar + ",";
    out += "}";
  }
  return out;
}

TEST(InventoryWords, SayDevicesModelAndNodes) {
  EXPECT_EQ(text_of(inventory_of_words("8xH100:2")), "{gpus=8,gpu_model=H100,count=2,}");
  EXPECT_EQ(text_of(inventory_of_words("8,4xRTX-4090,0:3")),
            "{gpus=8,} {gpus=4,gpu_model=RTX-4090,} {gpus=0,count=3,}");
  EXPECT_TRUE(are_inventory_words("8xH100"));
  EXPECT_FALSE(are_inventory_words("nodes.yaml"));
}

TEST(InventoryWords, WhatIsNoneIsTold) {
  for (const char* words : {"8x", "8x:2", "8xH100:", "8xH100:two", "8xH 100", "8,,4", "12345678"})
    EXPECT_THAT(text_of(inventory_of_words(words)), HasSubstr("needed DEVICESxMODEL:NODES"))
        << words;
  EXPECT_EQ(inventory_of_words("x,8,y").errors().size(), 2u);
}

TEST(InventoryWords, OfAFileMayStandWhereADocumentHasThem) {
  const std::string nodes = "[{gpus: 4, count: 2}]";
  for (const std::string& text :
       {nodes, "nodes: " + nodes, "cluster: {nodes: " + nodes + "}", "cluster: " + nodes})
    EXPECT_EQ(text_of(inventory_of_file(text, "n.yaml")), "{gpus=4,count=2,}") << text;
  EXPECT_THAT(text_of(inventory_of_file("nodes: 3\n", "n.yaml")), HasSubstr("n.yaml:1: nodes: "));
  EXPECT_THAT(text_of(inventory_of_file("[1", "n.yaml")), HasSubstr("n.yaml:"));
}

}  // namespace inventory_words_tests
}  // namespace orrery::scenarios
