// Every reader of traces reads or refuses any bytes, accounts for every row, and what it read can
// be written in every form; our own form gives it back.
//
// The first byte chooses the format, the second the choices about odd rows; where a format wants
// tables, a line of "====" ends the trace and each table.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/invariant.hpp"
#include "sim/traces/formats.hpp"
#include "sim/traces/gavel_throughputs.hpp"
#include "sim/traces/node_list.hpp"
#include "sim/traces/trace_summary.hpp"
#include "sim/traces/trace_target.hpp"

namespace orrery::sim {
namespace {

constexpr std::string_view kCut = "\n====\n";

/// Takes what is before the next cut off `rest`.
std::string take_part(std::string_view& rest) {
  const std::size_t cut = rest.find(kCut);
  const std::string part(rest.substr(0, cut));
  rest.remove_prefix(cut == std::string_view::npos ? rest.size() : cut + kCut.size());
  return part;
}

void check(const TraceJob& job) {
  invariant(job.duration >= Duration::seconds(1), "a job lasts a second at least");
  invariant(job.duration <= kTraceDurationMax, "a job lasts a hundred years at most");
  invariant(job.submit >= Instant::zero(), "the first submission is at zero");
  invariant(job.gpus >= 0 && job.instances >= 1, "a job has instances");
  invariant(job.gpu_milli >= 0 && job.gpu_milli <= std::int64_t{1000} * job.gpus,
            "parts of devices are parts");
  invariant(job.cpu_milli >= 0 && job.memory_mib >= 0, "amounts are not negative");
  invariant(!job.name.empty(), "a job has a name");
}

void check(const Trace& trace) {
  invariant(trace.report.rows == trace.report.jobs + trace.report.dropped(),
            "every row is a job or dropped for one reason");
  for (const TraceJob& job : trace.jobs) check(job);
  summarise(trace.jobs).text();
  for (const TraceTarget& target : trace_targets()) target.write(trace);
}

/// Our own form holds all of `trace`.
void check_back(const Trace& trace) {
  const TraceOptions kKeepAll = {.zero_gpus = OddRows::Keep, .censored = OddRows::Keep};
  const std::string text = find_trace_target("orrery")->write(trace).text;
  const auto none = [](const std::string&, std::string_view) -> Result<std::string> {
    return Error{.code = ErrorCode::NotFound, .message = "is not there"};
  };
  const auto back = read_trace(*find_trace_format("orrery"), "b", text, "", kKeepAll, none);
  invariant(back.has_value(), "our own form can be read");
  invariant(back->jobs == trace.jobs, "our own form holds every job");
}

void run(std::uint8_t choice, std::uint8_t rows, std::string_view rest) {
  TraceOptions options;
  if ((rows & 1) != 0) options.duplicates = OddRows::Drop;
  if ((rows & 2) != 0) options.zero_gpus = OddRows::Keep;
  if ((rows & 4) != 0) options.censored = OddRows::Keep;
  const auto formats = trace_formats();
  const std::size_t which = choice % (formats.size() + 3);
  if (which >= formats.size()) {
    const std::string text(rest);
    if (which == formats.size()) static_cast<void>(parse_openb_nodes(text, "n").has_value());
    if (which == formats.size() + 1) static_cast<void>(parse_pai_machines(text, "n").has_value());
    if (which == formats.size() + 2)
      static_cast<void>(parse_gavel_throughputs(text, "n").has_value());
    return;
  }
  std::string main = take_part(rest);
  static_cast<void>(recognise_trace(main));
  const auto trace = read_trace(
      formats[which],
      "f",
      std::move(main),
      "t",
      options,
      [&](const std::string&, std::string_view) -> Result<std::string> { return take_part(rest); });
  if (!trace) return;
  check(*trace);
  check_back(*trace);
}

}  // namespace
}  // namespace orrery::sim

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  orrery::sim::run(data[0], data[1], text.substr(2));
  return 0;
}
