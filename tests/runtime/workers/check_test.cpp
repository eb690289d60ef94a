// The check before a worker's program: ranks as threads with devices that fail in one way each, and
// the program as a process.
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "core/base/random.hpp"
#include "runtime/workers/check/check_rounds.hpp"
#include "runtime/workers/cpu_compute.hpp"
#include "runtime/workers/ring_collective.hpp"
#include "tests/runtime/workers/child.hpp"
#include "tests/runtime/workers/fake_agent.hpp"
#include "tests/support/temporary_folder.hpp"

namespace orrery::worker {
namespace {

constexpr std::int32_t kSize = 16;

/// How a device is broken.
enum class Fault : std::uint8_t { None, OtherBits, OtherNumbers, OutOfRange, Error };

/// A processor with a fault.
class FaultyCompute final : public Compute {
 public:
  explicit FaultyCompute(Fault fault) : inner_(make_cpu_compute(kSize, 0)), fault_(fault) {}

  std::string name() const override { return "faulty"; }

  std::int32_t size() const override { return inner_->size(); }

  Outcome multiply() override {
    if (fault_ == Fault::Error) return Outcome::fatal("an illegal memory access");
    Outcome done = inner_->multiply();
    ++products_;
    const std::span<float> product = inner_->product();
    // The seventh bit of one number, as memory that forgets has it, and not each time.
    if (fault_ == Fault::OtherBits && products_ % 2 == 0) product[7] += 1e-6F;
    if (fault_ == Fault::OtherNumbers)
      for (float& each : product) each *= 0.5F;
    if (fault_ == Fault::OutOfRange) product[3] = 2;
    return done;
  }

  std::span<float> product() override { return inner_->product(); }

  Outcome read_product(std::span<float> out) override { return inner_->read_product(out); }

  Outcome write_product(std::span<const float> in) override { return inner_->write_product(in); }

  Outcome share(std::int32_t ranks) override { return inner_->share(ranks); }

  Outcome read_shared(std::span<float> out) override { return inner_->read_shared(out); }

 private:
  std::unique_ptr<Compute> inner_;
  Fault fault_;
  int products_ = 0;
};

struct RankEnd {
  Outcome outcome;
  RankVerdict verdict;
};

/// All ranks check together, each on a thread of its own.
std::vector<RankEnd> check_all(const std::vector<Fault>& faults) {
  const ReservedPort port;
  std::vector<RankEnd> ends(faults.size());
  std::vector<std::jthread> ranks;
  for (std::size_t rank = 0; rank < faults.size(); ++rank)
    ranks.emplace_back([&, rank] {
      FaultyCompute compute(faults[rank]);
      RingCollective collective({Milliseconds(kPatience_ms), Milliseconds(kPatience_ms)});
      const Cancel never;
      // Slowness has tests where it is judged (core/nodecheck): threads of a test wait for
      // processors.
      CheckWork work{.products = 3, .sums = 2, .slow_factor = 1e9};
      ends[rank].outcome = check_together(
          {{"default.test/check", 1, {"127.0.0.1", static_cast<std::uint16_t>(port.number())}},
           static_cast<std::int32_t>(rank),
           static_cast<std::int32_t>(faults.size())},
          {compute, collective},
          work,
          {Deadline::in(Milliseconds(kPatience_ms)), never},
          ends[rank].verdict);
    });
  ranks.clear();
  return ends;
}

/// Those that are told to be abnormal; every rank must have heard a verdict.
std::vector<std::size_t> abnormal(const std::vector<RankEnd>& ends) {
  std::vector<std::size_t> out;
  for (std::size_t rank = 0; rank < ends.size(); ++rank) {
    EXPECT_TRUE(ends[rank].outcome.ok()) << "rank " << rank << ": " << ends[rank].outcome.reason;
    if (ends[rank].verdict.kind == RankVerdict::Kind::Abnormal) out.push_back(rank);
  }
  return out;
}

TEST(CheckTogether, RanksThatAreWellPass) {
  for (const std::size_t ranks : {2, 3, 4, 7})
    EXPECT_TRUE(abnormal(check_all(std::vector<Fault>(ranks, Fault::None))).empty()) << ranks;
}

TEST(CheckTogether, ARankThatFailsIsToldFromItsPartners) {
  for (const Fault fault : {Fault::OtherBits, Fault::OutOfRange, Fault::Error, Fault::OtherNumbers})
    for (const std::size_t broken : {0, 1, 4}) {
      std::vector<Fault> faults(5, Fault::None);
      faults[broken] = fault;
      const std::vector<RankEnd> ends = check_all(faults);
      EXPECT_EQ(abnormal(ends), std::vector<std::size_t>{broken})
          << "fault " << static_cast<int>(fault);
      EXPECT_FALSE(ends[broken].verdict.why.empty());
    }
}

TEST(CheckTogether, WhatWasWrongIsSaid) {
  const auto why = [](Fault fault) {
    return check_all({Fault::None, fault, Fault::None, Fault::None})[1].verdict.why;
  };
  EXPECT_NE(why(Fault::OtherBits).find("other bits"), std::string::npos);
  EXPECT_NE(why(Fault::OtherNumbers).find("other numbers"), std::string::npos);
  EXPECT_NE(why(Fault::OutOfRange).find("from 0 to 1"), std::string::npos);
  EXPECT_NE(why(Fault::Error).find("illegal memory access"), std::string::npos);
}

TEST(CheckTogether, TwoThatFailAreBothTold) {
  std::vector<Fault> faults(6, Fault::None);
  faults[2] = Fault::Error;
  faults[5] = Fault::OtherBits;
  EXPECT_EQ(abnormal(check_all(faults)), (std::vector<std::size_t>{2, 5}));
}

// A rank that dies in the middle ends the check for all, and nothing is said of the others.
TEST(CheckTogether, ARankThatNeverComesEndsIt) {
  const ReservedPort port;
  const Cancel never;
  FaultyCompute compute(Fault::None);
  RingCollective collective({Milliseconds(100), Milliseconds(100)});
  RankVerdict verdict;
  const Outcome outcome = check_together(
      {{"default.test/check", 1, {"127.0.0.1", static_cast<std::uint16_t>(port.number())}}, 0, 2},
      {compute, collective},
      {},
      {Deadline::in(Milliseconds(100)), never},
      verdict);
  EXPECT_EQ(outcome.kind, OutcomeKind::TimedOut) << outcome.reason;
  EXPECT_EQ(verdict, RankVerdict{});
}

TEST(CheckTexts, GroupsComeBack) {
  constexpr std::uint64_t kSeed = 20261126;
  Random random(kSeed);
  for (int i = 0; i < 200; ++i) {
    const auto ranks = static_cast<std::size_t>(1 + random.below(40));
    const CheckGroups groups = first_check_round(ranks);
    EXPECT_EQ(groups_in(text_of(groups), ranks), groups) << "seed " << kSeed;
  }
  EXPECT_TRUE(groups_in("", 4).empty());
  EXPECT_EQ(groups_in("0,9;x,1;;-1", 4), (CheckGroups{{0}, {1}}));
}

TEST(CheckTexts, VerdictsComeBack) {
  using Kind = RankVerdict::Kind;
  for (const RankVerdict& each : {RankVerdict{},
                                  RankVerdict{Kind::Slow, "takes 3 times as long"},
                                  RankVerdict{Kind::Abnormal, "a sum is wrong"}})
    EXPECT_EQ(verdict_in(line_of(each)), each);
  EXPECT_EQ(line_of({Kind::Abnormal, "two\nlines"}), "abnormal two lines");
  EXPECT_EQ(verdict_in("").kind, Kind::Abnormal) << "a rank without a line has not passed";
}

std::vector<std::string> rank_environment(int rank, int world_size, int port) {
  return {"PATH=/usr/bin:/bin",
          "ORRERY_JOB=default.test",
          "ORRERY_RANK=" + std::to_string(rank),
          "ORRERY_WORLD_SIZE=" + std::to_string(world_size),
          "MASTER_ADDR=127.0.0.1",
          "MASTER_PORT=" + std::to_string(port)};
}

TEST(CheckProgramTest, BecomesTheCommandWithItsEnvironment) {
  const ReservedPort port;
  std::vector<Child> ranks;
  for (int rank = 0; rank < 3; ++rank)
    ranks.emplace_back(
        std::vector<std::string>{
            ORRERY_CHECK, "--size", "32", "--", "sh", "-c", "echo trains as $ORRERY_RANK; exit 7"},
        rank_environment(rank, 3, port.number()));
  for (int rank = 0; rank < 3; ++rank) {
    Child& child = ranks[static_cast<std::size_t>(rank)];
    EXPECT_EQ(child.exit_code(), 7) << child.heard();
    EXPECT_NE(child.heard().find("trains as " + std::to_string(rank)), std::string::npos)
        << child.heard();
    EXPECT_NE(child.heard().find("passed in"), std::string::npos) << child.heard();
  }
}

// Rank 0's port is free again for the program that follows.
TEST(CheckProgramTest, TheWorkersMeetAtTheSamePortAfterwards) {
  const ReservedPort port;
  std::vector<Child> ranks;
  for (int rank = 0; rank < 3; ++rank)
    ranks.emplace_back(
        std::vector<std::string>{
            ORRERY_CHECK, "--size", "32", "--", ORRERY_WORKER, "--size", "16", "--steps", "5"},
        rank_environment(rank, 3, port.number()));
  for (Child& child : ranks) EXPECT_EQ(child.exit_code(), 0) << child.heard();
}

// A later generation has members that train already: they would never come.
TEST(CheckProgramTest, InALaterGenerationItChecksItsDeviceAlone) {
  const ReservedPort port;
  std::vector<std::string> environment = rank_environment(1, 3, port.number());
  environment.emplace_back("ORRERY_GENERATION=2");
  Child child({ORRERY_CHECK, "--size", "32", "--", "true"}, environment);
  EXPECT_EQ(child.exit_code(), 0) << child.heard();
}

TEST(CheckProgramTest, AProductThatNeverEndsIsBlamedOnTheNode) {
  const TemporaryFolder folder;
  FakeAgent agent(folder.path() + "/agent");
  std::vector<std::string> environment = rank_environment(0, 1, 1);
  environment.push_back("ORRERY_SOCKET=" + agent.path());
  environment.emplace_back("ORRERY_WORKER=w-1-0");
  Child child({ORRERY_CHECK, "--size", "2048", "--deadline", "1ms", "--", "echo", "trains"},
              environment);
  EXPECT_EQ(child.exit_code(), 1) << child.heard();
  EXPECT_EQ(child.heard().find("trains"), std::string::npos);
  EXPECT_NE(child.heard().find("longer than 1 ms"), std::string::npos) << child.heard();
  EXPECT_TRUE(agent.heard("w-1-0", R"("fault":"node")"));
}

TEST(CheckProgramTest, ItSaysWhatIsWrongWithItsCommandLine) {
  Child child({ORRERY_CHECK, "--size", "3", "--fast", "--backend", "gloo2", "--"}, {});
  EXPECT_EQ(child.exit_code(), 2);
  for (const char* each : {"--size", "--fast", "--backend", "no command stands behind it"})
    EXPECT_NE(child.heard().find(each), std::string::npos) << child.heard();
}

TEST(CheckProgramTest, ACommandThatIsNotThereIsSaid) {
  Child child({ORRERY_CHECK, "--size", "32", "--", "/nowhere/train"}, {});
  EXPECT_EQ(child.exit_code(), 127);
  EXPECT_NE(child.heard().find("/nowhere/train: cannot be run"), std::string::npos)
      << child.heard();
}

#ifdef ORRERY_CHECK_CUDA
TEST(CheckProgramTest, TheGpuBuildPassesOrSaysWhatIsMissing) {
  Child child({ORRERY_CHECK_CUDA, "--size", "256", "--", "echo", "trains"}, {"PATH=/usr/bin:/bin"});
  const int code = child.exit_code();
  if (code == 1 && child.heard().find("GPU: ") != std::string::npos)
    GTEST_SKIP() << "no GPU here: " << child.heard();
  EXPECT_EQ(code, 0) << child.heard();
  EXPECT_NE(child.heard().find("trains"), std::string::npos) << child.heard();
}
#endif

}  // namespace
}  // namespace orrery::worker
