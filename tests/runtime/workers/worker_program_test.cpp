// The sample worker as it is run: by hand, drained and resumed, and led by an agent through changes
// of membership.
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "runtime/workers/checkpoint.hpp"
#include "tests/runtime/workers/child.hpp"
#include "tests/runtime/workers/fake_agent.hpp"
#include "tests/support/temporary_folder.hpp"

namespace orrery::worker {
namespace {

std::vector<std::string> command(std::initializer_list<std::string> options,
                                 const std::string& program = ORRERY_WORKER) {
  std::vector<std::string> out{program, "--size", "16"};
  out.insert(out.end(), options);
  return out;
}

std::vector<std::string> place(int rank, int world_size, int port, std::uint64_t generation = 1) {
  return {"ORRERY_JOB=default.test",
          "ORRERY_RANK=" + std::to_string(rank),
          "ORRERY_WORLD_SIZE=" + std::to_string(world_size),
          "ORRERY_GENERATION=" + std::to_string(generation),
          "MASTER_ADDR=127.0.0.1",
          "MASTER_PORT=" + std::to_string(port)};
}

TEST(WorkerProgramTest, AloneItDoesItsSteps) {
  Child worker(command({"--steps", "10", "--json"}), {});
  EXPECT_EQ(worker.exit_code(), 0) << worker.heard();
  EXPECT_NE(worker.heard().find("step 10/10  generation 1  rank 0/1"), std::string::npos)
      << worker.heard();
  const std::string json = worker.heard().substr(worker.heard().find('{'));
  EXPECT_EQ(nlohmann::json::parse(json, nullptr, false).value("steps_done", 0), 10)
      << worker.heard();
}

TEST(WorkerProgramTest, TwoMeasureTheirAllReduceBySize) {
  const ReservedPort port;
  std::vector<Child> workers;
  for (int rank = 0; rank < 2; ++rank)
    workers.emplace_back(command({"--measure", "3", "--size", "64", "--json"}),
                         place(rank, 2, port.number()));
  for (Child& worker : workers) EXPECT_EQ(worker.exit_code(), 0) << worker.heard();
  const std::string heard = workers.front().heard();
  ASSERT_NE(heard.find('{'), std::string::npos) << heard;
  const auto measured = nlohmann::json::parse(heard.substr(heard.find('{')), nullptr, false);
  ASSERT_TRUE(measured.is_object()) << heard;
  EXPECT_EQ(measured.value("world_size", 0), 2);
  EXPECT_EQ(measured["multiply_s"].size(), 3U);
  ASSERT_EQ(measured["all_reduce"].size(), 2U);
  EXPECT_EQ(measured["all_reduce"][0].value("bytes", 0), 4096);
  EXPECT_EQ(measured["all_reduce"][1].value("bytes", 0), 64 * 64 * 4);
  for (const auto& sum : measured["all_reduce"]) EXPECT_EQ(sum["times_s"].size(), 3U);
  EXPECT_EQ(measured.value("checkpoint_bytes", -1), 0);
  // Rank 0 alone tells.
  EXPECT_EQ(workers.back().heard().find('{'), std::string::npos) << workers.back().heard();
}

TEST(WorkerProgramTest, ThreeByHandAllFinish) {
  const ReservedPort port;
  std::vector<Child> workers;
  for (int rank = 0; rank < 3; ++rank)
    workers.emplace_back(command({"--steps", "20"}), place(rank, 3, port.number()));
  for (Child& worker : workers) EXPECT_EQ(worker.exit_code(), 0) << worker.heard();
}

#ifdef ORRERY_WORKER_STATIC
TEST(WorkerProgramTest, TheStaticBuildWorksWithItsOwnKind) {
  const ReservedPort port;
  std::vector<Child> workers;
  for (int rank = 0; rank < 2; ++rank)
    workers.emplace_back(command({"--steps", "20"}, ORRERY_WORKER_STATIC),
                         place(rank, 2, port.number()));
  for (Child& worker : workers) EXPECT_EQ(worker.exit_code(), 0) << worker.heard();
}
#endif

#ifdef ORRERY_HAS_GLOO
TEST(WorkerProgramTest, DifferentBackendsAreNamed) {
  const ReservedPort port;
  Child first(command({"--backend", "ring"}), place(0, 2, port.number()));
  Child second(command({"--backend", "gloo"}), place(1, 2, port.number()));
  EXPECT_EQ(first.exit_code(), 1);
  EXPECT_EQ(second.exit_code(), 1);
  // The first one that finds out leaves, and the other may only hear that.
  const std::string all = first.heard() + second.heard();
  EXPECT_TRUE(all.find("rank 0 uses ring, this rank gloo") != std::string::npos ||
              all.find("rank 1 uses gloo, this rank ring") != std::string::npos)
      << all;
}
#endif

TEST(WorkerProgramTest, TheGpuBuildRunsOrSaysWhatIsMissing) {
#ifdef ORRERY_WORKER_CUDA
  Child worker(command({"--steps", "10", "--backend", "ring"}, ORRERY_WORKER_CUDA), {});
  const int exit_code = worker.exit_code();
  if (exit_code == 1 && worker.heard().find("orrery-worker-cuda: GPU: ") != std::string::npos)
    GTEST_SKIP() << worker.heard();
  EXPECT_EQ(exit_code, 0) << worker.heard();
#else
  GTEST_SKIP() << "the CUDA toolkit was not found at configure time";
#endif
}

TEST(WorkerProgramTest, DifferentSizesAreNamed) {
  const ReservedPort port;
  Child first(command({}), place(0, 2, port.number()));
  Child second({ORRERY_WORKER, "--size", "17"}, place(1, 2, port.number()));
  EXPECT_EQ(second.exit_code(), 1);
  EXPECT_NE(second.heard().find("rank 0 has --size 16, this rank 17; give all the same"),
            std::string::npos)
      << second.heard();
  EXPECT_EQ(first.exit_code(), 1);
}

TEST(WorkerProgramTest, BadInputIsRefused) {
  Child options(command({"--steps", "many"}), {});
  EXPECT_EQ(options.exit_code(), 2);
  Child environment(command({}), {"ORRERY_RANK=1"});
  EXPECT_EQ(environment.exit_code(), 2);
  Child backend(command({"--backend", "nccl"}), {});
  EXPECT_EQ(backend.exit_code(), 2);
  EXPECT_NE(backend.heard().find("nccl is not in this build"), std::string::npos);
}

TEST(WorkerProgramTest, DrainedItSavesAndTheNextOneResumes) {
  const TemporaryFolder folder;
  const std::string file = folder.file("steps.txt");
  Child first(command({"--steps", "0", "--checkpoint", file, "--checkpoint-every", "1000000000"}),
              {});
  ASSERT_TRUE(first.line_with("step 5  ")) << first.heard();
  first.signal(SIGTERM);
  EXPECT_EQ(first.exit_code(), 143) << first.heard();
  const Result<std::int64_t> saved = read_checkpoint(file);
  ASSERT_TRUE(saved);
  EXPECT_GT(*saved, 0);

  const std::string steps = std::to_string(*saved + 5);
  Child second(command({"--steps", steps, "--checkpoint", file}), {});
  EXPECT_EQ(second.exit_code(), 0) << second.heard();
  EXPECT_NE(second.heard().find("resumed at step " + std::to_string(*saved)), std::string::npos);
  EXPECT_EQ(*read_checkpoint(file), *saved + 5);

  Child third(command({"--steps", steps, "--checkpoint", file}), {});
  EXPECT_EQ(third.exit_code(), 0);
  EXPECT_NE(third.heard().find("nothing to do"), std::string::npos);
}

TEST(WorkerProgramTest, ItIsDrainedWhileItWaitsForPeers) {
  const ReservedPort port;
  Child worker(command({}), place(1, 2, port.number()));
  worker.signal(SIGTERM);  // Before it can hear, or while it waits: either ends it.
  const int exit_code = worker.exit_code();
  EXPECT_TRUE(exit_code == 143 || exit_code == 128 + SIGTERM) << exit_code;
}

TEST(WorkerProgramTest, WithoutAnAgentALostPeerIsAFailure) {
  const ReservedPort port;
  std::vector<Child> workers;
  for (int rank = 0; rank < 3; ++rank)
    workers.emplace_back(command({"--steps", "0"}), place(rank, 3, port.number()));
  ASSERT_TRUE(workers[0].line_with("step 5  ")) << workers[0].heard();
  workers[1].signal(SIGKILL);
  for (const std::size_t survivor : {std::size_t{0}, std::size_t{2}}) {
    EXPECT_EQ(workers[survivor].exit_code(), 1);
    EXPECT_NE(workers[survivor].heard().find("no agent tells of another generation"),
              std::string::npos)
        << workers[survivor].heard();
  }
}

/// Workers of one job under a fake agent.
class LedWorkersTest : public testing::Test {
 protected:
  LedWorkersTest() : agent_(folder_.file("agent")) {}

  std::vector<std::string> led(
      const std::string& name, int rank, int world_size, std::uint64_t generation, int port) {
    std::vector<std::string> environment = place(rank, world_size, port, generation);
    environment.push_back("ORRERY_WORKER=" + name);
    environment.push_back("ORRERY_SOCKET=" + agent_.path());
    return environment;
  }

  Child& start(
      const std::string& name, int rank, int world_size, std::uint64_t generation, int port) {
    workers_.push_back(std::make_unique<Child>(
        command({"--steps", "0", "--report-every", "1", "--checkpoint", folder_.file("steps.txt")}),
        led(name, rank, world_size, generation, port)));
    return *workers_.back();
  }

  static std::string stepping(std::uint64_t generation, int rank, int size) {
    return "  generation " + std::to_string(generation) + "  rank " + std::to_string(rank) + "/" +
           std::to_string(size) + "  ";
  }

  TemporaryFolder folder_;
  ReservedPort port_;
  ReservedPort second_port_;
  FakeAgent agent_;
  std::vector<std::unique_ptr<Child>> workers_;
};

TEST_F(LedWorkersTest, AMembershipIsFollowedThroughShrinkAndGrowth) {
  agent_.form(1, {"a", "b", "c"}, port_.number());
  Child& a = start("a", 0, 3, 1, port_.number());
  Child& b = start("b", 1, 3, 1, port_.number());
  Child& c = start("c", 2, 3, 1, port_.number());
  ASSERT_TRUE(a.line_with(stepping(1, 0, 3))) << a.heard();
  EXPECT_TRUE(agent_.heard("b", R"({"profiling":{"step_time_s":)"));
  EXPECT_TRUE(agent_.heard("a", R"("checkpointed":true)"));

  b.signal(SIGKILL);
  EXPECT_EQ(b.exit_code(), 128 + SIGKILL);
  agent_.form(2, {"a", "c"}, port_.number());
  ASSERT_TRUE(a.line_with(stepping(2, 0, 2))) << a.heard();
  ASSERT_TRUE(c.line_with(stepping(2, 1, 2))) << c.heard();

  // Growth, and another process leads.
  agent_.form(3, {"c", "a", "d", "e"}, second_port_.number());
  Child& d = start("d", 2, 4, 3, second_port_.number());
  Child& e = start("e", 3, 4, 3, second_port_.number());
  for (const auto& [worker, rank] : {std::pair{&c, 0}, {&a, 1}, {&d, 2}, {&e, 3}})
    ASSERT_TRUE(worker->line_with(stepping(3, rank, 4))) << worker->heard();

  for (Child* worker : {&a, &c, &d, &e}) worker->signal(SIGTERM);
  for (Child* worker : {&a, &c, &d, &e}) EXPECT_EQ(worker->exit_code(), 143) << worker->heard();
  EXPECT_GT(*read_checkpoint(folder_.file("steps.txt")), 0);
}

TEST_F(LedWorkersTest, AJoinerGoesOnWhereTheOthersAre) {
  agent_.form(1, {"a"}, port_.number());
  Child& a = start("a", 0, 1, 1, port_.number());
  ASSERT_TRUE(a.line_with("step 20  ")) << a.heard();
  agent_.form(2, {"a", "b"}, port_.number());
  // Without the checkpoint: what it knows, it knows from the other.
  workers_.push_back(
      std::make_unique<Child>(command({"--steps", "0"}), led("b", 1, 2, 2, port_.number())));
  const auto built = workers_.back()->line_with("generation 2: rank 1 of 2");
  ASSERT_TRUE(built) << workers_.back()->heard();
  EXPECT_GE(std::stoi(built->substr(built->find("at step ") + 8)), 20);
}

TEST_F(LedWorkersTest, OneLeavesAndTheOthersGoOn) {
  agent_.form(1, {"a", "b"}, port_.number());
  Child& a = start("a", 0, 2, 1, port_.number());
  Child& b = start("b", 1, 2, 1, port_.number());
  ASSERT_TRUE(b.line_with(stepping(1, 1, 2))) << b.heard();
  b.signal(SIGTERM);
  EXPECT_EQ(b.exit_code(), 143) << b.heard();
  agent_.form(2, {"a"}, 0);  // Alone it needs no place to meet.
  ASSERT_TRUE(a.line_with(stepping(2, 0, 1))) << a.heard();
}

TEST_F(LedWorkersTest, AnAgentThatComesBackIsHeardAgain) {
  agent_.form(1, {"a"}, port_.number());
  Child& a = start("a", 0, 1, 1, port_.number());
  EXPECT_TRUE(agent_.heard("a", "hello"));
  agent_.die();
  ASSERT_TRUE(a.line_with(stepping(1, 0, 1))) << a.heard();
  agent_.form(5, {"a"}, port_.number());
  agent_.live();
  ASSERT_TRUE(a.line_with(stepping(5, 0, 1))) << a.heard();
}

}  // namespace
}  // namespace orrery::worker
