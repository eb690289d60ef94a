// The rules on what users are told of decisions in words, and on the pause after a lost plan.
#include "sim/storm/notice_check.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

namespace orrery::sim {
namespace {

Instant told_at_s(std::int64_t s) { return Instant::zero() + Duration::seconds(s); }

/// Words as the core has them, or as the test has spoilt them.
class SpoiltWords final : public StatusReader {
 public:
  bool knows(JobId) const override { return false; }

  JobStatus status(JobId) const override { return {}; }

  UserEvent event(const Notice& notice) const override {
    return spoilt ? *spoilt : user_event(notice);
  }

  std::optional<UserEvent> spoilt;
};

class NoticeCheckTest : public ::testing::Test {
 protected:
  void fold(std::int64_t second, EventBody body) {
    sequence_ = sequence_.next();
    const Event event{told_at_s(second), told_at_s(second), Origin::External, std::move(body)};
    check_.folded(event.at, {sequence_, event, decided_}, reader_);
  }

  void tell(NoticeKind kind) {
    Notice notice;
    notice.kind = kind;
    notice.incident = 3;
    notice.count = 2;
    decided_.notices = {notice};
    fold(1, TimeReached{});
    decided_.clear();
  }

  void expect(const std::string& part) {
    ASSERT_FALSE(found_.empty()) << part;
    EXPECT_NE(found_.kept().front().text.find(part), std::string::npos)
        << found_.kept().front().text;
  }

  Violations found_;
  NoticeCheck check_{found_};
  SpoiltWords reader_;
  Commands decided_;
  Sequence sequence_;
};

TEST_F(NoticeCheckTest, TheWordsOfEveryKindAreLetPass) {
  for (std::size_t kind = 0; kind < EnumNames<NoticeKind>::kNames.size(); ++kind)
    tell(static_cast<NoticeKind>(kind));
  EXPECT_TRUE(found_.empty()) << found_.kept().front().text;
}

TEST_F(NoticeCheckTest, AnEventHasItsName) {
  reader_.spoilt = UserEvent{Severity::Warning, "", "incident 3: a worker failed"};
  tell(NoticeKind::IncidentOpened);
  expect("the event IncidentOpened is told as \"\"");
}

TEST_F(NoticeCheckTest, AnEventHasItsSeverity) {
  reader_.spoilt = UserEvent{Severity::Normal, "IncidentOpened", "incident 3: a worker failed"};
  tell(NoticeKind::IncidentOpened);
  expect("is told as Normal");
}

TEST_F(NoticeCheckTest, AnEventSaysWhatItCounts) {
  reader_.spoilt = UserEvent{Severity::Normal, "Counted", "restarts: 1"};
  tell(NoticeKind::Counted);
  expect("does not say \"restarts: 2\"");
}

TEST_F(NoticeCheckTest, AnEventHasAMessage) {
  reader_.spoilt = UserEvent{Severity::Normal, "Allocated", ""};
  tell(NoticeKind::Allocated);
  expect("has no message");
}

// 1 s after the first loss, 2 s after the second; a plan, and a new leader, begin anew.
TEST_F(NoticeCheckTest, APolicyIsAskedLessAndLessOftenThatGivesNoPlan) {
  fold(10, PlanLost{});
  fold(11, PlanLost{});
  fold(13, PlanProposed{});
  fold(13, PlanLost{});
  fold(13, EpochStarted{Epoch{2}, {}});
  fold(13, PlanProposed{});
  EXPECT_TRUE(found_.empty()) << found_.kept().front().text;
  fold(20, PlanLost{});
  fold(21, PlanLost{});
  fold(22, PlanProposed{});
  expect("asked again before 23.000000 s, 2 plans were lost in a row");
}

TEST(Disagreement, IsOfANumberAndItsNoun) {
  EXPECT_EQ(disagreement("role a needs 1 replica with 2 devices on one node"), "");
  EXPECT_EQ(disagreement("role a needs 2 replicas with 1 device each on one node"), "");
  EXPECT_EQ(disagreement("needs 1 replica of a; 2 replicas with 1 core each on one node"), "");
  EXPECT_EQ(disagreement("the limit is passed: 1 failure, 0 are allowed"), "");
  EXPECT_EQ(disagreement("the limit is passed: 1 failures, 0 are allowed"), "1 failures");
  EXPECT_EQ(disagreement("may hold 1 devices"), "1 devices");
  EXPECT_EQ(disagreement("there are 3 worker"), "3 worker");
  EXPECT_EQ(disagreement("needs 1 replica with 2 devices each on one node"),
            "1 replica with 2 devices each on one node");
}

}  // namespace
}  // namespace orrery::sim
