// report: the page of a run, made from a journal that a controller has kept.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "core/base/utc_text.hpp"
#include "core/control/controller.hpp"
#include "core/driver/replay.hpp"
#include "runtime/store/sqlite_store.hpp"
#include "sim/reports/job_notes.hpp"
#include "sim/reports/report_html.hpp"
#include "sim/reports/timeline.hpp"
#include "sim/results/metrics.hpp"
#include "sim/run/run_account.hpp"
#include "tools/console/interrupt.hpp"
#include "tools/orrery/output_folder.hpp"
#include "tools/orrery/run_listeners.hpp"
#include "tools/orrery/verb_functions.hpp"

namespace orrery::cli {
namespace {

using runtime::SqliteStore;

/// What a look through the whole journal gives before the page is made.
struct JournalSurvey {
  std::vector<NodeGroup> groups;
  std::vector<std::string> nodes;  ///< Names; empty where one has none.
  Instant first = Instant::never();
  Instant last;
  std::string policy;
  std::string state_digest;
  std::uint64_t records = 0;
  std::uint64_t plans = 0;
};

Result<JournalSurvey> surveyed(StateStore& store) {
  JournalSurvey out;
  Controller controller;
  Commands commands;
  const auto read = read_journal(store, Sequence{1}, {}, [&](Sequence, const Event& event) {
    out.first = std::min({out.first, event.at, event.occurred_at});
    if (std::holds_alternative<PlanProposed>(event.body)) ++out.plans;
    commands.clear();
    controller.step(event, commands);
    (void)controller.take_touched();
    while (controller.take_plan_request()) continue;
    return !interrupted();
  });
  if (!read) return read.errors();
  const State& state = controller.state();
  out.groups = state.declared;
  for (const NodeState& node : state.nodes) out.nodes.push_back(node.name);
  out.last = state.now;
  out.policy = state.settings.policy;
  out.state_digest = controller.digest().to_hex();
  out.records = state.sequence.value;
  return out;
}

/// The event as if the journal had begun at zero: a page counts seconds from its begin.
Event since_begin(const Event& event, Instant begin) {
  Event out = event;
  out.at = Instant{event.at.ns - begin.ns};
  out.occurred_at = Instant{event.occurred_at.ns - begin.ns};
  if (auto* leaving = std::get_if<NodeLeaving>(&out.body))
    if (!leaving->until.is_never()) leaving->until = Instant{leaving->until.ns - begin.ns};
  return out;
}

/// Folds the journal again, and writes down what it tells.
Result<std::string> page_of(StateStore& store, const JournalSurvey& survey) {
  const auto begun = std::chrono::steady_clock::now();
  Controller controller;
  TimelineListener timeline(survey.groups, {});
  NotesListener notes;
  sim::RunOptions options;
  options.listeners = {&timeline, &notes};
  sim::RunAccount account(controller.state(), options, [](std::uint64_t) { return std::string(); });
  Commands commands;
  const auto read = read_journal(store, Sequence{1}, {}, [&](Sequence at, const Event& event) {
    const Event shifted = since_begin(event, survey.first);
    commands.clear();
    if (shifted.at > controller.state().now) account.on_instant_over(controller.state());
    controller.step(shifted, commands);
    (void)controller.take_touched();
    while (controller.take_plan_request()) continue;
    account.on_event(at, shifted);
    if (!commands.notices.empty()) account.on_notices(commands.notices, controller.state());
    return at.value < survey.records && !interrupted();
  });
  if (!read) return read.errors();
  account.take_reasons();
  const Instant end{survey.last.ns - survey.first.ns};
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  sim::RunFacts facts;
  facts.scenario = "journal from " + utc_text(survey.first) + " to " + utc_text(survey.last);
  facts.policy = survey.policy;
  facts.world = "cluster";
  facts.end = end;
  facts.devices = controller.state().ledger.devices_total();
  facts.events = survey.records;
  facts.state_digest = survey.state_digest;
  facts.wall = Duration::from_seconds(took.count());
  facts.peak_rss_mb = sim::peak_rss_mb();
  sim::Summary summary = account.metrics().summarise(facts);
  summary.decisions = survey.plans;
  account.sum_up_fragments(end, facts.devices, summary);
  const std::vector<sim::QueueSamples::Point> queue_points = account.sum_up_queues(end, summary);
  const sim::RunPage page{
      .summary = summary,
      .fidelity = "real",
      .jobs = account.metrics().jobs(),
      .timeline = timeline.close(end),
      .notes = notes.notes(),
      .queue_points = queue_points,
      .approximated = {"Second 0 is " + utc_text(survey.first) + ".",
                       "A journal does not hold how long the policy took: times of decisions are "
                       "not shown."},
      .faults = {},
      .node_names = survey.nodes};
  return sim::report_page(sim::run_page_data(page));
}

}  // namespace

ExitCode run_report(const Arguments& arguments, Console& console) {
  const auto refuse = [&](const Errors& errors) {
    console.errors(errors);
    return ExitCode::BadInput;
  };
  if (const std::string absence = sim::report_page_absence(); !absence.empty())
    return refuse({{.subject = "orrery report", .message = absence}});
  const std::string& journal = arguments.operands().front();
  const std::string path = arguments.value("--out").value_or("report.html");
  if (const Status kept = keeps_inputs(path, {journal}); !kept) return refuse(kept.errors());
  const auto store = SqliteStore::open(journal, SqliteStore::Access::ReadOnly);
  if (!store) return refuse(store.errors());
  if ((*store)->first() != Sequence{1})
    return refuse({{.file = journal,
                    .message = "its records up to " + std::to_string((*store)->first().value - 1) +
                               " were dropped, a page needs all; take a journal that has them"}});
  const auto survey = surveyed(**store);
  if (interrupted()) return ExitCode::Interrupted;
  if (!survey) return refuse(survey.errors());
  const auto page = page_of(**store, *survey);
  if (interrupted()) return ExitCode::Interrupted;
  if (!page) return refuse(page.errors());
  if (const Status written = write_file(path, *page); !written) return refuse(written.errors());
  console.err(path + ": " + std::to_string(survey->records) + " records\n");
  return ExitCode::Met;
}

}  // namespace orrery::cli
