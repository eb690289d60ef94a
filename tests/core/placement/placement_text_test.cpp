// Every kind of error of a placement text: its place and what it says.
#include "core/placement/placement_text.hpp"

#include <gtest/gtest.h>

#include "tests/core/placement/placement_builders.hpp"

namespace orrery::placement {
namespace placement_text_tests {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A text on eight GPUs of one node; it begins at line 5, column 20.
PlacementErrors errors_of(const std::string& text) {
  PlacementErrors errors;
  resolve_components(cluster_of({8}), {rule("actor", text)}, errors);
  return errors;
}

std::vector<std::string> told(const std::string& text) { return summary(errors_of(text)); }

std::string message(const std::string& text) {
  const PlacementErrors errors = errors_of(text);
  return errors.size() == 1 ? errors.front().message() : std::to_string(errors.size());
}

TEST(PlacementText, EveryKindHasItsPlace) {
  EXPECT_THAT(told("0:1:2"), ElementsAre("parse entry_malformed@5:23"));
  EXPECT_THAT(told("0,1-x"), ElementsAre("parse rank_format@5:22"));
  EXPECT_THAT(told(" -1"), ElementsAre("parse rank_format@5:21"));
  EXPECT_THAT(told("0:x"), ElementsAre("parse rank_format@5:22"));
  EXPECT_THAT(told("3-0"), ElementsAre("parse range_reversed@5:20"));
  EXPECT_THAT(told("0-3:3-0"), ElementsAre("parse range_reversed@5:24"));
  EXPECT_THAT(told("0-3,6-8"), ElementsAre("parse resource_out_of_range@5:24"));
  EXPECT_THAT(told("0, :1"), ElementsAre("parse resource_empty@5:23"));
  EXPECT_THAT(told("0-1, 1-2"), ElementsAre("parse resource_duplicate@5:25"));
  EXPECT_THAT(told("3,1"), ElementsAre("parse resource_not_ascending@5:22"));
  EXPECT_THAT(told("0-3: All"), ElementsAre("parse process_all@5:25"));
  EXPECT_THAT(told("0-3 : "), ElementsAre("parse process_empty@5:23"));
  EXPECT_THAT(told("0-1:0-1,2-3:1-2"), ElementsAre("parse process_duplicate@5:32"));
  EXPECT_THAT(told("0-1:0-1,2-3:3-4"), ElementsAre("parse process_not_continuous@5:32"));
  EXPECT_THAT(told("0-1:5-6"), ElementsAre("parse process_not_from_zero@5:24"));
  EXPECT_THAT(told("0-1,2-4:2-3"), ElementsAre("parse not_divisible@5:24"));
  EXPECT_THAT(told(" , "), ElementsAre("parse placement_empty@5:20"));
  EXPECT_THAT(told(""), ElementsAre("parse placement_empty@5:20"));
}

TEST(PlacementText, TheFirstErrorOfAnEntryIsTold) {
  EXPECT_THAT(told("9-8:all"), ElementsAre("parse range_reversed@5:20"));
  EXPECT_THAT(told("9-10:x"), ElementsAre("parse resource_out_of_range@5:20"));
  EXPECT_THAT(told("2-3,2"), ElementsAre("parse resource_duplicate@5:24"));
  EXPECT_THAT(told("0-2:5-6"), ElementsAre("parse process_not_from_zero@5:24"));
  EXPECT_THAT(told("x:1:2"), ElementsAre("parse entry_malformed@5:23"));
  EXPECT_THAT(told("0-2:0-1:"), ElementsAre("parse entry_malformed@5:27"));
}

TEST(PlacementText, OneMistakeIsToldOnce) {
  // The numbering goes on as the text means it.
  EXPECT_THAT(told("0-1:5-6,2-3:7-8,4"), ElementsAre("parse process_not_from_zero@5:24"));
  EXPECT_THAT(told("0:0,1:2,2:3,3"), ElementsAre("parse process_not_continuous@5:26"));
  EXPECT_THAT(told("0:x,1:1,2:2"), ElementsAre("parse rank_format@5:22"));
  EXPECT_THAT(told("0-x,1:4,2:5"), ElementsAre("parse rank_format@5:20"));
  EXPECT_THAT(told("0-9:0-4,2:5"), ElementsAre("parse resource_out_of_range@5:20"));
  EXPECT_THAT(told("0-9,1:10"), ElementsAre("parse resource_out_of_range@5:20"));
  EXPECT_THAT(
      told("4-7,0-3,0-1:8-9"),
      ElementsAre("parse resource_not_ascending@5:24", "parse resource_not_ascending@5:28"));
}

TEST(PlacementText, AllMistakesAreTold) {
  EXPECT_THAT(told("x,9,0:0:0,3-1,1:"),
              ElementsAre("parse rank_format@5:20",
                          "parse resource_out_of_range@5:22",
                          "parse entry_malformed@5:27",
                          "parse range_reversed@5:30",
                          "parse process_empty@5:35"));
  EXPECT_THAT(told("0:0-1,1:x,2:0-1"),
              ElementsAre("parse rank_format@5:28", "parse process_duplicate@5:32"));
}

TEST(PlacementText, MessagesSayWhatToWrite) {
  EXPECT_EQ(message("0-1:0-1,2-3:3-4"),
            "component 'actor': found process ranks '3-4', needed process ranks that begin at 2; "
            "write '2-3:2-3'");
  EXPECT_EQ(message("0-1:5-6"),
            "component 'actor': found process ranks '5-6', needed process ranks that begin at 0; "
            "write '0-1:0-1'");
  EXPECT_EQ(message("5-9"),
            "component 'actor': found resource ranks '5-9' of 8 resources, needed ranks within 0-7 "
            "(0-7 on node 0); write '5-7' or add resources");
  EXPECT_EQ(message("0-2:0-1"),
            "component 'actor': found 2 processes for 3 resources in '0-2:0-1', needed a number of "
            "processes that divides the number of resources, or the reverse; write '0-2:0-2'");
  EXPECT_EQ(message("3-0"),
            "component 'actor': found resource ranks '3-0', needed a range whose first rank is not "
            "above its last; write '0-3'");
  EXPECT_THAT(message("0-1,1"), HasSubstr("found resource rank 1 a second time in '1'"));
  EXPECT_THAT(message("gpu 9"), HasSubstr("found resource ranks 'gpu 9', needed a rank such as"));
}

TEST(PlacementText, HugeNumbersAreRefusedBeforeAnythingIsMade) {
  EXPECT_THAT(told("0-4000000000"), ElementsAre("parse resource_out_of_range@5:20"));
  EXPECT_THAT(told("0:0-999999999999"), ElementsAre("parse rank_format@5:22"));
  EXPECT_THAT(told("0:0-99999999999999999999999"), ElementsAre("parse rank_format@5:22"));
  EXPECT_THAT(told("0:0-1000000"), ElementsAre("parse rank_format@5:22"));
  EXPECT_THAT(told("0:0-999998,1:999999-1000000"), ElementsAre("parse rank_format@5:33"));
  EXPECT_THAT(told("99999999999999999999:0"), ElementsAre("parse resource_out_of_range@5:20"));
  PlacementErrors errors;
  const auto plans = resolve_components(cluster_of({8}), {rule("actor", "0:0-999999")}, errors);
  EXPECT_THAT(errors, IsEmpty());
  EXPECT_EQ(plans.at(0).processes.size(), 1'000'000U);
}

TEST(PlacementText, NodesCannotBeShared) {
  PlacementErrors errors;
  resolve_components(cluster_of({0, 0, 0, 0}), {rule("agent", "0-1:0-1,2-3:2,x")}, errors);
  EXPECT_THAT(summary(errors),
              ElementsAre("parse rank_format@5:34", "parse process_spans_nodes@5:28"));
  EXPECT_THAT(errors.back().message(), HasSubstr("write '2-3:2-3'"));
}

TEST(PlacementText, LineEndsAreBlanks) {
  PlacementErrors errors;
  const auto plans = resolve_components(cluster_of({8}), {rule("actor", "0-1,\r\n 3\n")}, errors);
  EXPECT_THAT(errors, IsEmpty());
  EXPECT_EQ(seats(plans.at(0)), "0@0:0 1@0:1 2@0:3");
}

}  // namespace placement_text_tests
}  // namespace orrery::placement
