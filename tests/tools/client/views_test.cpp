#include "tools/client/views.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace orrery::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Views, NamesOfTheDefaultNamespaceAreShort) {
  EXPECT_EQ(short_name("default.train"), "train");
  EXPECT_EQ(short_name("lab.train"), "lab.train");
}

TEST(Views, TimesAreUtcAndNoTimeIsADash) {
  EXPECT_EQ(time_in_utc(1'700'000'000'000'000'000), "2023-11-14 22:13:20");
  EXPECT_EQ(time_in_utc(0), "-");
  EXPECT_EQ(span_in_words(0, 5), "-");
  EXPECT_EQ(span_in_words(1'000'000'000, 201'000'000'000), "3 min 20 s");
}

TEST(Views, DevicesOfAMemberAreRunsOfNumbers) {
  const json members = json::parse(
      R"([{"rank":0,"role":"learner","local_rank":0,"state":"Running","node":"n0",
           "devices":[0,1,2,3,6],"address":"10.0.0.1","first_port":22270}])");
  const std::string table = members_table(members, {});
  EXPECT_THAT(table, HasSubstr("0-3,6"));
  EXPECT_THAT(table, HasSubstr("10.0.0.1:22270"));
}

// A policy had made the job larger than it must be at least, and ten of one were ready.
TEST(Views, OfAnElasticJobTheTargetIsWhatWasGranted) {
  const json job = json::parse(
      R"({"name":"default.a","phase":"Running","ready_replicas":9,"target":2,"replicas":11,
          "roles":[{"name":"worker","target":1,"starting":1,"ready":8,"draining":0,"succeeded":0,
                    "failed":1},
                   {"name":"waits","target":3,"starting":0,"ready":0,"draining":0,"succeeded":0,
                    "failed":0}]})");
  EXPECT_EQ(ready_text(job), "9/11");
  EXPECT_THAT(jobs_table(json::array({job}), {}), HasSubstr("9/11"));
  EXPECT_THAT(job_page(job, {}), HasSubstr("9/11 replicas"));
  EXPECT_THAT(job_page(job, {}), testing::ContainsRegex("worker +10 +1 +8 +0"));
  EXPECT_THAT(job_page(job, {}), testing::ContainsRegex("waits +3 +0 +0 +0"));
  EXPECT_EQ(ready_text(json::parse(R"({"ready_replicas":0,"target":4,"replicas":0})")), "0/4");
}

TEST(Views, WhatIsMissingOrOfAnotherKindIsADash) {
  const json jobs = json::parse(R"([{"name":"default.a","phase":7,"roles":"none"},{},3])");
  EXPECT_THAT(jobs_table(jobs, {}), HasSubstr("a    7"));
  EXPECT_THAT(job_page(json::object(), {}), HasSubstr("phase:"));
  EXPECT_THAT(node_page(json::object(), {}), HasSubstr("devices:"));
}

TEST(Views, ExpectedStartsAreAColumnWhereThereAreAny) {
  EXPECT_EQ(expected_text(0, 5), "");
  EXPECT_EQ(expected_text(5, 5), "now");
  EXPECT_EQ(expected_text(201'000'000'000, 1'000'000'000), "in 3 min 20 s");
  json jobs = json::parse(R"([{"name":"default.a","phase":"Running","expected_start":null},
                              {"name":"default.b","phase":"Pending","message":"waits"}])");
  EXPECT_THAT(jobs_table(jobs, {}), Not(HasSubstr("expected")));
  jobs[1]["expected_start"] = now_ns() + 3'600'000'000'000;
  EXPECT_THAT(jobs_table(jobs, {}), HasSubstr("expected"));
  EXPECT_THAT(jobs_table(jobs, {}), testing::ContainsRegex("in (59 min|1 h).*  waits"));
  EXPECT_THAT(jobs_table(jobs, {}, true), testing::ContainsRegex("in (59 min|1 h).*  waits"));
}

// Right after a restart "step_time_s:" stood there, with nothing behind it.
TEST(Views, ProfilingsThatNoWorkerHasReportedYetAreNotShown) {
  const json job = json::parse(
      R"({"profilings":[{"key":"step_time_s","latest":[]},
                        {"key":"loss","latest":[{"rank":1,"value":0.5}]}]})");
  EXPECT_THAT(job_page(job, {}), HasSubstr("profilings (rank=value)\n  loss: 1=0.5\n"));
  EXPECT_THAT(job_page(json::parse(R"({"profilings":[{"key":"step_time_s","latest":[]}]})"), {}),
              Not(HasSubstr("profilings")));
}

// Of a phase that was over the time of its end was told as that of its begin.
TEST(Views, APhaseThatIsOverHasItsEnd) {
  const json job = json::parse(
      R"({"conditions":[{"phase":"Running","status":false,"since":1700000000000000000,
                         "reason":"AllReady"},
                        {"phase":"Failed","status":true,"since":1700000000000000000,
                         "reason":"StoppedByUser"}]})");
  EXPECT_THAT(job_page(job, {}),
              HasSubstr("  Running until 2023-11-14 22:13:20, entered by AllReady\n"
                        "  Failed (now) since 2023-11-14 22:13:20: StoppedByUser\n"));
}

TEST(Views, WhatAWorkerWroteIsNotObeyedByATerminal) {
  const json job = json::parse(
      R"({"name":"default.a","phase":"Failed","message":"the last: \u001b[31mred",
          "failures":[{"at":1,"message":"main 0\u0000","last_lines":"\u001b]0;x\u0007\tone\r\ntwo\u009b1mé"}]})");
  const json event = json::parse(R"({"at":1,"name":"WorkerTrouble","message":"a\u001b[2J\nb"})");
  EXPECT_EQ(failure_text(job), "  main 0?; it wrote last:\n    ?]0;x?\tone?\n    two?1mé\n");
  EXPECT_THAT(event_line(event, false), HasSubstr("a?[2J\n    b"));
  EXPECT_THAT(jobs_table(json::array({job}), {}), HasSubstr("the last: ?[31mred"));
  EXPECT_THAT(job_page(job, {}), HasSubstr("    ?]0;x?\tone?\n    two?1mé\n"));
  EXPECT_EQ(job_page(job, {}).find('\x1b'), std::string::npos);
}

TEST(Views, AWarningIsColouredOnATerminalOnly) {
  const json event = json::parse(
      R"({"at":1700000000000000000,"job":"default.a","node":"n1","severity":"Warning",
          "name":"JobRestarting","message":"a worker failed"})");
  EXPECT_THAT(event_line(event, true), HasSubstr("\x1b[33mJobRestarting"));
  EXPECT_THAT(event_line(event, false), Not(HasSubstr("\x1b")));
  EXPECT_THAT(event_line(event, false),
              HasSubstr("2023-11-14 22:13:20  a on n1  JobRestarting  a worker failed"));
}

}  // namespace
}  // namespace orrery::cli
