#include "sim/traces/philly_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace orrery::sim {
namespace philly_json_tests {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

Result<Trace> parse_json(const std::string& text, const TraceOptions& options = {}) {
  return parse_philly_json(text, "cluster_job_log", options);
}

/// A record with the given attempts, submitted at 02:00.
std::string record(const std::string& id, const std::string& attempts) {
  return R"({"status":"Pass","vc":"v","jobid":")" + id +
         R"(","user":"u","submitted_time":"2017-10-07 02:00:00","attempts":)" + attempts + "}";
}

std::string attempt(const std::string& start, const std::string& end, const std::string& gpus) {
  return R"({"start_time":)" + start + R"(,"end_time":)" + end +
         R"(,"detail":[{"ip":"m1","gpus":[)" + gpus + "]}]}";
}

TEST(PhillyJson, ARecordBecomesAJobWithTheSumOfItsAttempts) {
  const auto trace = parse_json(R"([{"status":"Killed","vc":"aaaaaa","jobid":"application_1_1",
    "user":"u0001","submitted_time":"2017-10-07 01:11:39","attempts":[
      {"start_time":"2017-10-07 01:12:09","end_time":"2017-10-07 01:13:09",
       "detail":[{"ip":"m4","gpus":["gpu0","gpu1"]},{"ip":"m5","gpus":["gpu7"]}]},
      {"start_time":"2017-10-07 01:20:00","end_time":"2017-10-07 02:20:00",
       "detail":[{"ip":"m4","gpus":["gpu0","gpu1","gpu2"]}]}]}])");
  ASSERT_TRUE(trace.has_value()) << trace.errors()[0].text();
  ASSERT_THAT(trace->jobs, SizeIs(1));
  const TraceJob& job = trace->jobs[0];
  EXPECT_EQ(job.name, "application_1_1");
  EXPECT_EQ(job.duration, Duration::seconds(60 + 3600));
  EXPECT_EQ(job.gpus, 3);
  EXPECT_EQ(job.vc, "aaaaaa");
  EXPECT_EQ(job.user, "u0001");
  EXPECT_EQ(job.status, TraceStatus::Killed);
  EXPECT_FALSE(job.censored);
  EXPECT_EQ(trace->report.counted(TraceReason::SeveralAttempts, TraceAction::Altered), 1U);
  EXPECT_EQ(trace->report.counted(TraceReason::SizesDiffer, TraceAction::Altered), 0U);
}

TEST(PhillyJson, MissingTimesAreCensoredNeverZero) {
  const std::string start = "\"2017-10-07 02:10:00\"";
  const std::string end = "\"2017-10-07 03:10:00\"";
  const std::string text = "[" + record("whole", "[" + attempt(start, end, "\"g\"") + "]") + "," +
                           record("open", "[" + attempt(start, "null", "\"g\"") + "]") + "," +
                           record("none", "[" + attempt("\"None\"", end, "\"g\"") + "]") + "," +
                           record("absent", R"([{"detail":[{"ip":"m","gpus":["g"]}]}])") + "]";
  const auto dropped = parse_json(text);
  ASSERT_TRUE(dropped.has_value()) << dropped.errors()[0].text();
  EXPECT_THAT(dropped->jobs, SizeIs(1));
  EXPECT_EQ(dropped->report.counted(TraceReason::Censored, TraceAction::Dropped), 3U);
  const auto kept = parse_json(text, {.censored = OddRows::Keep});
  ASSERT_THAT(kept->jobs, SizeIs(4));
  EXPECT_EQ(kept->report.counted(TraceReason::Censored, TraceAction::Kept), 3U);
  EXPECT_TRUE(kept->jobs[1].censored);
  EXPECT_EQ(kept->jobs[1].duration, Duration::seconds(3600)) << "until the last time mentioned";
  EXPECT_TRUE(kept->jobs[2].censored);
  EXPECT_EQ(kept->jobs[2].duration, Duration::seconds(1));
}

TEST(PhillyJson, JobsThatNeverStartedOrNeedNoGpuAreCounted) {
  const auto trace = parse_json(
      "[" + record("never", "[]") + "," + record("null", "null") + "," +
      record("cpu", "[" + attempt("\"2017-10-07 02:10:00\"", "\"2017-10-07 02:20:00\"", "") + "]") +
      "]");
  ASSERT_TRUE(trace.has_value()) << trace.errors()[0].text();
  EXPECT_TRUE(trace->jobs.empty());
  EXPECT_EQ(trace->report.rows, 3U);
  EXPECT_EQ(trace->report.dropped(), 3U);
  EXPECT_EQ(trace->report.counted(TraceReason::NeverStarted, TraceAction::Dropped), 2U);
  EXPECT_EQ(trace->report.counted(TraceReason::ZeroGpus, TraceAction::Dropped), 1U);
}

TEST(PhillyJson, AnAttemptThatEndsInTheRepeatedHourIsReadForward) {
  const auto trace = parse_json(
      "[" +
      record("night",
             "[" + attempt("\"2017-11-05 01:50:00\"", "\"2017-11-05 01:10:00\"", "\"g\"") + "]") +
      "]");
  ASSERT_TRUE(trace.has_value()) << trace.errors()[0].text();
  EXPECT_EQ(trace->jobs[0].duration, Duration::seconds(20 * 60));
  EXPECT_EQ(trace->report.counted(TraceReason::AmbiguousHour, TraceAction::Altered), 1U);
}

TEST(PhillyJson, SizesThatDifferAndIdsThatRepeatAreMended) {
  const std::string a = attempt("\"2017-10-07 02:10:00\"", "\"2017-10-07 02:20:00\"", "\"g\"");
  const std::string b = attempt("\"2017-10-07 02:30:00\"", "\"2017-10-07 02:30:00\"", "1,2");
  const std::string text =
      "[" + record("x", "[" + a + "," + b + "]") + "," + record("x", "[" + b + "]") + "]";
  const auto trace = parse_json(text);
  ASSERT_TRUE(trace.has_value()) << trace.errors()[0].text();
  ASSERT_THAT(trace->jobs, SizeIs(2));
  EXPECT_EQ(trace->jobs[0].gpus, 1);
  EXPECT_EQ(trace->report.counted(TraceReason::SizesDiffer, TraceAction::Altered), 1U);
  EXPECT_EQ(trace->jobs[1].name, "x-2");
  EXPECT_EQ(trace->jobs[1].duration, Duration::seconds(1));
  EXPECT_EQ(trace->report.counted(TraceReason::ZeroDuration, TraceAction::Altered), 1U);
  EXPECT_EQ(trace->report.counted(TraceReason::NameUsedBefore, TraceAction::Altered), 1U);
  EXPECT_THAT(parse_json(text, {.duplicates = OddRows::Drop})->jobs, SizeIs(2))
      << "only their ids are equal";
}

TEST(PhillyJson, OnlyRecordsThatAreEqualInEverythingAreDuplicates) {
  const std::string run =
      "[" + attempt("\"2017-10-07 02:10:00\"", "\"2017-10-07 02:20:00\"", "\"g\"") + "]";
  std::string other = record("x", run);
  other.insert(other.rfind('}'), ",\"queue\":\"late\"");
  std::string spaced = record("x", run);
  spaced.insert(spaced.find('{') + 1, " \n ");
  const std::string text = "[" + record("x", run) + "," + other + "," + spaced + "]";
  const auto kept = parse_json(text);
  ASSERT_TRUE(kept.has_value()) << kept.errors()[0].text();
  EXPECT_THAT(kept->jobs, SizeIs(3));
  EXPECT_EQ(kept->report.counted(TraceReason::NameUsedBefore, TraceAction::Altered), 1U);
  EXPECT_EQ(kept->report.counted(TraceReason::ExactDuplicate, TraceAction::Altered), 1U);
  const auto dropped = parse_json(text, {.duplicates = OddRows::Drop});
  ASSERT_THAT(dropped->jobs, SizeIs(2));
  EXPECT_EQ(dropped->jobs[1].name, "x-2");
  EXPECT_EQ(dropped->report.counted(TraceReason::ExactDuplicate, TraceAction::Dropped), 1U);
}

TEST(PhillyJson, NumbersOfIdsThatRepeatMakeNoIdOfAnother) {
  const std::string run =
      "[" + attempt("\"2017-10-07 02:10:00\"", "\"2017-10-07 02:20:00\"", "\"g\"") + "]";
  std::string text;
  for (const char* id : {"x-2", "x", "x", "x", "x-3", "x-4"})
    text += (text.empty() ? "[" : ",") + record(id, run);
  text += "]";
  const auto trace = parse_json(text);
  ASSERT_TRUE(trace.has_value()) << trace.errors()[0].text();
  std::vector<std::string> names;
  for (const TraceJob& job : trace->jobs) names.push_back(job.name);
  EXPECT_THAT(names, ElementsAre("x-2", "x", "x-3", "x-4", "x-3-2", "x-4-2"));
  EXPECT_EQ(trace->report.counted(TraceReason::ExactDuplicate, TraceAction::Altered), 2U);
  EXPECT_EQ(trace->report.counted(TraceReason::NameUsedBefore, TraceAction::Altered), 2U);
  EXPECT_THAT(parse_json(text, {.duplicates = OddRows::Drop})->jobs, SizeIs(4));
}

TEST(PhillyJson, BrokenRecordsAreReportedWithTheirLines) {
  const auto trace = parse_json(R"([
{"status":"Passed","vc":"a","jobid":"j1","user":"u","submitted_time":"2017-10-07 02:00:00",
 "attempts":[]},
{"status":"Pass","jobid":"j2",
 "submitted_time":"yesterday","attempts":[]},
{"status":"Pass","submitted_time":"2017-10-07 02:00:00","attempts":[]},
{"status":"Pass","jobid":"j4","submitted_time":"2017-10-07 02:00:00",
 "attempts":[{"start_time":"2017-10-07 03:00:00",
              "end_time":"2017-10-07 02:00:00","detail":[]}]},
{"status":"Pass","jobid":"j5","submitted_time":17,
 "attempts":{}}
])");
  ASSERT_FALSE(trace.has_value());
  const Errors& errors = trace.errors();
  ASSERT_THAT(errors, SizeIs(7));
  EXPECT_EQ(errors[0].text(),
            "cluster_job_log:2: job 'j1': found the status 'Passed', but Pass, Killed or Failed is "
            "needed; correct or delete the record");
  EXPECT_THAT(errors[1].text(), HasSubstr("cluster_job_log:5: job 'j2': found the time"));
  EXPECT_THAT(errors[2].text(), HasSubstr("cluster_job_log:6: job: the jobid is missing"));
  EXPECT_THAT(errors[3].text(), HasSubstr("cluster_job_log:9: job 'j4': the attempt ends at"));
  EXPECT_THAT(errors[4].text(),
              HasSubstr("cluster_job_log:10: job 'j5': found 17 at the key 'submitted_time', but "
                        "a string"));
  EXPECT_THAT(errors[5].text(),
              HasSubstr("cluster_job_log:11: job 'j5': found an object at the key 'attempts'"));
  EXPECT_THAT(errors[6].text(), HasSubstr("job 'j5': the submitted_time is missing"));
}

TEST(PhillyJson, DamagedJsonIsReportedWithItsLine) {
  const auto cut = parse_json("[\n{\"status\":\"Pass\",\n\"jobid\":");
  ASSERT_FALSE(cut.has_value());
  EXPECT_THAT(cut.errors().back().text(), HasSubstr("cluster_job_log:3: JSON: found"));
  EXPECT_FALSE(parse_json("").has_value());
  EXPECT_FALSE(parse_json("{}").has_value());
  EXPECT_FALSE(parse_json("[1,\"x\",[]]").has_value());
  EXPECT_THAT(parse_json("[]")->jobs, SizeIs(0));
}

TEST(PhillyJson, UnknownKeysOfAnyShapeAreIgnored) {
  const auto trace = parse_json(
      R"([{"status":"Pass","jobid":"j","submitted_time":"2017-10-07 02:00:00","more":{"a":[1,{}]},
      "note":null,"rank":5,"attempts":[{"start_time":"2017-10-07 02:00:00",
      "end_time":"2017-10-07 02:01:00","x":[[]],"detail":[{"ip":"m","gpus":["g"],"y":{}}]}]}])");
  ASSERT_TRUE(trace.has_value()) << trace.errors()[0].text();
  EXPECT_EQ(trace->jobs[0].duration, Duration::seconds(60));
  EXPECT_EQ(trace->jobs[0].gpus, 1);
}

}  // namespace philly_json_tests
}  // namespace orrery::sim
