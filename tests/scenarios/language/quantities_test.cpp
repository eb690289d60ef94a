#include "scenarios/language/yaml/quantities.hpp"

#include <gtest/gtest.h>

namespace orrery::scenarios {
namespace {

TEST(Quantities, DurationsAreExactInEveryUnit) {
  EXPECT_EQ(parse_duration("90s"), Duration::seconds(90));
  EXPECT_EQ(parse_duration("5min"), Duration::seconds(300));
  EXPECT_EQ(parse_duration("2h"), Duration::seconds(7200));
  EXPECT_EQ(parse_duration("1d"), Duration::seconds(86'400));
  EXPECT_EQ(parse_duration("250ms"), Duration::milliseconds(250));
  EXPECT_EQ(parse_duration("10us"), Duration{10'000});
  EXPECT_EQ(parse_duration("3ns"), Duration{3});
  EXPECT_EQ(parse_duration("0.1s"), Duration::milliseconds(100));
  EXPECT_EQ(parse_duration("1.5h"), Duration::seconds(5400));
  EXPECT_EQ(parse_duration("0.000000001s"), Duration{1});
  EXPECT_EQ(parse_duration("9223372036s"), Duration::seconds(9'223'372'036));
}

TEST(Quantities, DurationsWithoutUnitOrSenseAreRefused) {
  for (const char* text : {"",
                           "90",
                           "s",
                           "90 s",
                           "-1s",
                           "1,5s",
                           "1.s",
                           ".5s",
                           "1e3s",
                           "90sec",
                           "9223372037s",
                           "99999999999999999999999h",
                           "1..5s",
                           "nan"})
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
}

TEST(Quantities, SizesKnowBothFamiliesOfPrefixes) {
  EXPECT_EQ(parse_size("16GiB"), Bytes{std::int64_t{16} << 30});
  EXPECT_EQ(parse_size("1.5GB"), Bytes{1'500'000'000});
  EXPECT_EQ(parse_size("7B"), Bytes{7});
  for (const char* text : {"16", "16Gi", "16gib", "-1GiB", "9000000TiB"})
    EXPECT_EQ(parse_size(text), std::nullopt) << text;
  EXPECT_EQ(parse_kubernetes_size("2Gi"), Bytes{std::int64_t{2} << 30});
  EXPECT_EQ(parse_kubernetes_size("1000"), Bytes{1000});
}

TEST(Quantities, BandwidthsAreBytesASecondWhetherWrittenInBitsOrBytes) {
  EXPECT_EQ(parse_bandwidth("400Gb/s"), 50e9);
  EXPECT_EQ(parse_bandwidth("100Gbit/s"), 12.5e9);
  EXPECT_EQ(parse_bandwidth("50GB/s"), 50e9);
  EXPECT_EQ(parse_bandwidth("1.8TB/s"), 1.8e12);
  EXPECT_EQ(parse_bandwidth("1GiB/s"), 1073741824.0);
  EXPECT_EQ(parse_bandwidth("12b/s"), 1.5);
  for (const char* text :
       {"400", "400Gb", "400Gbps", "400 Gb/s", "-1Gb/s", "GB/s", "1e3GB/s", "/s"})
    EXPECT_EQ(parse_bandwidth(text), std::nullopt) << text;
}

TEST(Quantities, ComputeIsOperationsASecond) {
  EXPECT_EQ(parse_compute("989TFLOPS"), 989e12);
  EXPECT_EQ(parse_compute("2.25PFLOPS"), 2.25e15);
  for (const char* text : {"989", "989TFLOP", "989tflops", "-1TFLOPS"})
    EXPECT_EQ(parse_compute(text), std::nullopt) << text;
}

TEST(Quantities, CpuIsCoresOrThousandths) {
  EXPECT_EQ(parse_cpu("2"), MilliCpu{2000});
  EXPECT_EQ(parse_cpu("0.5"), MilliCpu{500});
  EXPECT_EQ(parse_cpu("250m"), MilliCpu{250});
  EXPECT_EQ(parse_cpu("two"), std::nullopt);
}

TEST(Quantities, DevicesAreWholeOrOnePart) {
  EXPECT_EQ(parse_devices("8")->devices, 8);
  EXPECT_TRUE(parse_devices("8")->share.is_whole());
  EXPECT_EQ(parse_devices("0.5")->devices, 1);
  EXPECT_EQ(parse_devices("0.5")->share.thousandths, 500);
  EXPECT_EQ(parse_devices("0")->devices, 0);
  EXPECT_EQ(parse_devices("2.000")->devices, 2);
  EXPECT_EQ(parse_devices("0.001")->share.thousandths, 1);
  for (const char* text : {"1.5", "65", "-1", "many", "0.0004", "1.0004"})
    EXPECT_FALSE(parse_devices(text).has_value()) << text;
}

}  // namespace
}  // namespace orrery::scenarios
