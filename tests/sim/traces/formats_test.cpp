#include "sim/traces/formats.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "sim/traces/gavel_throughputs.hpp"
#include "sim/traces/lanl_failures.hpp"
#include "sim/traces/node_list.hpp"
#include "tests/sim/traces/shared_trace.hpp"

namespace orrery::sim {
namespace {

std::string recognised(std::string_view text) {
  const TraceFormat* format = recognise_trace(text);
  return format == nullptr ? "" : std::string(format->name);
}

TEST(TraceFormats, EachIsRecognisedByHowItBegins) {
  EXPECT_EQ(recognised("name,submit_s,duration_s,gpus\n"), "orrery");
  EXPECT_EQ(recognised("timestamp,duration,num_gpus,gpu_time,cluster\n"), "philly");
  EXPECT_EQ(recognised(" [{}]"), "philly-json");
  EXPECT_EQ(recognised("name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"), "openb");
  EXPECT_EQ(recognised("\xef\xbb\xbfjob_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time\n"),
            "helios");
  EXPECT_EQ(recognised("job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,gpu_time\n"),
            "acme");
  EXPECT_EQ(recognised("job_id,user,num_inst,num_gpu,num_cpu,gpu_type,submit_time,duration\n"),
            "pai-sample");
  EXPECT_EQ(recognised("jobA,i1,u1,Terminated,1000.0,1400.0\n"), "pai");
  EXPECT_EQ(recognised("a\tb\tc\t1\t2\t3\t4\n"), "gavel");
  EXPECT_EQ(recognised("\n; Version: 2.2\n"), "swf");
  EXPECT_EQ(recognised(" 1 0 0 5 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n"), "swf");
  EXPECT_EQ(recognised("name: scenario\n"), "");
  EXPECT_EQ(recognised(""), "");
}

TEST(TraceFormats, QuotedHeadersAreRecognisedAndQuotedFieldsRead) {
  const std::string header = "\"name\",\"submit_s\",\"duration_s\",\"gpus\"\n";
  EXPECT_EQ(recognised(header), "orrery");
  EXPECT_EQ(recognised("\"name\",\"cpu_milli\",\"memory_mib\",\"num_gpu\",\"gpu_milli\"\n"),
            "openb");
  EXPECT_EQ(recognised("\"jobA\",\"i1\",\"u1\",\"Terminated\",\"1000.0\",\"1400.0\"\n"), "pai");
  const TraceFormat& orrery = *find_trace_format("orrery");
  const auto read = [&](const std::string& rows) {
    return read_trace(orrery, "t.csv", header + rows, "", {}, {});
  };
  const auto trace = read("\"a\",\"5\", \"10\" ,1\nb,6,10,\"2\"\n");
  expect_accounted(trace);
  ASSERT_EQ(trace->jobs.size(), 2U);
  EXPECT_EQ(trace->jobs[0].name, "a");
  EXPECT_EQ(trace->jobs[1].gpus, 2);
  for (const std::string row : {"\"a,b\",5,10,1\n", "\"a\"\"b\",5,10,1\n", "\"a,5,10,1\n"}) {
    const auto refused = read(row);
    ASSERT_FALSE(refused.has_value()) << row;
    ASSERT_EQ(refused.errors().size(), 1U);
    EXPECT_NE(refused.errors()[0].text().find("in which double quotes"), std::string::npos);
    EXPECT_EQ(refused.errors()[0].line, 2);
  }
}

TEST(TraceFormats, NamesAreUniqueAndFound) {
  std::set<std::string_view> names;
  for (const TraceFormat& format : trace_formats()) {
    EXPECT_TRUE(names.insert(format.name).second) << format.name;
    EXPECT_EQ(find_trace_format(format.name), &format);
    EXPECT_FALSE(format.what.empty());
  }
  EXPECT_EQ(find_trace_format("filly"), nullptr);
}

TEST(TraceFormats, TablesLieInTheFolderOfTheTrace) {
  const std::map<std::string, std::string> files = {
      {"d/pai_task_table.csv", "jobA,worker,1,Terminated,1001,1400,600,29,100,T4\n"}};
  const auto read = [&](const std::string& path, std::string_view) -> Result<std::string> {
    const auto found = files.find(path);
    if (found != files.end()) return found->second;
    return Error{.code = ErrorCode::NotFound, .file = path, .message = "is not there"};
  };
  const TraceFormat& pai = *find_trace_format("pai");
  const std::string jobs = "jobA,i1,u1,Terminated,1000.0,1400.0\n";
  const auto trace = read_trace(pai, "d/pai_job_table.csv", jobs, "", {}, read);
  expect_accounted(trace);
  EXPECT_EQ(trace->jobs.size(), 1U);
  const auto missing = read_trace(pai, "e/pai_job_table.csv", jobs, "", {}, read);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.errors()[0].file, "e/pai_task_table.csv");
  const auto speeds = read_trace(*find_trace_format("gavel"), "g", "", "t.json", {}, read);
  ASSERT_FALSE(speeds.has_value());
  EXPECT_EQ(speeds.errors()[0].file, "t.json");
}

TEST(TraceFormats, AColumnThatIsThereTwiceIsRefused) {
  const TraceFormat& format = *find_trace_format("orrery");
  const auto none = [](const std::string& path, std::string_view) -> Result<std::string> {
    return Error{.code = ErrorCode::NotFound, .file = path, .message = "is not there"};
  };
  const auto twice = read_trace(
      format, "t.csv", "name,submit_s,duration_s,gpus,gpus\na,0,100,1,8\n", "", {}, none);
  ASSERT_FALSE(twice.has_value());
  EXPECT_EQ(twice.errors().size(), 1U);
  EXPECT_EQ(twice.errors()[0].text(),
            "t.csv:1: header: names the column gpus twice, and which of them counts is not known; "
            "rename or delete one");
}

TEST(TraceFormats, NoTableOfTheTracesIsTakenForATrace) {
  for (const std::string name : {"alibaba_openb_2023/openb_node_list_all_node.csv",
                                 "alibaba_pai_2020/pai_machine_spec.csv",
                                 "gavel/throughputs/simulation_throughputs.json"}) {
    const auto text = shared_trace(name);
    if (!text) GTEST_SKIP() << "the traces are not at ../shared/traces";
    EXPECT_EQ(recognised(*text), "") << name;
    EXPECT_FALSE(looks_like_lanl(*text));
    EXPECT_EQ(looks_like_openb_nodes(*text), name.find("openb") != name.npos);
    EXPECT_EQ(looks_like_pai_machines(*text), name.find("pai") != name.npos);
    EXPECT_EQ(looks_like_gavel_throughputs(*text), name.find("gavel") != name.npos);
  }
}

}  // namespace
}  // namespace orrery::sim
