#include "tools/orrery/run_files.hpp"

#include <string>
#include <utility>

#include "sim/faults/fault_processes.hpp"
#include "sim/reports/evalys_csv.hpp"
#include "sim/reports/jobs_csv.hpp"
#include "sim/reports/machine_states.hpp"
#include "sim/reports/perfetto_trace.hpp"
#include "sim/reports/report_html.hpp"
#include "sim/reports/schedule.hpp"
#include "tools/orrery/approximations.hpp"
#include "tools/orrery/output_folder.hpp"

namespace orrery::cli {
namespace {

using scenarios::OutputFormat;

Error cannot_write(const std::filesystem::path& path) {
  return {.subject = path.string(),
          .message = "cannot be written; free space there or name another folder"};
}

bool wants_page(const scenarios::Outputs& outputs) {
  return outputs.wants(OutputFormat::Report) && sim::report_page_absence().empty();
}

/// What faults are called on a page.
std::vector<sim::StrikeWords> words_of(const std::vector<scenarios::Fault>& faults) {
  std::vector<sim::StrikeWords> words;
  for (const scenarios::Fault& fault : faults) {
    std::string what(to_string(fault.kind));
    if (!fault.job.empty()) what += " of " + std::string(sim::display_name(fault.job));
    words.push_back({std::move(what), fault.nodes});
  }
  return words;
}

/// What the timeline must hold for the files that are wanted.
sim::TimelineLimits limits_for(const scenarios::Outputs& outputs) {
  sim::TimelineLimits limits;
  if (!outputs.wants(OutputFormat::Perfetto) && !wants_page(outputs)) limits.phases_max = 0;
  if (outputs.wants(OutputFormat::MachineStates)) limits.states_max = 1'000'000;
  return limits;
}

/// "down node 3", "crash default.a" and the like, by index.
std::vector<std::string> names_of(const std::vector<scenarios::Fault>& faults) {
  std::vector<std::string> names;
  for (const scenarios::Fault& fault : faults) {
    std::string& name = names.emplace_back(orrery::to_string(fault.kind));
    if (!fault.job.empty()) name += " " + fault.job;
    if (!fault.nodes.empty()) name += " node " + std::to_string(fault.nodes.front().value);
    if (fault.nodes.size() > 1) name += " and others";
  }
  return names;
}

}  // namespace

RunFiles::RunFiles(const scenarios::Scenario& scenario,
                   std::filesystem::path folder,
                   std::vector<scenarios::Fault> faults)
    : scenario_(scenario), folder_(std::move(folder)), faults_(std::move(faults)) {
  if (folder_.empty()) return;
  if (wants_page(scenario.outputs)) {
    notes_.emplace();
    timeline_.emplace(scenario.groups, limits_for(scenario.outputs));
  }
  for (const OutputFormat format : {OutputFormat::Jobs,
                                    OutputFormat::Evalys,
                                    OutputFormat::Schedule,
                                    OutputFormat::MachineStates,
                                    OutputFormat::Perfetto})
    if (wants(format) && !timeline_)
      timeline_.emplace(scenario.groups, limits_for(scenario.outputs));
  if (!wants(OutputFormat::Events)) return;
  events_file_.open(folder_ / "events.jsonl", std::ios::binary | std::ios::trunc);
  events_.emplace(events_file_);
}

void RunFiles::listen(std::vector<sim::RunListener*>& listeners) {
  if (timeline_) listeners.push_back(&*timeline_);
  if (notes_) listeners.push_back(&*notes_);
  if (events_) listeners.push_back(&*events_);
}

Status RunFiles::finish(const sim::RunReport& report, std::vector<std::string>& warnings) {
  if (folder_.empty()) return Done{};
  if (events_) {
    const Status written = finish_events();
    if (!written) return written;
  }
  if (timeline_) {
    const Status written = write_timeline(report, warnings);
    if (!written) return written;
  }
  if (!wants(OutputFormat::Summary)) return Done{};
  return write_file(folder_ / "summary.json", sim::summary_file(report.summary));
}

Status RunFiles::finish_events() {
  events_->flush();
  events_file_.close();
  if (!events_file_) return cannot_write(folder_ / "events.jsonl");
  return Done{};
}

Status RunFiles::write_timeline(const sim::RunReport& report, std::vector<std::string>& warnings) {
  for (scenarios::Fault& fault : sim::random_failures(scenario_, report.ended_at)) {
    timeline_->on_struck(static_cast<std::uint32_t>(faults_.size()), fault.at);
    faults_.push_back(std::move(fault));
  }
  const sim::Timeline& timeline = timeline_->close(report.ended_at);
  const sim::JobTable& jobs = report.metrics->jobs();
  if (timeline.segments_left_out() > 0)
    warnings.push_back(std::to_string(timeline.segments_left_out()) +
                       " stretches of constant allocation were too many to be kept: their jobs "
                       "have no allocated_resources in evalys.csv, and jobs.csv does not say what "
                       "they held");
  if (wants(OutputFormat::Jobs)) {
    const Status written = stream("jobs.csv", [&](std::ostream& out) {
      sim::write_jobs_csv(out, report.summary.scenario, jobs, &timeline);
    });
    if (!written) return written;
  }
  if (wants(OutputFormat::Evalys)) {
    const Status written = stream("evalys.csv", [&](std::ostream& out) {
      sim::write_evalys_csv(out, report.summary.scenario, jobs, &timeline);
    });
    if (!written) return written;
    const Status joined = stream(
        "segments.csv", [&](std::ostream& out) { sim::write_segments_csv(out, jobs, timeline); });
    if (!joined) return joined;
  }
  if (wants(OutputFormat::Schedule)) {
    const sim::Schedule schedule = sim::schedule_of(report.summary, jobs, timeline);
    const Status written = write_file(folder_ / "schedule.json", sim::schedule_file(schedule));
    if (!written) return written;
  }
  if (wants(OutputFormat::MachineStates)) {
    const Status written = stream(
        "machine_states.csv", [&](std::ostream& out) { sim::write_machine_states(out, timeline); });
    if (!written) return written;
  }
  if (wants(OutputFormat::Perfetto)) {
    const Status traced = write_perfetto(timeline, jobs, warnings);
    if (!traced) return traced;
  }
  return notes_ ? write_report(report, timeline) : Status(Done{});
}

Status RunFiles::write_perfetto(const sim::Timeline& timeline,
                                const sim::JobTable& jobs,
                                std::vector<std::string>& warnings) const {
  sim::PerfettoOutcome outcome;
  const Status traced = stream("trace.perfetto-trace", [&](std::ostream& out) {
    outcome = sim::write_perfetto_trace(out, timeline, jobs, names_of(faults_));
  });
  if (outcome.segments_left_out > 0)
    warnings.push_back("trace.perfetto-trace ends at " +
                       std::to_string(outcome.left_out_from.ns / 1'000'000'000) +
                       " s, where 2,000,000 slices on devices were reached");
  return traced;
}

Status RunFiles::write_report(const sim::RunReport& report, const sim::Timeline& timeline) const {
  const sim::RunPage page{.summary = report.summary,
                          .fidelity = to_string(scenario_.fidelity),
                          .jobs = report.metrics->jobs(),
                          .timeline = timeline,
                          .notes = notes_->notes(),
                          .queue_points = report.queue_points,
                          .approximated = approximations(scenario_, report.warnings),
                          .faults = words_of(faults_)};
  return write_file(folder_ / "report.html", sim::report_page(sim::run_page_data(page)));
}

Status RunFiles::stream(std::string_view name,
                        const std::function<void(std::ostream&)>& write) const {
  const std::filesystem::path path = folder_ / name;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  write(file);
  file.close();
  if (!file) return cannot_write(path);
  return Done{};
}

}  // namespace orrery::cli
