// The reader of Batsim's workloads, and what its profiles come to.
#include <gmock/gmock.h>

#include "core/base/json_text.hpp"
#include "core/base/random.hpp"
#include "sim/import/batsim_file.hpp"
#include "sim/import/batsim_jobs.hpp"

namespace orrery::sim {
namespace {

using scenarios::Program;
using scenarios::RankPattern;
using testing::ElementsAre;
using testing::HasSubstr;

std::string workload(const std::string& jobs, const std::string& profiles) {
  return R"({"nb_res": 8, "jobs": [)" + jobs + R"(], "profiles": {)" + profiles + "}}";
}

BatsimFile parsed(const std::string& text) {
  const auto file = parse_batsim(text, "w.json");
  if (file) return *file;
  for (const Error& error : file.errors()) ADD_FAILURE() << error.text();
  return {};
}

/// The one job of `profiles` "p" on `hosts` hosts of 1 Gflop/s.
ModelJob planned(const std::string& profiles, int hosts, const std::string& more = "") {
  static BatsimFile file;
  file = parsed(workload(R"({"id": "j", "subtime": 0, "res": )" + std::to_string(hosts) +
                             R"(, "profile": "p")" + more + "}",
                         profiles));
  const auto jobs = BatsimJobs::plan(file, {1e9, {}});
  if (jobs && jobs->size() == 1) return jobs->make(0, 1);
  ADD_FAILURE() << "no job";
  return {};
}

Program program_of(const ModelJob& job) {
  if (job.work.traffic == nullptr || job.work.traffic->programs.empty()) return {};
  return job.work.traffic->programs[0];
}

std::string refusal(const std::string& jobs, const std::string& profiles) {
  const BatsimFile file = parsed(workload(jobs, profiles));
  const auto planned_jobs = BatsimJobs::plan(file, {});
  return planned_jobs ? "" : planned_jobs.errors().front().text();
}

TEST(BatsimReader, KeepsIdsAsTheyAreWritten) {
  const BatsimFile file = parsed(workload(
      R"({"id": 7, "subtime": 1.5, "res": 2, "profile": "p", "walltime": 3},
         {"id": "Seven_7", "subtime": 0, "res": 0, "profile": "p", "walltime": -1})",
      R"("p": {"type": "DelayProfile", "delay": 10})"));
  ASSERT_EQ(file.jobs.size(), 2U);
  EXPECT_EQ(file.hosts, 8);
  EXPECT_EQ(file.jobs[0].id, "7");
  EXPECT_EQ(file.jobs[0].walltime_s, 3);
  EXPECT_EQ(file.jobs[1].id, "Seven_7");
  EXPECT_FALSE(file.jobs[1].walltime_s);
  const auto jobs = BatsimJobs::plan(file, {});
  ASSERT_TRUE(jobs);
  const ModelJob first = jobs->make(0, 1);  // By submission.
  EXPECT_EQ(first.spec->name, "default.seven-7");
  EXPECT_EQ(*first.label, "Seven_7");
  EXPECT_EQ(first.spec->roles[0].bundle.devices, 0) << "a job of no host takes no device";
  const ModelJob second = jobs->make(1, 1);
  EXPECT_EQ(*second.label, "");
  EXPECT_EQ(second.spec->roles[0].min_replicas, 2);
  EXPECT_EQ(second.spec->run_deadline, Duration::seconds(3));
  EXPECT_EQ(second.spec->estimate, Duration::seconds(3));
}

TEST(BatsimReader, MapsOldNamesUnlessItIsStrict) {
  const std::string text = workload("", R"("a": {"type": "delay", "delay": 1},
                      "b": {"type": "msg_par_hg", "cpu": 1, "com": 1},
                      "c": {"type": "DelayProfile", "delay": 1})");
  EXPECT_THAT(parsed(text).old_names, ElementsAre("delay", "msg_par_hg"));
  const auto strict = parse_batsim(text, "w.json", BatsimNames::Strict);
  ASSERT_FALSE(strict);
  ASSERT_EQ(strict.errors().size(), 2U);
  EXPECT_THAT(strict.errors()[0].text(), HasSubstr("write DelayProfile"));
  EXPECT_THAT(strict.errors()[1].text(), HasSubstr("write ParallelTaskHomogeneousProfile"));
}

TEST(BatsimReader, HomogeneousAmountsAreOfEachHostOrOfAll) {
  const std::string amounts = R"("cpu": 6e9, "com": 12e9)";
  const Program each =
      program_of(planned(R"("p": {"type": "ParallelTaskHomogeneousProfile", )" + amounts + "}", 3));
  ASSERT_EQ(each.stages.size(), 1U);
  EXPECT_EQ(each.stages[0].seconds, 6);
  EXPECT_EQ(each.stages[0].pattern, RankPattern::AllToAll);
  EXPECT_EQ(each.stages[0].bytes, 12e9);
  const Program all =
      program_of(planned(R"("p": {"type": "ParallelTaskHomogeneousProfile", )" + amounts +
                             R"(, "generation_strategy": "DefinedAmountsSpreadUniformly"})",
                         3));
  EXPECT_EQ(all.stages[0].seconds, 2);
  EXPECT_EQ(all.stages[0].bytes, 2e9) << "three hosts send to two others each";
  const Program old =
      program_of(planned(R"("p": {"type": "parallel_homogeneous_total", )" + amounts + "}", 3));
  EXPECT_EQ(old.stages[0].seconds, 2);
  EXPECT_EQ(old.stages[0].bytes, 4e9) << "before v5 each pair sent com / hosts";
}

TEST(BatsimReader, AMatrixIsReadRowByRowWithoutItsDiagonal) {
  const Program program = program_of(planned(
      R"("p": {"type": "ParallelTaskProfile", "cpu": [1e9, 3e9], "com": [5, 6, 0, 8]})", 2));
  ASSERT_EQ(program.stages.size(), 1U);
  EXPECT_EQ(program.stages[0].seconds, 3);
  ASSERT_EQ(program.stages[0].transfers.size(), 1U);
  EXPECT_EQ(program.stages[0].transfers[0].from, 0);
  EXPECT_EQ(program.stages[0].transfers[0].to, 1);
  EXPECT_EQ(program.stages[0].transfers[0].bytes, 6);
}

TEST(BatsimReader, TheOutermostRepetitionIsTheJobsWork) {
  const ModelJob job = planned(
      R"("p": {"type": "SequentialCompositionProfile", "repeat": 5, "seq": ["twice", "send"]},
         "twice": {"type": "SequentialCompositionProfile", "repeat": 2, "seq": ["wait"]},
         "wait": {"type": "DelayProfile", "delay": 3},
         "send": {"type": "ParallelTaskHomogeneousProfile", "com": 1e9})",
      2);
  EXPECT_EQ(job.work.units, 5);
  const Program program = program_of(job);
  ASSERT_EQ(program.stages.size(), 3U);
  EXPECT_EQ(program.stages[1].seconds, 3);
  EXPECT_EQ(program.stages[2].bytes, 1e9);
  // 6 s and 1 GB at the 50 GB/s of the default link, each round.
  EXPECT_DOUBLE_EQ(job.work.units / job.work.base_rate, 5 * 6.02);
}

TEST(BatsimReader, ASequenceOfDelaysIsOnlyTime) {
  const ModelJob job = planned(
      R"("p": {"type": "composed", "nb": 4, "seq": ["wait", "wait"]},
         "wait": {"type": "delay", "delay": 2.5})",
      2);
  EXPECT_EQ(job.work.traffic, nullptr);
  EXPECT_EQ(job.work.units, 20);
}

TEST(BatsimReader, StorageIsReadAndWrittenByEveryHost) {
  const Program program = program_of(planned(
      R"("p": {"type": "ParallelTaskOnStorageHomogeneousProfile", "bytes_to_read": 10,
               "bytes_to_write": 20, "storage": "pfs"})",
      2));
  ASSERT_EQ(program.stages.size(), 1U);
  ASSERT_EQ(program.stages[0].transfers.size(), 4U);
  EXPECT_EQ(program.stages[0].transfers[0].from, -1);
  EXPECT_EQ(program.stages[0].transfers[0].bytes, 10);
  EXPECT_EQ(program.stages[0].transfers[1].to, -1);
  EXPECT_EQ(program.stages[0].transfers[1].bytes, 20);
}

TEST(BatsimReader, ExtraDataSaysDevicesAndSizes) {
  const std::string delay = R"("p": {"type": "DelayProfile", "delay": 1})";
  for (
      const char* extra :
      {R"(, "extra_data": {"gpus_per_host": 4, "gpu_model": "a100", "res_min": 1, "res_max": 6})",
       R"(, "extra_data": "{\"gpus_per_host\": 4, \"gpu_model\": \"a100\", \"res_min\": 1, \"res_max\": 6}")"}) {
    const ModelJob job = planned(delay, 2, extra);
    const RoleSpec& role = job.spec->roles[0];
    EXPECT_EQ(role.bundle.devices, 4);
    EXPECT_EQ(role.bundle.device_model, "a100");
    EXPECT_EQ(role.min_replicas, 1);
    EXPECT_EQ(role.max_replicas, 6);
    EXPECT_EQ(job.spec->rigid_replicas, 2);
    EXPECT_TRUE(job.spec->preemptible);
  }
  EXPECT_EQ(planned(delay, 2, R"(, "extra_data": "as you like")").spec->roles[0].bundle.devices, 1);
}

TEST(BatsimReader, WhatOnlyBatsimCanRunIsRefusedWhereAJobNeedsIt) {
  const std::string replay =
      R"("p": {"type": "TraceReplayProfile", "trace_type": "SMPI", "filename": "t.txt"})";
  EXPECT_EQ(refusal("", replay), "");
  EXPECT_THAT(refusal(R"({"id": 1, "subtime": 0, "res": 1, "profile": "p"})", replay),
              HasSubstr("is a trace replay, which only Batsim can run; give the job a delay"));
}

TEST(BatsimReader, ProfilesThatNeverEndOrDoNotFitAreRefused) {
  const std::string job = R"({"id": 1, "subtime": 0, "res": 2, "profile": "p"})";
  EXPECT_THAT(refusal(job, R"("p": {"type": "SequentialCompositionProfile", "seq": ["p"]})"),
              HasSubstr("or holds itself"));
  EXPECT_THAT(refusal(job, R"("p": {"type": "ParallelTaskProfile", "cpu": [1, 1, 1]})"),
              HasSubstr("is for 3 hosts, but the job has 2"));
  EXPECT_THAT(refusal(job, R"("p": {"type": "ParallelTaskProfile", "cpu": [1, 1]})"),
              HasSubstr("add host_flops"));
  std::string doubling = R"("p": {"type": "SequentialCompositionProfile", "seq": ["s0", "s0"]})";
  for (int i = 0; i < 20; ++i)
    doubling += ", \"s" + std::to_string(i) + R"(": {"type": "composed", "seq": ["s)" +
                std::to_string(i + 1) + "\", \"s" + std::to_string(i + 1) + "\"]}";
  doubling += R"(, "s20": {"type": "DelayProfile", "delay": 1})";
  EXPECT_THAT(refusal(job, doubling), HasSubstr("more than 10000 stages"));
}

TEST(BatsimReader, TransfersAreRefusedBeforeAllOfThemAreWrittenOut) {
  // A hundred times what may be: of each of ten thousand stages those between 200 hosts.
  std::string profiles = R"("m": {"type": "ParallelTaskProfile", "com": [1)";
  for (int i = 1; i < 200 * 200; ++i) profiles += ",1";
  profiles += R"(]}, "p": {"type": "SequentialCompositionProfile", "seq": ["m")";
  for (int i = 1; i < 10'000; ++i) profiles += R"(,"m")";
  EXPECT_THAT(refusal(R"({"id": 1, "subtime": 0, "res": 200, "profile": "p"})", profiles + "]}"),
              HasSubstr("comes to more than 4000000 transfers"));
}

// Each part looked for among all profiles, this would not end within the test's time.
TEST(BatsimReader, PartsOfSequencesAreFoundAmongManyProfiles) {
  constexpr int kSequences = 20'000;
  std::string jobs;
  std::string profiles;
  for (int i = 0; i < kSequences; ++i) {
    const std::string number = std::to_string(i);
    const std::string other = std::to_string(kSequences - 1 - i);
    if (i > 0) jobs += ",", profiles += ",";
    jobs += R"({"id": )" + number + R"(, "subtime": 0, "res": 1, "profile": "s)" + number + "\"}";
    profiles += R"("s)" + number + R"(": {"type": "composed", "seq": ["d)" + number + R"(", "d)" +
                other + R"(", "d)" + other + R"("]}, "d)" + number +
                R"(": {"type": "delay", "delay": )" + std::to_string(i + 1) + "}";
  }
  const BatsimFile file = parsed(workload(jobs, profiles));
  const auto planned_jobs = BatsimJobs::plan(file, {});
  ASSERT_TRUE(planned_jobs.has_value()) << planned_jobs.errors().front().text();
  ASSERT_EQ(planned_jobs->size(), static_cast<std::size_t>(kSequences));
  for (const int i : {0, 1, kSequences - 1})
    EXPECT_EQ(planned_jobs->make(static_cast<std::size_t>(i), 1).work.units,
              (i + 1) + 2 * (kSequences - i));
}

// Whatever delay workload is written comes back as it was.
TEST(BatsimReader, ReadsBackWhatIsWritten) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed);
    JsonText json;
    json.begin_object().field("nb_res", 1 + static_cast<int>(random.below(100)));
    json.key("jobs").begin_array();

    struct Written {
      std::string id;
      double subtime;
      int res;
      double delay;
      double walltime;
    };

    std::vector<Written> jobs;
    const int count = static_cast<int>(random.below(20));
    for (int i = 0; i < count; ++i) {
      Written job{"j" + std::to_string(i),
                  random.uniform() * 1e5,
                  static_cast<int>(random.below(64)),
                  random.uniform() * 1e4,
                  random.below(2) == 0 ? 0 : 1 + random.uniform() * 1e4};
      json.begin_object().field("id", job.id).field("subtime", job.subtime);
      json.field("res", job.res).field("profile", "d" + job.id);
      if (job.walltime > 0) json.field("walltime", job.walltime);
      json.end_object();
      jobs.push_back(std::move(job));
    }
    json.end_array().key("profiles").begin_object();
    for (const Written& job : jobs)
      json.key("d" + job.id)
          .begin_object()
          .field("type", "DelayProfile")
          .field("delay", job.delay)
          .end_object();
    json.end_object().end_object();
    const BatsimFile file = parsed(json.text());
    ASSERT_EQ(file.jobs.size(), jobs.size()) << "seed " << seed;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      EXPECT_EQ(file.jobs[i].id, jobs[i].id) << "seed " << seed;
      EXPECT_EQ(file.jobs[i].submit_s, jobs[i].subtime) << "seed " << seed;
      EXPECT_EQ(file.jobs[i].hosts, jobs[i].res) << "seed " << seed;
      EXPECT_EQ(file.jobs[i].walltime_s.value_or(0), jobs[i].walltime) << "seed " << seed;
      const auto* delay = std::get_if<BatsimDelay>(&file.profiles[file.jobs[i].profile].what);
      ASSERT_NE(delay, nullptr) << "seed " << seed;
      EXPECT_EQ(delay->seconds, jobs[i].delay) << "seed " << seed;
    }
    const auto planned_jobs = BatsimJobs::plan(file, {});
    ASSERT_TRUE(planned_jobs) << "seed " << seed;
    Instant last;
    for (std::size_t i = 0; i < planned_jobs->size(); ++i) {
      const ModelJob job = planned_jobs->make(i, 1);
      EXPECT_GE(job.submit, last) << "seed " << seed;
      last = job.submit;
    }
  }
}

}  // namespace
}  // namespace orrery::sim
