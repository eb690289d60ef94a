#include "runtime/config/node_names.hpp"

#include <gmock/gmock.h>

namespace orrery::runtime {
namespace {

using Names = std::vector<std::string>;

TEST(NodeNames, StandForManyInBrackets) {
  EXPECT_EQ(expand_node_names("a"), (Names{"a"}));
  EXPECT_EQ(expand_node_names("a,b-1"), (Names{"a", "b-1"}));
  EXPECT_EQ(expand_node_names("gpu-[1-3,7]"), (Names{"gpu-1", "gpu-2", "gpu-3", "gpu-7"}));
  EXPECT_EQ(expand_node_names("n[08-11],m2"), (Names{"n08", "n09", "n10", "n11", "m2"}));
  EXPECT_EQ(expand_node_names("r[1-2]n[3-4]x"), (Names{"r1n3x", "r1n4x", "r2n3x", "r2n4x"}));
}

TEST(NodeNames, RefuseWhatIsUnsound) {
  for (const char* text : {"",
                           "a,",
                           ",a",
                           "a[",
                           "a]",
                           "a[]",
                           "a[1",
                           "a[1-]",
                           "a[-1]",
                           "a[3-1]",
                           "a[1-2-3]",
                           "a[1,]",
                           "a[[1]]",
                           "a[x]",
                           "a[99999999999999999999]"})
    EXPECT_FALSE(expand_node_names(text)) << text;
}

TEST(NodeNames, AreNotMoreThanAClusterHolds) {
  EXPECT_EQ(expand_node_names("a[1-1048576]")->size(), kNodeNamesMax);
  EXPECT_FALSE(expand_node_names("a[1-1048577]"));
  EXPECT_FALSE(expand_node_names("a[0-1048575],b"));
  EXPECT_FALSE(expand_node_names("a[0-9999][0-9999][0-9999]"));
  EXPECT_FALSE(expand_node_names("a[0-999999999999]"));
}

TEST(NodeNames, OfAHostEndAtItsFirstDot) {
  EXPECT_EQ(node_name_of_host("Gpu-1.example.org"), "gpu-1");
  EXPECT_EQ(node_name_of_host("my_host"), "");
  EXPECT_EQ(node_name_of_host(""), "");
}

}  // namespace
}  // namespace orrery::runtime
