// The journal in etcd: nothing acknowledged is lost, nothing is written by a controller that does
// not lead.
#include "runtime/etcd/etcd_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <thread>

#include "core/base/random.hpp"
#include "runtime/etcd/etcd_election.hpp"
#include "runtime/etcd/etcd_watch.hpp"
#include "runtime/store/background_store.hpp"
#include "tests/runtime/etcd/etcd_cluster.hpp"
#include "tests/runtime/store/payload_records.hpp"
#include "tests/support/long_form.hpp"

namespace orrery::runtime {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class EtcdStoreTest : public EtcdTest {
 protected:
  void SetUp() override {
    EtcdTest::SetUp();
    options_.prefix = prefix_;
  }

  /// Leads as of now, whichever led before: as an election would, without its threads and waits.
  Leadership lead() {
    const std::string key = prefix_ + "/leader";
    const auto won = client_->commit({{}, {EtcdDelete{EtcdRange::key(key)}}, {}});
    EXPECT_TRUE(won.has_value());
    return {client_->put({key, "somebody"})->revision};
  }

  std::unique_ptr<EtcdStore> open(std::optional<Leadership> leadership) {
    auto store = EtcdStore::open(*client_, leadership, options_);
    EXPECT_TRUE(store.has_value()) << store.errors()[0].text();
    return std::move(store).value();
  }

  std::size_t keys_under(const std::string& folder) {
    return client_->read(EtcdRange::prefix(prefix_ + folder), {.keys_only = true})->pairs.size();
  }

  std::string value_of(const std::string& key) {
    const auto read = client_->read(EtcdRange::key(key));
    EXPECT_EQ(read->pairs.size(), 1u) << key;
    return read->pairs.empty() ? "" : read->pairs[0].value;
  }

  static std::vector<std::byte> noise(std::size_t size, std::uint64_t seed) {
    Random random(seed);
    std::vector<std::byte> out(size);
    for (std::byte& each : out) each = static_cast<std::byte>(random.bits());
    return out;
  }

  EtcdStoreOptions options_;
  Payloads payloads_;
};

TEST_F(EtcdStoreTest, ReadsBackWhatWasAppendedAlsoAfterOpeningAnew) {
  const Leadership leadership = lead();
  {
    const auto store = open(leadership);
    EXPECT_EQ(read_all(*store).sound, 0u);
    ASSERT_TRUE(payloads_.append(*store, 3));
    EXPECT_EQ(store->durable(), Sequence{0});
    ASSERT_TRUE(store->sync());
    EXPECT_EQ(store->durable(), Sequence{3});
    ASSERT_TRUE(payloads_.append(*store, 2));
    EXPECT_EQ(read_all(*store).sound, 5u);
    ASSERT_TRUE(payloads_.append(*store, 1));
  }
  const auto store = open(leadership);
  EXPECT_EQ(store->durable(), Sequence{6}) << "destruction commits";
  EXPECT_EQ(store->last_chain(), payloads_.chain());
  ASSERT_TRUE(payloads_.append(*store, 2000));
  EXPECT_EQ(store->durable(), Sequence{2006}) << "a full group is committed by itself";
  const auto reader = open(std::nullopt);
  const ReadBack back = read_all(*reader);
  EXPECT_EQ(back.sound, 2006u);
  EXPECT_EQ(back.error, "");
  EXPECT_FALSE(payloads_.append(*reader, 1)) << "it was opened for reading";
  std::vector<std::uint64_t> seen;
  ASSERT_TRUE(reader->read_from(Sequence{4}, [&](const StoredRecord& record) {
    seen.push_back(record.sequence.value);
    return seen.size() < 4;
  }));
  EXPECT_THAT(seen, ::testing::ElementsAre(4, 5, 6, 7)) << "over the edge of a chunk";
}

TEST_F(EtcdStoreTest, LargeGroupsAndRecordsAreCutToTheLimits) {
  options_.value_bytes_max = 1000;
  options_.transaction_bytes_max = 3000;
  options_.transaction_keys_max = 4;
  const Leadership leadership = lead();
  std::vector<StoredRecord> records;
  std::vector<std::vector<std::byte>> contents;
  Digest chain;
  Random random(8);
  for (std::uint64_t i = 1; i <= 60; ++i) {
    contents.push_back(noise(random.below(i % 10 == 0 ? 9000 : 400), i));
    Digester digester(chain);
    digester.update(std::span<const std::byte>(contents.back()));
    chain = digester.finish();
    records.push_back(
        {Sequence{i}, chain, contents.back(), static_cast<std::uint16_t>(1 + i / 40)});
  }
  const auto store = open(leadership);
  ASSERT_TRUE(store->append(Epoch{1}, records));
  ASSERT_TRUE(store->sync());
  const auto all = client_->read(EtcdRange::prefix(prefix_ + "/"));
  ASSERT_TRUE(all.has_value());
  for (const EtcdPair& pair : all->pairs) EXPECT_LE(pair.value.size(), 1000u) << pair.key;
  std::size_t at = 0;
  ASSERT_TRUE(open(std::nullopt)->read_from(Sequence{1}, [&](const StoredRecord& record) {
    EXPECT_EQ(record.sequence, records[at].sequence);
    EXPECT_EQ(record.version, records[at].version);
    EXPECT_EQ(record.chain, records[at].chain);
    EXPECT_TRUE(std::ranges::equal(record.bytes, records[at].bytes));
    ++at;
    return true;
  }));
  EXPECT_EQ(at, records.size());
}

TEST_F(EtcdStoreTest, WithTheDefaultLimitsEtcdTakesWhatIsLarge) {
  const auto store = open(lead());
  // Of several values, and of several transactions.
  const std::vector<std::byte> large = noise(3 << 19, 3);
  Digester digester{Digest{}};
  digester.update(std::span<const std::byte>(large));
  const StoredRecord record{Sequence{1}, digester.finish(), large};
  ASSERT_TRUE(store->append(Epoch{1}, std::span(&record, 1)));
  const Status saved = store->save_snapshot({Sequence{1}, record.chain, kRecordVersion, large});
  ASSERT_TRUE(saved.has_value()) << saved.errors()[0].text();
  const auto reader = open(std::nullopt);
  const auto snapshot = reader->latest_snapshot();
  ASSERT_TRUE(snapshot.has_value() && snapshot->has_value());
  EXPECT_EQ((*snapshot)->bytes, large);
  EXPECT_EQ((*snapshot)->chain, record.chain);
  EXPECT_TRUE(reader->read_from(Sequence{1}, [&](const StoredRecord& back) {
    EXPECT_TRUE(std::ranges::equal(back.bytes, large));
    return true;
  }));
}

TEST_F(EtcdStoreTest, KeepsTwoSnapshotsAndWhatFollowsTheOlder) {
  const auto store = open(lead());
  const std::int64_t before = client_->put({prefix_ + "/other", "x"})->revision;
  std::vector<std::byte> bytes;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(payloads_.append(*store, 100));
    ASSERT_TRUE(store->sync());
    ASSERT_TRUE(payloads_.append(*store, 10));
    bytes = noise(3000, static_cast<std::uint64_t>(i));
    const Status saved =
        store->save_snapshot({store->last(), payloads_.chain(), kRecordVersion, bytes});
    ASSERT_TRUE(saved.has_value()) << saved.errors()[0].text();
  }
  ASSERT_TRUE(payloads_.append(*store, 7));
  ASSERT_TRUE(store->sync());
  EXPECT_EQ(store->pruned(), Sequence{440});
  EXPECT_EQ(keys_under("/manifest/"), 2u);
  EXPECT_EQ(keys_under("/snapshot/"), 2u);
  EXPECT_EQ(keys_under("/journal/"), 3u);
  const auto reader = open(std::nullopt);
  EXPECT_EQ((*reader->latest_snapshot())->bytes, bytes);
  EXPECT_EQ((*reader->latest_snapshot())->sequence, Sequence{550});
  std::uint64_t seen = 0;
  ASSERT_TRUE(reader->read_from(Sequence{551}, [&](const StoredRecord&) { return ++seen > 0; }));
  EXPECT_EQ(seen, 7u);
  const Status gone = reader->read_from(Sequence{5}, [](const StoredRecord&) { return true; });
  EXPECT_THAT(gone.errors()[0].text(),
              HasSubstr("record 5: records up to 440 were deleted once two snapshots had them"));
  const auto history =
      client_->watch(EtcdRange::key(prefix_ + "/other"), before, {}, [](auto, auto) {});
  ASSERT_TRUE(history.has_value());
  EXPECT_GT(history->compacted, before) << "etcd was told to forget";
}

TEST_F(EtcdStoreTest, ASnapshotThatEndsWithinAChunkKeepsTheChunk) {
  const auto store = open(lead());
  for (int i = 0; i < 3; ++i) {
    const Digest at = payloads_.chain();
    const Sequence middle = store->last();
    ASSERT_TRUE(payloads_.append(*store, 10));
    ASSERT_TRUE(store->sync());
    ASSERT_TRUE(payloads_.append(*store, 10));
    if (i > 0) {
      ASSERT_TRUE(store->save_snapshot({middle, at, kRecordVersion, {}}));
    }
  }
  EXPECT_EQ(store->pruned(), Sequence{10}) << "the chunk of the records 11 to 30 is still needed";
  std::uint64_t seen = 0;
  const Status read =
      open(std::nullopt)->read_from(Sequence{21}, [&](const StoredRecord&) { return ++seen > 0; });
  ASSERT_TRUE(read.has_value()) << read.errors()[0].text();
  EXPECT_EQ(seen, 40u);
}

TEST_F(EtcdStoreTest, ASnapshotWithoutItsManifestIsNone) {
  const auto store = open(lead());
  const JournalKeys keys(prefix_);
  ASSERT_TRUE(payloads_.append(*store, 10));
  ASSERT_TRUE(store->save_snapshot({Sequence{5}, {}, kRecordVersion, noise(10, 1)}));
  // As if the controller had been killed before the manifest.
  for (std::size_t piece = 0; piece < 3; ++piece)
    ASSERT_TRUE(client_->put({keys.snapshot(Sequence{8}, piece), "torn"}));
  EXPECT_EQ((*open(std::nullopt)->latest_snapshot())->sequence, Sequence{5});
  ASSERT_TRUE(
      store->save_snapshot({Sequence{10}, payloads_.chain(), kRecordVersion, noise(10, 2)}));
  EXPECT_EQ(keys_under("/snapshot/"), 2u) << "the next one clears it away";
}

TEST_F(EtcdStoreTest, TheManifestIsWrittenLast) {
  options_.value_bytes_max = 1000;
  options_.transaction_keys_max = 2;
  const auto store = open(lead());
  ASSERT_TRUE(payloads_.append(*store, 10));
  const std::vector<std::byte> bytes = noise(9500, 1);
  ASSERT_TRUE(store->save_snapshot({Sequence{10}, payloads_.chain(), kRecordVersion, bytes}));
  const auto pieces = client_->read(EtcdRange::prefix(prefix_ + "/snapshot/"));
  const auto manifest = client_->read(EtcdRange::prefix(prefix_ + "/manifest/"));
  ASSERT_EQ(pieces->pairs.size(), 10u);
  ASSERT_EQ(manifest->pairs.size(), 1u);
  for (const EtcdPair& piece : pieces->pairs)
    EXPECT_LT(piece.mod_revision, manifest->pairs[0].mod_revision);
  EXPECT_EQ((*open(std::nullopt)->latest_snapshot())->bytes, bytes);
}

TEST_F(EtcdStoreTest, PiecesThatNoTailTellsOfAreNotRead) {
  const Leadership leadership = lead();
  const JournalKeys keys(prefix_);
  {
    const auto store = open(leadership);
    ASSERT_TRUE(payloads_.append(*store, 10));
  }
  // As if a controller had been killed within a group of several transactions.
  ASSERT_TRUE(client_->put({keys.records(Sequence{11}), "torn"}));
  ASSERT_TRUE(client_->put({keys.records(Sequence{11}, 1), "torn"}));
  EXPECT_EQ(read_all(*open(std::nullopt)).error, "");
  const auto store = open(leadership);
  ASSERT_TRUE(payloads_.append(*store, 5));
  ASSERT_TRUE(store->sync());
  ASSERT_TRUE(payloads_.append(*store, 5));
  const ReadBack back = read_all(*store);
  EXPECT_EQ(back.error, "");
  EXPECT_EQ(back.sound, 20u);
}

TEST_F(EtcdStoreTest, ADeposedLeadersLateWriteIsRefused) {
  const auto old = open(lead());
  ASSERT_TRUE(payloads_.append(*old, 3));
  ASSERT_TRUE(old->sync());
  Payloads next = payloads_;
  next.epoch = Epoch{2};
  const auto successor = open(lead());
  ASSERT_TRUE(payloads_.append(*old, 1)) << "it is only collected";
  const Status ended = old->sync();
  ASSERT_FALSE(ended.has_value());
  EXPECT_EQ(ended.errors()[0].code, ErrorCode::Conflict);
  EXPECT_THAT(ended.errors()[0].text(),
              AllOf(HasSubstr("leadership "), HasSubstr("has ended, so its write was refused")));
  EXPECT_EQ(old->durable(), Sequence{3});
  ASSERT_TRUE(next.append(*successor, 1));
  ASSERT_TRUE(successor->sync());
  EXPECT_EQ(read_all(*open(std::nullopt)).sound, 4u);
  EXPECT_FALSE(old->save_snapshot({Sequence{3}, {}, kRecordVersion, {}})) << "refused for good";
}

TEST_F(EtcdStoreTest, ADeposedLeaderHearsOfTheEpochThatFollowedIts) {
  const auto old = open(lead());
  ASSERT_TRUE(payloads_.append(*old, 3));
  ASSERT_TRUE(old->sync());
  Payloads next = payloads_;
  next.epoch = Epoch{2};
  const auto successor = open(lead());
  ASSERT_TRUE(next.append(*successor, 1));
  ASSERT_TRUE(successor->sync());
  const Status saved = old->save_snapshot({Sequence{3}, {}, kRecordVersion, noise(10, 1)});
  ASSERT_FALSE(saved.has_value());
  EXPECT_EQ(saved.errors()[0].code, ErrorCode::Conflict);
  EXPECT_THAT(saved.errors()[0].text(), HasSubstr("the leader of epoch 1 is deposed: epoch 2"));
  EXPECT_EQ(keys_under("/manifest/"), 0u);
  EXPECT_EQ(keys_under("/snapshot/"), 0u);
  const auto again = open(lead());
  EXPECT_EQ(payloads_.append(*again, 1).errors()[0].code, ErrorCode::Conflict)
      << "the epoch is in the tail";
}

TEST_F(EtcdStoreTest, TwoWritersOfOneLeadershipDoNotMix) {
  const Leadership leadership = lead();
  const auto one = open(leadership);
  const auto other = open(leadership);
  Payloads theirs;
  ASSERT_TRUE(theirs.append(*other, 2));
  ASSERT_TRUE(other->sync());
  ASSERT_TRUE(payloads_.append(*one, 1));
  const Status refused = one->sync();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.errors()[0].code, ErrorCode::Conflict);
  EXPECT_THAT(refused.errors()[0].text(), HasSubstr("another process has appended to it"));
}

TEST_F(EtcdStoreTest, DamageIsFoundAndNamed) {
  options_.group_max = 10;
  const auto store = open(lead());
  const JournalKeys keys(prefix_);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(payloads_.append(*store, 10));
  ASSERT_TRUE(
      store->save_snapshot({Sequence{50}, payloads_.chain(), kRecordVersion, noise(99, 1)}));
  const auto spoil = [&](const std::string& key, std::string value, auto&& check) {
    const std::string sound = value_of(key);
    if (value.empty()) {
      value = sound;
      value[value.size() / 2] ^= 0x20;
    }
    ASSERT_TRUE(client_->put({key, value}));
    check();
    ASSERT_TRUE(client_->put({key, sound}));
  };
  const auto read_error = [&] { return read_all(*open(std::nullopt)).error; };
  spoil(keys.records(Sequence{31}), "", [&] {
    EXPECT_THAT(read_error(), AllOf(HasSubstr("record 31: its chunk "), HasSubstr("is damaged")));
  });
  spoil(keys.records(Sequence{31}), value_of(keys.records(Sequence{21})), [&] {
    EXPECT_THAT(read_error(), HasSubstr("record 31: its chunk "));
  });
  spoil(keys.tail(), "", [&] {
    EXPECT_THAT(EtcdStore::open(*client_, {}, options_).errors()[0].text(),
                HasSubstr("tail: its bytes do not give its digest"));
  });
  spoil(keys.manifest(Sequence{50}), "", [&] {
    EXPECT_THAT(open(std::nullopt)->latest_snapshot().errors()[0].text(),
                HasSubstr("delete the key"));
  });
  spoil(keys.snapshot(Sequence{50}, 0), "", [&] {
    EXPECT_THAT(open(std::nullopt)->latest_snapshot().errors()[0].text(),
                HasSubstr("snapshot 50: its bytes do not give its digest"));
  });
  EXPECT_EQ(read_error(), "");
  ASSERT_TRUE(client_->commit({{}, {EtcdDelete{EtcdRange::key(keys.records(Sequence{21}))}}, {}}));
  EXPECT_THAT(read_error(), HasSubstr("record 21: it is missing"));
  ASSERT_TRUE(client_->commit({{}, {EtcdDelete{keys.records_from(Sequence{31})}}, {}}));
  EXPECT_THAT(read_error(), HasSubstr("record 21: it is missing"));
}

TEST_F(EtcdStoreTest, AnswersThatAreLostChangeNothing) {
  // So little time that members often do what they cannot tell us in time.
  EtcdSettings hasty = cluster().settings();
  hasty.call_deadline = std::chrono::milliseconds(1);
  const auto client = EtcdClient::make(hasty).value();
  const auto opened = EtcdStore::open(*client, lead(), options_);
  ASSERT_TRUE(opened.has_value());
  EtcdStore& store = **opened;
  const std::uint64_t groups = tests::count_of(24, 100);
  for (std::uint64_t i = 0; i < groups; ++i) {
    ASSERT_TRUE(payloads_.append(store, 5));
    const Status synced = store.sync();
    ASSERT_TRUE(synced.has_value()) << synced.errors()[0].text();
    if (i % 8 == 7) {
      ASSERT_TRUE(store.save_snapshot({store.last(), payloads_.chain(), kRecordVersion, {}}));
    }
  }
  std::uint64_t seen = 0;
  ASSERT_TRUE(open(std::nullopt)->read_from(store.pruned().next(), [&](const StoredRecord&) {
    return ++seen > 0;
  }));
  EXPECT_EQ(seen, 5 * groups - store.pruned().value);
}

TEST_F(EtcdStoreTest, NoAcknowledgedWriteIsLostWhenTheMemberThatLeadsIsKilled) {
  const Leadership leadership = lead();
  std::uint64_t acknowledged = 0;
  std::chrono::steady_clock::duration longest{};
  {
    const auto inner = open(leadership);
    BackgroundStore store(*inner, [] {});
    const std::uint64_t kills = tests::count_of(1, 2);
    for (std::uint64_t kill = 0; kill < kills; ++kill) {
      for (int i = 0; i < 25; ++i) {
        if (i == 10) cluster().kill(cluster().leader());
        const auto began = std::chrono::steady_clock::now();
        ASSERT_TRUE(payloads_.append(store, 10));
        const Status flushed = store.flush();
        ASSERT_TRUE(flushed.has_value()) << flushed.errors()[0].text();
        longest = std::max(longest, std::chrono::steady_clock::now() - began);
        EXPECT_EQ(store.durable().value, acknowledged + 10);
        acknowledged = store.durable().value;
      }
      cluster().heal();
    }
  }
  const ReadBack back = read_all(*open(std::nullopt));
  EXPECT_EQ(back.error, "");
  EXPECT_EQ(back.sound, acknowledged);
  std::printf("longest gap between writes: %.2f s\n",
              std::chrono::duration<double>(longest).count());
}

TEST_F(EtcdStoreTest, AControllerThatDiesIsSucceededWithAllThatItPromised) {
  EtcdElectionOptions election;
  election.prefix = prefix_;
  election.lease = std::chrono::seconds(2);
  const auto dying_client = EtcdClient::make(cluster().settings()).value();
  auto dying = std::make_unique<EtcdElection>(*dying_client, Candidate{"a", "http://a"}, election);
  EtcdElection heir(*client_, {"b", "http://b"}, election);
  const auto first = dying->campaign({});
  auto store = EtcdStore::open(*dying_client, **first, options_).value();
  ASSERT_TRUE(payloads_.append(*store, 100));
  ASSERT_TRUE(store->sync());
  ASSERT_TRUE(
      store->save_snapshot({Sequence{100}, payloads_.chain(), kRecordVersion, noise(9, 9)}));
  Payloads next = payloads_;
  next.epoch = Epoch{2};
  auto campaign = std::async(std::launch::async, [&] { return heir.campaign({}); });
  const auto died = std::chrono::steady_clock::now();
  dying.reset();  // Nothing renews its lease; its store is late.
  const auto second = campaign.get();
  const auto heirs = EtcdStore::open(*client_, **second, options_).value();
  EXPECT_EQ(heirs->last(), Sequence{100});
  EXPECT_EQ((*heirs->latest_snapshot())->sequence, Sequence{100});
  ASSERT_TRUE(next.append(*heirs, 1));
  ASSERT_TRUE(heirs->sync());
  const auto took = std::chrono::steady_clock::now() - died;
  std::printf("taken over after %.2f s, lease %lld s\n",
              std::chrono::duration<double>(took).count(),
              static_cast<long long>(election.lease.count()));
  ASSERT_TRUE(payloads_.append(*store, 1));
  EXPECT_EQ(store->sync().errors()[0].code, ErrorCode::Conflict);
  EXPECT_EQ(read_all(*open(std::nullopt)).sound, 101u);
  EXPECT_TRUE(heir.resign());
}

}  // namespace
}  // namespace orrery::runtime
