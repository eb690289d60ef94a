// Where workers sat, against where they were to sit.
#include "sim/expectations/seat_record.hpp"

#include <gmock/gmock.h>

#include "tests/sim/expectations/notices.hpp"

namespace orrery::sim {
namespace {

using testing::HasSubstr;

/// A job whose only role has one worker on each of these nodes, on device 0.
JobState job_on(const std::vector<std::uint32_t>& nodes) {
  JobState job;
  for (const std::uint32_t node : nodes) {
    Worker worker;
    worker.role = RoleIndex{0};
    worker.local_rank = static_cast<std::int32_t>(job.workers.size());
    worker.node = NodeId{node};
    worker.devices = 1;
    worker.lease = LeaseId{static_cast<std::uint32_t>(job.workers.size())};
    job.workers.push_back(worker);
  }
  return job;
}

scenarios::Expectation sits(std::int32_t local_rank, std::uint32_t node) {
  scenarios::Expectation expected;
  expected.sits.push_back({{RoleIndex{0}, local_rank, "w/0"}, NodeId{node}, 1, std::nullopt});
  return expected;
}

TEST(SeatRecord, WithoutAWindowTheLastSeatsCount) {
  SeatRecord record;
  record.note(at(1), job_on({0, 1}));
  record.note(at(5), job_on({2, 1}));
  record.note(at(8), job_on({2}));
  record.note(at(9), job_on({}));
  EXPECT_EQ(record.finding(sits(0, 2)), "");
  EXPECT_EQ(record.finding(sits(0, 0)),
            "it sat with w/0 on node 2 devices 0, expected other seats");
  EXPECT_EQ(record.finding(sits(1, 1)), "") << "the second ended before the first";
  EXPECT_EQ(record.finding({}), "");
}

TEST(SeatRecord, AWindowIsMetByAnyInstantOfIt) {
  SeatRecord record;
  record.note(at(1), job_on({0}));
  record.note(at(5), job_on({2}));
  scenarios::Expectation early = sits(0, 0);
  early.by = at(4);
  EXPECT_EQ(record.finding(early), "");
  early.sits[0].node = NodeId{2};
  EXPECT_THAT(record.finding(early), HasSubstr("on node 0"));
  scenarios::Expectation late = sits(0, 0);
  late.after = at(6);
  late.by = at(9);
  EXPECT_THAT(record.finding(late), HasSubstr("on node 2"));
}

TEST(SeatRecord, AllMustSitAtOneInstantAndOnTheirDevices) {
  SeatRecord record;
  record.note(at(1), job_on({0, 1}));
  record.note(at(5), job_on({1, 0}));
  scenarios::Expectation both = sits(0, 0);
  both.by = at(9);
  both.sits.push_back({{RoleIndex{0}, 1, "w/1"}, NodeId{0}, std::nullopt, std::nullopt});
  EXPECT_THAT(record.finding(both), HasSubstr("w/0 on node 1 devices 0, w/1 on node 0"));
  both.sits[1].node = NodeId{1};
  EXPECT_EQ(record.finding(both), "");
  both.sits[0].devices = 2;
  EXPECT_THAT(record.finding(both), HasSubstr("expected other seats"));
  EXPECT_THAT(SeatRecord().finding(both), HasSubstr("w/0 nowhere"));
}

}  // namespace
}  // namespace orrery::sim
