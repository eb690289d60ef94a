// What a controller does as it comes to lead, is not certain that it does, and loses the lead.

#include <gmock/gmock.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "tests/runtime/controller/daemon_in_test.hpp"
#include "tests/runtime/controller/kept_journal.hpp"

namespace orrery::runtime::tests {
namespace {

/// Leads from the start, until the test says that it does not any more.
class FickleElection final : public Election {
 public:
  struct Switch {
    std::atomic<bool> certain{true};
    Lost lost;
    std::atomic<int> campaigns{0};
  };

  FickleElection(std::shared_ptr<Switch> state, Lost lost) : state_(std::move(state)) {
    state_->lost = std::move(lost);
  }

  Result<std::optional<Leadership>> campaign(std::stop_token) override {
    ++state_->campaigns;
    return std::optional<Leadership>(Leadership{state_->campaigns});
  }

  Clock::time_point until() const override {
    return state_->certain ? Clock::time_point::max() : Clock::time_point::min();
  }

  Status resign() override { return Done{}; }

  std::optional<Candidate> leader() const override { return std::nullopt; }

 private:
  std::shared_ptr<Switch> state_;
};

/// A daemon whose leadership is as certain as `state` says.
std::unique_ptr<ControllerDaemon> start_fickle(FakeTransport& transport,
                                               OpenStore open_store,
                                               const std::shared_ptr<FickleElection::Switch>& state,
                                               const ControllerConfig& config = quick_config()) {
  return start_daemon(transport, std::move(open_store), config, [state](Election::Lost lost) {
    return std::make_unique<FickleElection>(state, std::move(lost));
  });
}

/// Refuses to let it campaign at first, as a service at which it has no rights yet.
class RefusingAtFirst final : public Election {
 public:
  explicit RefusingAtFirst(std::atomic<int>& campaigns) : campaigns_(campaigns) {}

  Result<std::optional<Leadership>> campaign(std::stop_token) override {
    if (++campaigns_ < 3) return Error{ErrorCode::InvalidInput, {}, 0, "etcd", "it has no rights"};
    return std::optional<Leadership>(Leadership{1});
  }

  Clock::time_point until() const override { return Clock::time_point::max(); }

  Status resign() override { return Done{}; }

  std::optional<Candidate> leader() const override { return std::nullopt; }

 private:
  std::atomic<int>& campaigns_;
};

TEST(Leading, ACampaignThatFailsIsNotTheLast) {
  KeptJournal journal;
  FakeTransport transport;
  std::atomic<int> campaigns = 0;
  const auto daemon =
      start_daemon(transport, journal.opener(), quick_config(), [&](const Election::Lost&) {
        return std::make_unique<RefusingAtFirst>(campaigns);
      });
  EXPECT_EQ(admission_of(*daemon), Admission::Open) << history_of(*daemon);
  EXPECT_EQ(campaigns, 3);
  EXPECT_THAT(history_of(*daemon), ::testing::HasSubstr("it has no rights"));
}

/// Is named as leader before it leads: its campaign waits until it is let go.
class NamedEarly final : public Election {
 public:
  explicit NamedEarly(std::shared_future<void> may_lead) : may_lead_(std::move(may_lead)) {}

  Result<std::optional<Leadership>> campaign(std::stop_token) override {
    may_lead_.wait();
    return std::optional<Leadership>(Leadership{1});
  }

  Clock::time_point until() const override { return Clock::time_point::max(); }

  Status resign() override { return Done{}; }

  std::optional<Candidate> leader() const override { return Candidate{"test", "http://t"}; }

 private:
  std::shared_future<void> may_lead_;
};

TEST(Leading, AControllerThatIsAboutToLeadRedirectsNoClientToItself) {
  KeptJournal journal;
  FakeTransport transport;
  std::promise<void> may_lead;
  ControllerParts parts;
  parts.config = quick_config();
  parts.listen = [&](LinkListener& listener) {
    return Result<std::unique_ptr<LinkServer>>(transport.listen(listener));
  };
  parts.election = [early = may_lead.get_future().share()](const Election::Lost&) {
    return std::make_unique<NamedEarly>(early);
  };
  parts.open_store = journal.opener();
  parts.policy = [] { return std::move(policies::make_policy("fifo")).value(); };
  const auto daemon = std::move(ControllerDaemon::start(std::move(parts))).value();
  const auto facts = [&] { return looked(*daemon, [](const ControlView& v) { return v.facts; }); };
  EXPECT_EQ(facts().admission, Admission::Starting);
  EXPECT_EQ(facts().leader_url, "");
  may_lead.set_value();
  ASSERT_TRUE(eventually([&] { return facts().admission == Admission::Open; }));
  EXPECT_EQ(facts().leader_url, "http://t");
}

// Such a leader, cut off from its store, answered reads with what may be old, and stood still while
// it tried to open the store.
TEST(Leading, WhoCannotWriteAndDoesNotLeadForCertainAnswersNothing) {
  KeptJournal journal;
  FakeTransport transport;
  ControllerConfig config = quick_config();
  config.settings.node_lease = Duration::seconds(2);
  config.settings.fence_margin = Duration::milliseconds(200);
  const auto state = std::make_shared<FickleElection::Switch>();
  std::atomic<int> opened_uncertain = 0;
  FakeNode a(transport, "a", 2);
  const auto daemon = start_fickle(
      transport,
      [&](const Leadership& leadership) {
        if (!state->certain) ++opened_uncertain;
        return journal.opener()(leadership);
      },
      state,
      config);
  ASSERT_TRUE(eventually([&] { return a.holds_lease(); }));
  journal.full = true;
  EXPECT_EQ(submitted(*daemon, JobBuilder("lost").spec()).kind, RequestOutcome::Kind::Unavailable);
  ASSERT_TRUE(eventually([&] { return admission_of(*daemon) == Admission::StoreFailed; }));
  state->certain = false;
  EXPECT_EQ(admission_of(*daemon), Admission::Starting);
  EXPECT_NE(looked(*daemon, [](const ControlView& v) { return v.facts.why; }).find("not certain"),
            std::string::npos);
  EXPECT_TRUE(eventually([&] { return !a.holds_lease(); }));
  EXPECT_LE(opened_uncertain, 1) << "one may have been under way";
  journal.full = false;
  state->certain = true;
  EXPECT_TRUE(eventually([&] { return admission_of(*daemon) == Admission::Open; }));
}

/// Leads once; from then on another one does.
class LeadsOnce final : public Election {
 public:
  struct Switch {
    std::atomic<int> campaigns{0};
    std::atomic<bool> is_over{false};
    Lost lost;
  };

  LeadsOnce(std::shared_ptr<Switch> state, Lost lost) : state_(std::move(state)) {
    state_->lost = std::move(lost);
  }

  Result<std::optional<Leadership>> campaign(std::stop_token stop) override {
    if (++state_->campaigns == 1) return std::optional<Leadership>(Leadership{1});
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [] { return false; });
    return std::optional<Leadership>();
  }

  Clock::time_point until() const override {
    return state_->is_over ? Clock::time_point::min() : Clock::time_point::max();
  }

  Status resign() override { return Done{}; }

  std::optional<Candidate> leader() const override {
    return state_->is_over ? Candidate{"b", "http://b"} : Candidate{"test", "http://t"};
  }

 private:
  std::shared_ptr<Switch> state_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
};

// It went on to give the reason for which it had lost the lead.
TEST(Leading, WhoFollowsAnotherOneSaysWhoLeads) {
  KeptJournal journal;
  FakeTransport transport;
  const auto state = std::make_shared<LeadsOnce::Switch>();
  const auto daemon =
      start_daemon(transport, journal.opener(), quick_config(), [&](Election::Lost lost) {
        return std::make_unique<LeadsOnce>(state, std::move(lost));
      });
  state->is_over = true;
  state->lost({Error{ErrorCode::NotFound, {}, 0, "etcd", "renewing a lease failed: it has ended"}});
  ASSERT_TRUE(eventually([&] { return admission_of(*daemon) == Admission::Following; }));
  EXPECT_EQ(looked(*daemon, [](const ControlView& v) { return v.facts.why; }),
            "controller b leads");
  EXPECT_NE(history_of(*daemon).find("it has ended"), std::string::npos);
  EXPECT_EQ(submitted(*daemon, JobBuilder("j").spec()).message, "controller b leads");
  FakeNode a(transport, "a", 2);
  EXPECT_TRUE(eventually([&] {
    return a.last_refusal() == "this controller does not lead: controller b leads";
  })) << a.last_refusal();
}

TEST(Leading, AStreamThatWaitsForItsWelcomeEndsWithTheTerm) {
  KeptJournal journal;
  FakeTransport transport;
  const auto state = std::make_shared<FickleElection::Switch>();
  const auto daemon = start_fickle(transport, journal.opener(), state);
  std::atomic<bool> ended{false};
  // Hello and the end of the term are taken up in one sweep: the pending is never looked at.
  std::promise<void> blocked;
  std::promise<void> go;
  daemon->read([&](const ControlView&) {
    blocked.set_value();
    go.get_future().wait();
  });
  blocked.get_future().wait();
  const LinkId link =
      transport.open([](const ControllerMessage&) {}, [&](const std::string&) { ended = true; });
  Hello hello;
  hello.node = "n";
  hello.session = 1;
  transport.say(link, hello);
  state->lost({Error{ErrorCode::Conflict, {}, 0, {}, "another leads"}});
  go.set_value();
  EXPECT_TRUE(eventually([&] { return ended.load(); }));
}

TEST(Leading, WhoDoesNotLeadForCertainRenewsNothing) {
  KeptJournal journal;
  FakeTransport transport;
  ControllerConfig config = quick_config();
  config.settings.node_lease = Duration::milliseconds(800);
  config.settings.fence_margin = Duration::milliseconds(200);
  const auto state = std::make_shared<FickleElection::Switch>();
  FakeNode a(transport, "a", 2);
  const auto daemon = start_fickle(transport, journal.opener(), state, config);
  ASSERT_TRUE(eventually([&] { return a.holds_lease(); }));
  ASSERT_TRUE(eventually([&] { return admission_of(*daemon) == Admission::Open; }));
  state->certain = false;
  EXPECT_EQ(admission_of(*daemon), Admission::Starting) << "another one may lead already";
  EXPECT_TRUE(eventually([&] { return !a.holds_lease(); })) << "the agent fences itself";
  state->certain = true;
  EXPECT_EQ(admission_of(*daemon), Admission::Open);
  EXPECT_TRUE(eventually([&] { return a.holds_lease(); }));
  state->lost({Error{ErrorCode::Conflict, {}, 0, {}, "another leads"}});
  EXPECT_TRUE(eventually([&] {
    return state->campaigns == 2 && admission_of(*daemon) == Admission::Open;
  })) << "it campaigns again and leads a further term";
  EXPECT_EQ(looked(*daemon, [](const ControlView& v) { return v.state.epoch; }), Epoch{2});
  EXPECT_TRUE(eventually([&] { return a.holds_lease(); }));
}

}  // namespace
}  // namespace orrery::runtime::tests
