// What lies in etcd is read back as it was written, or refused; nothing crashes.
#include "runtime/etcd/journal_keys.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/random.hpp"

namespace orrery::runtime {
namespace {

std::string noise(Random& random, std::size_t size) {
  std::string out(size, ' ');
  for (char& each : out) each = static_cast<char>(random.bits());
  return out;
}

/// The pieces of a chunk of random records from `first` on.
std::vector<std::string> chunk(Random& random, Sequence first, std::vector<std::string>& texts) {
  ChunkWriter writer(first, Digest{random.bits(), random.bits()});
  texts.clear();
  const std::uint64_t count = 1 + random.below(20);
  for (std::uint64_t i = 0; i < count; ++i) texts.push_back(noise(random, random.below(300)));
  for (std::uint64_t i = 0; i < count; ++i)
    writer.add({Sequence{first.value + i},
                Digest{random.bits(), random.bits()},
                std::as_bytes(std::span(texts[i])),
                static_cast<std::uint16_t>(random.below(9))});
  return writer.pieces(8 + random.below(2000));
}

/// Whether the reader takes all pieces and completes exactly one chunk.
bool is_read(Sequence first, const std::vector<std::string>& pieces, ChunkReader& reader) {
  int complete = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (!reader.add({first, i}, pieces[i])) return false;
    complete += reader.chunk() != nullptr ? 1 : 0;
  }
  return complete == 1;
}

TEST(JournalKeys, NumbersAreReadBackAndSortAsNumbersDo) {
  const JournalKeys keys("/orrery/a");
  const std::vector<std::string> sorted{keys.records(Sequence{1}),
                                        keys.records(Sequence{1}, 1),
                                        keys.records(Sequence{1}, 12),
                                        keys.records(Sequence{2}),
                                        keys.records(Sequence{10}),
                                        keys.records(Sequence{1'000'000'000'000'000})};
  EXPECT_TRUE(std::is_sorted(sorted.begin(), sorted.end()));
  const auto number = keys.number_in(keys.records(Sequence{42}, 7));
  ASSERT_TRUE(number.has_value());
  EXPECT_EQ(number->sequence, Sequence{42});
  EXPECT_EQ(number->piece, 7u);
  EXPECT_EQ(keys.number_in(keys.manifest(Sequence{42}))->piece, 0u);
  for (const char* wrong : {"",
                            "/",
                            "/orrery/a/journal/12",
                            "/orrery/a/journal/0000000000000000001x",
                            "/orrery/a/journal/00000000000000000012.",
                            "00000000000000000012"})
    EXPECT_FALSE(keys.number_in(wrong).has_value()) << wrong;
  const EtcdRange before = keys.records_before(Sequence{2});
  EXPECT_LT(keys.records(Sequence{1}, 12), before.end);
  EXPECT_GE(keys.records(Sequence{2}), before.end);
}

TEST(JournalKeys, ChunksAreReadBackAndDamagedOnesRefused) {
  constexpr std::uint64_t kSeed = 20'261'122;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  for (int i = 0; i < 500; ++i) {
    const Sequence first{1 + random.below(1000)};
    std::vector<std::string> texts;
    std::vector<std::string> pieces = chunk(random, first, texts);
    ChunkReader reader;
    ASSERT_TRUE(is_read(first, pieces, reader));
    ASSERT_EQ(reader.chunk()->first, first);
    ASSERT_EQ(reader.chunk()->records.size(), texts.size());
    for (std::size_t k = 0; k < texts.size(); ++k)
      ASSERT_TRUE(
          std::ranges::equal(reader.chunk()->records[k].bytes, std::as_bytes(std::span(texts[k]))));
    EXPECT_TRUE(reader.add({first, pieces.size()}, "left by a longer one"));
    EXPECT_EQ(reader.chunk(), nullptr);

    std::string& damaged = pieces[random.below(pieces.size())];
    const std::size_t place = random.below(damaged.size());
    damaged[place] = static_cast<char>(damaged[place] ^ (1 << random.below(8)));
    ChunkReader other;
    EXPECT_FALSE(is_read(first, pieces, other)) << "byte " << place;
  }
}

TEST(JournalKeys, PiecesOfOneChunkComeWholeAndInOrder) {
  Random random(3);
  std::vector<std::string> texts;
  ChunkWriter writer(Sequence{5}, {});
  const std::string text = noise(random, 1000);
  writer.add({Sequence{5}, {}, std::as_bytes(std::span(text))});
  const std::vector<std::string> pieces = writer.pieces(400);
  ASSERT_EQ(pieces.size(), 3u);
  ChunkReader gap;
  EXPECT_TRUE(gap.add({Sequence{5}, 0}, pieces[0]));
  EXPECT_FALSE(gap.add({Sequence{5}, 2}, pieces[2]));
  ChunkReader cut;
  EXPECT_TRUE(cut.add({Sequence{5}, 0}, pieces[0]));
  EXPECT_FALSE(cut.add({Sequence{6}, 0}, pieces[0])) << "the one before is not whole";
  ChunkReader headless;
  EXPECT_FALSE(headless.add({Sequence{5}, 1}, pieces[1]));
  ChunkReader moved;
  EXPECT_FALSE(is_read(Sequence{6}, pieces, moved)) << "it is another chunk's";
}

TEST(JournalKeys, NoiseUnderASoundDigestIsRefusedToo) {
  constexpr std::uint64_t kSeed = 7;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  for (int i = 0; i < 5000; ++i) {
    const std::string value = sealed(noise(random, random.below(120)));
    EXPECT_FALSE(record_in<EtcdTail>(value.substr(1)).has_value());
    (void)record_in<EtcdTail>(value);
    (void)record_in<EtcdManifest>(value);
    ByteWriter head;
    head.u64(value.size() + 8);
    ChunkReader reader;
    (void)reader.add({Sequence{1}, 0}, std::string(head.text()) + value);
  }
}

}  // namespace
}  // namespace orrery::runtime
