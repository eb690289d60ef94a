#include "sim/results/allocation_book.hpp"

#include <gtest/gtest.h>

namespace orrery::sim {
namespace {

void record(AllocationBook& book, std::uint32_t job, std::vector<HeldDevices> held) {
  book.record(JobId(job), held);
}

std::string set_of(const AllocationBook& book, std::uint32_t job) {
  std::string out;
  book.append_set(JobId(job), out);
  return out;
}

std::vector<NodeGroup> two_groups() {
  return {{.name = "a", .count = 2, .devices = 4}, {.name = "b", .count = 2, .devices = 8}};
}

TEST(AllocationBook, NumbersDevicesThroughTheClusterAndJoinsNeighbours) {
  AllocationBook book(two_groups());
  record(book, 3, {{NodeId(2), 0b10000001}, {NodeId(0), 0b1100}, {NodeId(1), 0b11}});
  EXPECT_EQ(set_of(book, 3), "2-5 8 15");
  EXPECT_EQ(set_of(book, 0), "");
  EXPECT_EQ(set_of(book, 9), "");
}

TEST(AllocationBook, TheLastSetCounts) {
  AllocationBook book(two_groups());
  record(book, 0, {{NodeId(0), 0b1}});
  record(book, 1, {{NodeId(3), 0b1}});
  record(book, 0, {{NodeId(0), 0b1}, {NodeId(1), 0b10}});
  EXPECT_EQ(set_of(book, 0), "0 5");
  record(book, 0, {{NodeId(3), 0xff}});
  EXPECT_EQ(set_of(book, 0), "16-23");
  EXPECT_EQ(set_of(book, 1), "16");
}

TEST(AllocationBook, SharesOfOneDeviceCountAsThatDevice) {
  AllocationBook book(two_groups());
  record(book, 0, {{NodeId(0), 0b10}, {NodeId(0), 0b10}});
  EXPECT_EQ(set_of(book, 0), "1");
}

TEST(AllocationBook, AJobWithoutDevicesHasAnEmptySet) {
  AllocationBook book(two_groups());
  record(book, 0, {{NodeId(0), 0}});
  EXPECT_EQ(set_of(book, 0), "");
}

}  // namespace
}  // namespace orrery::sim
