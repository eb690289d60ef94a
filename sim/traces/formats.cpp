#include "sim/traces/formats.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "sim/traces/acme.hpp"
#include "sim/traces/gavel.hpp"
#include "sim/traces/helios.hpp"
#include "sim/traces/normal_csv.hpp"
#include "sim/traces/openb.hpp"
#include "sim/traces/pai_sample.hpp"
#include "sim/traces/pai_tables.hpp"
#include "sim/traces/philly_csv.hpp"
#include "sim/traces/philly_json.hpp"
#include "sim/traces/swf.hpp"

namespace orrery::sim {
namespace {

using Files = std::span<const TraceFile>;

constexpr std::string_view kThroughputs = "throughputs";

constexpr std::array<TraceTable, 1> kGavelTables = {{{kThroughputs, ""}}};

constexpr std::array<TraceTable, 3> kPaiTables = {{{"tasks", "pai_task_table.csv", true},
                                                   {"groups", "pai_group_tag_table.csv"},
                                                   {"instances", "pai_instance_table.csv"}}};

const TraceFile* file_of(Files files, std::string_view role) {
  const auto found = std::ranges::find(files, role, &TraceFile::role);
  return found == files.end() ? nullptr : &*found;
}

/// A reader that needs nothing but the trace.
template <Result<Trace> (*kParse)(std::string_view, std::string_view, const TraceOptions&)>
Result<Trace> read_alone(Files files, const TraceOptions& options) {
  return kParse(files[0].text, files[0].path, options);
}

Result<Trace> read_gavel(Files files, const TraceOptions& options) {
  const TraceFile* table = file_of(files, kThroughputs);
  if (table == nullptr) return parse_gavel(files[0].text, files[0].path, options);
  const Result<GavelThroughputs> throughputs = parse_gavel_throughputs(table->text, table->path);
  if (!throughputs) return throughputs.errors();
  return parse_gavel(files[0].text, files[0].path, options, &*throughputs);
}

Result<Trace> read_pai(Files files, const TraceOptions& options) {
  return parse_pai_tables({.jobs = files.data(),
                           .tasks = file_of(files, "tasks"),
                           .groups = file_of(files, "groups"),
                           .instances = file_of(files, "instances")},
                          options);
}

bool looks_like_philly_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '[';
}

bool looks_like_philly(std::string_view text) {
  const std::string_view header = text.substr(0, text.find('\n'));
  return header.find("timestamp") != std::string_view::npos &&
         header.find("num_gpus") != std::string_view::npos;
}

constexpr std::array<TraceFormat, 10> kFormats = {
    {{"orrery", "Orrery's own CSV form", &looks_like_normal_csv, &read_alone<parse_normal_csv>},
     {"philly",
      "extract of Microsoft's Philly trace",
      &looks_like_philly,
      &read_alone<parse_philly_csv>},
     {"philly-json",
      "original log of Microsoft's Philly cluster",
      &looks_like_philly_json,
      &read_alone<parse_philly_json>},
     {"openb",
      "task lists of Alibaba's openb cluster",
      &looks_like_openb,
      &read_alone<parse_openb>},
     {"helios",
      "job logs of SenseTime's Helios clusters",
      &looks_like_helios,
      &read_alone<parse_helios>},
     {"acme",
      "job logs of Shanghai AI Lab's Acme clusters",
      &looks_like_acme,
      &read_alone<parse_acme>},
     {"pai-sample",
      "job samples of Alibaba PAI's simulator",
      &looks_like_pai_sample,
      &read_alone<parse_pai_sample>},
     {"pai",
      "Alibaba PAI's table of jobs, with its other tables beside it",
      &looks_like_pai_jobs,
      &read_pai,
      kPaiTables},
     {"gavel", "traces of Gavel and Shockwave", &looks_like_gavel, &read_gavel, kGavelTables},
     {"swf", "the Standard Workload Format", &looks_like_swf, &read_alone<parse_swf>}}};

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

}  // namespace

std::span<const TraceFormat> trace_formats() { return kFormats; }

const TraceFormat* find_trace_format(std::string_view name) {
  const auto found = std::ranges::find(kFormats, name, &TraceFormat::name);
  return found == kFormats.end() ? nullptr : &*found;
}

const TraceFormat* recognise_trace(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // A byte order mark.
  const auto found =
      std::ranges::find_if(kFormats, [&](const TraceFormat& f) { return f.looks_like(text); });
  return found == kFormats.end() ? nullptr : &*found;
}

Result<Trace> read_trace(const TraceFormat& format,
                         const std::string& path,
                         std::string text,
                         const std::string& throughputs,
                         const TraceOptions& options,
                         const ReadTraceFile& read_file) {
  std::vector<TraceFile> files;
  files.push_back({.role = "", .path = path, .text = std::move(text)});
  for (const TraceTable& table : format.tables) {
    const bool named = table.role == kThroughputs;
    if (named && throughputs.empty()) continue;
    const std::string at = named ? throughputs : folder_of(path) + std::string(table.file_name);
    Result<std::string> content = read_file(at, table.role);
    if (content) {
      files.push_back({std::string(table.role), at, std::move(*content)});
    } else if (named || table.needed || content.errors().front().code != ErrorCode::NotFound) {
      return content.errors();
    }
  }
  return format.read(files, options);
}

}  // namespace orrery::sim
