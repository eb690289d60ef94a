#include "sim/traces/write_philly.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "sim/traces/fields.hpp"
#include "sim/traces/local_time.hpp"

namespace orrery::sim {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr Instant kEarliest = Instant::zero() + Duration::seconds(631'238'400);  // 2 January 1990.
constexpr Instant kDated = Instant::zero() + Duration::seconds(1'506'927'600);   // 2 October 2017.

void note_philly_losses(const TraceJob& job, std::size_t line, TraceLosses& losses) {
  losses.note("names of jobs", job.name != "line-" + std::to_string(line));
  losses.note("parts of devices, taken as whole ones", job.gpu_milli != 1000 * job.gpus);
  losses.note("cores", job.cpu_milli != 0);
  losses.note("memory", job.memory_mib != 0);
  losses.note("numbers of instances", job.instances != 1);
  losses.note("device models", !job.models.empty());
  losses.note("kinds of work", !job.kind.empty());
  losses.note("users", !job.user.empty());
  losses.note("how jobs ended", job.status != TraceStatus::Unknown);
  losses.note("that the end is unknown", job.censored);
  losses.note("share weights", job.weight != 1.0);
  losses.note("estimates", job.estimate.has_value());
  losses.note("recorded times in the queue", job.waited.has_value());
}

/// A name of a virtual cluster that does not end its field, and is read back whole.
std::string cell(std::string_view text) {
  std::string out(text);
  std::replace_if(
      out.begin(),
      out.end(),
      [](unsigned char c) { return c < 0x20 || c == ',' || c == '"'; },
      '_');
  if (out.starts_with(' ')) out.front() = '_';
  if (out.ends_with(' ')) out.back() = '_';
  return out;
}

std::string gpu_time_text(const TraceJob& job) {
  const double seconds = job.duration.in_seconds() * job.gpus;
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, seconds);
  return {buffer, end};
}

}  // namespace

TraceText write_philly(const Trace& trace) {
  TraceText out;
  TraceLosses losses;
  const bool dated = trace.origin >= kEarliest;
  const Instant origin = dated ? trace.origin : kDated;
  out.text = "timestamp,duration,num_gpus,gpu_time,cluster\n";
  std::size_t line = 1;
  for (const TraceJob& job : trace.jobs) {
    const Instant submit = origin + Duration{job.submit.ns};
    const std::string wall = local_time_text(submit, TraceZone::PacificTime);
    const std::string vc = cell(job.vc);
    note_philly_losses(job, ++line, losses);
    losses.note("the date, which the trace does not tell: 2 October 2017 instead", !dated);
    losses.note("parts of seconds of submissions", submit.ns % kSecond != 0);
    const auto back = parse_local_time(wall, TraceZone::PacificTime);
    losses.note("which passing of an hour that the clock repeated",
                back && submit - back->at >= Duration::seconds(1));
    losses.note("commas, quotes and outer blanks in names of virtual clusters", vc != job.vc);
    out.text += wall + "," + seconds_text(job.duration.ns) + "," + std::to_string(job.gpus) + "," +
                gpu_time_text(job) + "," + vc + "\n";
  }
  out.losses = losses.take();
  return out;
}

}  // namespace orrery::sim
