// Traces of every format as workloads: what jobs ask the cluster for, and whole runs.
#include "sim/run/trace_jobs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "policies/fifo.hpp"
#include "scenarios/language/loader.hpp"
#include "sim/run/filling.hpp"
#include "sim/run/run.hpp"
#include "sim/traces/formats.hpp"

namespace orrery::sim {
namespace {

using scenarios::Scenario;
using scenarios::TraceWorkload;
using testing::HasSubstr;

/// A folder that is gone with the test.
class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              ("orrery_trace_jobs_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }

  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

Scenario scenario_of(const std::string& yaml) {
  auto scenario = scenarios::parse_scenario(yaml, "test.yaml");
  if (scenario) return *std::move(scenario);
  ADD_FAILURE() << scenario.errors().front().text();
  return {};
}

constexpr const char* kMixedCluster =
    "policy: fifo\n"
    "cluster:\n"
    "  groups:\n"
    "    - {name: big, nodes: 2, gpus_per_node: 8, gpu: V100, cpu: 96, memory: 512GiB}\n"
    "    - {name: small, nodes: 3, gpus_per_node: 2, gpu: T4, cpu: 64, memory: 256GiB}\n";

Scenario on_mixed_cluster(const std::string& workload) {
  return scenario_of(kMixedCluster + ("workload: " + workload));
}

TraceJob job_of(int gpus, std::int64_t gpu_milli, int instances) {
  TraceJob job;
  job.gpus = gpus;
  job.gpu_milli = gpu_milli;
  job.instances = instances;
  return job;
}

TEST(TraceRequests, InstancesAreWorkersWhereTheyFit) {
  const Scenario scenario = on_mixed_cluster("{format: swf, file: f}");
  const TraceRequests requests(scenario, {});
  const auto shape = [&](int gpus, int instances) {
    const RoleSpec role = requests.role_of(job_of(gpus, 1000 * gpus, instances), nullptr);
    return std::pair(role.min_replicas, role.bundle.devices);
  };
  EXPECT_EQ(shape(6, 3), std::pair(3, 2));
  EXPECT_EQ(shape(8, 1), std::pair(1, 8));
  EXPECT_EQ(shape(32, 2), std::pair(4, 8)) << "16 devices are on no node";
  EXPECT_EQ(shape(7, 2), std::pair(1, 7)) << "not divisible";
  EXPECT_EQ(shape(12, 1), std::pair(3, 4));
  EXPECT_EQ(shape(0, 5), std::pair(5, 0));
}

TEST(TraceRequests, PartsOfOneDeviceAreSharesAndOfSeveralAreWhole) {
  const Scenario scenario = on_mixed_cluster("{format: openb, file: f}");
  const TraceRequests requests(scenario, {});
  TraceRequests::Notes notes;
  const RoleSpec half = requests.role_of(job_of(2, 1000, 2), &notes);
  EXPECT_EQ(half.min_replicas, 2);
  EXPECT_EQ(half.bundle.devices, 1);
  EXPECT_EQ(half.bundle.share.thousandths, 500);
  EXPECT_FALSE(notes.parts_as_whole);
  const RoleSpec more = requests.role_of(job_of(3, 2500, 1), &notes);
  EXPECT_EQ(more.bundle.devices, 3);
  EXPECT_TRUE(more.bundle.share.is_whole());
  EXPECT_TRUE(notes.parts_as_whole);
}

TEST(TraceRequests, CoresAndMemoryAreDividedAmongTheWorkers) {
  const Scenario scenario = on_mixed_cluster("{format: openb, file: f}");
  TraceJob job = job_of(4, 4000, 4);
  job.cpu_milli = 10'001;
  job.memory_mib = 8192;
  const RoleSpec role = TraceRequests(scenario, {}).role_of(job, nullptr);
  EXPECT_EQ(role.bundle.cpu.count, 2501);
  EXPECT_EQ(role.bundle.memory.count, std::int64_t{2048} * 1024 * 1024);
  const RoleSpec bare = TraceRequests(scenario, {.host_resources = false}).role_of(job, nullptr);
  EXPECT_EQ(bare.bundle.cpu.count, 0);
  EXPECT_EQ(bare.bundle.memory.count, 0);
}

TEST(TraceRequests, OfTheAcceptedModelsThatOfMostDevicesIsAskedFor) {
  const Scenario scenario = on_mixed_cluster("{format: openb, file: f}");
  const TraceRequests requests(scenario, {});
  const auto model = [&](const std::string& accepted, TraceRequests::Notes& notes) {
    TraceJob job = job_of(1, 1000, 1);
    job.models = accepted;
    return requests.role_of(job, &notes).bundle.device_model;
  };
  TraceRequests::Notes notes;
  EXPECT_EQ(model("", notes), "");
  EXPECT_FALSE(notes.no_model);
  EXPECT_EQ(model("T4|P100", notes), "T4");
  EXPECT_FALSE(notes.one_model);
  EXPECT_EQ(model("T4|V100|V100", notes), "V100");
  EXPECT_TRUE(notes.one_model);
  EXPECT_EQ(model("P100|V100M32", notes), "");
  EXPECT_TRUE(notes.no_model);
}

/// One run under FIFO.
Summary run(const Scenario& scenario) {
  const auto workload = LoadedWorkload::load(scenario);
  if (!workload) {
    ADD_FAILURE() << workload.errors().front().text();
    return {};
  }
  policies::Fifo policy;
  const auto report = run_model(scenario, *workload, policy, {});
  if (report) return report->summary;
  ADD_FAILURE() << report.errors().front().text();
  return {};
}

/// A small trace of each format; three jobs that can run, and whatever is odd.
std::map<std::string, std::string> samples() {
  return {
      {"orrery", "name,submit_s,duration_s,gpus\na,5,10,1\nA,6,10,8\nb_b,7,10,0\n"},
      {"philly",
       "timestamp,duration,num_gpus,cluster\n2017-10-03 00:00:00,60,1,a\n"
       "2017-10-03 00:00:10,30,2,b\n2017-10-03 00:00:10,30,0,b\n"},
      {"openb",
       "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
       "deletion_time,scheduled_time\n"
       "a,6000,12288,1,460,T4|P100,BE,Succeeded,50,180,60\n"
       "b,6000,12288,8,1000,,LS,Failed,55,180,60\n"
       "c,1000,1024,0,0,,LS,Running,55,180,60\n"
       "d,1000,1024,0,0,,LS,Running,55,190,60\n"
       "e,1000,1024,1,1000,,LS,Pending,55,180,\n"},
      {"helios",
       "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time\n"
       "1,u,v,16,64,2,COMPLETED,2020-06-09 08:00:00,2020-06-09 08:00:00,2020-06-09 08:00:10\n"
       "2,u,v,1,4,1,FAILED,2020-06-09 08:00:00,2020-06-09 08:00:00,2020-06-09 08:00:10\n"
       "3,u,v,0,4,1,FAILED,2020-06-09 08:00:00,2020-06-09 08:00:00,2020-06-09 08:00:10\n"},
      {"acme",
       "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time\n"
       "x,u,1,8,64,SFT,COMPLETED,2023-03-01 08:00:00+08:00,2023-03-01 08:00:00+08:00,2023-03-01 "
       "08:01:00+08:00\n"
       "y,u,1,8,64,SFT,CANCELLED,2023-03-01 00:00:00+00:00,2023-03-01 00:00:00+00:00,2023-03-01 "
       "00:01:00+00:00\n"
       "z,u,2,0,64,SFT,CANCELLED,2023-03-01 00:00:00+00:00,2023-03-01 00:00:00+00:00,2023-03-01 "
       "00:01:00+00:00\n"},
      {"pai-sample",
       "job_id,user,num_inst,num_gpu,num_cpu,gpu_type,submit_time,duration\n"
       "0,u1,1,0.5,6.0,T4,0,420\n1,u1,2,0.25,4.0,MISC,12,95\n2,u7,1,8.0,64.0,V100,60,864\n"},
      {"pai",
       "jobA,i1,u1,Terminated,1000,1400\njobB,i2,u1,Failed,1010,1025\n"
       "jobC,i3,u2,Terminated,1100,1120\njobD,i4,u2,Running,1100,\n"},
      {"gavel",
       "A\tc\td\t-s\t1\t400\t2\t1\t-1\t0\nA\tc\td\t-s\t1\t400\t1\t1\t-1\t0\n"
       "A\tc\td\t-s\t1\t400\t1\t1\t-1\t5\nB\tc\td\t-s\t1\t400\t1\t1\t-1\t5\n"},
      {"swf",
       "1 0 0 5 4 -1 -1 -1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n"
       "2 0 0 5 4 -1 -1 16 9 -1 1 -1 -1 -1 -1 -1 -1 -1\n"
       "3 9 0 5 1 -1 -1 1 9 -1 1 -1 -1 -1 -1 -1 -1 -1\n"},
  };
}

/// Writes the tables beside the samples; the path of the speeds.
std::string write_tables(const Folder& folder) {
  folder.write("pai_task_table.csv",
               "jobA,ps,1,Terminated,1000,1400,600,29.3,,\n"
               "jobA,worker,2,Terminated,1004,1400,400,14.6,50,T4\n"
               "jobB,worker,1,Failed,1012,1025,600,29.3,25,MISC\n"
               "jobC,worker,2,Terminated,1100,1120,800,58.6,100,V100\n"
               "jobD,worker,1,Running,1100,,800,58.6,100,V100\n");
  return folder.write("speeds.json",
                      "{\"v100\": {\"('A', 1)\": {\"null\": 4}, \"('A', 2)\": {\"null\": 8}}}");
}

TEST(TraceWorkloads, EveryFormatRuns) {
  const Folder folder;
  const std::string speeds = write_tables(folder);
  for (const auto& [format, text] : samples()) {
    const std::string file = folder.write(format + ".trace", text);
    const Scenario scenario =
        on_mixed_cluster("{format: " + format + ", file: " + file +
                         (format == "gavel" ? ", throughputs: " + speeds : "") + "}");
    const Summary summary = run(scenario);
    EXPECT_EQ(summary.jobs_total, 3U) << format;
    EXPECT_EQ(summary.jobs_finished, 3U) << format;
    std::uint64_t dropped = 0;
    for (const ReasonCount& count : summary.workload.dropped) dropped += count.rows;
    EXPECT_EQ(summary.workload.rows_read, 3 + dropped) << format;
  }
}

TEST(TraceWorkloads, EveryFormatOfTheLanguageIsRead) {
  for (const scenarios::TraceFormat& format : scenarios::kTraceFormats) {
    if (format.name == "philly-json") continue;
    EXPECT_TRUE(samples().contains(std::string(format.name)))
        << format.name << " is run by no test";
  }
}

TEST(TraceWorkloads, AByteOrderMarkAndLinesOfOldMacsCostNoJob) {
  const Folder folder;
  const std::string speeds = write_tables(folder);
  for (const auto& [format, text] : samples()) {
    const auto jobs_of = [&](const std::string& written) {
      const Scenario scenario =
          on_mixed_cluster("{format: " + format + ", file: " + folder.write("f", written) +
                           (format == "gavel" ? ", throughputs: " + speeds : "") + "}\n");
      WorkloadAccount account;
      const auto trace = load_trace(scenario, std::get<TraceWorkload>(scenario.workload), account);
      EXPECT_TRUE(trace) << format << ": " << trace.errors().front().text();
      return trace ? trace->report.text() : "";
    };
    const std::string plain = jobs_of(text);
    EXPECT_EQ(jobs_of("\xef\xbb\xbf" + text), plain);
    std::string old = text;
    std::ranges::replace(old, '\n', '\r');
    EXPECT_EQ(jobs_of(old), plain);
  }
}

TEST(TraceWorkloads, WhatTheClusterCannotBeAskedForIsCounted) {
  const Folder folder;
  const std::string file =
      folder.write("openb.csv",
                   "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
                   "creation_time,deletion_time,scheduled_time\n"
                   "a,1,1,1,460,P100,BE,Succeeded,50,180,60\n"
                   "b,1,1,1,460,T4|V100,BE,Succeeded,51,180,60\n"
                   "c,1,1,1,460,T4|V100,BE,Succeeded,52,180,60\n");
  const Summary summary = run(on_mixed_cluster("{format: openb, limit: 2, file: " + file + "}"));
  std::map<std::string, std::uint64_t> altered;
  for (const ReasonCount& count : summary.workload.altered) altered[count.reason] = count.rows;
  EXPECT_EQ(altered["one of several device models"], 1U);
  EXPECT_EQ(altered["device model that the cluster lacks"], 1U);
  EXPECT_EQ(summary.workload.dropped, (std::vector<ReasonCount>{{"beyond-limit", 1}}));
}

TEST(TraceWorkloads, AJobTooShortForAStepMakesOne) {
  const Folder folder;
  const std::string speeds =
      folder.write("speeds.json", R"x({"v100": {"('A', 1)": {"null": 0.3}}})x");
  const std::string file = folder.write("short.trace",
                                        "A\tc\td\t-s\t0\t1\t1\tstatic\t1\t-1\t1\t0\n"
                                        "A\tc\td\t-s\t0\t1\t1\tstatic\t1\t-1\t1.5\t0\n"
                                        "A\tc\td\t-s\t0\t1\t1\tstatic\t1\t-1\t30\t0\n");
  for (const std::string timing : {"gavel", "simple"}) {
    const Summary summary =
        run(scenario_of("policy: fifo\ntiming: " + timing +
                        "\nuntil: 10000s\ncluster: {nodes: 1, gpus_per_node: 4, gpu: v100}\n"
                        "workload: {format: gavel, file: " +
                        file + ", throughputs: " + speeds + "}\n"));
    EXPECT_EQ(summary.jobs_finished, 3U) << timing;
    EXPECT_GE(summary.jct_avg_s, (3.3 + 3.3 + 30) / 3) << timing;
    EXPECT_EQ(summary.workload.altered,
              (std::vector<ReasonCount>{{"time too short for a step, taken as one", 2}}))
        << timing;
  }
}

TEST(TraceWorkloads, JobsThatFillTheClusterComeInOrderOfADrawAndStay) {
  const Folder folder;
  std::string text =
      "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
      "creation_time,deletion_time,scheduled_time\n";
  for (int i = 0; i < 20; ++i)  // The third of them never ran: times do not count.
    text += "t" + std::to_string(i) + ",1,1," + (i % 2 == 0 ? "1,500" : "2,1000") +
            ",,BE,Pending,5,9,\n";
  const Scenario scenario = scenario_of(
      "policy: fifo\nplacer: fgd\ncluster: {groups: [{name: g, nodes: 2, gpus_per_node: 8}]}\n"
      "workload: {format: openb, fill: 2, file: " +
      folder.write("fill.csv", text) + "}\n");
  const Summary summary = run(scenario);
  // 20 jobs ask for 25 devices, more are drawn until 32 are reached.
  EXPECT_GT(summary.jobs_total, 22U);
  EXPECT_EQ(summary.jobs_finished, 0U);
  EXPECT_GT(summary.jobs_failed, 0U) << "there is no room for more than 16";
  ASSERT_FALSE(summary.arrivals.empty());
  const ArrivalPoint& last = summary.arrivals.back();
  EXPECT_GE(last.arrived_pct, 191);
  EXPECT_LE(last.arrived_pct, 206);
  EXPECT_GE(last.allocated_pct, 96);
  EXPECT_GT(summary.fragmentation_max, 0);
  for (std::size_t i = 1; i < summary.arrivals.size(); ++i)
    EXPECT_GT(summary.arrivals[i].arrived_pct, summary.arrivals[i - 1].arrived_pct);
  EXPECT_EQ(run(scenario).state_digest, summary.state_digest);
}

TEST(TraceWorkloads, TheOrderOfFillingIsThatOfTheExperiments) {
  std::vector<TraceJob> jobs(6);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].name = std::string(1, static_cast<char>('f' - i));
    jobs[i].gpus = i < 3 ? 1 : 4;
    jobs[i].gpu_milli = i < 3 ? 500 : 4000;
  }
  const auto order = [&](std::uint64_t seed, double fill) {
    return filling_order(jobs, fill, 10, Random(seed));
  };
  const auto asked = [&](const std::vector<std::size_t>& of) {
    std::int64_t sum = 0;
    for (const std::size_t i : of) sum += jobs[i].gpu_milli;
    return sum;
  };
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::vector<std::size_t> more = order(seed, 4);
    EXPECT_EQ(more, order(seed, 4));
    // A job of four counts as one device where the end is looked for.
    EXPECT_GT(asked(more), 39'000);
    EXPECT_LE(asked(more), 43'000);
    std::vector<std::size_t> first(more.begin(), more.begin() + 6);
    std::sort(first.begin(), first.end());
    EXPECT_EQ(first, (std::vector<std::size_t>{0, 1, 2, 3, 4, 5})) << "each once before any again";
    std::vector<std::size_t> fewer = order(seed, 0.9);
    EXPECT_LE(asked(fewer), 9'000);
    std::sort(fewer.begin(), fewer.end());
    EXPECT_EQ(std::unique(fewer.begin(), fewer.end()), fewer.end());
  }
  EXPECT_NE(order(1, 4), order(2, 4));
}

TEST(TraceWorkloads, AMissingTableIsToldWithItsKey) {
  const Folder folder;
  const std::string file = folder.write("jobs.trace", samples()["gavel"]);
  const auto workload = LoadedWorkload::load(
      on_mixed_cluster("{format: gavel, throughputs: /nowhere.json, file: " + file + "}"));
  ASSERT_FALSE(workload.has_value());
  EXPECT_THAT(workload.errors().front().text(),
              HasSubstr("/nowhere.json: workload.throughputs: cannot be read"));
}

TEST(TraceWorkloads, ThePublicTracesRun) {
  const std::filesystem::path traces =
      std::filesystem::path(ORRERY_SOURCE_ROOT) / "../shared/traces";
  if (!std::filesystem::exists(traces / "swf")) GTEST_SKIP() << "no traces at ../shared/traces";
  const std::map<std::string, std::uint64_t> wanted = {
      {"{format: swf, file: T/swf/easy_mediumWL_smallPF.swf}", 800},
      {"{format: openb, limit: 500, file: T/alibaba_openb_2023/openb_pod_list_default.csv}", 500},
      {"{format: gavel, file: T/gavel/shockwave_tacc32/120_multigpu_dynamic.trace}", 120},
      {"{format: gavel, file: T/gavel/traces/physical_cluster/max_min_fairness.trace, throughputs: "
       "T/gavel/throughputs/simulation_throughputs.json, speeds_of: p100}",
       96},
  };
  for (const auto& [workload, jobs] : wanted) {
    std::string text = workload;
    for (std::size_t at = 0; (at = text.find("T/", at)) != std::string::npos;)
      text.replace(at, 1, traces.string()), at += traces.string().size();
    const Summary summary = run(on_mixed_cluster(text));
    EXPECT_EQ(summary.jobs_finished, jobs) << workload;
  }
}

}  // namespace
}  // namespace orrery::sim
