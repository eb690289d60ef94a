// How long an agent waits between two tries to reach its controller.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "runtime/agent/controller_connection.hpp"

namespace orrery::runtime {
namespace {

/// A controller that is away: no stream can be opened.
class Nowhere final : public LinkDialer {
 public:
  std::unique_ptr<LinkClient> open(const std::string&, Duration, LinkClientListener&) override {
    ++tries;
    return nullptr;
  }

  int tries = 0;
};

/// Tries in `lasting` from `begin` on, each made as soon as it is due.
int tries_in(ControllerConnection& connection, Nowhere& nowhere, Instant begin, Duration lasting) {
  nowhere.tries = 0;
  for (Instant now = begin; now <= begin + lasting; now = connection.next_try())
    connection.keep(now);
  return nowhere.tries;
}

class Reconnection : public testing::TestWithParam<std::uint64_t> {};

// A controller that is away for half of a lease must be found in the other half.
TEST_P(Reconnection, HasManyTriesInEveryPartOfAShortLease) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  Nowhere nowhere;
  ControllerConnection connection(nowhere, {"somewhere"}, GetParam());
  const Duration lease = Duration::seconds(2);
  connection.works(lease, Instant::zero());
  tries_in(connection, nowhere, Instant::zero(), lease);
  EXPECT_GE(tries_in(connection, nowhere, Instant::zero() + lease, lease), 9);
}

TEST_P(Reconnection, IsRareWhereALeaseIsLong) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  Nowhere nowhere;
  ControllerConnection connection(nowhere, {"somewhere"}, GetParam());
  connection.works(Duration::seconds(60), Instant::zero());
  tries_in(connection, nowhere, Instant::zero(), Duration::seconds(60));
  EXPECT_LE(
      tries_in(connection, nowhere, Instant::zero() + Duration::seconds(60), Duration::seconds(60)),
      61);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Reconnection, testing::Range<std::uint64_t>(1, 20));

}  // namespace
}  // namespace orrery::runtime
