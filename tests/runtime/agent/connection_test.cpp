// The agent's line to its controllers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "runtime/agent/controller_connection.hpp"
#include "tests/runtime/agent/stub_controller.hpp"

namespace orrery::runtime {
namespace line_tests {

constexpr JobId kJob{7};

class ConnectionTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (scratch_.path() / name).string(); }

  std::string address(const std::string& name) const { return "unix:" + path(name); }

  Scratch scratch_{"line"};
  Gate go_{path("go")};
};

TEST_F(ConnectionTest, ControllersAreTriedInTurn) {
  StubController controller(address("second"));
  AgentProcess agent(path("state"), address("nobody") + "," + address("second"));
  agent.start();
  EXPECT_TRUE(controller.until_welcomed());
}

TEST_F(ConnectionTest, ARefusalNamesTheLeader) {
  StubController follower(address("follower"));
  StubController leader(address("leader"));
  follower.set([&](StubController& c) {
    c.refusal_ = "another controller leads";
    c.leader_ = address("leader");
  });
  AgentProcess agent(path("state"), address("follower"));
  agent.start();
  EXPECT_TRUE(leader.until_welcomed());
  follower.set([](const StubController& c) { EXPECT_EQ(c.hellos_.size(), 1u); });
}

TEST_F(ConnectionTest, AControllerThatComesBackFindsEverythingAsItWas) {
  auto controller = std::make_unique<StubController>(address("link"));
  AgentProcess agent(path("state"), address("link"));
  agent.start();
  ASSERT_TRUE(controller->until_welcomed());
  controller->start_job(kJob, role_of(go_.wait()), 1, Incarnation{1});
  controller->start_job(JobId{8}, role_of("exit 9"), 1, Incarnation{1});
  ASSERT_TRUE(controller->until_report(kJob, WorkerFact::Ready));
  ASSERT_TRUE(controller->until_report(JobId{8}, WorkerFact::Exited));
  controller.reset();
  controller = std::make_unique<StubController>(address("link"));
  controller->set([](StubController& c) { c.epoch_ = Epoch{2}; });
  EXPECT_TRUE(controller->until_report(kJob, WorkerFact::Ready)) << "told again";
  EXPECT_TRUE(controller->until_report(JobId{8}, WorkerFact::Exited)) << "told again";
  EXPECT_TRUE(controller->until([](const StubController& c) {
    return !c.beats_.empty() && c.beats_.back().epoch == Epoch{2} &&
           c.beats_.back().workers.size() == 1;
  }));
  go_.open();
  EXPECT_TRUE(controller->until_report(kJob, WorkerFact::Exited));
}

// Of a controller that stood still they were lost with the stream, and with them why a worker
// ended. What comes before the registration explains nothing that the controller knows.
TEST_F(ConnectionTest, NoticesThatWereNotHeardAreToldAgain) {
  const auto next = [&] {
    auto out = std::make_unique<StubController>(address("link"));
    out->settings_.node_lease = Duration::seconds(5);  // A beat each second.
    out->settings_.fence_margin = Duration::seconds(1);
    return out;
  };
  std::unique_ptr<StubController> controller = next();
  AgentProcess agent(path("state"), address("link"));
  agent.start();
  ASSERT_TRUE(controller->until_welcomed());
  const auto has_notice = [](const StubController& c) { return !c.notices_.empty(); };
  for (const bool is_heard : {false, true}) {
    controller->set([&](StubController& c) { c.renews_ = is_heard; });
    const JobId job{is_heard ? 8U : 7U};
    controller->start_job(job, role_of("exit 9"), 1, Incarnation{1});
    ASSERT_TRUE(controller->until(has_notice));
    std::size_t beats = 0;
    controller->set([&](const StubController& c) { beats = c.beats_.size(); });
    // The answer to the first of these is heard before the second is sent.
    ASSERT_TRUE(
        controller->until([&](const StubController& c) { return c.beats_.size() >= beats + 2; }));
    controller.reset();
    controller = next();
    ASSERT_TRUE(controller->until([](const StubController& c) { return c.beats_.size() >= 3; }));
    controller->set([&](StubController& c) {
      EXPECT_EQ(c.notices_.size(), is_heard ? 0U : 1U);
      EXPECT_EQ(c.early_notices_, 0U);
      c.notices_.clear();
    });
  }
}

// Their environment names the controller that led when they started, for ever.
TEST_F(ConnectionTest, WorkersThatRunAreToldWhoLeadsNow) {
  auto controller = std::make_unique<StubController>(address("link"));
  AgentProcess agent(path("state"), address("link"));
  agent.start();
  ASSERT_TRUE(controller->until_welcomed());
  controller->start_job(kJob,
                        role_of("cat $ORRERY_SERVER_URL_FILE; " + go_.wait() +
                                "; cat $ORRERY_SERVER_URL_FILE; echo $ORRERY_SERVER_URL"),
                        1,
                        Incarnation{1});
  ASSERT_TRUE(controller->until_report(kJob, WorkerFact::Ready));
  const auto log = [&] { return text_of_file(agent.folder_of("7-1-0") + "/log"); };
  ASSERT_TRUE(eventually([&] { return log() == "http://127.0.0.1:1\n"; }));
  controller.reset();
  controller = std::make_unique<StubController>(address("link"));
  controller->set([](StubController& c) {
    c.epoch_ = Epoch{2};
    c.url_ = "http://127.0.0.1:2";
  });
  ASSERT_TRUE(controller->until_welcomed());
  go_.open();
  ASSERT_TRUE(controller->until_report(kJob, WorkerFact::Exited));
  EXPECT_EQ(log(), "http://127.0.0.1:1\nhttp://127.0.0.1:2\nhttp://127.0.0.1:1\n");
}

TEST_F(ConnectionTest, OtherDurationsBeginANewSessionAndKillNoWorker) {
  auto controller = std::make_unique<StubController>(address("link"));
  AgentProcess agent(path("state"), address("link"));
  agent.start();
  ASSERT_TRUE(controller->until_welcomed());
  controller->start_job(kJob, role_of(go_.wait() + "; exit 5"), 1, Incarnation{1});
  ASSERT_TRUE(controller->until_report(kJob, WorkerFact::Ready));
  controller.reset();
  controller = std::make_unique<StubController>(address("link"));
  controller->set([](StubController& c) { c.settings_.node_lease = Duration::seconds(20); });
  ASSERT_TRUE(controller->until([](const StubController& c) {
    return c.hellos_.size() >= 2 && !c.beats_.empty() &&
           c.beats_.back().session == c.hellos_.back().session &&
           c.hellos_.back().session > c.hellos_.front().session;
  }));
  go_.open();
  EXPECT_TRUE(controller->until_report(kJob, WorkerFact::Exited));
  EXPECT_EQ(controller->exit_code_of(kJob), 5);
}

TEST_F(ConnectionTest, ARefusedSessionIsFollowedByAHigherOneAndNoWorkerEnds) {
  auto controller = std::make_unique<StubController>(address("link"));
  AgentProcess agent(path("state"), address("link"));
  agent.start();
  ASSERT_TRUE(controller->until_welcomed());
  controller->start_job(kJob, role_of(go_.wait() + "; exit 5"), 1, Incarnation{1});
  ASSERT_TRUE(controller->until_report(kJob, WorkerFact::Ready));
  std::uint64_t above = 0;
  controller->set(
      [&](const StubController& c) { above = c.hellos_.back().session + 3'600'000'000'000u; });
  controller.reset();
  controller = std::make_unique<StubController>(address("link"));
  controller->set([&](StubController& c) { c.session_above_ = above; });
  ASSERT_TRUE(controller->until([&](const StubController& c) {
    return !c.beats_.empty() && c.beats_.back().session == above + 1 &&
           c.beats_.back().workers.size() == 1;
  })) << "whose clock is behind that of an agent before it";
  controller->set([](const StubController& c) {
    EXPECT_EQ(c.hellos_.size(), 2u);
    EXPECT_NE(c.hellos_.front().folder_id, 0u);
    EXPECT_EQ(c.hellos_.front().folder_id, c.hellos_.back().folder_id);
    EXPECT_FALSE(c.hellos_.front().unknown) << "it was welcomed before";
  });
  go_.open();
  EXPECT_TRUE(controller->until_report(kJob, WorkerFact::Exited));
  EXPECT_EQ(controller->exit_code_of(kJob), 5);
}

TEST_F(ConnectionTest, AnEndThatNoControllerHeardIsToldInTheSessionOfOtherDurations) {
  auto controller = std::make_unique<StubController>(address("link"));
  AgentProcess agent(path("state"), address("link"));
  agent.start();
  ASSERT_TRUE(controller->until_welcomed());
  controller->start_job(kJob, role_of(go_.wait() + "; exit 5"), 1, Incarnation{1});
  ASSERT_TRUE(controller->until_report(kJob, WorkerFact::Ready));
  const WorkerProcesses processes = agent.processes("7-1-0");
  controller.reset();
  go_.open();
  ASSERT_TRUE(eventually([&] { return ::kill(processes.shim.pid, 0) != 0; })) << "seen, reaped";
  controller = std::make_unique<StubController>(address("link"));
  controller->set([](StubController& c) { c.settings_.node_lease = Duration::seconds(20); });
  ASSERT_TRUE(controller->until([](const StubController& c) {
    return !c.beats_.empty() && c.beats_.back().session > c.hellos_.front().session;
  }));
  EXPECT_TRUE(controller->until_report(kJob, WorkerFact::Exited)) << "not lost without a word";
  EXPECT_EQ(controller->exit_code_of(kJob), 5);
}

TEST_F(ConnectionTest, ASignalAnnouncesThatTheNodeLeaves) {
  StubController controller(address("link"));
  AgentProcess agent(path("state"), address("link"));
  agent.start();
  ASSERT_TRUE(controller.until_welcomed());
  agent.signal(SIGUSR1);
  EXPECT_TRUE(controller.until([](const StubController& c) { return !c.facts_.empty(); }));
  controller.set([](const StubController& c) {
    EXPECT_TRUE(std::holds_alternative<NodeLeaving>(c.facts_.at(0).body));
    EXPECT_LE(c.facts_[0].leaves_in, Duration::seconds(30));
  });
}

/// Opens each stream at once; the peer at the other end sends what the test says.
class DialerInTest final : public LinkDialer {
 public:
  std::unique_ptr<LinkClient> open(const std::string& address,
                                   Duration timeout,
                                   LinkClientListener& listener) override {
    ++opened;
    timeout_opened = timeout;
    address_opened = address;
    last = &listener;
    listener.on_open();
    return std::make_unique<Deaf>();
  }

  int opened = 0;
  std::string address_opened;
  Duration timeout_opened;
  LinkClientListener* last = nullptr;

 private:
  class Deaf final : public LinkClient {
    void send(const AgentMessage&) override {}
  };
};

TEST(ControllerConnection, AStreamWithoutAWelcomeIsGivenUp) {
  DialerInTest dialer;
  const ConnectionTimes times;
  ControllerConnection connection(dialer, {"a"}, 1, times);
  const Instant begin{1'000'000'000};
  connection.keep(begin);
  ASSERT_EQ(connection.take(begin).size(), 1u) << "it is open";
  const Instant deadline = begin + times.welcome;
  EXPECT_EQ(connection.next_try(), deadline);
  EXPECT_TRUE(connection.take(deadline - Duration{1}).empty());
  const std::vector<ConnectionEvent> events = connection.take(deadline);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<ConnectionClosed>(events[0]));
  connection.keep(connection.next_try());
  EXPECT_EQ(dialer.opened, 2) << "another try";
}

TEST(ControllerConnection, AWelcomeKeepsTheStreamForGood) {
  DialerInTest dialer;
  ControllerConnection connection(dialer, {"a"}, 1);
  const Instant begin{1'000'000'000};
  connection.keep(begin);
  (void)connection.take(begin);
  connection.works(Duration::seconds(10), Instant::zero());
  EXPECT_TRUE(connection.next_try().is_never());
  EXPECT_TRUE(connection.take(begin + Duration::seconds(3600)).empty());
  // What came in time counts, however late it is read.
  dialer.last->on_messages({Announcement{Epoch{1}}});
  EXPECT_EQ(connection.take(begin + Duration::seconds(7200)).size(), 1u);
}

/// A stream to "a", one of two controllers, that works since `kBegin` with a lease of 10 s.
class OneOfTwo : public testing::Test {
 protected:
  static constexpr Instant kBegin{1'000'000'000};

  OneOfTwo() {
    connection_.keep(kBegin);
    (void)connection_.take(kBegin);
    connection_.works(Duration::seconds(10), kBegin);
  }

  /// Nothing comes for two beats; the stream is given up.
  Instant falls_silent() {
    const Instant end = connection_.next_try();
    EXPECT_EQ(connection_.take(end).size(), 1u);
    connection_.keep(end);
    return end;
  }

  DialerInTest dialer_;
  ControllerConnection connection_{dialer_, {"a", "b"}, 1};
};

// A frozen leader says nothing, and the transport takes longer than a lease to notice.
TEST_F(OneOfTwo, TheOtherOneIsAskedWhereTheFirstSaysNothingForTwoBeats) {
  EXPECT_EQ(connection_.next_try(), kBegin + Duration::seconds(4));
  const Instant word = kBegin + Duration::seconds(3);
  dialer_.last->on_messages({Announcement{Epoch{1}}});
  EXPECT_EQ(connection_.take(word).size(), 1u);
  EXPECT_EQ(connection_.next_try(), word + Duration::seconds(4));
  EXPECT_EQ(dialer_.address_opened, "a");
  EXPECT_EQ(falls_silent(), word + Duration::seconds(4));
  EXPECT_EQ(dialer_.address_opened, "b") << "at once";
}

TEST_F(OneOfTwo, WhoFellSilentIsPassedOverForAFewTriesThoughItIsCalledTheLeader) {
  Instant now = falls_silent();
  int tries = 0;
  for (; dialer_.address_opened == "b" && tries < 20; ++tries) {
    connection_.refused({"another controller leads", true, "a"}, now);
    now = connection_.next_try();
    connection_.keep(now);
  }
  EXPECT_GT(tries, 3);
  EXPECT_LT(tries, 20) << "it may be back";
  EXPECT_LT(now, kBegin + Duration::seconds(10)) << "within the lease";
}

// Its host takes connections for it, and no try ends before its time.
TEST_F(OneOfTwo, NoTryTakesWhatIsLeftOfTheLease) {
  EXPECT_EQ(dialer_.timeout_opened, ConnectionTimes().timeout) << "there was no lease yet";
  Instant now = falls_silent();
  std::map<std::string, Duration> longest;
  while (now < kBegin + Duration::seconds(10)) {
    Duration& most = longest[dialer_.address_opened];
    most = std::max(most, dialer_.timeout_opened);
    now = now + dialer_.timeout_opened;
    dialer_.last->on_closed("no answer");
    (void)connection_.take(now);
    now = connection_.next_try();
    connection_.keep(now);
  }
  EXPECT_EQ(longest["b"], Duration::seconds(2));
  EXPECT_EQ(dialer_.timeout_opened, ConnectionTimes().timeout) << "nothing is to be lost any more";
}

TEST_F(OneOfTwo, WhoFellSilentIsGivenLessTimeThanOthers) {
  Instant now = falls_silent();
  for (int tries = 0; dialer_.address_opened == "b" && tries < 20; ++tries) {
    connection_.refused({"another controller leads", true, "a"}, now);
    now = connection_.next_try();
    connection_.keep(now);
  }
  EXPECT_EQ(dialer_.address_opened, "a");
  EXPECT_EQ(dialer_.timeout_opened, Duration::seconds(1));
}

}  // namespace line_tests
}  // namespace orrery::runtime
