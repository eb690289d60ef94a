// top: nodes and jobs at a glance.
#include <poll.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "tools/client/json_reading.hpp"
#include "tools/client/session.hpp"
#include "tools/client/verbs.hpp"
#include "tools/client/views.hpp"
#include "tools/console/interrupt.hpp"
#include "tools/console/table.hpp"

namespace orrery::cli {
namespace {

using nlohmann::json;

constexpr int kRefreshMs = 1000;
constexpr std::size_t kJobsMax = 40;  // On a terminal.

bool has_ended(const json& job) {
  const std::string phase = text_of(job, "phase");
  return phase == "Succeeded" || phase == "Failed";
}

/// What the job does a second, as its controller counts it; "-" where that is not known.
std::string throughput_of(const json& job) {
  const double throughput = real_of(job, "throughput");
  return throughput > 0 ? with_commas(throughput, 1) : "-";
}

std::string head_line(const json& nodes, const json& jobs) {
  std::int64_t devices = 0;
  std::int64_t held = 0;
  for (const json& node : nodes) {
    devices += number_of(node, "devices");
    held += number_of(node, "devices_held");
  }
  const auto live = std::ranges::count_if(jobs, [](const json& job) { return !has_ended(job); });
  return std::to_string(nodes.size()) + " nodes, " + std::to_string(held) + " of " +
         std::to_string(devices) + " devices taken; " + std::to_string(live) + " jobs live, " +
         std::to_string(jobs.size() - static_cast<std::size_t>(live)) + " ended\n";
}

std::string live_jobs(const json& jobs, const ConsoleTraits& console) {
  std::vector<const json*> shown;
  for (const json& job : jobs) shown.push_back(&job);
  std::ranges::stable_sort(shown, {}, [](const json* job) { return has_ended(*job) ? 1 : 0; });
  const std::size_t count =
      console.out_is_terminal ? std::min(shown.size(), kJobsMax) : shown.size();
  Table table({{.title = "job", .left = true},
               {.title = "phase", .left = true},
               {.title = "ready"},
               {.title = "devices"},
               {.title = "samples/s"},
               {.title = "restarts", .spare = 2},
               {.title = "age", .spare = 1}});
  const std::int64_t now = now_ns();
  for (const json* job : std::span(shown).first(count))
    table.add_row({{.text = short_name(text_of(*job, "name"))},
                   {.text = text_of(*job, "phase")},
                   {.text = ready_text(*job)},
                   {.text = text_of(*job, "devices")},
                   {.text = throughput_of(*job)},
                   {.text = text_of(*job, "restarts")},
                   {.text = span_in_words(number_of(*job, "submitted"), now)}});
  std::string out = table.text(console.colour, console.table_width());
  if (count < shown.size()) out += "and " + std::to_string(shown.size() - count) + " more\n";
  return out;
}

}  // namespace

ExitCode run_top(const Arguments& arguments, Console& console) {
  const auto options = client_options(arguments);
  if (!options) {
    console.errors(options.errors());
    return ExitCode::BadInput;
  }
  Session session(*options, console);
  const bool refreshes = console.traits().out_is_terminal && !arguments.has("--json");
  while (true) {
    const json node_list = session.ask_list("nodes");
    if (node_list.is_null()) return session.code();
    const json job_list = session.ask_list("jobs");
    if (job_list.is_null()) return session.code();
    if (arguments.has("--json")) {
      console.out(json{{"nodes", node_list}, {"jobs", job_list}}.dump(2) + "\n");
      return ExitCode::Met;
    }
    const std::string page = head_line(node_list, job_list) + "\n" +
                             nodes_table(node_list, console.traits()) + "\n" +
                             live_jobs(job_list, console.traits());
    console.out(refreshes ? "\x1b[H\x1b[2J" + page : page);
    if (!refreshes) return ExitCode::Met;
    ::poll(nullptr, 0, kRefreshMs);
    if (interrupted()) return ExitCode::Interrupted;
  }
}

}  // namespace orrery::cli
