#include "sim/reports/report_html.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "core/base/json_text.hpp"
#include "core/record/record_text.hpp"
#include "sim/reports/page/page_template.hpp"
#include "sim/reports/page_figures.hpp"
#include "sim/reports/page_selection.hpp"

namespace orrery::sim {
namespace {

void put_time(Instant at, JsonText& json) {
  if (at.is_never()) {
    json.null();
  } else {
    json.value(page_seconds(at));
  }
}

template <class E>
void put_words(std::string_view name, JsonText& json) {
  json.key(name).begin_array();
  for (const std::string_view word : EnumNames<E>::kNames) json.value(word);
  json.end_array();
}

/// Writes the members of a run's page, one after the other.
class RunPageWriter {
 public:
  RunPageWriter(const RunPage& run, const PageLimits& limits)
      : run_(run), limits_(limits), shown_(selected(run, limits)) {}

  std::string take() {
    json_.begin_object().field("version", 1).field("kind", "run");
    json_.field("fidelity", run_.fidelity);
    put_summary_without_measured();
    put_column("approximated", run_.approximated, json_, [](const auto& text) { return text; });
    put_cluster();
    json_.field("end_s", page_seconds(run_.timeline.end()));
    put_jobs();
    json_.key("words").begin_object();
    put_words<JobPhase>("phases", json_);
    put_words<Reason>("reasons", json_);
    put_column("roles", run_.notes.role_names(), json_, [](const auto& name) { return name; });
    json_.end_object();
    put_segments();
    put_phases();
    put_node_states();
    put_marks();
    put_series("devices_in_use", run_.timeline.devices_in_use(), json_);
    put_series("fragments", run_.timeline.fragments(), json_);
    put_series("queue_length", run_.timeline.queue_length(), json_);
    put_queues();
    put_sample("jct", completion_times(run_.jobs, limits_.sample_max), json_);
    put_sample("waiting", waiting_times(run_.jobs, limits_.sample_max), json_);
    put_links(run_.timeline, limits_, json_, shown_.thinned);
    put_column("thinned", shown_.thinned, json_, [](const auto& text) { return text; });
    put_measured();
    json_.end_object();
    return json_.take();
  }

 private:
  // One time axis for all; in devices, [queue][point].
  void put_queues() {
    const std::span<const QueueSamples::Point> points = run_.queue_points;
    if (points.empty()) {
      json_.key("queues").null();
      return;
    }
    const std::size_t count = points.back().queues.size();
    json_.key("queues").begin_object();
    put_column("at_s", points, json_, [](const auto& point) { return page_seconds(point.at); });
    put_column("name", points.back().queues, json_, [](const auto& queue) { return queue.name; });
    put_column("depth", points.back().queues, json_, [](const auto& queue) { return queue.depth; });
    const auto put_values = [&](std::string_view key, double QueueStanding::*value) {
      json_.key(key).begin_array();
      for (std::size_t i = 0; i < count; ++i) {
        json_.begin_array();
        for (const QueueSamples::Point& point : points) json_.value(point.queues[i].*value);
        json_.end_array();
      }
      json_.end_array();
    };
    put_values("share", &QueueStanding::share);
    put_values("used", &QueueStanding::used);
    put_values("borrowed", &QueueStanding::borrowed);
    json_.end_object();
  }

  void put_summary_without_measured() {
    json_.key("summary").begin_object();
    JsonFields fields(json_);
    Summary::fields(run_.summary, fields);
    json_.end_object();
  }

  void put_measured() {
    json_.key("measured").begin_object();
    JsonFields fields(json_);
    Measured::fields(run_.summary.measured, fields);
    put_decision_times(run_.timeline, json_);
    json_.end_object();
  }

  void put_cluster() {
    json_.key("cluster").begin_object();
    put_column("node", shown_.nodes, json_, [&](NodeId node) {
      const bool named =
          node.index() < run_.node_names.size() && !run_.node_names[node.index()].empty();
      return named ? run_.node_names[node.index()] : "node " + std::to_string(node.value);
    });
    put_column("devices", shown_.nodes, json_, [&](NodeId node) {
      return run_.timeline.devices_of(node);
    });
    json_.field("devices_total", run_.timeline.devices_total());
    json_.field("nodes_total", run_.timeline.node_count());
    json_.end_object();
  }

  template <class Of>
  void job_column(std::string_view name, Of&& of) {
    put_column(name, shown_.jobs, json_, [&](JobId id) { return of(run_.jobs[id]); });
  }

  template <class Of>
  void job_times(std::string_view name, Of&& of) {
    json_.key(name).begin_array();
    for (const JobId id : shown_.jobs) put_time(of(run_.jobs[id]), json_);
    json_.end_array();
  }

  void put_jobs() {
    json_.key("jobs").begin_object();
    put_column(
        "name", shown_.jobs, json_, [&](JobId id) { return display_name(run_.jobs.name(id)); });
    job_column("profile", [&](const JobOutcome& job) { return run_.jobs.profile(job); });
    job_times("submitted_s", [](const JobOutcome& job) { return job.submitted; });
    job_times("started_s", [](const JobOutcome& job) { return job.started; });
    job_times("finished_s", [](const JobOutcome& job) {
      return job.is_over() ? job.finished : Instant::never();
    });
    job_column("phase", [](const JobOutcome& job) { return to_string(job.phase); });
    job_column("reason", [](const JobOutcome& job) { return to_string(job.reason); });
    put_column("priority", shown_.jobs, json_, [&](JobId id) { return run_.notes.priority(id); });
    job_column("devices", [](const JobOutcome& job) { return job.devices_requested; });
    job_column("restarts", [](const JobOutcome& job) { return job.restarts; });
    job_column("reallocations", [](const JobOutcome& job) { return job.reschedules; });
    job_column("preemptions", [](const JobOutcome& job) { return job.preemptions; });
    job_column("node_losses", [](const JobOutcome& job) { return job.node_losses; });
    json_.end_object();
  }

  void put_segments() {
    // Only those of which a part is drawn, renumbered.
    const auto all = run_.timeline.segments();
    std::vector<std::int32_t> row(all.size(), -1);
    std::vector<const Segment*> segments;
    for (const DrawnPart& part : shown_.parts) {
      if (row[part.segment] >= 0) continue;
      row[part.segment] = static_cast<std::int32_t>(segments.size());
      segments.push_back(&all[part.segment]);
    }
    json_.key("segments").begin_object();
    put_column("job", segments, json_, [&](auto* one) { return shown_.job_row[one->job.index()]; });
    put_column("begin_s", segments, json_, [](auto* one) { return page_seconds(one->from); });
    put_column("end_s", segments, json_, [](auto* one) { return page_seconds(one->to); });
    put_column("reason", segments, json_, [](auto* one) { return static_cast<int>(one->reason); });
    json_.end_object().key("parts").begin_object();
    const std::vector<DrawnPart>& parts = shown_.parts;
    put_column("segment", parts, json_, [&](const auto& part) { return row[part.segment]; });
    put_column(
        "node", parts, json_, [&](const auto& part) { return shown_.node_row[part.node.index()]; });
    put_column("first_device", parts, json_, [](const auto& part) { return part.first_device; });
    put_column("devices", parts, json_, [](const auto& part) { return part.devices; });
    put_column("role", parts, json_, [&](const auto& part) {
      return run_.notes.role(all[part.segment].job, part.held->role);
    });
    put_column("first_rank", parts, json_, [](const auto& part) { return part.held->first_rank; });
    put_column("last_rank", parts, json_, [](const auto& part) { return part.held->last_rank; });
    json_.end_object();
  }

  void put_phases() {
    // A job that holds no devices is in no rectangle.
    std::vector<PhaseRow> rows;
    for (const PhaseRow& row : run_.timeline.phases())
      if (row.phase != JobPhase::Pending && !is_final(row.phase) &&
          shown_.job_row[row.job.index()] >= 0)
        rows.push_back(row);
    std::ranges::stable_sort(rows, {}, &PhaseRow::job);
    json_.key("phases").begin_object();
    put_column(
        "job", rows, json_, [&](const auto& row) { return shown_.job_row[row.job.index()]; });
    put_column("at_s", rows, json_, [](const auto& row) { return page_seconds(row.at); });
    put_column("phase", rows, json_, [](const auto& row) { return static_cast<int>(row.phase); });
    put_column("reason", rows, json_, [](const auto& row) { return static_cast<int>(row.reason); });
    json_.end_object();
  }

  struct Stretch {
    std::int32_t row;
    Instant from;
    Instant to;
    NodeCondition condition;
  };

  /// When the shown nodes were other than up; the end of one state is the begin of the next.
  std::vector<Stretch> node_stretches() const {
    std::vector<Stretch> out;
    std::vector<std::optional<std::size_t>> open(shown_.nodes.size());
    const auto change = [&](std::int32_t row, Instant at, NodeCondition to) {
      auto& its = open[static_cast<std::size_t>(row)];
      if (its) out[*its].to = at;
      its.reset();
      if (to == NodeCondition::Up) return;
      its = out.size();
      out.push_back({row, at, run_.timeline.end(), to});
    };
    for (const NodeRow& row : run_.timeline.nodes())
      if (const std::int32_t shown = shown_.node_row[row.node.index()]; shown >= 0)
        change(shown, row.at, row.condition);
    return out;
  }

  void put_node_states() {
    const std::vector<Stretch> rows = node_stretches();
    json_.key("node_states").begin_object();
    put_column("node", rows, json_, [](const auto& row) { return row.row; });
    put_column("begin_s", rows, json_, [](const auto& row) { return page_seconds(row.from); });
    put_column("end_s", rows, json_, [](const auto& row) { return page_seconds(row.to); });
    put_column("state", rows, json_, [](const auto& row) { return to_string(row.condition); });
    json_.end_object();
  }

  struct Mark {
    Instant at;
    std::string what;
    std::int32_t node = -1;
    std::int32_t job = -1;
    Instant mended = Instant::never();
  };

  std::int32_t shown_node(NodeId node) const {
    return node.is_none() || node.index() >= shown_.node_row.size() ? -1
                                                                    : shown_.node_row[node.index()];
  }

  std::vector<Mark> marks() {
    std::vector<Mark> out;
    for (const StrikeRow& strike : run_.timeline.strikes()) {
      const StrikeWords words =
          strike.fault < run_.faults.size() ? run_.faults[strike.fault] : StrikeWords{"fault", {}};
      if (words.nodes.empty()) out.push_back({strike.at, "fault: " + words.what});
      for (const NodeId node : words.nodes)
        if (shown_node(node) >= 0)
          out.push_back({strike.at, "fault: " + words.what, shown_node(node)});
    }
    for (const IncidentRow& incident : run_.timeline.incidents()) {
      const std::int32_t node = shown_node(incident.node);
      if (!incident.node.is_none() && node < 0) continue;  // On a node that is not shown.
      const std::int32_t job = incident.job.is_none() ? -1 : shown_.job_row[incident.job.index()];
      std::string what = "incident: " + std::string(to_string(incident.cause)) + " (" +
                         std::string(to_string(incident.scope)) +
                         (incident.charged ? ", charged)" : ")");
      out.push_back({incident.opened, std::move(what), node, job, incident.closed});
    }
    std::ranges::stable_sort(out, {}, &Mark::at);
    if (out.size() > limits_.marks_max) {
      shown_.thinned.push_back("The Gantt chart marks the first " +
                               std::to_string(limits_.marks_max) + " of " +
                               std::to_string(out.size()) + " failures.");
      out.resize(limits_.marks_max);
    }
    return out;
  }

  void put_marks() {
    const std::vector<Mark> rows = marks();
    json_.key("marks").begin_object();
    put_column("at_s", rows, json_, [](const auto& row) { return page_seconds(row.at); });
    put_column("what", rows, json_, [](const auto& row) { return row.what; });
    put_column("node", rows, json_, [](const auto& row) { return row.node; });
    put_column("job", rows, json_, [](const auto& row) { return row.job; });
    json_.key("mended_s").begin_array();
    for (const Mark& row : rows) put_time(row.mended, json_);
    json_.end_array().end_object();
  }

  const RunPage& run_;
  const PageLimits& limits_;
  PageSelection shown_;
  JsonText json_;
};

}  // namespace

std::string run_page_data(const RunPage& run, const PageLimits& limits) {
  return RunPageWriter(run, limits).take();
}

std::string report_page(std::string_view data) {
  const std::string_view page = page_template();
  const std::size_t place = page.find(kPageData);
  if (place == std::string_view::npos) return {};
  std::string out;
  out.reserve(page.size() + data.size() + data.size() / 64);
  out += page.substr(0, place);
  for (const char c : data) {
    // A name with "</script>" in it must not end the data.
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  out += page.substr(place + kPageData.size());
  return out;
}

std::string report_page_absence() {
  if (page_absence().empty()) return {};
  return "report.html is not written: this program was built without its page, because " +
         std::string(page_absence());
}

}  // namespace orrery::sim
