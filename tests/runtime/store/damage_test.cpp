// Damage of any byte is found, or changes nothing; nothing crashes.
#include <gtest/gtest.h>

#include "core/base/random.hpp"
#include "core/record/codec.hpp"
#include "tests/runtime/store/payloads.hpp"
#include "tests/support/long_form.hpp"

namespace orrery::runtime {
namespace damage_tests {

/// All that can be read from a journal; its error where something is wrong.
struct Content {
  std::string records;
  std::string snapshots;
  std::string error;

  friend bool operator==(const Content&, const Content&) = default;
};

Content content_of(const std::string& path) {
  Content out;
  const auto store = SqliteStore::open(path, SqliteStore::Access::ReadOnly);
  if (!store) {
    out.error = store.errors()[0].text();
    return out;
  }
  const Status read = (*store)->read_from(Sequence{1}, [&](const StoredRecord& record) {
    out.records +=
        std::to_string(record.sequence.value) + " v" + std::to_string(record.version) + " " +
        record.chain.to_hex() + " " +
        std::string(reinterpret_cast<const char*>(record.bytes.data()), record.bytes.size()) + "\n";
    return true;
  });
  if (!read) out.error = read.errors()[0].text();
  const auto snapshots = (*store)->snapshots();
  if (!snapshots) {
    if (out.error.empty()) out.error = snapshots.errors()[0].text();
    return out;
  }
  for (const StoredSnapshot& snapshot : *snapshots)
    out.snapshots +=
        std::to_string(snapshot.sequence.value) + " v" + std::to_string(snapshot.version) + " " +
        snapshot.chain.to_hex() + " " +
        std::string(reinterpret_cast<const char*>(snapshot.bytes.data()), snapshot.bytes.size()) +
        "\n";
  return out;
}

class Damage : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    {
      const std::unique_ptr<SqliteStore> store = open();
      Payloads payloads;
      for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(payloads.append(*store, 150));
        const std::vector<std::byte> state(700, static_cast<std::byte>(i));
        ASSERT_TRUE(store->save_snapshot({store->last(), payloads.chain(), kRecordVersion, state}));
      }
      ASSERT_TRUE(payloads.append(*store, 50));
      ASSERT_TRUE(store->close());
    }
    whole_ = file_bytes();
    sound_ = content_of(path_);
    ASSERT_EQ(sound_.error, "");
  }

  /// What is read is as it was, or there is an error that says what and what to do.
  void expect_found_or_harmless() {
    const Content content = content_of(path_);
    if (content == sound_) return;
    EXPECT_NE(content.error, "") << "accepted in silence";
    EXPECT_NE(content.error.find("; "), std::string::npos) << "no remedy: " << content.error;
    ++found_;
  }

  std::string whole_;
  Content sound_;
  int found_ = 0;
};

TEST_F(Damage, OfOneByteIsFoundOrHarmless) {
  constexpr std::uint64_t kSeed = 20'261'121;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  const int trials = static_cast<int>(orrery::tests::count_of(300, 1000));
  for (int i = 0; i < trials && !HasFailure(); ++i) {
    std::string bytes = whole_;
    const std::size_t place = random.below(bytes.size());
    const char mask = static_cast<char>(1u << random.below(8));
    SCOPED_TRACE("byte " + std::to_string(place));
    bytes[place] = static_cast<char>(bytes[place] ^ mask);
    replace_file(bytes);
    expect_found_or_harmless();
  }
  EXPECT_GT(found_, trials / 3);
}

TEST_F(Damage, OfWholePagesIsFoundOrHarmless) {
  constexpr std::size_t kPage = 4096;
  for (std::size_t page = 0; page * kPage < whole_.size(); ++page) {
    for (const char with : {'\0', 'x'}) {
      SCOPED_TRACE("page " + std::to_string(page) + " with " + std::to_string(int{with}));
      std::string bytes = whole_;
      bytes.replace(page * kPage, kPage, kPage, with);
      replace_file(bytes);
      expect_found_or_harmless();
    }
  }
}

TEST_F(Damage, ATruncatedFileIsNeverAccepted) {
  for (std::size_t size = 0; size < whole_.size(); size += 777) {
    SCOPED_TRACE("size " + std::to_string(size));
    replace_file(whole_.substr(0, size));
    EXPECT_NE(content_of(path_).error, "");
  }
}

TEST_F(Damage, AWriterOfADamagedFileDoesNotCrash) {
  constexpr std::uint64_t kSeed = 5;
  Random random(kSeed);
  for (int i = 0; i < 30; ++i) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", trial " + std::to_string(i));
    std::filesystem::remove(path_.string() + "-wal");
    std::filesystem::remove(path_.string() + "-shm");
    std::string bytes = whole_;
    const std::size_t begin = random.below(bytes.size());
    for (std::size_t k = begin; k < std::min(bytes.size(), begin + 1 + random.below(200)); ++k)
      bytes[k] = static_cast<char>(random.bits());
    replace_file(bytes);
    const auto store = SqliteStore::open(path_, Access::Append, Pruning::Drop);
    if (!store) continue;
    Payloads payloads;
    const std::string text = "more";
    Digester digester{Digest{}};
    digester.update(text);
    const StoredRecord next{
        (*store)->last().next(), digester.finish(), std::as_bytes(std::span(text))};
    (void)(*store)->append(Epoch{2}, std::span(&next, 1));
    (void)(*store)->save_snapshot({next.sequence, next.chain, kRecordVersion, {}});
    (void)(*store)->sync();
    (void)(*store)->close();
  }
}

}  // namespace damage_tests
}  // namespace orrery::runtime
