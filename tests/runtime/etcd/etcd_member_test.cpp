// Members with settings of their own: a small quota, TLS.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "core/record/codec.hpp"
#include "runtime/etcd/etcd_election.hpp"
#include "runtime/etcd/etcd_store.hpp"
#include "runtime/security/authority.hpp"
#include "tests/runtime/etcd/etcd_cluster.hpp"
#include "tests/runtime/store/payload_records.hpp"

namespace orrery::runtime {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

TEST(EtcdMember, AQuotaThatIsUsedUpIsAClearErrorAndLosesNothing) {
  EtcdClusterOptions options;
  options.members = 1;
  options.arguments = {"--quota-backend-bytes=2097152"};
  const auto cluster = EtcdCluster::make(options);
  if (!cluster) GTEST_SKIP() << EtcdCluster::why_not();
  const auto client = EtcdClient::make(cluster->settings()).value();
  const auto led = client->put({"/orrery/default/leader", "somebody"});
  ASSERT_TRUE(led.has_value());
  Payloads payloads;
  std::uint64_t durable = 0;
  {
    const auto store = EtcdStore::open(*client, Leadership{led->revision}).value();
    Status status = Done{};
    for (int i = 0; i < 10'000 && status; ++i) {
      durable = store->durable().value;
      status = payloads.append(*store, 1000);
    }
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.errors()[0].code, ErrorCode::Unavailable);
    EXPECT_THAT(status.errors()[0].text(),
                HasSubstr("the members' quota of space is used up; raise --quota-backend-bytes or "
                          "free space"));
    EXPECT_EQ(store->durable(), Sequence{durable});
    EXPECT_FALSE(store->sync()) << "a store that failed is opened anew";
  }
  const auto store = EtcdStore::open(*client, std::nullopt).value();
  const ReadBack back = read_all(*store);
  EXPECT_EQ(back.error, "");
  // A member that finds its quota used up only while it applies a write says so and keeps the write
  // all the same: what failed may be there, whole. What was durable is.
  EXPECT_THAT(back.sound, AnyOf(durable, durable + 1000));
  EXPECT_GT(durable, 0u);
}

class EtcdTls : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("orrery-etcd-tls-" + std::to_string(getpid()));
    std::filesystem::create_directory(folder_);
  }

  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }

  /// An authority, and a certificate of it for 127.0.0.1 that members and clients share.
  EtcdClusterOptions::Tls make_files(const std::string& name) {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    const Validity validity{
        Instant::zero() + Duration::seconds(std::chrono::ceil<std::chrono::seconds>(since).count()),
        Duration::seconds(3600)};
    const auto authority = make_authority(validity);
    EXPECT_TRUE(authority.has_value());
    const auto pair = issue(*authority, {Role::Controller, name, {"127.0.0.1"}}, validity);
    EXPECT_TRUE(pair.has_value()) << pair.errors()[0].text();
    return {write(name + "-ca.pem", authority->certificate),
            write(name + ".pem", pair->certificate),
            write(name + "-key.pem", pair->key)};
  }

  std::filesystem::path folder_;
};

TEST_F(EtcdTls, MembersAndClientsShowEachOtherCertificates) {
  EtcdClusterOptions options;
  options.members = 1;
  options.tls = make_files("ours");
  const auto cluster = EtcdCluster::make(options);
  if (!cluster) GTEST_SKIP() << EtcdCluster::why_not();
  const auto client = EtcdClient::make(cluster->settings()).value();
  EtcdElection election(*client, {"a", "https://a"});
  const auto won = election.campaign({});
  ASSERT_TRUE(won.has_value() && won->has_value());
  const auto store = EtcdStore::open(*client, **won).value();
  Payloads payloads;
  ASSERT_TRUE(payloads.append(*store, 10));
  ASSERT_TRUE(store->sync());
  EXPECT_TRUE(election.resign());

  const auto refused = [&](const EtcdClusterOptions::Tls& tls) {
    EtcdSettings settings = cluster->settings();
    settings.ca_file = tls.ca;
    settings.certificate_file = tls.certificate;
    settings.key_file = tls.key;
    settings.patience = std::chrono::milliseconds(300);
    const auto stranger = EtcdClient::make(settings).value();
    return !stranger->read(EtcdRange::key("/orrery/default/tail")).has_value();
  };
  const EtcdClusterOptions::Tls strange = make_files("strange");
  EXPECT_TRUE(refused(strange)) << "it does not know the members' authority";
  EXPECT_TRUE(refused({options.tls->ca, strange.certificate, strange.key}))
      << "the members do not know its authority";
  EXPECT_TRUE(refused({options.tls->ca, "", ""})) << "it shows no certificate";
  EXPECT_TRUE(refused({})) << "plain text";
}

}  // namespace
}  // namespace orrery::runtime
