#include "runtime/http/request_batch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "tests/runtime/http/deaf_control.hpp"

namespace orrery::http {
namespace {

using runtime::RequestOutcome;
using Kind = RequestOutcome::Kind;
using ::testing::ElementsAre;

/// Keeps what it is asked until the test answers.
class SlowControl final : public tests::DeafControl {
 public:
  void ask(EventBody request, std::function<void(const RequestOutcome&)> done) override {
    jobs.push_back(std::get<StopRequested>(request).job.value);
    waiting.push_back(std::move(done));
  }

  void answer(std::size_t index, Kind kind) { waiting[index]({kind, JobId::none(), {}}); }

  std::vector<std::uint32_t> jobs;
  std::vector<std::function<void(const RequestOutcome&)>> waiting;
};

class RequestBatch : public ::testing::Test {
 protected:
  void ask(std::size_t count, BatchEnds ends) {
    std::vector<EventBody> requests;
    for (std::size_t i = 0; i < count; ++i) {
      StopRequested stop;
      stop.job = JobId{static_cast<std::uint32_t>(i)};
      requests.emplace_back(stop);
    }
    ask_all(ControlClient(control_, std::make_shared<tests::NowExecutor>()),
            std::move(requests),
            ends,
            [this](const std::vector<RequestOutcome>& outcomes) {
              ++told_;
              kinds_.clear();
              for (const RequestOutcome& outcome : outcomes) kinds_.push_back(outcome.kind);
            });
  }

  SlowControl control_;
  int told_ = 0;
  std::vector<Kind> kinds_;
};

TEST_F(RequestBatch, ManyAreOnTheWayTogetherInTheirOrder) {
  ask(kBatchOnTheWayMax + 2, BatchEnds::AtRefusal);
  ASSERT_EQ(control_.jobs.size(), kBatchOnTheWayMax);
  control_.answer(0, Kind::Accepted);
  ASSERT_EQ(control_.jobs.size(), kBatchOnTheWayMax + 1) << "the next one takes its place";
  for (std::size_t i = 1; i < kBatchOnTheWayMax + 2; ++i) {
    EXPECT_EQ(told_, 0);
    control_.answer(i, Kind::Accepted);
  }
  EXPECT_EQ(told_, 1);
  EXPECT_EQ(kinds_.size(), kBatchOnTheWayMax + 2);
  for (std::size_t i = 0; i < control_.jobs.size(); ++i) EXPECT_EQ(control_.jobs[i], i);
}

TEST_F(RequestBatch, AfterARefusalThoseOnTheWayAreWaitedForAndNoMoreAreAsked) {
  ask(kBatchOnTheWayMax + 9, BatchEnds::AtRefusal);
  control_.answer(2, Kind::Refused);
  control_.answer(0, Kind::Accepted);
  for (std::size_t i = kBatchOnTheWayMax; i-- > 3;) control_.answer(i, Kind::Accepted);
  EXPECT_EQ(told_, 0) << "the second has no outcome yet";
  control_.answer(1, Kind::Accepted);
  EXPECT_EQ(told_, 1);
  ASSERT_EQ(kinds_.size(), kBatchOnTheWayMax);
  EXPECT_EQ(control_.jobs.size(), kBatchOnTheWayMax);
  EXPECT_EQ(kinds_[1], Kind::Accepted);
  EXPECT_EQ(kinds_[2], Kind::Refused);
}

TEST_F(RequestBatch, WhereRefusalsAreNoEndOnlyTheControllersIs) {
  ask(kBatchOnTheWayMax + 3, BatchEnds::WhenUnavailable);
  control_.answer(0, Kind::Refused);
  ASSERT_EQ(control_.jobs.size(), kBatchOnTheWayMax + 1);
  control_.answer(1, Kind::Unavailable);
  EXPECT_EQ(control_.jobs.size(), kBatchOnTheWayMax + 1);
  for (std::size_t i = 2; i <= kBatchOnTheWayMax; ++i) control_.answer(i, Kind::Accepted);
  EXPECT_EQ(told_, 1);
  EXPECT_EQ(kinds_.size(), kBatchOnTheWayMax + 1);
}

TEST_F(RequestBatch, OfNothingTheOutcomeIsThereAtOnce) {
  ask(0, BatchEnds::AtRefusal);
  EXPECT_EQ(told_, 1);
  EXPECT_THAT(kinds_, ElementsAre());
}

}  // namespace
}  // namespace orrery::http
