// Past use: halved in each half-life, and made up for.
#include "core/queues/queue_usage.hpp"

#include <gtest/gtest.h>

#include "core/queues/queue_text.hpp"

namespace orrery {
namespace {

Instant at(std::int64_t seconds) { return Instant::zero() + Duration::seconds(seconds); }

TEST(QueueUsage, IsHalvedInEachHalfLife) {
  const QueueTree tree(parsed_queues("half_life=3600s; a; b").value());
  QueueUsage usage(tree);
  usage.pass(at(100), {0, 8000, 0, 0});
  EXPECT_EQ(usage.used(1), 8000 * 100'000);
  usage.pass(at(100 + 3600), {0, 0, 0, 0});
  EXPECT_NEAR(static_cast<double>(usage.used(1)), 4000 * 100'000, 10);
  usage.pass(at(100 + 3 * 3600), {0, 0, 0, 0});
  EXPECT_NEAR(static_cast<double>(usage.used(1)), 1000 * 100'000, 10);
}

TEST(QueueUsage, GoesOnAfterLoadingAsBefore) {
  const QueueTree tree(parsed_queues("half_life=3600s; a; b").value());
  QueueUsage usage(tree);
  usage.pass(at(1000), {0, 8000, 3000, 0});
  ByteWriter out;
  usage.save(out);
  QueueUsage loaded(tree);
  ByteReader in(out.bytes());
  loaded.load(in);
  usage.pass(at(5000), {0, 10, 20, 0});
  loaded.pass(at(5000), {0, 10, 20, 0});
  EXPECT_EQ(usage.used(2), loaded.used(2));
  EXPECT_EQ(usage.weights(64'000), loaded.weights(64'000));
}

TEST(QueueUsage, RaisesTheWeightOfWhoHadLess) {
  const QueueTree tree(parsed_queues("half_life=3600s; a weight=2; b weight=2").value());
  QueueUsage usage(tree);
  EXPECT_EQ(usage.weights(16'000)[1], 2000) << "nothing is known yet";
  usage.pass(at(100'000), {0, 16'000, 0, 0});
  const std::vector<std::int64_t> weights = usage.weights(16'000);
  EXPECT_LT(weights[1], 2000);
  EXPECT_GT(weights[2], 2000);
  EXPECT_LE(weights[2], 8000);
  EXPECT_GE(weights[1], 500);
}

TEST(QueueUsage, IsNotKeptWithoutAHalfLife) {
  const QueueTree tree(parsed_queues("a weight=2; b").value());
  QueueUsage usage(tree);
  usage.pass(at(100'000), {0, 16'000, 0, 0});
  EXPECT_EQ(usage.used(1), 0);
  EXPECT_EQ(usage.weights(16'000)[1], 2000);
}

}  // namespace
}  // namespace orrery
