// No job table of PAI is here, so all rows are invented after their description.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/traces/pai_sample.hpp"
#include "sim/traces/pai_tables.hpp"
#include "tests/sim/traces/shared_trace.hpp"

namespace orrery::sim {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

/// The tables of a few jobs.
struct Tables {
  TraceFile jobs{"", "pai_job_table.csv", ""};
  TraceFile tasks{"tasks", "pai_task_table.csv", ""};
  TraceFile groups{"groups", "pai_group_tag_table.csv", ""};
  TraceFile instances{"instances", "pai_instance_table.csv", ""};

  Result<Trace> parse(const TraceOptions& options = kKeepAll) const {
    return parse_pai_tables(
        {.jobs = &jobs, .tasks = &tasks, .groups = &groups, .instances = &instances}, options);
  }
};

Tables sample() {
  Tables tables;
  tables.jobs.text =
      "jobA,i1,u1,Terminated,1000.0,1400.0\n"
      "jobB,i2,u1,Failed,1010.0,1025.0\n"
      "jobC,i3,u2,Running,1100.0,\n"
      "jobD,i4,u2,Waiting,1130.0,\n";
  tables.tasks.text =
      "jobA,ps,1.0,Terminated,1000.0,1400.0,600.0,29.3,,\n"
      "jobA,worker,2.0,Terminated,1004.0,1400.0,400.0,14.6,50.0,T4\n"
      "jobB,tensorflow,1.0,Failed,1012.0,1025.0,600.0,29.3,25.0,MISC\n"
      "jobC,worker,16.0,Running,1100.0,,800.0,58.6,100.0,V100\n"
      "jobD,worker,1.0,Waiting,,,300.0,9.8,100.0,\n"
      "jobZ,worker,1.0,Waiting,,,300.0,9.8,100.0,\n";
  tables.groups.text = "i1,u1,P100,g1,ctr\ni3,u2,,g2,\n";
  return tables;
}

TEST(PaiTables, TasksOfAJobAreAddedAndInstancesMultiplied) {
  const auto trace = sample().parse();
  expect_accounted(trace);
  ASSERT_THAT(trace->jobs, SizeIs(3));
  const TraceJob& a = trace->jobs[0];
  EXPECT_EQ(a.name, "jobA");
  EXPECT_EQ(a.gpus, 2) << "two instances with half a GPU each";
  EXPECT_EQ(a.gpu_milli, 1000);
  EXPECT_EQ(a.instances, 2);
  EXPECT_EQ(a.cpu_milli, 6000 + 2 * 4000);
  EXPECT_EQ(a.memory_mib, 30'003 + 2 * 14'950);
  EXPECT_EQ(a.models, "P100") << "what was asked for, not what was given";
  EXPECT_EQ(a.kind, "ctr");
  EXPECT_EQ(a.status, TraceStatus::Pass);
  EXPECT_EQ(a.duration, Duration::seconds(400));
  EXPECT_EQ(trace->report.counted(TraceReason::SeveralTasks, TraceAction::Altered), 1U);
  EXPECT_EQ(trace->jobs[1].gpu_milli, 250);
  EXPECT_EQ(trace->jobs[1].waited, Duration::seconds(2));
  EXPECT_EQ(trace->jobs[1].models, "MISC");
}

TEST(PaiTables, WhatHasNoEndIsCensoredAndWhatHasNoStartDropped) {
  const auto trace = sample().parse();
  expect_accounted(trace);
  EXPECT_EQ(trace->report.rows, 5U) << "four jobs, and a task of none";
  EXPECT_EQ(trace->report.counted(TraceReason::NeverStarted, TraceAction::Dropped), 1U);
  EXPECT_EQ(trace->report.counted(TraceReason::NoJob, TraceAction::Dropped), 1U);
  EXPECT_TRUE(trace->jobs[2].censored);
  EXPECT_EQ(trace->jobs[2].gpus, 16);
  EXPECT_EQ(trace->jobs[2].duration, Duration::seconds(300)) << "until 1400";
  const auto dropped = sample().parse({});
  expect_accounted(dropped);
  EXPECT_THAT(dropped->jobs, SizeIs(2));
}

TEST(PaiTables, InstancesTellTheStartWhereTasksDoNot) {
  Tables tables = sample();
  tables.instances.text =
      "jobA,worker,w0,n,i1,Terminated,1300.0,1400.0,m1\n"
      "jobD,worker,w0,n,i4,Running,1140.0,,m1\n"
      "jobD,worker,w1,n,i4,Running,1138.0,,m2\n";
  const auto trace = tables.parse();
  expect_accounted(trace);
  ASSERT_THAT(trace->jobs, SizeIs(4));
  EXPECT_EQ(trace->jobs[0].duration, Duration::seconds(400));
  EXPECT_EQ(trace->jobs[3].waited, Duration::seconds(8));
}

TEST(PaiTables, ErrorsNameTheirTable) {
  Tables tables = sample();
  tables.jobs.text += "jobE,i5,u,Lost,1,2\n";
  tables.tasks.text += "jobA,ps,1.5,Running,,,1,1,1,\n";
  const auto trace = tables.parse();
  ASSERT_FALSE(trace.has_value());
  ASSERT_THAT(trace.errors(), SizeIs(2));
  EXPECT_THAT(trace.errors()[0].text(), HasSubstr("pai_job_table.csv:5: status: found 'Lost'"));
  EXPECT_THAT(trace.errors()[1].text(), HasSubstr("pai_task_table.csv:7: inst_num: found '1.5'"));
}

TEST(PaiSample, RequestsAreOfOneInstance) {
  const auto trace = parse_pai_sample(
      "job_id,user,num_inst,num_gpu,num_cpu,gpu_type,submit_time,duration,wait_time,user_dur,"
      "group_dur,group_gpu_dur\n"
      "0,u1,1,0.5,6.0,T4,0,420,3,510.2,433.0,430.5\n"
      "1,u1,2,0.25,4.0,MISC,12,95,0,510.2,90.1,\n"
      "2,u7,,8.0,64.0,V100,60,-5,900,7200.0,,\n"
      "3,u9,1,,4.0,CPU,61,30,0,,,\n"
      "4,u7,16,2.5,8.0,V100,,3600,40,7200.0,3500.0,3550.0\n",
      "sample.csv",
      kKeepAll);
  expect_accounted(trace);
  ASSERT_THAT(trace->jobs, SizeIs(5));
  EXPECT_EQ(trace->jobs[0].gpu_milli, 500);
  EXPECT_EQ(trace->jobs[0].estimate, Duration::milliseconds(430'500));
  const TraceJob& blank_submit = trace->jobs[1];
  EXPECT_EQ(blank_submit.name, "4");
  EXPECT_EQ(blank_submit.submit.in_seconds(), 1);
  EXPECT_EQ(blank_submit.gpus, 48) << "2.5 GPUs hold three";
  EXPECT_EQ(blank_submit.gpu_milli, 40'000);
  EXPECT_EQ(trace->jobs[2].gpu_milli, 500);
  EXPECT_EQ(trace->jobs[2].gpus, 2);
  EXPECT_EQ(trace->jobs[2].cpu_milli, 8000);
  EXPECT_EQ(trace->jobs[2].estimate, Duration::milliseconds(90'100));
  EXPECT_EQ(trace->jobs[3].duration, Duration::seconds(1));
  EXPECT_EQ(trace->jobs[3].estimate, Duration::seconds(7200));
  EXPECT_EQ(trace->jobs[4].gpus, 0);
  EXPECT_EQ(trace->jobs[4].models, "");
  EXPECT_EQ(trace->report.counted(TraceReason::ZeroGpus, TraceAction::Kept), 1U);
}

}  // namespace
}  // namespace orrery::sim
