// What the storm does to copies of what is stored: nothing is found in a sound program, and what is
// no sound copy to begin with is told.
#include "sim/storm/store_probe.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/driver/memory_store.hpp"
#include "core/record/codec.hpp"
#include "tests/support/controller_harness.hpp"

namespace orrery::sim {
namespace {

using tests::ControllerHarness;
using tests::JobBuilder;

/// A journal of a declaration and some submissions; `spoil` of the records has another chain.
class Journal {
 public:
  explicit Journal(std::uint64_t records, std::uint64_t spoil = 0) {
    Digest chain;
    for (std::uint64_t n = 1; n <= records; ++n) {
      EventBody body = EpochStarted{Epoch{1}, {}};
      if (n > 1)
        body = JobSubmitted{
            n, std::make_shared<JobSpec>(JobBuilder("job-" + std::to_string(n)).spec())};
      ByteWriter bytes;
      encode({Instant::zero(), Instant::zero(), Origin::External, std::move(body)}, bytes);
      Digester digester(chain);
      digester.update(bytes.bytes());
      chain = digester.finish();
      if (n == spoil) chain.high ^= 1;
      const StoredRecord record{Sequence{n}, chain, bytes.bytes()};
      EXPECT_TRUE(store.append(Epoch{1}, std::span(&record, 1)));
    }
  }

  MemoryStore store;
};

TEST(StoreProbe, ASoundJournalIsReadAndItsDamagedCopiesAreRefused) {
  for (const std::uint64_t records : {3U, 4U, 5U, 12U, 13U, 40U}) {
    Journal journal(records);
    EXPECT_EQ(misread_journal(journal.store), std::vector<std::string>{}) << records;
  }
}

TEST(StoreProbe, AJournalThatIsNotReadIsTold) {
  Journal journal(10, 9);
  const std::vector<std::string> wrong = misread_journal(journal.store);
  ASSERT_FALSE(wrong.empty());
  EXPECT_EQ(wrong.front(), "the journal's last records are not read as they were written");
}

class ProbedState : public ::testing::Test {
 protected:
  ProbedState() : world_({NodeGroup{"main", 2, MilliCpu{16'000}, Bytes{1 << 30}, 4, "gpu"}}) {
    world_.running(JobBuilder("runs").elastic(1, 4).devices(2), 2);
    world_.submit(JobBuilder("waits").devices(4));
  }

  ControllerHarness world_;
};

TEST_F(ProbedState, ASnapshotIsReadAndItsDamagedCopiesAreRefused) {
  EXPECT_EQ(misread_snapshots(world_.controller.state()), std::vector<std::string>{});
}

TEST_F(ProbedState, ASnapshotThatIsNotReadIsTold) {
  State state = world_.controller.state();
  state.settings.placer = "nobody/1";
  const std::vector<std::string> wrong = misread_snapshots(state);
  ASSERT_FALSE(wrong.empty());
  EXPECT_EQ(wrong.front(), "a sound snapshot is refused");
}

TEST_F(ProbedState, NonsenseIsIgnoredByItsName) {
  EXPECT_EQ(misled(world_.controller.state()), std::vector<std::string>{});
}

// A node has the name that the probe's own declaration gives.
TEST_F(ProbedState, ADeclarationThatIsRefusedAtItsBoundsIsTold) {
  State state = world_.controller.state();
  state.nodes[0].name = "probe-a";
  const std::vector<std::string> wrong = misled(state);
  ASSERT_EQ(wrong.size(), 1U);
  EXPECT_EQ(wrong.front(), "a declaration at its bounds is refused");
}

}  // namespace
}  // namespace orrery::sim
