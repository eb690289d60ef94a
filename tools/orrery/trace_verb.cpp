// trace info and trace convert: what a trace holds, what its reader made of every row, and the same
// jobs in another form.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/base/json_text.hpp"
#include "core/base/plain_lines.hpp"
#include "sim/import/batsim_trace.hpp"
#include "sim/import/elastisim_file.hpp"
#include "sim/traces/formats.hpp"
#include "sim/traces/gavel_throughputs.hpp"
#include "sim/traces/lanl_failures.hpp"
#include "sim/traces/node_list.hpp"
#include "sim/traces/trace_summary.hpp"
#include "sim/traces/trace_target.hpp"
#include "tools/console/input_file.hpp"
#include "tools/orrery/output_folder.hpp"
#include "tools/orrery/verb_functions.hpp"

namespace orrery::cli {
namespace {

ExitCode refuse(const Errors& errors, Console& console) {
  console.errors(errors);
  return ExitCode::BadInput;
}

Result<std::string> read_trace_file(const std::string& path) {
  Result<std::string> text = read_input(path);
  if (text) *text = plain_lines(*std::move(text));
  return text;
}

/// Prints `value`, which has text() and write(json).
template <class T>
ExitCode describe(const T& value, const Arguments& arguments, Console& console) {
  if (!arguments.has("--json")) {
    console.out(value.text());
    return ExitCode::Met;
  }
  JsonText json(JsonText::Layout::Indented);
  value.write(json);
  console.out(json.take() + "\n");
  return ExitCode::Met;
}

/// Failure records hold no jobs: they have a summary of their own.
ExitCode describe_failures(const std::string& text,
                           const std::string& path,
                           const Arguments& arguments,
                           Console& console) {
  const auto records = sim::parse_lanl_failures(text, path);
  if (!records) return refuse(records.errors(), console);
  const sim::LanlSummary summary = sim::summarise(*records);
  if (!arguments.has("--json")) {
    console.out(path + ": " + summary.text() + sim::oddities_text(*records));
    return ExitCode::Met;
  }
  return describe(summary, arguments, console);
}

ExitCode describe_throughputs(const std::string& text,
                              const std::string& path,
                              const Arguments& arguments,
                              Console& console) {
  const auto table = sim::parse_gavel_throughputs(text, path);
  if (!table) return refuse(table.errors(), console);
  JsonText json(JsonText::Layout::Indented);
  json.begin_object().field("file", path).field("format", "gavel-throughputs");
  json.key("models").begin_array();
  std::string lines = path + " (gavel-throughputs)\n";
  for (const auto& [model, jobs] : table->sizes()) {
    lines += "  " + model + ": " + std::to_string(jobs) + " types of jobs and sizes\n";
    json.begin_object().field("model", model).field("jobs", jobs).end_object();
  }
  json.end_array().end_object();
  console.out(arguments.has("--json") ? json.take() + "\n" : lines);
  return ExitCode::Met;
}

/// Whether `text` is a list of ElastiSim's jobs, as far as its keys tell.
bool looks_like_elastisim(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != text.npos && text[first] == '{' &&
         text.find("\"application_model\"") != text.npos;
}

/// ElastiSim's jobs last as long as a platform and a schedule make them: no durations, no trace.
ExitCode describe_elastisim(const std::string& text,
                            const std::string& path,
                            const Arguments& arguments,
                            Console& console) {
  const auto list = sim::parse_elastisim_jobs(text, path);
  if (!list) return refuse(list.errors(), console);
  std::map<std::string, std::size_t> by_type;
  std::int32_t largest = 0;
  for (const sim::ElastisimJob& job : list->jobs) {
    ++by_type[std::string(to_string(job.type))];
    largest = std::max(largest, job.nodes_max);
  }
  JsonText json(JsonText::Layout::Indented);
  json.begin_object().field("file", path).field("format", "elastisim");
  json.field("jobs", list->jobs.size()).field("nodes_max", largest);
  std::string lines = path + " (elastisim): " + std::to_string(list->jobs.size()) +
                      " jobs of up to " + std::to_string(largest) + " nodes\n";
  json.key("by_type").begin_array();
  for (const auto& [type, jobs] : by_type) {
    lines += "  " + type + ": " + std::to_string(jobs) + " jobs\n";
    json.begin_object().field("type", type).field("jobs", jobs).end_object();
  }
  json.end_array().end_object();
  console.out(arguments.has("--json") ? json.take() + "\n" : lines);
  return ExitCode::Met;
}

/// The list of machines that `text` is; nothing where it is none.
std::optional<Result<sim::NodeList>> nodes_in(const std::string& format,
                                              const std::string& text,
                                              const std::string& path) {
  if (format == "openb-nodes" || (format.empty() && sim::looks_like_openb_nodes(text)))
    return sim::parse_openb_nodes(text, path);
  if (format == "pai-machines" || (format.empty() && sim::looks_like_pai_machines(text)))
    return sim::parse_pai_machines(text, path);
  return std::nullopt;
}

/// Files that belong to traces and hold no jobs, by the name of their format; nothing where `text`
/// is none of them.
std::optional<ExitCode> describe_other(const std::string& format,
                                       const std::string& text,
                                       const std::string& path,
                                       const Arguments& arguments,
                                       Console& console) {
  const auto is = [&](std::string_view name, bool looks_like) {
    return format == name || (format.empty() && looks_like);
  };
  if (is("lanl", sim::looks_like_lanl(text)))
    return describe_failures(text, path, arguments, console);
  if (is("gavel-throughputs", sim::looks_like_gavel_throughputs(text)))
    return describe_throughputs(text, path, arguments, console);
  if (is("elastisim", looks_like_elastisim(text)))
    return describe_elastisim(text, path, arguments, console);
  const auto nodes = nodes_in(format, text, path);
  if (!nodes) return std::nullopt;
  return *nodes ? describe(**nodes, arguments, console) : refuse(nodes->errors(), console);
}

sim::OddRows rows_of(const Arguments& arguments, std::string_view option, sim::OddRows absent) {
  const auto value = arguments.value(option);
  return value ? enum_from<sim::OddRows>(*value).value_or(absent) : absent;
}

sim::TraceOptions trace_options(const Arguments& arguments) {
  sim::TraceOptions options;
  options.zero_gpus = rows_of(arguments, "--zero-gpus", sim::OddRows::Keep);
  options.censored = rows_of(arguments, "--censored", sim::OddRows::Drop);
  options.duplicates = rows_of(arguments, "--duplicates", sim::OddRows::Keep);
  options.device_model = arguments.value("--device-model").value_or(options.device_model);
  return options;
}

/// Whether `text` is a workload of Batsim, as far as its keys tell.
bool looks_like_batsim(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != text.npos && text[first] == '{' && text.find("\"nb_res\"") != text.npos;
}

/// The jobs of `text`, as the options want them.
Result<sim::Trace> read_jobs(const std::string& path,
                             std::string text,
                             const Arguments& arguments) {
  const std::string name = arguments.value("--format").value_or("");
  const sim::TraceOptions options = trace_options(arguments);
  if (name == "batsim" || (name.empty() && looks_like_batsim(text))) {
    const auto workload = sim::parse_batsim(text, path);
    if (!workload) return workload.errors();
    return sim::batsim_trace(*workload, options);
  }
  const sim::TraceFormat* format =
      name.empty() ? sim::recognise_trace(text) : sim::find_trace_format(name);
  if (format == nullptr)
    return Error{.file = path,
                 .line = 1,
                 .subject = "format",
                 .message =
                     "looks like no format that is known, a trace is needed; name its "
                     "format with --format, as orrery help trace info lists them"};
  return sim::read_trace(
      *format,
      path,
      std::move(text),
      arguments.value("--throughputs").value_or(""),
      options,
      [](const std::string& file, std::string_view) { return read_trace_file(file); });
}

}  // namespace

ExitCode run_trace_info(const Arguments& arguments, Console& console) {
  const std::string& path = arguments.operands().front();
  auto text = read_trace_file(path);
  if (!text) return refuse(text.errors(), console);
  const std::string format = arguments.value("--format").value_or("");
  if (const auto done = describe_other(format, *text, path, arguments, console)) return *done;
  const auto trace = read_jobs(path, std::move(*text), arguments);
  if (!trace) return refuse(trace.errors(), console);
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

namespace {

/// Writes where --out says, else to standard output.
ExitCode put(const std::string& text, const Arguments& arguments, Console& console) {
  const auto out = arguments.value("--out");
  if (!out) {
    console.out(text);
    return ExitCode::Met;
  }
  const Status written = write_file(*out, text);
  return written ? ExitCode::Met : refuse(written.errors(), console);
}

/// A list of machines as the cluster of a scenario.
ExitCode convert_nodes(const std::string& path,
                       const std::string& text,
                       const Arguments& arguments,
                       Console& console) {
  const auto nodes = nodes_in(arguments.value("--format").value_or(""), text, path);
  if (!nodes)
    return refuse({Error{.file = path,
                         .line = 1,
                         .subject = "--to cluster",
                         .message = "is no list of machines, one is needed; name openb's node list "
                                    "or PAI's machine list, or another form"}},
                  console);
  if (!*nodes) return refuse(nodes->errors(), console);
  return put(sim::cluster_yaml(**nodes), arguments, console);
}

}  // namespace

ExitCode run_trace_convert(const Arguments& arguments, Console& console) {
  const std::string& path = arguments.operands().front();
  const auto name = arguments.value("--to");
  if (!name)
    return refuse({Error{.subject = "--to",
                         .message = "is missing, a form to write is needed; add for example --to "
                                    "swf"}},
                  console);
  if (const auto out = arguments.value("--out"))
    if (const Status kept = keeps_inputs(*out, {path}); !kept)
      return refuse(kept.errors(), console);
  auto text = read_trace_file(path);
  if (!text) return refuse(text.errors(), console);
  if (*name == "cluster") return convert_nodes(path, *text, arguments, console);
  const auto trace = read_jobs(path, std::move(*text), arguments);
  if (!trace) return refuse(trace.errors(), console);
  const sim::TraceText written = sim::find_trace_target(*name)->write(*trace);
  console.err(trace->report.text());
  for (const sim::TraceLoss& loss : written.losses)
    console.err("  lost in " + *name + ": " + loss.what + " (" + std::to_string(loss.jobs) +
                " jobs)\n");
  return put(written.text, arguments, console);
}

}  // namespace orrery::cli
