#include "sim/traces/formats.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "scenarios/language/spec/trace_formats.hpp"
#include "sim/traces/acme.hpp"
#include "sim/traces/gavel.hpp"
#include "sim/traces/helios.hpp"
#include "sim/traces/openb.hpp"
#include "sim/traces/orrery_csv.hpp"
#include "sim/traces/pai_sample.hpp"
#include "sim/traces/pai_tables.hpp"
#include "sim/traces/philly_csv.hpp"
#include "sim/traces/philly_json.hpp"
#include "sim/traces/swf.hpp"

namespace orrery::sim {
namespace {

/// The row of each format with its reader. A row without one does not compile here.
template <std::size_t... kRows>
constexpr std::array<TraceFormat, sizeof...(kRows)> with_readers(std::index_sequence<kRows...>) {
  using scenarios::kTraceFormats;
  return {TraceFormat{kTraceFormats[kRows].name,
                      kTraceFormats[kRows].what,
                      &TraceReader<FormatName(kTraceFormats[kRows].name)>::looks_like,
                      &TraceReader<FormatName(kTraceFormats[kRows].name)>::read,
                      TraceReader<FormatName(kTraceFormats[kRows].name)>::kTables}...};
}

constexpr auto kFormats =
    with_readers(std::make_index_sequence<std::size(scenarios::kTraceFormats)>());

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
    const bool named = table.file_name.empty();
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
