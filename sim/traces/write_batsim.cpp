#include "sim/traces/write_batsim.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "core/base/json_text.hpp"
#include "sim/traces/fields.hpp"

namespace orrery::sim {
namespace {

void note_batsim_losses(const TraceJob& job, TraceLosses& losses) {
  losses.note("parts of devices, taken as whole ones", job.gpu_milli != 1000 * job.gpus);
  losses.note("cores", job.cpu_milli != 0);
  losses.note("memory", job.memory_mib != 0);
  losses.note("numbers of instances", job.instances != 1);
  losses.note("device models", !job.models.empty());
  losses.note("kinds of work", !job.kind.empty());
  losses.note("virtual clusters", !job.vc.empty());
  losses.note("users", !job.user.empty());
  losses.note("how jobs ended", job.status != TraceStatus::Unknown);
  losses.note("that the end is unknown", job.censored);
  losses.note("share weights", job.weight != 1.0);
  losses.note("estimates shorter than the run", job.estimate && *job.estimate < job.duration);
  losses.note("recorded times in the queue", job.waited.has_value());
}

std::string profile_of(Duration duration) { return "delay_" + seconds_text(duration.ns); }

}  // namespace

TraceText write_batsim(const Trace& trace) {
  TraceText out;
  TraceLosses losses;
  int largest = 1;
  std::set<Duration> durations;
  for (const TraceJob& job : trace.jobs) {
    largest = std::max(largest, job.gpus);
    durations.insert(job.duration);
    note_batsim_losses(job, losses);
    losses.note("the date of the first submission", trace.origin != Instant::zero());
  }
  JsonText json(JsonText::Layout::Indented);
  json.begin_object().field("nb_res", largest).key("jobs").begin_array();
  for (const TraceJob& job : trace.jobs) {
    json.begin_object().field("id", job.name);
    json.key("subtime").raw(seconds_text(job.submit.ns)).field("res", job.gpus);
    if (job.estimate && *job.estimate >= job.duration)
      json.key("walltime").raw(seconds_text(job.estimate->ns));
    json.field("profile", profile_of(job.duration)).end_object();
  }
  json.end_array().key("profiles").begin_object();
  for (const Duration duration : durations) {
    json.key(profile_of(duration)).begin_object().field("type", "DelayProfile");
    json.key("delay").raw(seconds_text(duration.ns)).end_object();
  }
  json.end_object().end_object();
  out.text = json.take() + "\n";
  out.losses = losses.take();
  return out;
}

}  // namespace orrery::sim
