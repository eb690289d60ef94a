#include "sim/traces/trace_report.hpp"

#include <gtest/gtest.h>

namespace orrery::sim {
namespace trace_report_tests {

TraceReport sample() {
  TraceReport report;
  report.file = "a.csv";
  report.format = "philly";
  report.rows = 10;
  report.jobs = 8;
  report.count(TraceReason::NeverStarted, TraceAction::Dropped);
  report.count(TraceReason::ZeroGpus, TraceAction::Dropped);
  report.count(TraceReason::ExactDuplicate, TraceAction::Kept);
  return report;
}

TEST(TraceReport, TextListsEveryCountThatIsNotZero) {
  EXPECT_EQ(sample().text(),
            "a.csv (philly): 10 rows, 8 jobs, 2 dropped\n"
            "  exact duplicate, kept: 1\n"
            "  never started, dropped: 1\n"
            "  zero GPUs, dropped: 1\n");
}

TEST(TraceReport, JsonHoldsTheSame) {
  JsonText json;
  sample().write(json);
  EXPECT_EQ(json.text(),
            R"({"file":"a.csv","format":"philly","rows":10,"jobs":8,"dropped":2,)"
            R"("first_submit_unix_s":0,"last_submit_unix_s":0,"notes":[)"
            R"({"reason":"exact duplicate","action":"kept","rows":1},)"
            R"({"reason":"never started","action":"dropped","rows":1},)"
            R"({"reason":"zero GPUs","action":"dropped","rows":1}]})");
}

TEST(TraceReport, EveryReasonHasAName) {
  for (std::size_t i = 0; i < kTraceReasons; ++i) {
    EXPECT_FALSE(to_string(static_cast<TraceReason>(i)).empty());
  }
}

}  // namespace trace_report_tests
}  // namespace orrery::sim
