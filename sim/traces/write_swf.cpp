#include "sim/traces/write_swf.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "sim/traces/fields.hpp"

namespace orrery::sim {
namespace {

/// Whether parse_swf gives `text` back from a number: "0", "17", no sign, no leading zero.
bool is_plain_number(std::string_view text) {
  return !text.empty() && text.size() <= 15 && (text == "0" || text[0] != '0') &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// Numbers for the names of users, kinds or virtual clusters.
class NameNumbers {
 public:
  NameNumbers(const Trace& trace, std::string TraceJob::*field) : field_(field) {
    for (const TraceJob& job : trace.jobs) {
      const std::string& name = job.*field;
      if (name.empty()) continue;
      numbers_.emplace(name, 0);
      plain_ = plain_ && is_plain_number(name);
    }
    std::int64_t next = 1;
    for (auto& [name, number] : numbers_) number = next++;
  }

  bool renames(const TraceJob& job) const { return !plain_ && !(job.*field_).empty(); }

  std::string of(const TraceJob& job) const {
    const std::string& name = job.*field_;
    if (name.empty()) return "-1";
    return plain_ ? name : std::to_string(numbers_.at(name));
  }

  /// Comments that tell the names, where numbers stand for them.
  std::string comments(std::string_view label) const {
    std::string out;
    if (plain_) return out;
    for (const auto& [name, number] : numbers_) {
      std::string shown = name;
      std::replace_if(
          shown.begin(), shown.end(), [](unsigned char c) { return c < 0x20; }, '?');
      out += "; " + std::string(label) + ": " + std::to_string(number) + " " + shown + "\n";
    }
    return out;
  }

 private:
  std::string TraceJob::*field_;
  std::map<std::string, std::int64_t> numbers_;
  bool plain_ = true;
};

std::string_view status_number(TraceStatus status) {
  switch (status) {
    case TraceStatus::Pass:
      return "1";
    case TraceStatus::Failed:
      return "0";
    case TraceStatus::Killed:
      return "5";
    case TraceStatus::Unknown:
      break;
  }
  return "-1";
}

/// KiB per processor, or -1.
std::string memory_text(const TraceJob& job) {
  if (job.memory_mib == 0) return "-1";
  return std::to_string(std::max<std::int64_t>(1, job.memory_mib * 1024 / job.gpus));
}

void note_swf_losses(const TraceJob& job, std::size_t number, TraceLosses& losses) {
  losses.note("names of jobs, numbered instead", job.name != std::to_string(number));
  losses.note("parts of devices, taken as whole ones", job.gpu_milli != 1000 * job.gpus);
  losses.note("cores", job.cpu_milli != 0);
  losses.note("memory that is no multiple of devices",
              job.memory_mib * 1024 % std::max(1, job.gpus) != 0);
  losses.note("numbers of instances", job.instances != 1);
  losses.note("device models", !job.models.empty());
  losses.note("share weights", job.weight != 1.0);
  losses.note("that the end is unknown", job.censored);
  losses.note("estimates of zero", job.estimate && *job.estimate == Duration::zero());
}

}  // namespace

TraceText write_swf(const Trace& trace) {
  const NameNumbers users(trace, &TraceJob::user);
  const NameNumbers kinds(trace, &TraceJob::kind);
  const NameNumbers vcs(trace, &TraceJob::vc);
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::int64_t start_s = trace.origin.ns / kSecond;
  TraceText out;
  out.text = "; Version: 2.2\n; UnixStartTime: " + std::to_string(start_s) +
             "\n; Note: written by orrery; a processor stands for a device\n";
  out.text += users.comments("User") + kinds.comments("Queue") + vcs.comments("Partition");
  TraceLosses losses;
  std::size_t number = 0;
  for (const TraceJob& job : trace.jobs) {
    losses.note("jobs without a device, left out", job.gpus == 0);
    if (job.gpus == 0) continue;
    ++number;
    note_swf_losses(job, number, losses);
    losses.note("names of users, numbered instead", users.renames(job));
    losses.note("names of kinds, numbered instead", kinds.renames(job));
    losses.note("names of virtual clusters, numbered instead", vcs.renames(job));
    const std::string gpus = std::to_string(job.gpus);
    out.text += std::to_string(number) + " " +
                seconds_text(trace.origin.ns - start_s * kSecond + job.submit.ns) + " " +
                (job.waited ? seconds_text(job.waited->ns) : "-1") + " " +
                seconds_text(job.duration.ns) + " " + gpus + " -1 -1 " + gpus + " " +
                (job.estimate ? seconds_text(job.estimate->ns) : "-1") + " " + memory_text(job) +
                " " + std::string(status_number(job.status)) + " " + users.of(job) + " -1 -1 " +
                kinds.of(job) + " " + vcs.of(job) + " -1 -1\n";
  }
  out.losses = losses.take();
  return out;
}

}  // namespace orrery::sim
