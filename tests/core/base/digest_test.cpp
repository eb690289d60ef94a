#include "core/base/digest.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <set>
#include <string>

#include "core/base/random.hpp"

namespace orrery {
namespace {

std::string random_text(Random& random, std::size_t length) {
  std::string text(length, '\0');
  for (char& c : text) c = static_cast<char>(random.below(256));
  return text;
}

// Journals hold these values: a change of any of them is a change of format.
TEST(Digest, KnownTextsHaveThePinnedDigests) {
  EXPECT_EQ(digest_of("").to_hex(), "323f4089c4a9833e469a39f0d895de7a");
  EXPECT_EQ(digest_of("a").to_hex(), "f7f8f3aae672ab0a23b1d847ad69932f");
  EXPECT_EQ(digest_of("orrery").to_hex(), "283f81d8aa40da6df6e44ad69c061bd6");
  EXPECT_EQ(digest_of("a text that is longer than two blocks").to_hex(),
            "404d61958797cac2aa4f21ee969e630b");
  Digester chained(digest_of("orrery"));
  chained.update(std::uint64_t{42});
  EXPECT_EQ(chained.finish().to_hex(), "cc3b632b86e3374abdfb9a35d80938d8");
}

TEST(Digest, HexadecimalTextReadsBack) {
  const Digest digest = digest_of("orrery");
  EXPECT_EQ(Digest::from_hex(digest.to_hex()), digest);
  EXPECT_EQ((Digest{0, 1}).to_hex(), "00000000000000000000000000000001");
  EXPECT_EQ(Digest::from_hex("000000000000000000000000000000FF"), (Digest{0, 255}));
  EXPECT_FALSE(Digest::from_hex("0").has_value());
  EXPECT_FALSE(Digest::from_hex("0000000000000000000000000000000g").has_value());
}

TEST(Digest, CutsBetweenUpdatesDoNotMatter) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    const std::string text = random_text(random, random.below(100));
    Digester pieces;
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::size_t length = 1 + random.below(rest.size());
      pieces.update(rest.substr(0, length));
      rest.remove_prefix(length);
    }
    EXPECT_EQ(pieces.finish(), digest_of(text)) << "seed 1, round " << round;
  }
}

TEST(Digest, WordsCountAsTheirBytesLowestFirst) {
  Digester words;
  words.update(std::uint64_t{0x0807060504030201});
  EXPECT_EQ(words.finish(), digest_of("\x01\x02\x03\x04\x05\x06\x07\x08"));
}

TEST(Digest, TrailingZerosCount) {
  std::set<Digest> seen;
  for (std::size_t length = 0; length < 200; ++length) {
    EXPECT_TRUE(seen.insert(digest_of(std::string(length, '\0'))).second) << length;
  }
}

TEST(Digest, OneFlippedBitFlipsHalfOfTheDigest) {
  Random random(2);
  for (const std::size_t length : {1U, 8U, 16U, 24U, 64U}) {
    double flipped = 0.0;
    int trials = 0;
    int fewest = 128;
    for (int round = 0; round < 20; ++round) {
      std::string text = random_text(random, length);
      const Digest before = digest_of(text);
      for (std::size_t bit = 0; bit < 8 * length; ++bit) {
        text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << (bit % 8)));
        const Digest after = digest_of(text);
        text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << (bit % 8)));
        const int bits =
            std::popcount(before.high ^ after.high) + std::popcount(before.low ^ after.low);
        flipped += bits;
        fewest = std::min(fewest, bits);
        ++trials;
      }
    }
    EXPECT_NEAR(flipped / trials, 64.0, 1.5) << "seed 2, length " << length;
    EXPECT_GT(fewest, 30) << "seed 2, length " << length;
  }
}

TEST(Digest, EveryDigestBitDependsOnTheInput) {
  constexpr int kTexts = 20'000;
  std::array<int, 128> ones{};
  for (int i = 0; i < kTexts; ++i) {
    Digester digester;
    digester.update(static_cast<std::uint64_t>(i));
    const Digest digest = digester.finish();
    for (std::size_t bit = 0; bit < 64; ++bit) {
      ones[bit] += static_cast<int>(digest.low >> bit & 1);
      ones[64 + bit] += static_cast<int>(digest.high >> bit & 1);
    }
  }
  for (std::size_t bit = 0; bit < 128; ++bit) EXPECT_NEAR(ones[bit], kTexts / 2.0, 400) << bit;
}

TEST(Digest, CountersInAnyWordOfARecordNeverCollideInOneHalf) {
  std::set<std::uint64_t> high;
  std::set<std::uint64_t> low;
  int records = 0;
  for (std::size_t place = 0; place < 8; ++place) {
    for (std::uint64_t value = 1; value <= 5'000; ++value) {
      std::array<std::uint64_t, 8> record{};
      record[place] = value;
      Digester digester;
      for (const std::uint64_t word : record) digester.update(word);
      high.insert(digester.finish().high);
      low.insert(digester.finish().low);
      ++records;
    }
  }
  EXPECT_EQ(high.size(), static_cast<std::size_t>(records));
  EXPECT_EQ(low.size(), static_cast<std::size_t>(records));
}

TEST(Digest, AChainRemembersItsOrder) {
  const auto chain = [](std::string_view first, std::string_view second) {
    Digester one(Digest{});
    one.update(first);
    Digester two(one.finish());
    two.update(second);
    return two.finish();
  };
  EXPECT_NE(chain("a", "b"), chain("b", "a"));
  EXPECT_EQ(chain("a", "b"), chain("a", "b"));
}

}  // namespace
}  // namespace orrery
