#include "core/state/past_requests.hpp"

#include <gtest/gtest.h>

#include "core/base/random.hpp"

namespace orrery {
namespace {

/// The youngest of those that are kept, by a look at all of them.
JobId youngest(const PastRequests& requests, std::uint64_t request) {
  JobId found;
  for (const PastRequest& each : requests.list())
    if (each.request == request) found = each.job;
  return found;
}

TEST(PastRequests, FindTheYoungestOfEachRequestThatIsKept) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    PastRequests requests;
    Instant now;
    // Few different requests: many come again, and many slots are taken by others.
    const std::uint64_t different = 1 + random.below(seed % 2 == 0 ? 400 : 8);
    for (std::uint32_t n = 0; n < 2000; ++n) {
      now = now + Duration::milliseconds(static_cast<std::int64_t>(random.below(5000)));
      requests.add({1 + random.below(different), JobId{n}, now});
      requests.forget_until(now);
      ASSERT_LT(now, requests.list().front().retired + kRequestsKnownFor);
      const std::uint64_t asked = 1 + random.below(different);
      ASSERT_EQ(requests.find(asked), youngest(requests, asked)) << "seed " << seed;
    }
    requests.forget_until(now + kRequestsKnownFor);
    EXPECT_TRUE(requests.list().empty());
    for (std::uint64_t asked = 1; asked <= different; ++asked)
      EXPECT_TRUE(requests.find(asked).is_none());
  }
}

}  // namespace
}  // namespace orrery
