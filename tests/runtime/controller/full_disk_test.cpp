// A controller whose journal lies on a disk that is full.

#include <cerrno>
#include <cstring>

#include "runtime/store/sqlite_store.hpp"
#include "tests/runtime/controller/daemon_in_test.hpp"
#include "tests/support/small_disk.hpp"
#include "tests/support/temporary_folder.hpp"

namespace orrery::runtime::tests {
namespace {

using orrery::tests::SmallDisk;

TEST(FullDisk, StopsAdmissionLosesNothingAndIsForgivenOnceThereIsSpace) {
  const TemporaryFolder folder;
  auto disk = SmallDisk::mount_at(folder.path());
  if (!disk) GTEST_SKIP() << "no file system can be mounted here: " << std::strerror(errno);
  const std::string path = folder.file("journal.db");
  FakeTransport transport;
  FakeNode a(transport, "a", 4);
  const auto daemon =
      start_daemon(transport, [path](const Leadership&) -> Result<std::unique_ptr<StateStore>> {
        auto store = SqliteStore::open(path, SqliteStore::Access::Append);
        if (!store) return store.errors();
        return std::unique_ptr<StateStore>(std::move(store).value());
      });
  ASSERT_TRUE(eventually([&] { return a.holds_lease(); }));
  const RequestOutcome kept = submitted(*daemon, JobBuilder("kept").replicas(2).spec());
  ASSERT_EQ(kept.kind, RequestOutcome::Kind::Accepted);
  ASSERT_TRUE(eventually([&] { return phase_of(*daemon, kept.job) == JobPhase::Running; }));
  disk->fill();
  std::vector<std::string> accepted;
  RequestOutcome outcome;
  for (int i = 0; i < 10'000; ++i) {
    const std::string name = "j" + std::to_string(i);
    outcome = submitted(*daemon, JobBuilder(name).spec());
    if (outcome.kind != RequestOutcome::Kind::Accepted) break;
    accepted.push_back("default." + name);
  }
  EXPECT_EQ(outcome.kind, RequestOutcome::Kind::Unavailable);
  ASSERT_TRUE(eventually([&] { return admission_of(*daemon) == Admission::StoreFailed; }));
  const std::string why = looked(*daemon, [](const ControlView& v) { return v.facts.why; });
  EXPECT_NE(why.find("the disk is full; free space"), std::string::npos) << why;
  EXPECT_EQ(phase_of(*daemon, kept.job), JobPhase::Running);
  disk->free_space();
  ASSERT_TRUE(eventually([&] { return admission_of(*daemon) == Admission::Open; }))
      << looked(*daemon, [](const ControlView& v) { return v.facts.why; });
  for (const std::string& name : accepted)
    EXPECT_NE(looked(*daemon, [&](const ControlView& v) { return v.state.named(name); }),
              JobId::none())
        << name;
  EXPECT_TRUE(eventually([&] { return phase_of(*daemon, kept.job) == JobPhase::Running; }));
  EXPECT_EQ(submitted(*daemon, JobBuilder("later").spec()).kind, RequestOutcome::Kind::Accepted);
}

}  // namespace
}  // namespace orrery::runtime::tests
