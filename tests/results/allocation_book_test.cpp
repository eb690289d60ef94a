#include "sim/results/allocation_book.hpp"

#include <gtest/gtest.h>

namespace orrery::sim {
namespace {

WorkerStart worker(std::uint32_t node, std::uint64_t devices) {
  WorkerStart start;
  start.node = NodeId(node);
  start.devices = devices;
  return start;
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
  book.observe(
      StartWorkers{.job = JobId(3),
                   .world_size = 3,
                   .workers = {worker(2, 0b10000001), worker(0, 0b1100), worker(1, 0b11)}});
  EXPECT_EQ(set_of(book, 3), "2-5 8 15");
  EXPECT_EQ(set_of(book, 0), "");
  EXPECT_EQ(set_of(book, 9), "");
}

TEST(AllocationBook, TheLastWholeMembershipCounts) {
  AllocationBook book(two_groups());
  const JobId job(0);
  book.observe(StartWorkers{.job = job, .world_size = 1, .workers = {worker(0, 0b1)}});
  // One of two workers alone says nothing about the other.
  book.observe(StartWorkers{.job = job, .world_size = 2, .workers = {worker(1, 0b1)}});
  EXPECT_EQ(set_of(book, 0), "0");
  book.observe(
      UpdateMembership{.job = job, .world_size = 2, .members = {worker(0, 0b1), worker(1, 0b10)}});
  EXPECT_EQ(set_of(book, 0), "0 5");
  book.observe(StartWorkers{.job = job, .world_size = 1, .workers = {worker(3, 0xff)}});
  EXPECT_EQ(set_of(book, 0), "16-23");
}

TEST(AllocationBook, SharesOfOneDeviceCountAsThatDevice) {
  AllocationBook book(two_groups());
  book.observe(StartWorkers{
      .job = JobId(0), .world_size = 2, .workers = {worker(0, 0b10), worker(0, 0b10)}});
  EXPECT_EQ(set_of(book, 0), "1");
}

TEST(AllocationBook, AJobWithoutDevicesHasAnEmptySet) {
  AllocationBook book(two_groups());
  book.observe(StartWorkers{.job = JobId(0), .world_size = 1, .workers = {worker(0, 0)}});
  EXPECT_EQ(set_of(book, 0), "");
}

}  // namespace
}  // namespace orrery::sim
