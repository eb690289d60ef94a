#include "tests/scenarios/language/loading.hpp"

namespace orrery::scenarios {
namespace {

WorkSpec work_of(const std::string& job, const std::string& cluster = "nodes: 2") {
  return load("cluster: {" + cluster + "}\njobs: [{name: a, " + job + "}]\n").jobs[0].work;
}

TEST(Step, IsReadWhole) {
  const WorkSpec work = work_of(
      "gpus: 8, replicas: 2, work: {units: 900, throughput: 2, step: {units: 4, gradient: 2GB, "
      "all_reduce: tree, overlap: 0.5, tensor_parallel: 4, tensor: 100MB, pipeline_parallel: 2, "
      "activation: 8MB, microbatches: 16}, checkpoint: {size: 80GB, interval: 10min, blocking: "
      "false}}");
  ASSERT_NE(work.traffic, nullptr);
  const StepSpec& step = work.traffic->step;
  EXPECT_EQ(step.units, 4);
  EXPECT_EQ(step.gradient, Bytes{2'000'000'000});
  EXPECT_EQ(step.all_reduce, AllReduce::Tree);
  EXPECT_EQ(step.overlap, 0.5);
  EXPECT_EQ(step.tensor_parallel, 4);
  EXPECT_EQ(step.tensor, Bytes{100'000'000});
  EXPECT_EQ(step.pipeline_parallel, 2);
  EXPECT_EQ(step.activation, Bytes{8'000'000});
  EXPECT_EQ(step.microbatches, 16);
  const CheckpointSpec& checkpoint = work.traffic->checkpoint;
  EXPECT_EQ(checkpoint.size, Bytes{80'000'000'000});
  EXPECT_EQ(checkpoint.interval, Duration::seconds(600));
  EXPECT_FALSE(checkpoint.blocking);
}

TEST(Step, WorkThatSaysNothingSendsNothing) {
  EXPECT_EQ(work_of("work: 60s").traffic, nullptr);
  EXPECT_EQ(work_of("work: {units: 3, throughput: 1}").traffic, nullptr);
}

TEST(Step, GroupsOfAnElasticJobDivideEveryReplica) {
  EXPECT_EQ(work_of("gpus: 4, replicas: {min: 1, max: 3}, work: {duration: 9s, step: {units: 1, "
                    "tensor_parallel: 2, pipeline_parallel: 2}}")
                .traffic->step.pipeline_parallel,
            2);
  const auto errors = errors_of(
      "cluster: {nodes: 2}\njobs:\n"
      "  - {name: a, gpus: 2, replicas: {min: 2, max: 4}, work: {duration: 9s, step: {units: 1, "
      "tensor_parallel: 4}}}\n");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_NE(errors[0].find("do not divide the 2 devices of a replica"), std::string::npos)
      << errors[0];
}

TEST(Loop, IsReadWhole) {
  const WorkSpec work = work_of(
      "roles: {learner: {replicas: 2}, rollout: {replicas: 4}}, work: {units: 10, loop: {generate: "
      "{role: rollout, sequences: 512, tokens_per_second: 50, concurrent: 32, length: {median: "
      "800, sigma: 1, max: 8192}}, reward: {role: learner, time: 5s}, train: {role: learner, time: "
      "40s, gradient: 14GB, overlap: 0.5}, weights: 14GB}}");
  ASSERT_NE(work.traffic, nullptr);
  const LoopSpec& loop = work.traffic->loop;
  EXPECT_EQ(loop.generate_role, "rollout");
  EXPECT_EQ(loop.sequences, 512);
  EXPECT_EQ(loop.tokens_per_second, 50);
  EXPECT_EQ(loop.concurrent, 32);
  EXPECT_EQ(loop.length_median, 800);
  EXPECT_EQ(loop.length_sigma, 1);
  EXPECT_EQ(loop.length_max, 8192);
  EXPECT_EQ(loop.reward, Duration::seconds(5));
  EXPECT_EQ(loop.train, Duration::seconds(40));
  EXPECT_EQ(loop.gradient, Bytes{14'000'000'000});
  EXPECT_EQ(loop.weights, Bytes{14'000'000'000});
  EXPECT_EQ(work.units, 10);
  // 512 sequences in 4 x 32 slots of mean length 800 sqrt(e), then 45 s.
  EXPECT_NEAR(1 / work.base_rate, 4 * 800 * 1.6487212707 / 50 + 45, 1e-6);
}

/// Roles of 2, 5 and 1 replicas of 4 devices, whose loop has 64 groups of 8 sequences.
std::string streamed(const std::string& stream, const std::string& more = "") {
  return "roles: {actor: {replicas: 2, gpus: 4}, rollout: {replicas: 5, gpus: 4}, inference: "
         "{gpus: 4}}, work: {units: 10, loop: {generate: {role: rollout, sequences: 512, "
         "tokens_per_second: 50, length: {median: 800, max: 800}}, inference: {role: inference, "
         "time: 20s}, train: {role: actor, time: 40s}, " +
         more + "stream: {" + stream + "}}}";
}

TEST(Stream, IsReadWhole) {
  const LoopSpec loop =
      work_of(streamed("scheduler: dynamic, group: 8, minibatches: 4, pre_process: true, "
                       "wait_before_last: false, resize: 5s, migrate: 2s"),
              "nodes: 8")
          .traffic->loop;
  EXPECT_EQ(loop.inference_role, "inference");
  EXPECT_EQ(loop.inference, Duration::seconds(20));
  ASSERT_TRUE(loop.stream.has_value());
  EXPECT_EQ(loop.stream->scheduler, StreamScheduler::Dynamic);
  EXPECT_EQ(loop.stream->group, 8);
  EXPECT_EQ(loop.stream->minibatches, 4);
  EXPECT_TRUE(loop.stream->pre_process);
  EXPECT_FALSE(loop.stream->wait_before_last);
  EXPECT_EQ(loop.stream->resize, Duration::seconds(5));
  EXPECT_EQ(loop.stream->migrate, Duration::seconds(2));
}

TEST(Stream, MovesNothingUnlessItSaysSo) {
  const auto stream = work_of(streamed("group: 8"), "nodes: 8").traffic->loop.stream;
  ASSERT_TRUE(stream.has_value());
  EXPECT_EQ(stream->scheduler, StreamScheduler::Static);
  EXPECT_EQ(stream->minibatches, 1);
  EXPECT_FALSE(stream->pre_process);
  EXPECT_TRUE(stream->wait_before_last);
}

TEST(Loop, AJobOfOneRoleNeedNotNameIt) {
  const WorkSpec work = work_of(
      "replicas: 2, work: {units: 10, loop: {generate: {sequences: 8, tokens_per_second: 50, "
      "length: {median: 800, max: 800}}, train: {time: 40s}}}");
  EXPECT_EQ(work.traffic->loop.generate_role, "worker");
  EXPECT_EQ(work.traffic->loop.train_role, "worker");
}

TEST(Flops, GiveTheThroughputOfTheRolesDevices) {
  // 8 x 989 TFLOPS x 0.5 over 1 PFLOP.
  EXPECT_DOUBLE_EQ(work_of("gpus: 8, work: {units: 9, flops_per_unit: 1e15, efficiency: 0.5}",
                           "nodes: 2, gpu: h200")
                       .base_rate,
                   8 * 0.989 * 0.5);
  EXPECT_DOUBLE_EQ(work_of("gpus: 0.5, gpu: a100, work: {units: 9, flops_per_unit: 1e12}",
                           "groups: [{nodes: 1, gpu: h200}, {nodes: 1, gpu: a100}]")
                       .base_rate,
                   0.5 * 312 * 0.4);
}

TEST(Generator, EveryJobSendsTheSame) {
  const Scenario scenario = load(
      "cluster: {nodes: 4}\n"
      "workload: {generator: {jobs: 3, arrivals: {jobs_per_hour: 10}, gpu_mix: [{gpus: 16}], "
      "step: {units: 0.5, gradient: 1GB}, checkpoint: {size: 10GB}}}\n");
  const auto& workload = std::get<GeneratorWorkload>(scenario.workload);
  ASSERT_NE(workload.traffic, nullptr);
  EXPECT_EQ(workload.traffic->step.units, 0.5);
  EXPECT_EQ(workload.traffic->checkpoint.size, Bytes{10'000'000'000});
}

}  // namespace
}  // namespace orrery::scenarios
