#include "core/job/wait_queue.hpp"

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "core/base/random.hpp"

namespace orrery {
namespace wait_queue_tests {

std::vector<std::uint32_t> order_of(const WaitQueue& queue) {
  std::vector<std::uint32_t> order;
  queue.for_each([&](const WaitEntry& entry) {
    order.push_back(entry.job.value);
    return true;
  });
  return order;
}

TEST(WaitQueue, OrdersByPriorityThenAge) {
  WaitQueue queue;
  queue.insert(0, {JobId{3}, 1, {}});
  queue.insert(0, {JobId{1}, 1, {}});
  queue.insert(100, {JobId{7}, 1, {}});
  queue.insert(-5, {JobId{0}, 1, {}});
  EXPECT_EQ(order_of(queue), (std::vector<std::uint32_t>{7, 1, 3, 0}));
  EXPECT_EQ(queue.front(), JobId{7});
}

TEST(WaitQueue, AJobThatComesBackTakesItsOldPlace) {
  WaitQueue queue;
  for (std::uint32_t i = 0; i < 5; ++i) queue.insert(0, {JobId{i}, 1, {}});
  EXPECT_TRUE(queue.erase(0, JobId{2}));
  EXPECT_FALSE(queue.erase(0, JobId{2}));
  EXPECT_FALSE(queue.erase(1, JobId{3}));
  queue.insert(0, {JobId{2}, 1, {}});
  EXPECT_EQ(order_of(queue), (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(queue.size_max(), 5u);
}

TEST(WaitQueue, StopsWhenTheVisitorSaysSo) {
  WaitQueue queue;
  for (std::uint32_t i = 0; i < 10; ++i) queue.insert(0, {JobId{i}, 1, {}});
  int seen = 0;
  queue.for_each([&](const WaitEntry&) { return ++seen < 4; });
  EXPECT_EQ(seen, 4);
}

TEST(WaitQueue, AScanIsForSomeKinds) {
  WaitQueue queue;
  for (std::uint32_t i = 0; i < 1000; ++i)
    queue.insert(0, {JobId{i}, 1, {}}, static_cast<WaitKind>(i == 700 ? 63 : i % 3));
  std::vector<std::uint32_t> seen;
  WaitScan scan{.from = 2, .end = 701, .kinds = WaitKinds{1} << 63};
  queue.for_each_of(scan, [&](const WaitEntry& entry, WaitKind) {
    seen.push_back(entry.job.value);
    return true;
  });
  EXPECT_EQ(seen, (std::vector<std::uint32_t>{700}));
}

/// The queue as a plain map.
class Model {
 public:
  using Key = std::pair<std::int64_t, std::uint32_t>;

  void insert(std::int32_t priority, const WaitEntry& entry, WaitKind kind) {
    entries_[{-std::int64_t{priority}, entry.job.value}] = {entry.devices, kind};
    size_max_ = std::max(size_max_, entries_.size());
  }

  bool erase(std::int32_t priority, JobId job) {
    return entries_.erase({-std::int64_t{priority}, job.value}) > 0;
  }

  void expect_equals(const WaitQueue& queue) const {
    ASSERT_EQ(queue.size(), entries_.size());
    ASSERT_EQ(queue.size_max(), size_max_);
    ASSERT_EQ(queue.front(),
              entries_.empty() ? JobId::none() : JobId{entries_.begin()->first.second});
    auto next = entries_.begin();
    bool same = true;
    queue.for_each([&](const WaitEntry& entry) {
      same = same && entry.job.value == next->first.second && entry.devices == next->second.devices;
      ++next;
      return same;
    });
    ASSERT_TRUE(same);
    ASSERT_TRUE(next == entries_.end());
  }

  void expect_among_first(const WaitQueue& queue, std::size_t count) const {
    std::size_t before = 0;
    for (const auto& [key, entry] : entries_)
      ASSERT_EQ(queue.among_first(count, static_cast<std::int32_t>(-key.first), JobId{key.second}),
                before++ < count)
          << "count " << count;
  }

  /// A scan whose visitor gives a kind up at each visit, and every third time goes on by one more.
  void expect_scan(const WaitQueue& queue, const WaitScan& begun) const {
    WaitScan own = begun;
    WaitScan scan = begun;
    const auto visited = [](WaitScan& changed, WaitKind kind, std::size_t number) {
      if (number % 2 == 0) changed.kinds &= ~(WaitKinds{1} << kind);
      if (number % 3 == 0) ++changed.end;
    };
    std::vector<std::uint32_t> expected;
    std::size_t place = 0;
    for (const auto& [key, entry] : entries_) {
      const bool sought = place >= own.from && (own.kinds >> entry.kind & 1) != 0;
      if (place++ >= own.end) break;
      if (!sought) continue;
      expected.push_back(key.second);
      visited(own, entry.kind, expected.size());
    }
    std::vector<std::uint32_t> seen;
    queue.for_each_of(scan, [&](const WaitEntry& entry, WaitKind kind) {
      seen.push_back(entry.job.value);
      visited(scan, kind, seen.size());
      return true;
    });
    ASSERT_EQ(seen, expected);
  }

 private:
  struct Entry {
    std::int32_t devices = 0;
    WaitKind kind = 0;
  };

  std::map<Key, Entry> entries_;
  std::size_t size_max_ = 0;
};

TEST(WaitQueue, AgreesWithAPlainMapOnRandomHistories) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random = Random::stream(seed, "wait queue");
    WaitQueue queue;
    Model model;
    // Phases that mostly grow and phases that mostly shrink; ids near the growing end and all over.
    for (int step = 0; step < 6000; ++step) {
      const bool grows = step / 1500 % 2 == 0;
      const auto priority = static_cast<std::int32_t>(random.below(3)) * 100 - 100;
      const auto recent = static_cast<std::uint64_t>(step);
      const JobId job{
          static_cast<std::uint32_t>(random.below(2) == 0 ? recent : random.below(recent + 1))};
      if (random.below(10) < (grows ? 8u : 2u)) {
        const WaitEntry entry{job, static_cast<std::int32_t>(random.below(9)), {}};
        const auto kind = static_cast<WaitKind>(random.below(random.below(2) == 0 ? 64 : 3));
        queue.insert(priority, entry, kind);
        model.insert(priority, entry, kind);
      } else {
        ASSERT_EQ(queue.erase(priority, job), model.erase(priority, job));
      }
      if (step % 97 == 0) model.expect_equals(queue);
      if (step % 997 == 0) model.expect_among_first(queue, random.below(1500));
      if (step % 197 == 0)
        model.expect_scan(queue,
                          {.from = random.below(queue.size() + 2),
                           .end = random.below(2) == 0 ? SIZE_MAX : random.below(2000),
                           .kinds = random.below(2) == 0 ? kEveryKind : random.bits()});
    }
    model.expect_equals(queue);
  }
}

}  // namespace wait_queue_tests
}  // namespace orrery
