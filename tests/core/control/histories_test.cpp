// Random histories under checks after every step. A failure names its seed and its last records.
#include "tests/support/histories.hpp"

#include <gtest/gtest.h>

#include "core/base/invariant.hpp"
#include "tests/support/long_form.hpp"

namespace orrery::tests {
namespace {

const History* current = nullptr;

// A broken invariant ends the program: its history is told first.
void explain_current(std::string_view, const char*, int) {
  if (current != nullptr) current->explain();
}

void run_history(const HistoryOptions& options) {
  History history(options);
  current = &history;
  set_invariant_handler(explain_current);
  history.run();
  set_invariant_handler(nullptr);
  current = nullptr;
}

const std::uint64_t kSeeds = count_of(50, 3000);

TEST(Histories, TroubleInAnHonestWorldBreaksNothing) {
  for (std::uint64_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed)
    run_history({.seed = seed, .turns = 1500, .adversarial = false});
}

TEST(Histories, LiesBreakNothing) {
  for (std::uint64_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed)
    run_history({.seed = seed, .turns = 1500, .adversarial = true});
}

TEST(Histories, SeatedJobsKeepTheirSeatsThroughTrouble) {
  for (std::uint64_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed)
    run_history({.seed = seed, .turns = 1500, .seated = true});
}

TEST(Histories, LiesDoNotMoveSeatedJobs) {
  for (std::uint64_t seed = 1; seed <= kSeeds / 2 && !HasFailure(); ++seed)
    run_history({.seed = seed, .turns = 1500, .adversarial = true, .seated = true});
}

}  // namespace
}  // namespace orrery::tests
