#include "tools/console/forecast_text.hpp"

#include <cstddef>
#include <vector>

#include "tools/console/job_names.hpp"
#include "tools/console/table.hpp"

namespace orrery::cli {
namespace {

constexpr std::size_t kDelayedShown = 10;
constexpr std::size_t kNodesShown = 8;

std::string nodes_text(const std::vector<std::string>& nodes) {
  std::string out;
  for (std::size_t i = 0; i < nodes.size() && i < kNodesShown; ++i)
    out += (i > 0 ? ", " : "") + nodes[i];
  if (nodes.size() > kNodesShown)
    out += " and " + std::to_string(nodes.size() - kNodesShown) + " more";
  return out;
}

/// ", in 8 of 10 runs between A and B": where several runs do not agree.
std::string spread_text(const std::string& what,
                        const Spread& spread,
                        const ForecastAnswer& answer) {
  if (answer.runs == 1 || spread.p10 == spread.p90) return "";
  return "  " + what + ": " + forecast_time(spread.p10, answer.now) +
         " or later in 9 of 10 runs, " + forecast_time(spread.p50, answer.now) +
         " or sooner in half of them, " + forecast_time(spread.p90, answer.now) +
         " or sooner in 9 of 10\n";
}

std::string delays_text(const ForecastAnswer& answer) {
  const std::vector<ForetoldDelay>& delays = answer.delays;
  if (delays.empty()) return "  delays nobody\n";
  std::string out =
      "  delays " + std::to_string(delays.size()) + (delays.size() == 1 ? " job:\n" : " jobs:\n");
  for (std::size_t i = 0; i < delays.size() && i < kDelayedShown; ++i)
    out += "    " + short_name(delays[i].name) + " by " +
           (delays[i].by.is_forever() ? std::string("more than is foreseen")
                                      : time_in_words(delays[i].by.in_seconds())) +
           "\n";
  if (delays.size() > kDelayedShown)
    out += "    and " + std::to_string(delays.size() - kDelayedShown) + " more\n";
  return out;
}

}  // namespace

std::string forecast_time(Instant at, Instant now) {
  if (at.is_never()) return "not foreseen";
  return at == now  ? std::string("at once")
         : at < now ? "since " + time_in_words((now - at).in_seconds())
                    : "in " + time_in_words((at - now).in_seconds());
}

std::string forecast_page(const ForecastAnswer& answer) {
  if (answer.jobs.empty()) return "";
  const ForetoldJob& job = answer.jobs.front();
  std::string out = short_name(job.name) + ": ";
  if (job.never_fits) return out + "can never fit on this cluster: " + job.waits_for + "\n";
  const Instant now = answer.now;
  out += job.runs && !job.start.p50.is_never()
             ? "runs since " + time_in_words((now - job.start.p50).in_seconds())
             : "starts " + forecast_time(job.start.p50, now);
  if (!job.nodes.empty()) out += " on " + nodes_text(job.nodes);
  out += ", ends " + forecast_time(job.end.p50, now);
  if (!job.end.p50.is_never()) out += job.succeeds ? "" : " without success";
  out += "\n";
  if (!job.runs) out += spread_text("starts", job.start, answer);
  out += spread_text("ends", job.end, answer);
  if (!job.runs && !job.waits_for.empty()) out += "  now: " + job.waits_for + "\n";
  out += "  what is left of it is known by: " + std::string(to_string(job.known)) + " (" +
         time_in_words(job.remaining.in_seconds()) + ")\n";
  if (answer.has_delays) out += delays_text(answer);
  return out;
}

std::string forecast_table(const ForecastAnswer& answer, const ConsoleTraits& traits) {
  std::vector<Column> columns{{.title = "job", .left = true},
                              {.title = "starts", .left = true},
                              {.title = "ends", .left = true},
                              {.title = "on", .left = true, .spare = 2},
                              {.title = "known by", .left = true, .spare = 1}};
  Table table(std::move(columns));
  for (const ForetoldJob& job : answer.jobs)
    table.add_row({{.text = short_name(job.name)},
                   {.text = job.never_fits ? "never" : forecast_time(job.start.p50, answer.now)},
                   {.text = forecast_time(job.end.p50, answer.now)},
                   {.text = nodes_text(job.nodes)},
                   {.text = std::string(to_string(job.known))}});
  return table.text(traits.colour, traits.table_width());
}

std::string forecast_remark(const ForecastAnswer& answer) {
  if (!answer.cut_short) return "";
  return "remark: a run was ended after " + std::to_string(answer.records) +
         " records; what comes later is not foreseen\n";
}

}  // namespace orrery::cli
