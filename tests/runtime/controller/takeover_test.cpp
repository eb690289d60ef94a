// What outlives a controller, a full disk, and the loss of leadership.

#include <atomic>

#include "runtime/store/sqlite_store.hpp"
#include "tests/runtime/controller/daemon_in_test.hpp"
#include "tests/support/temporary_folder.hpp"

namespace orrery::runtime::tests {
namespace {

OpenStore sqlite_at(const std::string& path) {
  return [path](const Leadership&) -> Result<std::unique_ptr<StateStore>> {
    Result<std::unique_ptr<SqliteStore>> store =
        SqliteStore::open(path, SqliteStore::Access::Append);
    if (!store) return store.errors();
    return std::unique_ptr<StateStore>(std::move(store).value());
  };
}

/// A journal in memory that outlives its users and refuses to write while `full` is set.
class SharedStore final : public StateStore {
 public:
  SharedStore(MemoryStore& store, const std::atomic<bool>& full) : store_(store), full_(full) {}

  Status append(Epoch writer, std::span<const StoredRecord> records) override {
    if (full_) return refusal();
    return store_.append(writer, records);
  }

  Sequence durable() const override { return store_.durable(); }

  Status sync() override { return full_ ? refusal() : store_.sync(); }

  Status read_from(Sequence first, const std::function<bool(const StoredRecord&)>& visit) override {
    return store_.read_from(first, visit);
  }

  Status save_snapshot(const StoredSnapshot& snapshot) override {
    return store_.save_snapshot(snapshot);
  }

  Result<std::optional<StoredSnapshot>> latest_snapshot() override {
    return store_.latest_snapshot();
  }

 private:
  static Status refusal() {
    return Error{ErrorCode::Unavailable, "journal", 0, {}, "the disk is full; free space"};
  }

  MemoryStore& store_;
  const std::atomic<bool>& full_;
};

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

TEST(Takeover, AControllerThatStartsAgainRestartsNobody) {
  const TemporaryFolder folder;
  const std::string path = folder.file("journal.db");
  FakeTransport transport;
  FakeNode a(transport, "a", 4);
  FakeNode b(transport, "b", 4);
  JobId job;
  std::uint64_t cluster = 0;
  {
    const auto daemon = start_daemon(transport, sqlite_at(path));
    ASSERT_TRUE(eventually([&] { return a.holds_lease() && b.holds_lease(); }));
    const RequestOutcome answer = submitted(*daemon, JobBuilder("j").replicas(8).spec());
    job = answer.job;
    ASSERT_TRUE(eventually([&] { return phase_of(*daemon, job) == JobPhase::Running; }));
    cluster = looked(*daemon, [](const ControlView& v) { return v.state.settings.cluster; });
    EXPECT_NE(cluster, 0u);
  }
  const auto daemon = start_daemon(transport, sqlite_at(path));
  ASSERT_TRUE(eventually([&] { return phase_of(*daemon, job) == JobPhase::Running; }));
  EXPECT_EQ(a.starts() + b.starts(), 8u);
  const auto [epoch, nodes, same] = looked(*daemon, [cluster](const ControlView& v) {
    return std::tuple(v.state.epoch, v.state.nodes.size(), v.state.settings.cluster == cluster);
  });
  EXPECT_EQ(epoch, Epoch{2});
  EXPECT_EQ(nodes, 2u) << "nodes keep their numbers by their names";
  EXPECT_TRUE(same);
}

TEST(Takeover, AFullStoreStopsAdmissionAndNothingElseAndIsForgivenOnceThereIsSpace) {
  MemoryStore journal;
  std::atomic<bool> full{false};
  FakeTransport transport;
  FakeNode a(transport, "a", 2);
  const auto daemon = start_daemon(transport, [&](const Leadership&) {
    return full ? Result<std::unique_ptr<StateStore>>(
                      Error{ErrorCode::Unavailable, "journal", 0, {}, "the disk is full"})
                : Result<std::unique_ptr<StateStore>>(std::make_unique<SharedStore>(journal, full));
  });
  ASSERT_TRUE(eventually([&] { return a.holds_lease(); }));
  const RequestOutcome kept = submitted(*daemon, JobBuilder("kept").spec());
  ASSERT_TRUE(eventually([&] { return phase_of(*daemon, kept.job) == JobPhase::Running; }));
  full = true;
  EXPECT_EQ(submitted(*daemon, JobBuilder("lost").spec()).kind, RequestOutcome::Kind::Unavailable);
  ASSERT_TRUE(eventually([&] { return admission_of(*daemon) == Admission::StoreFailed; }));
  const RequestOutcome refused = submitted(*daemon, JobBuilder("late").spec());
  EXPECT_NE(refused.message.find("full"), std::string::npos) << refused.message;
  const std::size_t renewed = a.renewals();
  EXPECT_TRUE(eventually([&] { return a.renewals() > renewed; })) << "leases go on";
  EXPECT_EQ(phase_of(*daemon, kept.job), JobPhase::Running);
  full = false;
  ASSERT_TRUE(eventually([&] { return admission_of(*daemon) == Admission::Open; }));
  ASSERT_TRUE(eventually([&] { return phase_of(*daemon, kept.job) == JobPhase::Running; }));
  EXPECT_EQ(submitted(*daemon, JobBuilder("late").spec()).kind, RequestOutcome::Kind::Accepted);
  EXPECT_EQ(looked(*daemon, [](const ControlView& v) { return v.state.named("default.lost"); }),
            JobId::none())
      << "what was not accepted has not happened";
  ASSERT_TRUE(eventually([&] { return a.running() == 2; }));
  EXPECT_EQ(a.starts(), 2u);
}

TEST(Takeover, WhoDoesNotLeadForCertainRenewsNothing) {
  MemoryStore journal;
  const std::atomic<bool> full{false};
  FakeTransport transport;
  ControllerConfig config = quick_config();
  config.settings.node_lease = Duration::milliseconds(800);
  config.settings.fence_margin = Duration::milliseconds(200);
  const auto state = std::make_shared<FickleElection::Switch>();
  FakeNode a(transport, "a", 2);
  const auto daemon = start_daemon(
      transport,
      [&](const Leadership&) {
        return Result<std::unique_ptr<StateStore>>(std::make_unique<SharedStore>(journal, full));
      },
      config,
      [&](Election::Lost lost) {
        return std::make_unique<FickleElection>(state, std::move(lost));
      });
  ASSERT_TRUE(eventually([&] { return a.holds_lease(); }));
  state->certain = false;
  EXPECT_TRUE(eventually([&] { return !a.holds_lease(); })) << "the agent fences itself";
  state->certain = true;
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
