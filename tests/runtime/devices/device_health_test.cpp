// Which devices work, from readings and reported errors.
#include "runtime/devices/device_health.hpp"

#include <gmock/gmock.h>

#include "runtime/devices/device_names.hpp"

namespace orrery::runtime {
namespace {

using testing::HasSubstr;

constexpr DeviceReading kFine{};
const DeviceReading kLost{.answers = false, .failure = "GPU is lost"};
constexpr DeviceReading kHot{.too_hot = true};

DeviceReading with_ecc(std::uint64_t errors) { return {.ecc_errors = errors}; }

Instant at(std::int64_t seconds) { return {Duration::seconds(seconds).ns}; }

bool read(DeviceHealth& health, std::int64_t seconds, std::vector<DeviceReading> readings) {
  return health.on_readings(at(seconds), readings);
}

TEST(DeviceHealth, ALostDeviceIsOutUntilItAnswersHasRestedAndPassesItsCheck) {
  DeviceHealth health(2, {});
  EXPECT_FALSE(read(health, 0, {kFine, kFine}));
  EXPECT_TRUE(read(health, 5, {kFine, kLost}));
  EXPECT_EQ(health.broken(), 0b10U);
  EXPECT_EQ(health.devices()[1].fault, DeviceFault::Lost);
  EXPECT_EQ(health.devices()[1].reason, "GPU is lost");
  EXPECT_EQ(health.devices()[1].since, at(5));
  EXPECT_FALSE(read(health, 500, {kFine, kLost})) << "no news";
  EXPECT_EQ(health.due_for_check(at(500)), 0U);
  EXPECT_FALSE(read(health, 600, {kFine, kFine})) << "still out";
  EXPECT_EQ(health.due_for_check(at(659)), 0U);
  EXPECT_EQ(health.due_for_check(at(660)), 0b10U);
  EXPECT_TRUE(health.on_checked(at(661), 1, false));
  EXPECT_EQ(health.devices()[1].fault, DeviceFault::FailedCheck);
  EXPECT_EQ(health.due_for_check(at(720)), 0U) << "it rests anew";
  EXPECT_EQ(health.due_for_check(at(721)), 0b10U);
  EXPECT_TRUE(health.on_checked(at(722), 1, true));
  EXPECT_EQ(health.broken(), 0U);
  EXPECT_FALSE(health.on_checked(at(723), 1, true)) << "it works already";
}

TEST(DeviceHealth, ErrorsThatTheDriverReportsAreToldFromThoseOfPrograms) {
  DeviceHealth health(1, {});
  read(health, 0, {kFine});
  for (const std::uint64_t xid : {13U, 31U, 43U, 45U, 68U, 109U}) {
    EXPECT_TRUE(is_xid_of_program(xid));
    EXPECT_FALSE(health.on_xid(at(1), {0, xid})) << xid;
  }
  EXPECT_FALSE(health.on_xid(at(1), {7, 79})) << "there is no such device";
  EXPECT_TRUE(health.on_xid(at(2), {0, 79}));
  EXPECT_EQ(health.devices()[0].reason, "XID 79: the GPU has fallen off the bus");
  EXPECT_EQ(describe_xid(999), "XID 999");
  EXPECT_FALSE(health.on_xid(at(3), {0, 48})) << "the first fault stays";
  EXPECT_EQ(health.devices()[0].fault, DeviceFault::Xid);
  EXPECT_TRUE(read(health, 4, {kLost})) << "unless nothing of it is left";
  EXPECT_EQ(health.devices()[0].fault, DeviceFault::Lost);
}

TEST(DeviceHealth, AnErrorDuringTheRestBeginsItAnew) {
  DeviceHealth health(1, {});
  read(health, 0, {kFine});
  health.on_xid(at(1), {0, 74});
  read(health, 2, {kFine});
  health.on_xid(at(50), {0, 74});
  EXPECT_EQ(health.due_for_check(at(70)), 0U);
  EXPECT_FALSE(health.on_checked(at(70), 0, true)) << "the check is older than the error";
  read(health, 80, {kFine});
  EXPECT_EQ(health.due_for_check(at(139)), 0U);
  EXPECT_EQ(health.due_for_check(at(140)), 1U);
}

TEST(DeviceHealth, OnlyNewMemoryErrorsCount) {
  DeviceHealth health(1, {});
  EXPECT_FALSE(read(health, 0, {with_ecc(3)})) << "they were there before";
  EXPECT_FALSE(read(health, 5, {with_ecc(3)}));
  EXPECT_TRUE(read(health, 10, {with_ecc(5)}));
  EXPECT_EQ(health.devices()[0].reason, "2 uncorrected memory errors");
  read(health, 15, {with_ecc(5)});
  EXPECT_EQ(health.due_for_check(at(75)), 1U);
  EXPECT_TRUE(health.on_checked(at(75), 0, true));
  EXPECT_FALSE(read(health, 80, {with_ecc(0)})) << "the driver was loaded anew";
  EXPECT_TRUE(read(health, 85, {with_ecc(1)}));
}

TEST(DeviceHealth, HeatCountsOnceItLasts) {
  DeviceHealth health(1, {});
  EXPECT_FALSE(read(health, 0, {kHot}));
  EXPECT_FALSE(read(health, 20, {kFine})) << "a pause";
  EXPECT_FALSE(read(health, 25, {kHot}));
  EXPECT_FALSE(read(health, 54, {kHot}));
  EXPECT_TRUE(read(health, 55, {kHot}));
  EXPECT_EQ(health.devices()[0].fault, DeviceFault::Heat);
  EXPECT_EQ(health.due_for_check(at(300)), 0U) << "it is still hot";
  read(health, 300, {kFine});
  EXPECT_EQ(health.due_for_check(at(360)), 1U);
}

TEST(DeviceHealth, ADeviceThatWasGoneAtFirstCountsItsErrorsFromItsReturnOn) {
  DeviceHealth health(1, {});
  EXPECT_TRUE(read(health, 0, {kLost}));
  EXPECT_FALSE(read(health, 5, {with_ecc(9)}));
  EXPECT_EQ(health.due_for_check(at(65)), 1U);
}

TEST(DeviceNames, AreShortAndPlain) {
  EXPECT_EQ(short_model_name("NVIDIA H200"), "h200");
  EXPECT_EQ(short_model_name("NVIDIA A100-SXM4-80GB"), "a100-sxm4-80gb");
  EXPECT_EQ(short_model_name("NVIDIA GeForce RTX 4090"), "rtx-4090");
  EXPECT_EQ(short_model_name("Tesla V100-SXM2-32GB"), "v100-sxm2-32gb");
  EXPECT_EQ(short_model_name("NVIDIA"), "gpu");
  EXPECT_EQ(short_model_name(" odd/ (name) "), "odd-name");
}

}  // namespace
}  // namespace orrery::runtime
