// Threads that wait do the I/O themselves, and one is always there that does it.
#include "runtime/sdk/io_role.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/sdk/io_timers.hpp"

namespace orrery::sdk {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

/// Something that the I/O thread makes true.
struct Flag {
  void set() {
    const std::scoped_lock lock(mutex);
    is_set = true;
    changed.notify_all();
  }

  bool wait_until(SteadyTime until) {
    std::unique_lock lock(mutex);
    return changed.wait_until(lock, until, [this] { return is_set; });
  }

  bool wait() { return wait_until(steady_clock::now() + seconds(60)); }

  std::mutex mutex;
  IoCondition changed;
  bool is_set = false;
};

/// Sets the flag after a millisecond; says on which thread.
void set_soon(const std::shared_ptr<Flag>& flag, std::atomic<std::thread::id>* thread = nullptr) {
  Io::instance().perform([flag, thread] {
    const auto timer = std::make_shared<Io::Timer>();
    *timer = Io::instance().after(Milliseconds(1), [flag, thread, timer] {
      if (thread != nullptr) *thread = std::this_thread::get_id();
      flag->set();
      timer->reset();
    });
  });
}

TEST(IoRoles, AThreadThatWaitsDoesTheIo) {
  // The background thread may be the quicker one, but not always.
  std::atomic<std::thread::id> thread;
  for (int i = 0; i < 1000 && thread.load() != std::this_thread::get_id(); ++i) {
    const auto flag = std::make_shared<Flag>();
    set_soon(flag, &thread);
    EXPECT_TRUE(flag->wait());
  }
  EXPECT_EQ(thread.load(), std::this_thread::get_id());
  EXPECT_FALSE(Io::instance().is_io_thread());
}

TEST(IoRoles, TheBackgroundThreadGoesOnWhereNoThreadWaits) {
  for (int i = 0; i < 50; ++i) {
    const auto flag = std::make_shared<Flag>();
    set_soon(flag);
    EXPECT_TRUE(flag->wait());
    // From here no thread of the test takes the role.
    std::promise<std::thread::id> done;
    Io::instance().post([&] { done.set_value(std::this_thread::get_id()); });
    EXPECT_NE(done.get_future().get(), std::this_thread::get_id());
    std::promise<void> later;
    Io::Timer timer;
    Io::instance().post(
        [&] { timer = Io::instance().after(Milliseconds(1), [&] { later.set_value(); }); });
    later.get_future().get();
  }
}

TEST(IoRoles, ManyThreadsPassItOn) {
  std::vector<std::thread> threads;
  std::atomic<int> done{0};
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 100; ++round) {
        const auto flag = std::make_shared<Flag>();
        set_soon(flag);
        if (flag->wait()) ++done;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done.load(), 800);
}

TEST(IoRoles, AWaitEndsAtItsTime) {
  Flag flag;
  const SteadyTime until = steady_clock::now() + Milliseconds(5);
  EXPECT_FALSE(flag.wait_until(until));
  EXPECT_GE(steady_clock::now(), until);
}

TEST(IoRoles, OneThatOnlyLooksGetsOn) {
  const auto flag = std::make_shared<Flag>();
  set_soon(flag);
  while (!flag->wait_until(steady_clock::now())) {
  }
  EXPECT_TRUE(flag->is_set);
}

TEST(IoTimers, RunInTheirOrderUnlessTheyAreDestroyed) {
  IoTimers timers;
  std::vector<int> ran;
  const SteadyTime now = steady_clock::now();
  const auto add = [&](int at, int number) {
    return timers.add(now + seconds(at), [&ran, number] { ran.push_back(number); });
  };
  EXPECT_EQ(timers.next(), SteadyTime::max());
  const Io::Timer third = add(3, 3);
  const Io::Timer first = add(1, 1);
  Io::Timer gone = add(2, 9);
  const Io::Timer second = add(2, 2);
  const Io::Timer late = add(5, 5);
  gone.reset();
  EXPECT_EQ(timers.next(), now + seconds(1));
  timers.run_due(now + seconds(3));
  EXPECT_THAT(ran, ::testing::ElementsAre(1, 2, 3));
  EXPECT_EQ(timers.next(), now + seconds(5));
}

TEST(IoTimers, ThoseThatWereDestroyedAreForgotten) {
  IoTimers timers;
  const SteadyTime now = steady_clock::now();
  const Io::Timer kept = timers.add(now + seconds(2), [] {});
  for (int i = 0; i < 10'000; ++i) timers.add(now + seconds(1), [] {});
  // Few of the ten thousand are still looked at.
  timers.add(now + seconds(1), [] {});
  EXPECT_LT(timers.size(), 1000U);
  timers.run_due(now + seconds(1));
  EXPECT_EQ(timers.next(), now + seconds(2));
}

}  // namespace
}  // namespace orrery::sdk
