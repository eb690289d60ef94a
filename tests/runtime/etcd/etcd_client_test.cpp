// The calls of etcd that we use do what we believe of them.
#include "runtime/etcd/etcd_client.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "runtime/etcd/etcd_watch.hpp"
#include "tests/runtime/etcd/etcd_cluster.hpp"

namespace orrery::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using EtcdClientTest = EtcdTest;

TEST_F(EtcdClientTest, ReadsAndWritesByKeyAndPrefix) {
  for (const char* name : {"/a", "/b", "/c"})
    ASSERT_TRUE(client_->put({prefix_ + name, std::string("value of ") + name}));
  const auto one = client_->read(EtcdRange::key(prefix_ + "/b"));
  ASSERT_TRUE(one.has_value());
  ASSERT_EQ(one->pairs.size(), 1u);
  EXPECT_EQ(one->pairs[0].value, "value of /b");
  EXPECT_EQ(client_->read(EtcdRange::prefix(prefix_ + "/"))->pairs.size(), 3u);
  const auto two = client_->read(EtcdRange::prefix(prefix_ + "/"), {.limit = 2, .keys_only = true});
  EXPECT_EQ(two->pairs.size(), 2u);
  EXPECT_TRUE(two->more);
  EXPECT_EQ(two->pairs[0].value, "");
  EXPECT_TRUE(client_->read(EtcdRange::key(prefix_ + "/d"))->pairs.empty());
}

TEST_F(EtcdClientTest, TransactionsCompareBeforeTheyWrite) {
  const std::string key = prefix_ + "/x";
  const EtcdTransaction create{{{key, EtcdCompare::Target::Created, 0}},
                               {EtcdPut{key, "first"}},
                               {EtcdGet{EtcdRange::key(key)}}};
  const auto first = client_->commit(create);
  ASSERT_TRUE(first.has_value());
  EXPECT_TRUE(first->succeeded);
  const auto again = client_->commit(create);
  ASSERT_TRUE(again.has_value());
  EXPECT_FALSE(again->succeeded);
  ASSERT_EQ(again->pairs.size(), 1u);
  EXPECT_EQ(again->pairs[0].create_revision, first->revision);
  const auto erased = client_->commit({{{key, EtcdCompare::Target::Modified, first->revision}},
                                       {EtcdDelete{EtcdRange::key(key)}},
                                       {}});
  EXPECT_TRUE(erased->succeeded);
  EXPECT_TRUE(client_->read(EtcdRange::key(key))->pairs.empty());
}

TEST_F(EtcdClientTest, WhatEtcdNeverTakesIsRefusedAtOnce) {
  const auto large = client_->put({prefix_ + "/large", std::string(2 << 20, 'x')});
  ASSERT_FALSE(large.has_value());
  EXPECT_EQ(large.errors()[0].code, ErrorCode::InvalidInput);
  EXPECT_THAT(large.errors()[0].text(), HasSubstr("etcd: writing was refused: "));
}

TEST_F(EtcdClientTest, AKeyGoesWithItsLease) {
  const auto lease = client_->grant(std::chrono::seconds(2));
  ASSERT_TRUE(lease.has_value());
  EXPECT_GE(lease->ttl, std::chrono::seconds(2));
  const std::string key = prefix_ + "/leased";
  ASSERT_TRUE(client_->put({key, "here", lease->id}));
  ASSERT_TRUE(client_->keep_alive(lease->id, std::chrono::seconds(30)));
  EXPECT_TRUE(client_->revoke(lease->id, std::chrono::seconds(30)));
  EXPECT_TRUE(client_->revoke(lease->id, std::chrono::seconds(30)))
      << "as where only the answer was lost";
  EXPECT_TRUE(client_->read(EtcdRange::key(key))->pairs.empty());
  const auto ended = client_->keep_alive(lease->id, std::chrono::seconds(30));
  ASSERT_FALSE(ended.has_value());
  EXPECT_EQ(ended.errors()[0].code, ErrorCode::NotFound);
}

TEST(EtcdSettingsTest, HalfConfiguredTlsIsRefused) {
  EtcdSettings settings;
  EXPECT_THAT(EtcdClient::make(settings).errors()[0].text(), HasSubstr("no endpoints were given"));
  settings.endpoints = {"127.0.0.1:1"};
  settings.certificate_file = "/nowhere/cert.pem";
  EXPECT_THAT(EtcdClient::make(settings).errors()[0].text(), HasSubstr("TLS is half configured"));
  settings.ca_file = "/nowhere/ca.pem";
  settings.key_file = "/nowhere/key.pem";
  const auto client = EtcdClient::make(settings);
  ASSERT_EQ(client.errors().size(), 3u) << "all at once";
  EXPECT_EQ(client.errors()[0].text(),
            "/nowhere/ca.pem: etcd: the authority's certificate cannot be read; name a PEM file");
}

TEST(EtcdSettingsTest, WithoutAnAnswerTheErrorNamesTheMembersThatWereAsked) {
  EtcdSettings settings;
  settings.endpoints = {"127.0.0.1:1", "127.0.0.1:2"};
  settings.patience = std::chrono::milliseconds(50);
  const auto client = EtcdClient::make(settings);
  ASSERT_TRUE(client.has_value());
  const auto put = (*client)->put({"/x", "y"});
  ASSERT_FALSE(put.has_value());
  EXPECT_EQ(put.errors()[0].code, ErrorCode::Unavailable);
  EXPECT_THAT(put.errors()[0].text(),
              HasSubstr("etcd 127.0.0.1:1,127.0.0.1:2: etcd: writing failed: no member did it "
                        "within 50 ms (127.0.0.1:"));
}

/// Keeps what a watch tells.
struct Seen {
  void all(const std::vector<EtcdPair>& pairs) {
    const std::lock_guard lock(mutex);
    ++resets;
    values.clear();
    for (const EtcdPair& pair : pairs) values.push_back(pair.value);
  }

  void changed(const std::vector<EtcdChange>& changes) {
    const std::lock_guard lock(mutex);
    for (const EtcdChange& change : changes)
      values.push_back(change.deleted ? "gone" : change.pair.value);
  }

  EtcdWatch::Handler handler() {
    return {[this](const std::vector<EtcdPair>& pairs) { all(pairs); },
            [this](const std::vector<EtcdChange>& changes) { changed(changes); }};
  }

  std::vector<std::string> values_now() {
    const std::lock_guard lock(mutex);
    return values;
  }

  std::mutex mutex;
  std::vector<std::string> values;
  int resets = 0;
};

TEST_F(EtcdClientTest, AWatchTellsEachChangeOnceAlsoWhenItsMemberDies) {
  const std::string key = prefix_ + "/watched";
  std::vector<std::string> expected{"0"};
  ASSERT_TRUE(client_->put({key, "0"}));
  Seen seen;
  const auto watching = EtcdClient::make(cluster().settings()).value();
  {
    EtcdWatch watch(*watching, EtcdRange::key(key), seen.handler());
    ASSERT_TRUE(comes_true([&] { return seen.values_now().size() == 1; }));
    for (int i = 1; i <= 30; ++i) {
      expected.push_back(std::to_string(i));
      ASSERT_TRUE(client_->put({key, std::to_string(i)}));
      if (i == 10) cluster().kill(0);  // A client begins with the first of its members.
    }
    EXPECT_TRUE(comes_true([&] { return seen.values_now().size() >= expected.size(); }));
  }
  EXPECT_EQ(seen.values_now(), expected);
  EXPECT_EQ(seen.resets, 1);
  cluster().heal();
}

TEST_F(EtcdClientTest, AWatchReadsAnewWhatWasCompacted) {
  const std::string key = prefix_ + "/watched";
  const std::int64_t old = client_->put({key, "old"})->revision;
  std::int64_t last = 0;
  for (int i = 0; i < 5; ++i) last = client_->put({key, std::to_string(i)})->revision;
  ASSERT_TRUE(client_->compact(last));
  EXPECT_TRUE(client_->compact(last)) << "as where only the answer was lost";
  Seen seen;
  EtcdWatch watch(*client_, EtcdRange::key(key), seen.handler(), old);
  ASSERT_TRUE(comes_true([&] { return seen.values_now().size() == 1; }));
  EXPECT_THAT(seen.values_now(), ElementsAre("4")) << "what is there, and none of what was";
  ASSERT_TRUE(client_->put({key, "new"}));
  EXPECT_TRUE(comes_true([&] { return seen.values_now().size() == 2; }));
  EXPECT_THAT(seen.values_now(), ElementsAre("4", "new"));
}

// As where the data of the members was replaced by an older copy: it waited for revisions that are
// no more.
TEST_F(EtcdClientTest, AWatchOfLaterRevisionsThanThereAreReadsAnew) {
  const std::string key = prefix_ + "/watched";
  const std::int64_t now = client_->put({key, "copied"})->revision;
  const auto end = client_->watch(
      EtcdRange::key(key), now + 1000, {}, [](const std::vector<EtcdChange>&, std::int64_t) {});
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->is_behind);
  Seen seen;
  EtcdWatch watch(*client_, EtcdRange::key(key), seen.handler(), now + 1000);
  ASSERT_TRUE(comes_true([&] { return seen.values_now().size() == 1; }));
  ASSERT_TRUE(client_->put({key, "new"}));
  EXPECT_TRUE(comes_true([&] { return seen.values_now().size() == 2; }));
  EXPECT_THAT(seen.values_now(), ElementsAre("copied", "new"));
  EXPECT_EQ(seen.resets, 1);
}

TEST_F(EtcdClientTest, TheDeathOfAnyMemberOnlyDelaysAnAnswer) {
  std::int64_t last = 0;
  for (std::size_t member : {cluster().leader(), std::size_t{1}}) {
    cluster().kill(member);
    for (int i = 0; i < 5; ++i) {
      const auto put = client_->put({prefix_ + "/x", std::to_string(i)});
      ASSERT_TRUE(put.has_value()) << put.errors()[0].text();
      EXPECT_GT(put->revision, last);
      last = put->revision;
    }
    cluster().heal();
  }
  EXPECT_EQ(client_->read(EtcdRange::key(prefix_ + "/x"))->pairs[0].value, "4");
}

}  // namespace
}  // namespace orrery::runtime
