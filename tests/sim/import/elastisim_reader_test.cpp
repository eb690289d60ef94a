// The readers of ElastiSim's files, and what application models come to.
#include <gmock/gmock.h>

#include "core/base/json_text.hpp"
#include "core/base/random.hpp"
#include "sim/import/elastisim_jobs.hpp"

namespace orrery::sim {
namespace elastisim_reader_tests {

using scenarios::ProgramStage;
using scenarios::RankPattern;
using testing::HasSubstr;

std::string application_of(const std::string& tasks, const std::string& more = "") {
  return R"({)" + more + R"("phases": [{"iterations": "turns", "tasks": [)" + tasks + "]}]}";
}

std::string jobs_of(const std::string& type_and_sizes) {
  return R"({"jobs": [{"submit_time": 3, "application_model": "a.json", )" + type_and_sizes +
         R"(, "arguments": {"turns": 3, "size": 12e9, "twice": "size * 2"}}]})";
}

/// One job of a model, kept together with what it refers to.
struct Planned {
  ElastisimJobs jobs;
  std::map<std::string, ElastisimApplication> applications;
  std::vector<ModelJob> made;
  std::vector<std::string> notes;
  std::string wrong;
};

Planned planned(const std::string& tasks,
                const std::string& sizes,
                const std::string& more = "",
                double gpu_flops = 0) {
  Planned out;
  const auto jobs = parse_elastisim_jobs(jobs_of(sizes), "jobs.json");
  const auto application = parse_elastisim_application(application_of(tasks, more), "a.json");
  if (!jobs || !application) {
    out.wrong = (jobs ? application.errors() : jobs.errors()).front().text();
    return out;
  }
  out.jobs = *jobs;
  out.applications["a.json"] = *application;
  ElastisimPlan::Options options;
  options.node = {
      .host_flops = 1e9, .gpu_flops = gpu_flops, .burst_buffer = 2e9, .device_bandwidth = 4e9};
  options.network.nic_bandwidth = 1e9;
  const auto plan = ElastisimPlan::make_plan(out.jobs, out.applications, options);
  if (!plan) {
    out.wrong = plan.errors().front().text();
    return out;
  }
  for (std::size_t i = 0; i < plan->size(); ++i) out.made.push_back(plan->make(i, 1));
  for (const ImportNote& note : plan->notes().all()) out.notes.push_back(note.reason);
  return out;
}

/// The stages of a rigid job's one turn on so many nodes.
std::vector<ProgramStage> stages(const std::string& task, int nodes, int gpus = 0) {
  const Planned plan = planned(task,
                               R"("type": "rigid", "num_nodes": )" + std::to_string(nodes) +
                                   R"(, "num_gpus_per_node": )" + std::to_string(gpus),
                               "",
                               1e12);
  EXPECT_EQ(plan.wrong, "");
  if (plan.made.size() != 1) return {};
  std::vector<ProgramStage> all = plan.made[0].work.traffic->programs[0].stages;
  EXPECT_EQ(all.size() % 3, 0U) << "three turns";
  all.resize(all.size() / 3);
  return all;
}

TEST(ElastisimReader, ARigidJobIsOneProgramWithItsInitialisation) {
  const Planned plan =
      planned(R"({"type": "busy_wait", "delay": 5, "pattern": "uniform"})",
              R"("type": "rigid", "num_nodes": 2, "walltime": 60)",
              R"("on_init": {"tasks": [{"type": "idle", "delay": 7, "pattern": "uniform"}]}, )");
  ASSERT_EQ(plan.wrong, "");
  const ModelJob& job = plan.made[0];
  EXPECT_EQ(job.spec->name, "default.0");
  EXPECT_EQ(job.submit, Instant{} + Duration::seconds(3));
  EXPECT_FALSE(job.spec->preemptible);
  EXPECT_EQ(job.spec->run_deadline, Duration::seconds(60));
  EXPECT_EQ(*job.spec->profile, "rigid");
  EXPECT_EQ(job.work.units, 1);
  ASSERT_EQ(job.work.traffic->programs.size(), 1U);
  EXPECT_EQ(job.work.traffic->programs[0].stages.size(), 4U);
  EXPECT_DOUBLE_EQ(job.work.units / job.work.base_rate, 22);
  EXPECT_FALSE(job.times->ready_after);
}

TEST(ElastisimReader, AMalleableJobCountsIterationsAndHasAProgramForEachSize) {
  const Planned plan = planned(
      R"({"type": "cpu", "flops": "size / num_nodes", "computation_pattern": "uniform"})",
      R"("type": "malleable", "num_nodes_min": 2, "num_nodes_max": 4)",
      R"("on_reconfiguration": {"tasks": [{"type": "pfs_read", "bytes": 6e9, "pattern": "root_only"}]}, )");
  ASSERT_EQ(plan.wrong, "");
  const ModelJob& job = plan.made[0];
  EXPECT_TRUE(job.spec->preemptible);
  EXPECT_EQ(job.spec->roles[0].min_replicas, 2);
  EXPECT_EQ(job.spec->roles[0].max_replicas, 4);
  EXPECT_EQ(job.work.units, 3);
  EXPECT_EQ(job.work.traffic->programs_from, 2);
  ASSERT_EQ(job.work.traffic->programs.size(), 3U);
  EXPECT_EQ(job.work.traffic->programs[0].stages[0].seconds, 6);
  EXPECT_EQ(job.work.traffic->programs[1].stages[0].seconds, 4);
  EXPECT_EQ(job.work.traffic->programs[2].stages[0].seconds, 3);
  EXPECT_DOUBLE_EQ(scenarios::rate_of(job.work, 4), 1.0 / 3);
  EXPECT_EQ(job.times->ready_after, Duration::seconds(6)) << "6 GB at 1 GB/s before it goes on";
  EXPECT_THAT(plan.notes, testing::Contains("reconfiguration-as-start-time"));
}

TEST(ElastisimReader, MoldableJobsKeepTheirSizeAndEvolvingOnesAreLeftToThePolicy) {
  const std::string task = R"({"type": "idle", "delay": 1, "pattern": "uniform"})";
  const std::string sizes = R"(, "num_nodes_min": 1, "num_nodes_max": 2)";
  EXPECT_FALSE(planned(task, R"("type": "moldable")" + sizes).made[0].spec->preemptible);
  for (const char* type : {"evolving", "adaptive"}) {
    const Planned plan = planned(task, R"("type": ")" + std::string(type) + "\"" + sizes);
    EXPECT_TRUE(plan.made[0].spec->preemptible);
    EXPECT_THAT(plan.notes, testing::Contains("evolving-requests-left-to-policy"));
  }
}

TEST(ElastisimReader, SharesOutAmountsByPattern) {
  const auto seconds = [](const std::string& pattern, int nodes) {
    return stages(R"({"type": "cpu", "flops": "size", "computation_pattern": ")" + pattern + "\"}",
                  nodes)
        .at(0)
        .seconds;
  };
  EXPECT_EQ(seconds("all_ranks", 4), 3);
  EXPECT_EQ(seconds("total", 4), 3);
  EXPECT_EQ(seconds("root_only", 4), 12);
  EXPECT_EQ(seconds("uniform", 4), 12);
  EXPECT_EQ(seconds("even_ranks", 3), 6);
  EXPECT_EQ(seconds("odd_ranks", 3), 12);
  EXPECT_EQ(seconds("ODD_RANKS", 5), 6);
  EXPECT_EQ(stages(R"({"type": "cpu", "flops": [1e9, 4e9], "computation_pattern": "vector"})", 2)
                .at(0)
                .seconds,
            4);
}

TEST(ElastisimReader, SendsBytesByPattern) {
  const auto of = [](const std::string& pattern, int nodes) {
    return stages(
               R"({"type": "cpu", "bytes": "size", "communication_pattern": ")" + pattern + "\"}",
               nodes)
        .at(0);
  };
  EXPECT_EQ(of("all_to_all", 4).pattern, RankPattern::AllToAll);
  EXPECT_EQ(of("all_to_all", 4).bytes, 1e9);
  EXPECT_EQ(of("all_to_all", 1).pattern, RankPattern::None) << "a single rank has none to send to";
  const auto total = [&](const std::string& pattern, std::int32_t from, std::int32_t to) {
    double bytes = 0;
    for (const auto& transfer : of(pattern, 4).transfers)
      if (transfer.from == from && transfer.to == to) bytes += transfer.bytes;
    return bytes;
  };
  EXPECT_EQ(total("gather", 3, 0), 3e9);
  EXPECT_EQ(total("gather", 0, 3), 0);
  EXPECT_EQ(total("scatter", 0, 3), 3e9);
  EXPECT_EQ(total("ring", 3, 0), 1.5e9);
  EXPECT_EQ(total("ring", 0, 3), 1.5e9);
  EXPECT_EQ(total("ring_clockwise", 3, 0), 3e9);
  EXPECT_EQ(total("ring_clockwise", 0, 3), 0);
  EXPECT_EQ(total("ring_counter_clockwise", 0, 3), 3e9);
  EXPECT_EQ(total("master_worker", 0, 2), 8e9);
  const auto listed =
      stages(R"({"type": "cpu", "bytes": [5, 6, 7, 8], "communication_pattern": "matrix"})", 2);
  ASSERT_EQ(listed.at(0).transfers.size(), 2U) << "what a node sends to itself is left out";
  EXPECT_EQ(listed.at(0).transfers[0].bytes, 6);
}

TEST(ElastisimReader, GpusShareANodesWorkAndItsInsideBytes) {
  const ProgramStage compute =
      stages(R"({"type": "gpu", "flops": 8e12, "computation_pattern": "uniform"})", 2, 4).at(0);
  EXPECT_EQ(compute.seconds, 2);
  // 8 GPUs, 56 pairs: of 56 GB each pair sends 1 GB; a node keeps 12 of its pairs.
  const ProgramStage sent =
      stages(R"({"type": "gpu", "bytes": 56e9, "communication_pattern": "all_to_all"})", 2, 4)
          .at(0);
  EXPECT_DOUBLE_EQ(sent.bytes, 16e9) << "from each of two nodes to the other";
  EXPECT_DOUBLE_EQ(sent.seconds, 12e9 / 4 / 4e9) << "inside a node, by 4 GPUs at 4 GB/s";
}

TEST(ElastisimReader, StorageWaitsAndSequences) {
  const auto read = stages(R"({"type": "pfs_read", "bytes": "twice", "pattern": "all_ranks"})", 3);
  ASSERT_EQ(read.at(0).transfers.size(), 3U);
  EXPECT_EQ(read.at(0).transfers[0].from, -1);
  EXPECT_EQ(read.at(0).transfers[0].bytes, 8e9);
  EXPECT_EQ(
      stages(R"({"type": "bb_write", "bytes": 6e9, "pattern": "all_ranks"})", 3).at(0).seconds, 1);
  const auto sequence = stages(
      R"({"type": "sequence", "iterations": 2, "tasks": [
           {"type": "pfs_write", "bytes": 3e9, "pattern": "root_only", "async": true},
           {"type": "idle", "delay": "num_nodes", "pattern": "uniform"}]})",
      2);
  ASSERT_EQ(sequence.size(), 2U) << "an asynchronous write goes on beside the wait";
  EXPECT_EQ(sequence[0].seconds, 2);
  ASSERT_EQ(sequence[0].transfers.size(), 1U);
  EXPECT_EQ(sequence[0].transfers[0].to, -1);
}

TEST(ElastisimReader, RefusesWhatComesToNothing) {
  const std::string rigid = R"("type": "rigid", "num_nodes": 2)";
  const auto wrong = [&](const std::string& task) { return planned(task, rigid).wrong; };
  EXPECT_THAT(wrong(R"x({"type": "idle", "delay": "1 / (num_nodes - 2)", "pattern": "uniform"})x"),
              HasSubstr("task 'idle' on 2 nodes: formula '1 / (num_nodes - 2)' has no finite"));
  EXPECT_THAT(wrong(R"({"type": "idle", "delay": "num_nodes - 5", "pattern": "uniform"})"),
              HasSubstr("is below 0"));
  EXPECT_THAT(wrong(R"({"type": "gpu", "flops": 1, "computation_pattern": "uniform"})"),
              HasSubstr("asks for none; give it num_gpus_per_node"));
  EXPECT_THAT(wrong(R"({"type": "cpu", "flops": [1], "computation_pattern": "vector"})"),
              HasSubstr("lists amounts of 1 ranks, but the job has 2 nodes"));
  EXPECT_THAT(wrong(R"({"type": "idle", "delay": 1, "pattern": "uniform", "iterations": 1e6})"),
              HasSubstr("more than 20000 stages"));
  EXPECT_THAT(planned("", R"("type": "malleable", "num_nodes_min": 3, "num_nodes_max": 2)").wrong,
              HasSubstr("num_nodes_min: is 3, above its maximum of 2"));
}

TEST(ElastisimReader, TurnsThatAddNothingAreCutShortBesideWhatIsUnderWay) {
  const auto made = stages(
      R"({"type": "sequence", "tasks": [
           {"type": "pfs_write", "bytes": 3e9, "pattern": "root_only", "async": true},
           {"type": "sequence", "iterations": 1e9, "tasks": [
             {"type": "sequence", "iterations": 1e9, "tasks": [
               {"type": "pfs_write", "bytes": 0, "pattern": "total", "async": true}]}]},
           {"type": "idle", "delay": 1, "pattern": "uniform"}]})",
      2);
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].transfers.size(), 1U);
}

TEST(ElastisimReader, TransfersAreRefusedBeforeAllOfThemAreWrittenOut) {
  const auto wrong = [](const std::string& writes, const std::string& turns) {
    return planned(R"({"type": "sequence", "iterations": )" + turns + R"(, "tasks": [
                    {"type": "pfs_write", "bytes": 1e9, "pattern": "all_ranks", "async": true,
                     "iterations": )" +
                       writes + R"(}, {"type": "idle", "delay": 1, "pattern": "uniform"}]})",
                   R"("type": "rigid", "num_nodes": 1)")
        .wrong;
  };
  EXPECT_THAT(wrong("70000", "20"), HasSubstr("makes more than 1000000 transfers of the job"));
  // With the three iterations of the phase.
  EXPECT_THAT(wrong("100", "4000"), HasSubstr("or to more than 1000000 transfers"));
  EXPECT_EQ(wrong("100", "3000"), "");
}

// Whatever jobs are written come back as they were.
TEST(ElastisimReader, ReadsBackWhatIsWritten) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed);
    JsonText json;
    json.begin_object().key("jobs").begin_array();
    std::vector<ElastisimJob> jobs(random.below(20));
    for (ElastisimJob& job : jobs) {
      job.type = static_cast<ElastisimType>(random.below(5));
      job.submit_s = random.uniform() * 1e5;
      job.nodes_min = 1 + static_cast<std::int32_t>(random.below(16));
      job.nodes_max = job.nodes_min + static_cast<std::int32_t>(
                                          job.type == ElastisimType::Rigid ? 0 : random.below(16));
      job.arguments["x"] = random.uniform() * 1e12;
      json.begin_object()
          .field("type", orrery::to_string(job.type))
          .field("submit_time", job.submit_s);
      if (job.type == ElastisimType::Rigid)
        json.field("num_nodes", job.nodes_min);
      else
        json.field("num_nodes_min", job.nodes_min).field("num_nodes_max", job.nodes_max);
      if (random.below(2) == 0) {
        job.walltime_s = 1.0 + static_cast<double>(random.below(1000));
        json.field("walltime", *job.walltime_s);
      }
      json.field("application_model", "m.json");
      json.key("arguments").begin_object().field("x", job.arguments["x"]).end_object();
      json.end_object();
    }
    json.end_array().end_object();
    const auto read = parse_elastisim_jobs(json.text(), "jobs.json");
    ASSERT_TRUE(read) << "seed " << seed << ": " << read.errors().front().text();
    ASSERT_EQ(read->jobs.size(), jobs.size()) << "seed " << seed;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      EXPECT_EQ(read->jobs[i].type, jobs[i].type) << "seed " << seed;
      EXPECT_EQ(read->jobs[i].submit_s, jobs[i].submit_s) << "seed " << seed;
      EXPECT_EQ(read->jobs[i].nodes_min, jobs[i].nodes_min) << "seed " << seed;
      EXPECT_EQ(read->jobs[i].nodes_max, jobs[i].nodes_max) << "seed " << seed;
      EXPECT_EQ(read->jobs[i].walltime_s, jobs[i].walltime_s) << "seed " << seed;
      EXPECT_EQ(read->jobs[i].arguments, jobs[i].arguments) << "seed " << seed;
    }
  }
}

}  // namespace elastisim_reader_tests
}  // namespace orrery::sim
