#include "sim/reports/report_html.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/reports/comparison_data.hpp"
#include "sim/reports/page/page_template.hpp"
#include "sim/reports/page_figures.hpp"
#include "tests/sim/reports/recorded.hpp"

namespace orrery::sim {
namespace {

using nlohmann::json;
using tests::grant;
using tests::job;
using tests::on;

/// A recorded run with a table of its jobs.
class PagedRun : public Recorded {
 public:
  using Recorded::Recorded;

  JobId add(const tests::JobBuilder& what) {
    const JobId id = come(what);
    jobs_.add(id, {.name = "default.j" + std::to_string(id.value), .submitted = now});
    notes_.add(id, *controller.state().job(id).spec);
    summary_.jobs_total += 1;
    return id;
  }

  /// The job runs on these devices for so many seconds and succeeds.
  void run_for(JobId id, std::vector<NodeCount> places, std::int64_t seconds) {
    jobs_[id].started = now;
    std::int32_t ranks = 0;
    for (const NodeCount& place : places) ranks += place.replicas;
    plan(grant(id, ranks, std::move(places)));
    settle();
    tell();
    wait_s(seconds);
    for (std::int32_t rank = 0; rank < ranks; ++rank) succeed(id, static_cast<std::uint32_t>(rank));
    tell();
    jobs_[id].finished = now;
    jobs_[id].phase = JobPhase::Succeeded;
  }

  json data(const PageLimits& limits = {}) {
    timeline.close(now);
    return json::parse(run_page_data({.summary = summary_,
                                      .fidelity = "L0",
                                      .jobs = jobs_,
                                      .timeline = timeline,
                                      .notes = notes_,
                                      .approximated = {"Nothing."},
                                      .faults = {{"down", {NodeId{1}}}}},
                                     limits));
  }

 private:
  Summary summary_;
  JobTable jobs_;
  JobNotes notes_;
};

TEST(ReportHtml, APartIsWhereTheDevicesAre) {
  PagedRun run({tests::nodes_of(2, 4)});
  const JobId first = run.add(job("a").replicas(2).devices(2));
  run.wait_s(5);
  run.run_for(first, {on(0, 1), on(1, 1)}, 10);
  const json page = run.data();
  EXPECT_EQ(page["jobs"]["name"], json({"j0"}));
  EXPECT_EQ(page["jobs"]["submitted_s"], json({0.0}));
  EXPECT_EQ(page["jobs"]["started_s"], json({5.0}));
  EXPECT_EQ(page["segments"]["job"], json({0}));
  EXPECT_EQ(page["segments"]["begin_s"], json({5.0}));
  EXPECT_EQ(page["segments"]["end_s"], json({15.0}));
  EXPECT_EQ(page["parts"]["node"], json({0, 1}));
  EXPECT_EQ(page["parts"]["first_device"], json({0, 0}));
  EXPECT_EQ(page["parts"]["devices"], json({2, 2}));
  EXPECT_EQ(page["words"]["roles"], json({"worker"}));
  EXPECT_EQ(page["parts"]["role"], json({0, 0}));
  EXPECT_EQ(page["parts"]["first_rank"], json({0, 1}));
  EXPECT_EQ(page["parts"]["last_rank"], json({0, 1}));
  EXPECT_EQ(page["cluster"]["devices_total"], 8);
  EXPECT_TRUE(page["thinned"].empty());
  EXPECT_TRUE(page["links"].is_null());
  // Phases without devices are in no rectangle.
  std::vector<std::string> phases;
  for (const auto& index : page["phases"]["phase"])
    phases.push_back(page["words"]["phases"][index.get<std::size_t>()]);
  EXPECT_EQ(phases, (std::vector<std::string>{"Starting", "Running"}));
}

TEST(ReportHtml, AStrikeIsMarkedOnItsNode) {
  PagedRun run({tests::nodes_of(2, 4)});
  run.wait_s(7);
  run.timeline.struck(0, run.now);
  const json page = run.data();
  EXPECT_EQ(page["marks"]["at_s"], json({7.0}));
  EXPECT_EQ(page["marks"]["what"], json({"fault: down"}));
  EXPECT_EQ(page["marks"]["node"], json({1}));
}

TEST(ReportHtml, BeyondTheLimitsSomeNodesAreShownInFullAndThePageSaysWhich) {
  PagedRun run({tests::nodes_of(64, 1)});
  for (std::uint32_t node = 0; node < 64; ++node)
    run.run_for(run.add(job("a" + std::to_string(node))), {on(node, 1)}, 2);
  const json page = run.data({.parts_max = 40, .nodes_max = 32, .jobs_max = 40});
  EXPECT_EQ(page["cluster"]["node"].size(), 32U);
  EXPECT_EQ(page["cluster"]["node"][1], "node 2");
  EXPECT_EQ(page["cluster"]["nodes_total"], 64);
  EXPECT_EQ(page["parts"]["node"].size(), 32U);
  EXPECT_EQ(page["jct"]["count"], 64);
  // The 32 jobs that are drawn, and of the others as many as there is room for.
  EXPECT_LE(page["jobs"]["name"].size(), 40U);
  EXPECT_GT(page["jobs"]["name"].size(), 32U);
  ASSERT_EQ(page["thinned"].size(), 2U);
  EXPECT_EQ(page["thinned"][0],
            "The Gantt chart shows 32 of 64 nodes: one in 2, with all that happened on it.");
}

TEST(ReportHtml, OnOneNodeTheShortestRectanglesGo) {
  PagedRun run({tests::nodes_of(1, 1)});
  for (std::int64_t i = 0; i < 10; ++i)
    run.run_for(run.add(job("a" + std::to_string(i))), {on(0, 1)}, i < 5 ? 3 : 20);
  const json page = run.data({.parts_max = 5});
  EXPECT_EQ(page["parts"]["node"].size(), 5U);
  EXPECT_EQ(page["segments"]["begin_s"][0], 15.0);
  EXPECT_EQ(page["thinned"][0],
            "The Gantt chart leaves out the shortest 5 of 10 rectangles, of up to 3 s.");
}

TEST(ReportHtml, SamplesKeepTheirEndsWhenTheyAreThinned) {
  JobTable jobs;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    jobs.add(JobId{i}, {.name = "default.x", .submitted = Instant{0}});
    jobs[JobId{i}].started = Instant{Duration::seconds(i).ns};
    jobs[JobId{i}].finished = Instant{Duration::seconds(2 * i + 1).ns};
    jobs[JobId{i}].phase = i < 900 ? JobPhase::Succeeded : JobPhase::Failed;
  }
  const SortedSample jct = completion_times(jobs, 4);
  EXPECT_EQ(jct.count, 900U);
  EXPECT_EQ(jct.values_s, (std::vector<double>{1, 599, 1199, 1799}));
  EXPECT_EQ(jct.p50_s, 900);
  EXPECT_EQ(waiting_times(jobs, 5000).values_s.size(), 1000U);
}

TEST(ReportHtml, SamplesOfSeveralSeedsAreOne) {
  const SortedSample all{.count = 3, .values_s = {1, 2, 9}};
  const SortedSample thinned{.count = 300, .values_s = {4, 5, 6}};  // Each stands for a hundred.
  EXPECT_EQ(merged(std::vector{&all, &all}, 100).values_s, (std::vector<double>{1, 1, 2, 2, 9, 9}));
  const SortedSample both = merged(std::vector{&all, &thinned}, 4);
  EXPECT_EQ(both.count, 303U);
  EXPECT_EQ(both.values_s, (std::vector<double>{1, 4, 5, 9}));
  EXPECT_TRUE(merged({}, 4).values_s.empty());
}

TEST(ReportHtml, AMeanOfASeriesIsOverTime) {
  StepSeries series;
  series.add(Instant{Duration::seconds(10).ns}, 4);
  series.add(Instant{Duration::seconds(20).ns}, 0);
  const auto at = [](std::int64_t seconds) { return Instant{Duration::seconds(seconds).ns}; };
  EXPECT_EQ(mean_between(series, at(0), at(40)), 1);
  EXPECT_EQ(mean_between(series, at(12), at(16)), 4);
  EXPECT_EQ(mean_between(series, at(30), at(30)), 0);
}

TEST(ReportHtml, LinksAreBusiestFirst) {
  PagedRun run({tests::nodes_of(1, 1)});
  run.timeline.declare_links({"idle", "busy", "half"});
  run.timeline.link_used(run.now, 1, 1);
  run.timeline.link_used(run.now, 2, 0.5);
  run.wait_s(10);
  const json page = run.data({.links_max = 2, .columns = 4});
  EXPECT_EQ(page["links"]["name"], json({"busy", "half"}));
  EXPECT_EQ(page["links"]["use"][1], json({0.5, 0.5, 0.5, 0.5}));
  EXPECT_EQ(page["links"]["edges_s"].size(), 5U);
  EXPECT_EQ(page["thinned"][0], "The heat map shows the 2 busiest of 3 links.");
}

TEST(ReportHtml, DecisionTimesAreMeasured) {
  PagedRun run({tests::nodes_of(1, 1)});
  for (const std::int64_t ns : {1'500, 1'550, 90'000})
    run.timeline.planned(run.now, PlanTrigger::Submission, 1, Duration{ns});
  const json times = run.data()["measured"]["decision_times"];
  EXPECT_EQ(times["edges_us"].size(), times["count"].size() + 1);
  EXPECT_NEAR(times["edges_us"][0].get<double>(), 1.26, 1e-9);
  EXPECT_EQ(times["count"][0], 2);
  EXPECT_EQ(times["count"].back(), 1);
}

TEST(ReportHtml, DataCannotEndTheirElement) {
  const std::string page = report_page(R"({"name":"</script><b>"})");
  if (page.empty()) GTEST_SKIP() << report_page_absence();
  EXPECT_NE(page.find(R"({"name":"\u003c/script>\u003cb>"})"), std::string::npos);
  EXPECT_EQ(page.find(kPageData), std::string::npos);
  EXPECT_TRUE(report_page_absence().empty());
}

json figure_of(const json& page, const std::string& key) {
  for (const json& figure : page["figures"])
    if (figure["key"] == key) return figure;
  return {};
}

TEST(ReportHtml, OfOneSeedThereAreMeansAlone) {
  std::vector<ComparedRun> runs(2);
  runs[0].summary.policy = "fifo/1";
  runs[0].summary.jct_avg_s = 10;
  runs[1].summary.policy = "las/1";
  runs[1].summary.jct_avg_s = 12;
  const json page = json::parse(comparison_page_data({.fidelity = "L0", .runs = runs}));
  const json figure = figure_of(page, "jct_avg_s");
  EXPECT_TRUE(figure["by_policy"][1]["low"].is_null());
  EXPECT_EQ(figure["pairs"][0]["mean"], 2.0);
  EXPECT_TRUE(figure["pairs"][0]["p"].is_null());
}

TEST(ReportHtml, JobsOfAScatterAreTheSameInEveryRun) {
  JobTable jobs;
  for (std::uint32_t i = 0; i < 10; ++i) {
    jobs.add(JobId{i}, {.name = "default.j" + std::to_string(i), .submitted = Instant{0}});
    jobs[JobId{i}].finished = Instant{Duration::seconds(i).ns};
    jobs[JobId{i}].phase = i == 4 ? JobPhase::Failed : JobPhase::Succeeded;
  }
  const SampledJobs some = sampled_jobs(jobs, 5);
  EXPECT_EQ(some.total, 10U);
  EXPECT_EQ(some.names, (std::vector<std::string>{"j0", "j2", "j4", "j6", "j8"}));
  EXPECT_EQ(some.jct_s, (std::vector<double>{0, 2, -1, 6, 8}));
  EXPECT_EQ(sampled_jobs(jobs, 10).names.size(), 10U);
  EXPECT_EQ(sampled_jobs(jobs, 9).names.size(), 5U);
  EXPECT_TRUE(sampled_jobs(JobTable(), 5).names.empty());
}

TEST(ReportHtml, DifferencesArePairedBySeed) {
  std::vector<ComparedRun> runs(4);
  const double jct[] = {10, 30, 12, 36};
  for (std::size_t i = 0; i < 4; ++i) {
    runs[i].summary.policy = i < 2 ? "fifo/1" : "las/1";
    runs[i].summary.seed = i % 2;
    runs[i].summary.jct_avg_s = jct[i];
    runs[i].jct = {.count = 2, .values_s = {jct[i], jct[i] + 1}};
    runs[i].jobs = {2, {"one", "two"}, i == 0 ? std::vector{1.5, -1.0} : std::vector{2.5, 3.5}};
  }
  const json page = json::parse(comparison_page_data({.fidelity = "L0", .runs = runs}));
  EXPECT_EQ(page["policies"], json({"fifo/1", "las/1"}));
  EXPECT_EQ(page["seeds"], json({0, 1}));
  const json figure = figure_of(page, "jct_avg_s");
  EXPECT_EQ(figure["by_run"], json({10.0, 30.0, 12.0, 36.0}));
  EXPECT_EQ(figure["by_policy"][1]["mean"], 24.0);
  ASSERT_EQ(figure["pairs"].size(), 1U);
  EXPECT_EQ(figure["pairs"][0]["mean"], 4.0);
  EXPECT_EQ(figure["pairs"][0]["p"], 0.5);
  EXPECT_LE(figure["by_policy"][0]["low"], 20.0);
  EXPECT_EQ(page["scatter"]["name"], json({"one", "two"}));
  EXPECT_EQ(page["scatter"]["jct_s"], json({{1.5, nullptr}, {2.5, 3.5}}));
  EXPECT_EQ(page["jct"][1]["values_s"], json({12.0, 13.0, 36.0, 37.0}));
}

}  // namespace
}  // namespace orrery::sim
