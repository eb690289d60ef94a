#include "sim/results/event_log.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/record/event.hpp"

namespace orrery::sim {
namespace {

JobTable one_job() {
  JobTable jobs;
  jobs.add(JobId(0), {.name = "app \"1\"", .submitted = Instant::zero()});
  return jobs;
}

std::string line_of(const Notice& notice) {
  std::ostringstream out;
  {
    EventLog log(out);
    log.write(notice, one_job());
  }
  return out.str();
}

TEST(EventLog, APhaseChangeNamesTheJobAsItsFileDoes) {
  Notice notice;
  notice.kind = NoticeKind::PhaseChanged;
  notice.at = Instant{61'500'000'000};
  notice.occurred_at = Instant{61'000'000'000};
  notice.job = JobId(0);
  notice.generation = Generation{2};
  notice.from = JobPhase::Running;
  notice.to = JobPhase::Succeeded;
  notice.reason = Reason::RequiredSucceeded;
  EXPECT_EQ(line_of(notice),
            R"({"at_s":61.5,"occurred_at_s":61,"kind":"PhaseChanged","job":"app \"1\"",)"
            R"("generation":2,"from":"Running","to":"Succeeded","reason":"RequiredSucceeded"})"
            "\n");
}

TEST(EventLog, TheSecondTimeIsLeftOutWhereBothAreEqual) {
  Notice notice;
  notice.kind = NoticeKind::NodeChanged;
  notice.at = notice.occurred_at = Instant{1};
  notice.node = NodeId(4);
  EXPECT_EQ(line_of(notice),
            "{\"at_s\":0.000000001,\"kind\":\"NodeChanged\",\"node\":4,\"change\":\"Silent\","
            "\"up\":false}\n");
}

TEST(EventLog, AnUnknownJobIsShownByItsNumber) {
  Notice notice;
  notice.kind = NoticeKind::IgnoredReport;
  notice.job = JobId(17);
  notice.ignored = Ignored::UnknownJob;
  notice.event_kind = 5;
  const auto line = nlohmann::json::parse(line_of(notice));
  EXPECT_EQ(line["job"], "#17");
  EXPECT_EQ(line["ignored"], "UnknownJob");
  EXPECT_EQ(line["event"], std::string(kind_name(EventBody(StopRequested{}))));
}

TEST(EventLog, EveryKindIsOneLineOfJson) {
  for (std::size_t kind = 0; kind < EnumNames<NoticeKind>::kNames.size(); ++kind) {
    Notice notice;
    notice.kind = static_cast<NoticeKind>(kind);
    notice.job = JobId(0);
    notice.first = Rank(0);
    const std::string line = line_of(notice);
    EXPECT_EQ(std::ranges::count(line, '\n'), 1);
    EXPECT_EQ(nlohmann::json::parse(line)["kind"], std::string(to_string(notice.kind)));
  }
}

}  // namespace
}  // namespace orrery::sim
