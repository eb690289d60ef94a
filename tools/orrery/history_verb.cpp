// history: the jobs that have ended, from a journal.
#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json_text.hpp"
#include "core/base/utc_text.hpp"
#include "core/record/record_text.hpp"
#include "runtime/store/sqlite_store.hpp"
#include "tools/console/interrupt.hpp"
#include "tools/console/job_names.hpp"
#include "tools/console/moment.hpp"
#include "tools/console/printable.hpp"
#include "tools/console/table.hpp"
#include "tools/orrery/job_history.hpp"
#include "tools/orrery/verb_functions.hpp"

namespace orrery::cli {
namespace {

using runtime::SqliteStore;

Result<HistoryFilter> filter_of(const Arguments& arguments) {
  HistoryFilter out;
  Errors errors;
  const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  const auto take_moment = [&](std::string_view option, Instant& into) {
    const auto text = arguments.value(option);
    if (!text) return;
    if (const auto at = moment("orrery history: " + std::string(option), *text, now)) {
      into = Instant{*at};
    } else {
      errors.insert(errors.end(), at.errors().begin(), at.errors().end());
    }
  };
  take_moment("--since", out.ended_from);
  take_moment("--until", out.ended_before);
  if (const auto state = arguments.value("--state"))
    out.state = *state == "failed" ? JobPhase::Failed : JobPhase::Succeeded;
  out.user = arguments.value("--user").value_or("");
  if (const auto job = arguments.value("--job")) out.job = full_name(*job);
  if (!errors.empty()) return errors;
  return out;
}

std::string second_of(Instant at) {
  return utc_text(Instant{at.ns / 1'000'000'000 * 1'000'000'000});
}

std::string history_table(const std::vector<EndedJob>& jobs, const ConsoleTraits& console) {
  Table table({{.title = "job", .left = true},
               {.title = "user", .left = true, .spare = 3},
               {.title = "state", .left = true},
               {.title = "exit"},
               {.title = "ended (UTC)", .left = true},
               {.title = "waited (s)", .spare = 4},
               {.title = "ran (s)"},
               {.title = "devices", .spare = 2},
               {.title = "device hours", .spare = 5},
               {.title = "restarts", .spare = 6},
               {.title = "reason", .left = true, .spare = 1}});
  for (const EndedJob& job : jobs) {
    const bool ran = !job.started.is_never();
    const Instant waited_until = ran ? job.started : job.ended;
    table.add_row({{.text = short_name(job.name)},
                   {.text = job.user.empty() ? "-" : job.user},
                   {.text = std::string(to_string(job.state))},
                   {.text = job.exit_code == 0 ? "-" : std::to_string(job.exit_code)},
                   {.text = second_of(job.ended)},
                   {.text = with_commas((waited_until - job.submitted).in_seconds(), 1)},
                   {.text = ran ? with_commas((job.ended - job.started).in_seconds(), 1) : "-"},
                   {.text = std::to_string(job.devices)},
                   {.text = with_commas(job.device_seconds / 3600, 2)},
                   {.text = std::to_string(job.restarts)},
                   {.text = printable(job.message)}});
  }
  return table.text(console.colour, console.table_width());
}

std::string history_json(const std::vector<EndedJob>& jobs) {
  JsonText json(JsonText::Layout::Indented);
  JsonFields fields(json, TimesAs::WithUtc);
  json.begin_object();
  fields.field("jobs", jobs);
  json.end_object();
  return json.take() + "\n";
}

/// The snapshot to begin with; none where all records are there.
Result<std::optional<StoredSnapshot>> begin_of(SqliteStore& store) {
  if (store.first() == Sequence{1}) return std::optional<StoredSnapshot>();
  auto snapshots = store.snapshots();
  if (!snapshots) return snapshots.errors();
  if (snapshots->empty()) return std::optional<StoredSnapshot>();
  return std::optional<StoredSnapshot>(std::move(snapshots->front()));
}

}  // namespace

ExitCode run_history(const Arguments& arguments, Console& console) {
  const auto refuse = [&](const Errors& errors) {
    console.errors(errors);
    return ExitCode::BadInput;
  };
  const auto filter = filter_of(arguments);
  if (!filter) return refuse(filter.errors());
  const auto store = SqliteStore::open(arguments.operands().front(), SqliteStore::Access::ReadOnly);
  if (!store) return refuse(store.errors());
  const auto begin = begin_of(**store);
  if (!begin) return refuse(begin.errors());
  auto jobs = ended_jobs(**store, *begin, *filter);
  if (interrupted()) return ExitCode::Interrupted;
  if (!jobs) return refuse(jobs.errors());
  std::ranges::stable_sort(*jobs, {}, [](const EndedJob& job) { return job.ended; });
  if (arguments.has("--json")) {
    console.out(history_json(*jobs));
  } else if (jobs->empty()) {
    console.err("no job has ended that fits; the journal tells of live ones with orrery get\n");
  } else {
    console.out(history_table(*jobs, console.traits()));
  }
  if (*begin)
    console.err("jobs that ended before record " + std::to_string((*begin)->sequence.value) +
                " may be missing: the journal's first records were dropped\n");
  return ExitCode::Met;
}

}  // namespace orrery::cli
