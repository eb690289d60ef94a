#include "runtime/devices/hardware_file.hpp"

#include <gmock/gmock.h>

namespace orrery::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

TEST(HardwareFile, HasATypeAndACountOnEachLine) {
  const auto found = parse_hardware("# robots\nfranka: 2\r\n\n  camera_d435 :4 # on a mast\n", "h");
  ASSERT_TRUE(found);
  EXPECT_THAT(*found, ElementsAre(HardwareCount{"franka", 2}, HardwareCount{"camera_d435", 4}));
  EXPECT_THAT(parse_hardware("", "h").value(), IsEmpty());
}

TEST(HardwareFile, EveryLineThatIsWrongIsNamed) {
  const auto found = parse_hardware(
      "franka\n: 3\nfranka: 2\na b: 1\nx: 0\ny: 1e3\nz: 63\nfranka: 1\n", "hardware.txt");
  ASSERT_FALSE(found);
  std::vector<std::string> texts;
  for (const Error& error : found.errors()) texts.push_back(error.text());
  EXPECT_THAT(texts,
              ElementsAre(StartsWith("hardware.txt:1: franka: the count is ''"),
                          StartsWith("hardware.txt:2: hardware: the type is ''"),
                          StartsWith("hardware.txt:4: hardware: the type is 'a b'"),
                          StartsWith("hardware.txt:5: x: the count is '0'"),
                          StartsWith("hardware.txt:6: y: the count is '1e3'"),
                          StartsWith("hardware.txt:7: z: makes 65 pieces"),
                          StartsWith("hardware.txt:8: franka: stands twice")));
}

TEST(HardwareFile, AMissingFileSaysWhichSettingNamesIt) {
  const auto found = load_hardware("there/is/none");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.errors().front().code, ErrorCode::NotFound);
  EXPECT_THAT(found.errors().front().text(), HasSubstr("inventory.hardware_file"));
}

}  // namespace
}  // namespace orrery::runtime
