// Memory of large buffers is used again, within bounds, and never while a value has it.
#include "runtime/sdk/buffer_memory.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "runtime/sdk/channel.hpp"
#include "tests/runtime/sdk/fake_cluster.hpp"

namespace orrery::sdk {
namespace {

using Bytes = std::vector<std::uint8_t>;
using detail::BufferMemory;
using std::chrono::seconds;

constexpr std::size_t kMebibyte = 1 << 20;
const BufferMemory::Time kStart{};

Bytes filled(std::size_t size) { return Bytes(size, 1); }

TEST(BufferMemoryTest, WhatIsGivenIsTakenAgain) {
  BufferMemory memory(16 * kMebibyte);
  Bytes given = filled(3 * kMebibyte);
  const std::uint8_t* const place = given.data();
  memory.give(std::move(given), kStart);
  EXPECT_EQ(memory.kept(), 3 * kMebibyte);
  const Bytes taken = memory.take(2 * kMebibyte);
  EXPECT_EQ(taken.data(), place);
  EXPECT_EQ(memory.kept(), 0U);
  EXPECT_NE(memory.take(2 * kMebibyte).data(), place);
}

TEST(BufferMemoryTest, ItFitsTheSize) {
  BufferMemory memory(64 * kMebibyte);
  memory.give(filled(8 * kMebibyte), kStart);
  for (const std::size_t size : {9 * kMebibyte, 3 * kMebibyte}) {
    EXPECT_GE(memory.take(size).capacity(), size);
    EXPECT_EQ(memory.kept(), 8 * kMebibyte) << size;
  }
  EXPECT_GE(memory.take(4 * kMebibyte).capacity(), 8 * kMebibyte);
}

TEST(BufferMemoryTest, SmallAndHugeMemoryIsLeftToTheAllocator) {
  BufferMemory memory(4 * kMebibyte);
  memory.give(filled(kMebibyte - 1), kStart);
  memory.give(filled(5 * kMebibyte), kStart);
  EXPECT_EQ(memory.kept(), 0U);
}

TEST(BufferMemoryTest, WhatWasGivenEarliestGoesFirst) {
  BufferMemory memory(5 * kMebibyte);
  for (const std::size_t size : {2, 1, 3}) memory.give(filled(size * kMebibyte), kStart);
  EXPECT_EQ(memory.kept(), 4 * kMebibyte);
  memory.give(filled(kMebibyte), kStart + seconds(2));
  EXPECT_EQ(memory.kept(), 5 * kMebibyte);
  memory.drop_older(kStart + seconds(1));
  EXPECT_EQ(memory.kept(), kMebibyte);
}

TEST(BufferMemoryTest, BuffersWithinAValueAreGiven) {
  Value value = {{"rows", {1, 2}}, {"text", "a"}};
  value["data"] = Value::array({Value::binary(filled(2 * kMebibyte)), Value::binary({1, 2})});
  const std::uint8_t* const place = value["data"][0].get_binary().data();
  detail::give_memory(value);
  EXPECT_EQ(value["data"][1].get_binary().size(), 2U);
  EXPECT_EQ(Buffer::of_size(2 * kMebibyte).bytes.data(), place);
}

TEST(BufferMemoryTest, ABufferGivesItsMemoryOnce) {
  const std::uint8_t* place = nullptr;
  {
    Buffer first(filled(7 * kMebibyte));
    place = first.bytes.data();
    Buffer second = std::move(first);
    Buffer third;
    third = std::move(second);
    EXPECT_EQ(third.bytes.data(), place);
  }
  const Buffer one = Buffer::of_size(7 * kMebibyte);
  const Buffer two = Buffer::of_size(7 * kMebibyte);
  EXPECT_EQ(one.bytes.data(), place);
  EXPECT_NE(two.bytes.data(), place);
}

/// Sizes that come in turn are received into memory of other sizes; each item stays what it is.
TEST(BufferMemoryTest, ItemsInMemoryThatIsUsedAgainStayWhole) {
  FakeCluster cluster;
  cluster.start(SDK_WORKER);
  const Driver driver = cluster.driver("test");
  Channel channel =
      Channel::create(driver.worker("trainer", 0), "large", {.capacity = 3, .weight_max = 0});
  constexpr int kItems = 60;
  const auto size_of = [](int i) {
    return kMebibyte + static_cast<std::size_t>(i * 7919 % 5) * 700'001;
  };
  std::thread producer([&] {
    for (int i = 0; i < kItems; ++i) {
      Buffer buffer = Buffer::of_size(size_of(i));
      std::memset(buffer.bytes.data(), i, buffer.bytes.size());
      channel.put(std::move(buffer));
    }
  });
  ChannelBatch held = channel.get();
  for (int i = 0; i < kItems; ++i) {
    // As a whole: what looks at each byte is slow where it is not optimised.
    const Bytes& bytes = held.items.at(0).value.get_binary();
    EXPECT_TRUE(bytes == Bytes(size_of(i), static_cast<std::uint8_t>(i))) << "item " << i;
    if (i + 1 < kItems) held = channel.next(std::move(held));
  }
  producer.join();
}

}  // namespace
}  // namespace orrery::sdk
