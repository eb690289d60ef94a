// trace info: what a trace holds, and what its reader made of every row.
#include <optional>
#include <string>

#include "core/base/json_text.hpp"
#include "sim/traces/lanl_failures.hpp"
#include "sim/traces/philly_csv.hpp"
#include "sim/traces/philly_json.hpp"
#include "sim/traces/trace_summary.hpp"
#include "tools/orrery/input_file.hpp"
#include "tools/orrery/verb_functions.hpp"

namespace orrery::cli {
namespace {

/// A log begins with a bracket, an extract and failure records with the names of their columns.
std::string format_of(const std::string& text) {
  if (sim::looks_like_lanl(text)) return "lanl";
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != text.npos && text[first] == '[' ? "philly-json" : "philly";
}

/// Failure records hold no jobs: they have a summary of their own.
ExitCode describe_failures(const std::string& text,
                           const std::string& path,
                           const Arguments& arguments,
                           Console& console) {
  const auto records = sim::parse_lanl_failures(text, path);
  if (!records) {
    console.errors(records.errors());
    return ExitCode::BadInput;
  }
  const sim::LanlSummary summary = sim::summarise(*records);
  if (!arguments.has("--json")) {
    console.out(path + ": " + summary.text() + sim::oddities_text(*records));
    return ExitCode::Met;
  }
  JsonText json(JsonText::Layout::Indented);
  summary.write(json);
  console.out(json.take() + "\n");
  return ExitCode::Met;
}

}  // namespace

ExitCode run_trace_info(const Arguments& arguments, Console& console) {
  const std::string& path = arguments.operands().front();
  const auto text = read_input(path);
  if (!text) {
    console.errors(text.errors());
    return ExitCode::BadInput;
  }
  const std::string format = arguments.value("--format").value_or(format_of(*text));
  if (format == "lanl") return describe_failures(*text, path, arguments, console);
  const auto trace = format == "philly-json" ? sim::parse_philly_json(*text, path)
                                             : sim::parse_philly_csv(*text, path);
  if (!trace) {
    console.errors(trace.errors());
    return ExitCode::BadInput;
  }
  const sim::TraceSummary summary = sim::summarise(trace->jobs);
  if (!arguments.has("--json")) {
    console.out(trace->report.text() + "\n" + summary.text());
    return ExitCode::Met;
  }
  JsonText json(JsonText::Layout::Indented);
  json.begin_object().key("report");
  trace->report.write(json);
  json.key("summary");
  summary.write(json);
  json.end_object();
  console.out(json.take() + "\n");
  return ExitCode::Met;
}

}  // namespace orrery::cli
