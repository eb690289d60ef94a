// One leader at a time, and the next one when it is gone.
#include "runtime/etcd/etcd_election.hpp"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <set>

#include "runtime/election/sole_election.hpp"
#include "runtime/proto/etcd.grpc.pb.h"
#include "tests/runtime/etcd/etcd_cluster.hpp"

namespace orrery::runtime {
namespace {

namespace pb = etcdserverpb;

using Clock = Election::Clock;

class EtcdElectionTest : public EtcdTest {
 protected:
  std::unique_ptr<EtcdElection> candidate(EtcdClient& client,
                                          const std::string& name,
                                          Election::Lost lost = {}) {
    EtcdElectionOptions options;
    options.prefix = prefix_;
    options.lease = std::chrono::seconds(2);
    return std::make_unique<EtcdElection>(
        client, Candidate{name, "http://" + name}, options, std::move(lost));
  }

  /// Wins, or fails the test.
  static Leadership win(Election& election) {
    const auto won = election.campaign({});
    EXPECT_TRUE(won.has_value() && won->has_value());
    return won && *won ? **won : Leadership{};
  }
};

TEST_F(EtcdElectionTest, TheFirstLeadsAndAllHearOfIt) {
  const auto a = candidate(*client_, "a");
  const auto b = candidate(*client_, "b");
  EXPECT_FALSE(a->is_certain());
  const Leadership leadership = win(*a);
  EXPECT_GT(leadership.fence, 0);
  EXPECT_TRUE(a->is_certain());
  EXPECT_EQ(b->until(), Clock::time_point::min());
  for (const EtcdElection* each : {a.get(), b.get()})
    EXPECT_TRUE(comes_true([&] { return each->leader() == Candidate{"a", "http://a"}; }));
  const Clock::time_point before = a->until();
  EXPECT_TRUE(comes_true([&] { return a->until() > before; })) << "it is renewed";
}

TEST_F(EtcdElectionTest, WhoResignsIsSucceededAtOnceWithAHigherFence) {
  const auto a = candidate(*client_, "a");
  const auto b = candidate(*client_, "b");
  const Leadership first = win(*a);
  auto second = std::async(std::launch::async, [&] { return win(*b); });
  EXPECT_TRUE(comes_true([&] { return b->leader().has_value(); }));
  ASSERT_TRUE(a->resign());
  EXPECT_FALSE(a->is_certain());
  EXPECT_GT(second.get().fence, first.fence);
  ASSERT_TRUE(b->resign());
  const Leadership third = win(*a);
  EXPECT_GT(third.fence, first.fence) << "and may lead again";
  EXPECT_GT(win(*a).fence, third.fence) << "a candidate that campaigns gives up what it has";
  EXPECT_TRUE(a->resign());
  EXPECT_TRUE(a->resign()) << "nothing is left to resign from";
}

TEST_F(EtcdElectionTest, WhoDiesIsSucceededWithinTheLease) {
  auto a = candidate(*client_, "a");
  const auto b = candidate(*client_, "b");
  const Leadership first = win(*a);
  auto second = std::async(std::launch::async, [&] {
    const Leadership won = win(*b);
    return std::make_pair(won, Clock::now());
  });
  const Clock::time_point until = a->until();
  a.reset();  // Nothing renews the lease any more.
  const auto [leadership, at] = second.get();
  EXPECT_GT(leadership.fence, first.fence);
  EXPECT_GE(at, until) << "two led at one time";
}

TEST_F(EtcdElectionTest, AMemberOfEtcdMayDieUnderALeader) {
  const auto a =
      candidate(*client_, "a", [](const Errors& errors) { ADD_FAILURE() << errors[0].text(); });
  win(*a);
  cluster().kill(cluster().leader());
  const Clock::time_point before = Clock::now() + std::chrono::seconds(2);
  EXPECT_TRUE(comes_true([&] { return a->until() > before; }));
  cluster().heal();
}

TEST_F(EtcdElectionTest, ALeaderThatIsCutOffIsNoLongerCertain) {
  std::atomic<bool> lost = false;
  const auto a = candidate(*client_, "a", [&](const Errors&) { lost = true; });
  win(*a);
  cluster().kill(0);
  cluster().kill(1);
  EXPECT_TRUE(comes_true([&] { return !a->is_certain(); }));
  cluster().heal();
  // Whether its lease outlived the members that kept it is theirs to say.
  EXPECT_TRUE(comes_true([&] { return a->is_certain() || lost; }));
}

TEST_F(EtcdElectionTest, WhoseLeaseIsGoneHearsOfItOnceAndMayCampaignAnew) {
  std::atomic<int> lost = 0;
  const auto a = candidate(*client_, "a", [&](const Errors& errors) {
    EXPECT_EQ(errors[0].code, ErrorCode::NotFound);
    ++lost;
  });
  const Leadership first = win(*a);
  const auto found = client_->read(EtcdRange::key(a->leader_key()));
  ASSERT_EQ(found->pairs.size(), 1u);
  EXPECT_EQ(found->pairs[0].create_revision, first.fence);
  ASSERT_TRUE(client_->revoke(found->pairs[0].lease, std::chrono::seconds(30)));
  EXPECT_TRUE(comes_true([&] { return lost == 1; }));
  EXPECT_FALSE(a->is_certain());
  EXPECT_GT(win(*a).fence, first.fence);
  EXPECT_EQ(lost, 1);
}

/// In front of a member: passes on what a campaign asks, but only when its first lease has ended.
class SlowPath final {
 public:
  explicit SlowPath(const std::string& member)
      : channel_(grpc::CreateChannel(member, grpc::InsecureChannelCredentials())),
        leases_(channel_),
        keys_(channel_) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&leases_);
    builder.RegisterService(&keys_);
    server_ = builder.BuildAndStart();
  }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  int transactions() const { return keys_.transactions; }

 private:
  struct Leases final : pb::Lease::Service {
    explicit Leases(const std::shared_ptr<grpc::Channel>& channel)
        : member(pb::Lease::NewStub(channel)) {}

    grpc::Status LeaseGrant(grpc::ServerContext*,
                            const pb::LeaseGrantRequest* request,
                            pb::LeaseGrantResponse* response) override {
      grpc::ClientContext context;
      return member->LeaseGrant(&context, *request, response);
    }

    grpc::Status LeaseRevoke(grpc::ServerContext*,
                             const pb::LeaseRevokeRequest* request,
                             pb::LeaseRevokeResponse* response) override {
      grpc::ClientContext context;
      return member->LeaseRevoke(&context, *request, response);
    }

    std::unique_ptr<pb::Lease::Stub> member;
  };

  struct Keys final : pb::KV::Service {
    explicit Keys(const std::shared_ptr<grpc::Channel>& channel)
        : member(pb::KV::NewStub(channel)), leases(pb::Lease::NewStub(channel)) {}

    grpc::Status Range(grpc::ServerContext*,
                       const pb::RangeRequest* request,
                       pb::RangeResponse* response) override {
      grpc::ClientContext context;
      return member->Range(&context, *request, response);
    }

    grpc::Status Txn(grpc::ServerContext*,
                     const pb::TxnRequest* request,
                     pb::TxnResponse* response) override {
      if (transactions++ == 0) {
        pb::LeaseRevokeRequest end;
        end.set_id(request->success(0).request_put().lease());
        pb::LeaseRevokeResponse ended;
        grpc::ClientContext context;
        if (grpc::Status status = leases->LeaseRevoke(&context, end, &ended); !status.ok())
          return status;
      }
      grpc::ClientContext context;
      return member->Txn(&context, *request, response);
    }

    std::unique_ptr<pb::KV::Stub> member;
    std::unique_ptr<pb::Lease::Stub> leases;
    std::atomic<int> transactions = 0;
  };

  std::shared_ptr<grpc::Channel> channel_;
  Leases leases_;
  Keys keys_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(EtcdElectionTest, ALeaseThatEndsBeforeTheKeyIsPutCostsOneTry) {
  SlowPath path(cluster().settings().endpoints.front());
  EtcdSettings settings = cluster().settings();
  settings.endpoints = {path.address()};
  const auto client = EtcdClient::make(settings).value();
  const auto a = candidate(*client, "a");
  const auto won = a->campaign({});
  ASSERT_TRUE(won.has_value()) << won.errors()[0].text();
  ASSERT_TRUE(won->has_value());
  const auto held = client_->read(EtcdRange::key(a->leader_key()));
  ASSERT_EQ(held->pairs.size(), 1u);
  EXPECT_EQ(held->pairs[0].create_revision, (*won)->fence);
  EXPECT_GE(path.transactions(), 2);
  EXPECT_TRUE(a->resign());
}

TEST_F(EtcdElectionTest, ACampaignCanBeGivenUp) {
  const auto a = candidate(*client_, "a");
  const auto b = candidate(*client_, "b");
  win(*a);
  std::stop_source stop;
  auto other = std::async(std::launch::async, [&] { return b->campaign(stop.get_token()); });
  EXPECT_TRUE(comes_true([&] { return b->leader().has_value(); }));
  stop.request_stop();
  const auto given_up = other.get();
  ASSERT_TRUE(given_up.has_value());
  EXPECT_FALSE(given_up->has_value());
}

TEST(EtcdElection, ACampaignWithoutMembersWaitsAndCanBeGivenUp) {
  EtcdSettings settings;
  settings.endpoints = {"127.0.0.1:1"};
  settings.patience = std::chrono::hours(1);
  const auto client = EtcdClient::make(settings).value();
  EtcdElection election(*client, {"a", "http://a"});
  std::stop_source stop;
  auto campaign =
      std::async(std::launch::async, [&] { return election.campaign(stop.get_token()); });
  EXPECT_EQ(election.until(), Clock::time_point::min());
  EXPECT_FALSE(election.leader().has_value());
  stop.request_stop();
  const auto given_up = campaign.get();
  ASSERT_TRUE(given_up.has_value());
  EXPECT_FALSE(given_up->has_value());
}

TEST_F(EtcdElectionTest, OfManyCandidatesOneLeadsAtATime) {
  constexpr int kCandidates = 5;
  std::atomic<int> leading = 0;
  std::vector<std::future<std::int64_t>> terms;
  for (int i = 0; i < kCandidates; ++i)
    terms.push_back(std::async(std::launch::async, [&, i] {
      const auto election = candidate(*client_, "c" + std::to_string(i));
      const Leadership leadership = win(*election);
      EXPECT_EQ(leading.fetch_add(1), 0) << "two lead";
      const auto held = client_->read(EtcdRange::key(election->leader_key()));
      EXPECT_EQ(held->pairs.at(0).create_revision, leadership.fence);
      leading.fetch_sub(1);
      EXPECT_TRUE(election->resign());
      return leadership.fence;
    }));
  std::set<std::int64_t> fences;
  for (auto& term : terms) fences.insert(term.get());
  EXPECT_EQ(fences.size(), static_cast<std::size_t>(kCandidates)) << "no fence is used twice";
}

TEST(SoleElectionTest, LeadsForEver) {
  SoleElection election({"a", "http://a"});
  const auto won = election.campaign({});
  ASSERT_TRUE(won.has_value() && won->has_value());
  EXPECT_EQ((*won)->fence, 0);
  EXPECT_TRUE(election.is_certain());
  EXPECT_EQ(election.leader(), (Candidate{"a", "http://a"}));
  EXPECT_TRUE(election.resign());
}

}  // namespace
}  // namespace orrery::runtime
