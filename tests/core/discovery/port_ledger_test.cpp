#include "core/cluster/port_ledger.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <span>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/base/random.hpp"
#include "core/record/codec.hpp"

namespace orrery {
namespace {

constexpr NodeId kNode{3};

std::vector<std::byte> bytes_of(const PortLedger& ledger) {
  ByteWriter out;
  Encoder encoder(out);
  encoder.put(ledger);
  return {out.bytes().begin(), out.bytes().end()};
}

PortLedger read_back(const PortLedger& ledger) {
  const std::vector<std::byte> bytes = bytes_of(ledger);
  ByteReader in{std::span<const std::byte>(bytes)};
  Decoder decoder(in);
  PortLedger out;
  decoder.get(out);
  EXPECT_TRUE(decoder.ok() && in.finished());
  return out;
}

TEST(PortLedger, TheFirstWorkerOnEveryNodeStartsAtTheFirstPort) {
  PortLedger ledger;
  EXPECT_EQ(ledger.take(NodeId{0}, 2), (PortBlock{NodeId{0}, 22270, 2}));
  EXPECT_EQ(ledger.take(NodeId{7}, 2), (PortBlock{NodeId{7}, 22270, 2}));
  EXPECT_EQ(ledger.take(NodeId{0}, 3), (PortBlock{NodeId{0}, 22272, 3}));
}

TEST(PortLedger, ABlockLiesInTheLowestGapThatHoldsIt) {
  PortLedger ledger;
  const PortBlock a = ledger.take(kNode, 2);
  const PortBlock b = ledger.take(kNode, 4);
  ledger.take(kNode, 1);
  ledger.give(a);
  EXPECT_EQ(ledger.take(kNode, 3).first, b.first + 5);
  EXPECT_EQ(ledger.take(kNode, 1).first, 22270);
  ledger.give(b);
  EXPECT_EQ(ledger.take(kNode, 5).first, 22271);
}

TEST(PortLedger, APortThatWasGivenBackCanBeTakenAgain) {
  PortLedger ledger;
  const PortBlock all = ledger.take(kNode, kPortsPerNode);
  EXPECT_EQ(ledger.free(kNode), 0);
  EXPECT_TRUE(ledger.take(kNode, 1).is_none());
  ledger.give(all);
  EXPECT_EQ(ledger.take(kNode, kPortsPerNode), all);
}

TEST(PortLedger, NothingReachesTheEphemeralPorts) {
  PortLedger ledger;
  std::int32_t last = 0;
  for (PortBlock b = ledger.take(kNode, 1000); !b.is_none(); b = ledger.take(kNode, 1000))
    last = b.first + b.count;
  EXPECT_EQ(last, 32270);
  EXPECT_EQ(ledger.free(kNode), 498);
  EXPECT_TRUE(ledger.take(NodeId{1}, kPortsPerNode + 1).is_none());
}

TEST(PortLedger, ARefusalSaysWhatWasNeededAndWhatIsLeft) {
  PortLedger ledger;
  EXPECT_EQ(ledger.refusal(kNode, 4), "");
  ledger.take(kNode, 10'000);
  const PortBlock last = ledger.take(kNode, 498);
  ledger.give(last);
  EXPECT_EQ(ledger.refusal(kNode, 499),
            "needs 499 consecutive ports on node 3, which has 498 of 22270 to 32767 free, at most "
            "498 in a row; ask for fewer parallel workers or place fewer workers on the node");
  EXPECT_EQ(ledger.refusal(kNode, 498), "");
}

TEST(PortLedger, TheLongestGapMayLieBetweenBlocks) {
  PortLedger ledger;
  const PortBlock low = ledger.take(kNode, 6000);
  ledger.take(kNode, 4400);
  ledger.give(low);
  EXPECT_THAT(ledger.refusal(kNode, 6001),
              ::testing::HasSubstr("6098 of 22270 to 32767 free, at most 6000 in a row"));
}

TEST(PortLedger, ABlockWithoutAnotherPlaceStaysAndSaysSo) {
  PortLedger ledger;
  ledger.declare(kNode, {9000, 3});
  const PortBlock block = ledger.take(kNode, 2);
  const PortLedger before = ledger;
  const PortLedger::Exchange stays = ledger.exchange(block, 9001);
  EXPECT_FALSE(stays.avoids);
  EXPECT_EQ(stays.block, block);
  EXPECT_EQ(ledger, before) << "the port is not avoided";
}

TEST(PortLedger, RoomIsHowManyBlocksCanStillBeTaken) {
  PortLedger ledger;
  const PortBlock low = ledger.take(kNode, 7);
  ledger.take(kNode, 1000);
  const PortBlock high = ledger.take(kNode, 11);
  ledger.take(kNode, 9470);  // Ten are left.
  ledger.give(low);
  ledger.give(high);
  EXPECT_EQ(ledger.room(kNode, 4), 1 + 2 + 2);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(ledger.take(kNode, 4).is_none());
  EXPECT_EQ(ledger.room(kNode, 4), 0);
  EXPECT_TRUE(ledger.take(kNode, 4).is_none());
  EXPECT_EQ(ledger.room(NodeId{9}, kPortsPerNode / 2), 2) << "of an unused node";
}

TEST(PortLedger, ARefusalChangesNothing) {
  PortLedger ledger;
  ledger.take(kNode, 10'000);
  const PortLedger before = ledger;
  EXPECT_TRUE(ledger.take(kNode, 500).is_none());
  EXPECT_TRUE(ledger.take(NodeId{9}, kPortsPerNode + 1).is_none());
  EXPECT_EQ(ledger, before);
}

TEST(PortLedger, ANodeGivesPortsOfItsRangeAlone) {
  PortLedger ledger;
  ledger.declare(kNode, {9000, 3});
  EXPECT_FALSE(ledger.fits(kNode, 4));
  EXPECT_EQ(ledger.room(kNode, 1), 3);
  EXPECT_FALSE(ledger.avoid(kNode, 9003));
  EXPECT_TRUE(ledger.avoid(kNode, 9001));
  EXPECT_EQ(ledger.take(kNode, 1), (PortBlock{kNode, 9000, 1}));
  EXPECT_EQ(
      ledger.refusal(kNode, 2).find("needs 2 consecutive ports on node 3, which has 1 of 9000 to "
                                    "9002 free, at most 1 in a row"),
      0U)
      << ledger.refusal(kNode, 2);
  ledger.check();
  EXPECT_EQ(read_back(ledger), ledger);
  EXPECT_EQ(ledger.take(NodeId{1}, 1).first, kPortFirst) << "of a node that nobody declared";
}

TEST(PortLedger, RangesInText) {
  EXPECT_EQ(parse_port_range("1-65535"), (PortRange{1, 65535}));
  EXPECT_EQ(parse_port_range("9000-9000"), (PortRange{9000, 1}));
  for (const char* const text : {"", "9000", "0-5", "9-8", "1-65536", "1-2-3", "-2", " 1-2", "a-b"})
    EXPECT_FALSE(parse_port_range(text)) << '"' << text << '"';
}

TEST(PortLedger, NoBlockIsGivenBackSilently) {
  PortLedger ledger;
  ledger.give(PortBlock::none());
  EXPECT_EQ(ledger, PortLedger{});
}

TEST(PortLedgerDeath, OnlyWholeBlocksThatWereTakenCanBeGivenBack) {
  PortLedger ledger;
  const PortBlock block = ledger.take(kNode, 4);
  EXPECT_DEATH_IF_SUPPORTED(ledger.give({kNode, block.first, 3}), "one that was taken, whole");
  EXPECT_DEATH_IF_SUPPORTED(ledger.give({kNode, block.first + 1, 3}), "one that was taken, whole");
  EXPECT_DEATH_IF_SUPPORTED(ledger.give({NodeId{4}, block.first, 4}), "was taken on its node");
  ledger.give(block);
  EXPECT_DEATH_IF_SUPPORTED(ledger.give(block), "one that was taken, whole");
}

TEST(PortLedgerDeath, ADamagedLedgerIsNoticed) {
  // One node, all ports said to be free, and a block taken nevertheless.
  ByteWriter out;
  Encoder encoder(out);
  encoder.put(std::vector<NodePorts>{{.taken = {{kPortFirst, 1}}}});
  ByteReader in{std::span<const std::byte>(out.bytes())};
  Decoder decoder(in);
  PortLedger ledger;
  decoder.get(ledger);
  ASSERT_TRUE(decoder.ok());
  EXPECT_DEATH_IF_SUPPORTED(ledger.check(), "all there are");
}

/// The ports of each node one by one: slow and plainly right.
class NaivePorts {
 public:
  explicit NaivePorts(PortRange range) : range_(range) {}

  std::int32_t lowest(NodeId node, std::int32_t count) {
    const std::vector<bool>& used = of(node);
    std::int32_t run = 0;
    for (std::size_t i = 0; i < used.size(); ++i) {
      run = used[i] ? 0 : run + 1;
      if (run == count) return range_.first + static_cast<std::int32_t>(i) + 1 - count;
    }
    return 0;
  }

  void mark(const PortBlock& block, bool used) {
    for (std::int32_t port = block.first; port < block.first + block.count; ++port) {
      const auto at = static_cast<std::size_t>(port - range_.first);
      ASSERT_LT(at, of(block.node).size()) << "out of range";
      ASSERT_NE(of(block.node)[at], used) << "port " << port << " changes hands twice";
      of(block.node)[at] = used;
    }
  }

  std::int32_t free(NodeId node) {
    return static_cast<std::int32_t>(std::count(of(node).begin(), of(node).end(), false));
  }

 private:
  std::vector<bool>& of(NodeId node) {
    return nodes_.try_emplace(node, static_cast<std::size_t>(range_.count)).first->second;
  }

  PortRange range_;
  std::map<NodeId, std::vector<bool>> nodes_;
};

TEST(PortLedger, AgreesWithThePortsCountedOneByOne) {
  std::int64_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random = Random::stream(seed, "ports");
    const std::uint64_t largest = seed % 2 == 0 ? 9 : 2500;  // Many blocks; or soon no room.
    const PortRange range = seed % 4 < 2
                                ? PortRange::standard()
                                : PortRange{static_cast<std::int32_t>(1 + random.below(50'000)),
                                            static_cast<std::int32_t>(1 + random.below(4000))};
    PortLedger ledger;
    for (std::uint32_t n = 0; n < 3; ++n) ledger.declare(NodeId{n}, range);
    NaivePorts naive(range);
    std::vector<PortBlock> held;
    for (int step = 0; step < 400; ++step) {
      if (!held.empty() && random.below(5) < 2) {
        const auto at = static_cast<std::ptrdiff_t>(random.below(held.size()));
        ledger.give(held[static_cast<std::size_t>(at)]);
        naive.mark(held[static_cast<std::size_t>(at)], false);
        held.erase(held.begin() + at);
      } else {
        const NodeId node{static_cast<std::uint32_t>(random.below(3))};
        const auto count = static_cast<std::int32_t>(1 + random.below(largest));
        const std::int32_t expected = naive.lowest(node, count);
        ASSERT_EQ(ledger.fits(node, count), expected != 0);
        ASSERT_EQ(ledger.refusal(node, count).empty(), expected != 0);
        ASSERT_EQ(ledger.room(node, count) > 0, expected != 0);
        const PortBlock block = ledger.take(node, count);
        ASSERT_EQ(block.is_none(), expected == 0);
        refused += block.is_none() ? 1 : 0;
        if (block.is_none()) continue;
        ASSERT_EQ(block, (PortBlock{node, expected, count}));
        naive.mark(block, true);
        held.push_back(block);
      }
      ledger.check();
      for (std::uint32_t n = 0; n < 3; ++n)
        ASSERT_EQ(ledger.free(NodeId{n}), naive.free(NodeId{n}));
    }
    ASSERT_EQ(read_back(ledger), ledger);
    std::size_t blocks = 0;
    for (std::uint32_t n = 0; n < 3; ++n) blocks += ledger.taken(NodeId{n}).size();
    EXPECT_EQ(blocks, held.size());
    for (const PortBlock& block : held) ledger.give(block);
    for (std::uint32_t n = 0; n < 3; ++n) EXPECT_EQ(ledger.free(NodeId{n}), range.count);
  }
  EXPECT_GT(refused, 100) << "full nodes were never tried";
}

TEST(PortLedger, EqualHistoriesGiveEqualBytes) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto play = [&] {
      Random random = Random::stream(seed, "equal ports");
      PortLedger ledger;
      std::vector<PortBlock> held;
      for (int step = 0; step < 100; ++step) {
        const NodeId node{static_cast<std::uint32_t>(random.below(5))};
        held.push_back(ledger.take(node, static_cast<std::int32_t>(1 + random.below(8))));
        if (random.chance(0.5)) ledger.give(std::exchange(held[random.below(held.size())], {}));
      }
      return bytes_of(ledger);
    };
    EXPECT_EQ(play(), play());
  }
}

}  // namespace
}  // namespace orrery
