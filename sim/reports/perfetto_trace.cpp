#include "sim/reports/perfetto_trace.hpp"

#include <algorithm>
#include <bit>
#include <ostream>
#include <tuple>
#include <vector>

#include "sim/reports/device_lanes.hpp"
#include "sim/reports/perfetto_packets.hpp"

namespace orrery::sim {
namespace {

/// What a track is of; the upper byte of its id, so that ids of different kinds never meet.
enum class TrackKind : std::uint64_t {
  Process = 1,
  Device,
  Share,
  Job,
  Link,
  Cluster,
};

TrackId track_of(TrackKind kind, std::uint64_t index) {
  return (static_cast<std::uint64_t>(kind) << 44) + index;
}

/// The first lane of a device is the thread itself; jobs that share it come to further tracks.
TrackId lane_track(std::uint32_t device, std::uint32_t lane) {
  if (lane == 0) return track_of(TrackKind::Device, device);
  return track_of(TrackKind::Share, (std::uint64_t{lane} << 32) + device);
}

// Tracks of the process "cluster".
const TrackId kQueue = track_of(TrackKind::Cluster, 0);
const TrackId kInUse = track_of(TrackKind::Cluster, 1);
const TrackId kUtilisation = track_of(TrackKind::Cluster, 2);
const TrackId kFaults = track_of(TrackKind::Cluster, 3);
const TrackId kPlans = track_of(TrackKind::Cluster, 4);

/// In which order events of one instant stand.
enum class EventKind : std::uint8_t { End, Value, Begin, Instant };

/// What an event is about, and so what it is called.
enum class Subject : std::uint8_t { Segment, Phase, Condition, Incident, Strike, Plan, Number };

struct TraceEvent {
  Instant at;
  EventKind kind = EventKind::End;
  Subject subject = Subject::Segment;
  std::uint32_t row = 0;   // Of the timeline's list of that subject.
  std::uint32_t part = 0;  // Segment: of its parts.
  TrackId track = 0;
  double value = 0;
};

/// Writes one trace.
class TraceWriter {
 public:
  TraceWriter(std::ostream& out,
              const Timeline& timeline,
              const JobTable& jobs,
              std::span<const std::string> fault_names)
      : packets_(out),
        timeline_(timeline),
        jobs_(jobs),
        fault_names_(fault_names),
        lanes_(static_cast<std::size_t>(timeline.devices_total())) {}

  PerfettoOutcome write(PerfettoLimits limits) {
    gather_segments(limits);
    gather_phases();
    gather_conditions();
    gather_incidents();
    for (std::uint32_t i = 0; i < timeline_.strikes().size(); ++i)
      add_instant(timeline_.strikes()[i].at, Subject::Strike, i, kFaults);
    for (std::uint32_t i = 0; i < timeline_.plans().size(); ++i)
      add_instant(timeline_.plans()[i].at, Subject::Plan, i, kPlans);
    gather_numbers();
    std::ranges::stable_sort(
        events_, {}, [](const TraceEvent& e) { return std::tuple(e.at, e.kind); });
    declare();
    for (const TraceEvent& event : events_) put(event);
    return outcome_;
  }

 private:
  std::uint32_t nodes() const { return static_cast<std::uint32_t>(timeline_.node_count()); }

  std::uint32_t cluster_pid() const { return nodes() + 1; }

  TrackId process_track(std::uint32_t pid) const { return track_of(TrackKind::Process, pid); }

  void add(Instant at,
           EventKind kind,
           Subject subject,
           std::size_t row,
           TrackId track,
           std::uint32_t part = 0) {
    events_.push_back({at, kind, subject, static_cast<std::uint32_t>(row), part, track, 0});
  }

  /// An instant, unless it is left out.
  void add_instant(Instant at, Subject subject, std::size_t row, TrackId track) {
    if (at < outcome_.left_out_from) add(at, EventKind::Instant, subject, row, track);
  }

  /// A slice, unless it takes no time or is left out: whether it was added.
  bool add_slice(Instant from,
                 Instant to,
                 Subject subject,
                 std::size_t row,
                 TrackId track,
                 std::uint32_t part = 0) {
    if (to <= from || from >= outcome_.left_out_from) return false;
    add(from, EventKind::Begin, subject, row, track, part);
    add(to, EventKind::End, subject, row, track);
    return true;
  }

  void gather_segments(PerfettoLimits limits);
  void gather_phases();
  void gather_conditions();
  void gather_incidents();
  void gather_numbers();
  void add_series(const StepSeries& series, TrackId track, double factor);
  void declare();
  void declare_nodes();
  void put(const TraceEvent& event);
  void put_named(const TraceEvent& event, std::string_view category, std::string_view name);
  void put_segment(const TraceEvent& event);
  void put_phase(const TraceEvent& event);
  void put_incident(const TraceEvent& event);

  PerfettoPackets packets_;
  const Timeline& timeline_;
  const JobTable& jobs_;
  std::span<const std::string> fault_names_;
  std::vector<TraceEvent> events_;
  DeviceLanes lanes_;
  std::vector<std::uint32_t> begins_flow_;  // [incident] 1 + its phase row, or 0.
  std::vector<std::uint8_t> is_shown_;      // [phase]
  std::vector<std::uint32_t> ends_flow_;    // [phase] 1 + its incident, or 0.
  std::vector<std::uint8_t> has_track_;     // [job]
  Annotations annotations_;
  PerfettoOutcome outcome_;
};

void TraceWriter::gather_segments(PerfettoLimits limits) {
  const auto segments = timeline_.segments();
  std::vector<std::uint32_t> by_time(segments.size());
  for (std::uint32_t i = 0; i < by_time.size(); ++i) by_time[i] = i;
  std::ranges::stable_sort(by_time, {}, [&](std::uint32_t i) { return segments[i].from; });
  std::size_t slices = 0;
  for (const std::uint32_t row : by_time) {
    const Segment& segment = segments[row];
    const auto parts = timeline_.parts(segment);
    for (const DevicePart& part : parts)
      slices += static_cast<std::size_t>(std::popcount(part.devices));
    if (slices > limits.slices_max) {
      ++outcome_.segments_left_out;
      outcome_.left_out_from = std::min(outcome_.left_out_from, segment.from);
      continue;
    }
    for (std::uint32_t p = 0; p < parts.size(); ++p)
      for (std::uint64_t left = parts[p].devices; left != 0; left &= left - 1) {
        const std::uint32_t device = timeline_.first_device(parts[p].node) +
                                     static_cast<std::uint32_t>(std::countr_zero(left));
        const TrackId track = lane_track(device, lanes_.place(device, segment.from, segment.to));
        add_slice(segment.from, segment.to, Subject::Segment, row, track, p);
      }
  }
}

void TraceWriter::gather_phases() {
  constexpr std::uint32_t kNone = UINT32_MAX;
  const auto rows = timeline_.phases();
  std::vector<std::uint32_t> open(jobs_.size(), kNone);
  has_track_.resize(jobs_.size(), 0);
  ends_flow_.resize(rows.size(), 0);
  is_shown_.resize(rows.size(), 0);
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    const PhaseRow& row = rows[i];
    if (!jobs_.contains(row.job)) continue;
    if (row.at < outcome_.left_out_from) has_track_[row.job.index()] = 1;
    const TrackId track = track_of(TrackKind::Job, row.job.value);
    std::uint32_t& before = open[row.job.index()];
    if (before != kNone)
      is_shown_[before] = add_slice(rows[before].at, row.at, Subject::Phase, before, track);
    before = is_final(row.phase) ? kNone : i;
    if (is_final(row.phase)) add_instant(row.at, Subject::Phase, i, track);
  }
  for (const std::uint32_t row : open)
    if (row != kNone)
      is_shown_[row] = add_slice(rows[row].at,
                                 timeline_.end(),
                                 Subject::Phase,
                                 row,
                                 track_of(TrackKind::Job, rows[row].job.value));
}

// An arrow goes from each incident to the phase in which the job starts anew, unless there is none
// before the incident is over.
void TraceWriter::gather_incidents() {
  const auto phases = timeline_.phases();
  std::vector<std::uint32_t> waits(jobs_.size(), UINT32_MAX);  // [job]: incident without an arrow.
  const auto incidents = timeline_.incidents();
  begins_flow_.resize(incidents.size(), 0);
  std::size_t next = 0;
  const auto take_up_to = [&](Instant at) {
    for (; next < incidents.size() && incidents[next].opened <= at; ++next) {
      const IncidentRow& row = incidents[next];
      if (row.job.is_none() || !jobs_.contains(row.job) || !has_track_[row.job.index()]) continue;
      waits[row.job.index()] = static_cast<std::uint32_t>(next);
      add_instant(row.opened, Subject::Incident, next, track_of(TrackKind::Job, row.job.value));
    }
  };
  for (std::uint32_t i = 0; i < phases.size(); ++i) {
    take_up_to(phases[i].at);
    if (phases[i].phase != JobPhase::Starting || is_shown_[i] == 0) continue;
    std::uint32_t& incident = waits[phases[i].job.index()];
    if (incident == UINT32_MAX) continue;
    if (incidents[incident].closed >= phases[i].at && incidents[incident].opened < phases[i].at) {
      begins_flow_[incident] = i + 1;
      ends_flow_[i] = incident + 1;
    }
    incident = UINT32_MAX;
  }
  take_up_to(Instant::never());
}

void TraceWriter::gather_conditions() {
  const auto rows = timeline_.nodes();
  std::vector<std::uint32_t> open(nodes(), UINT32_MAX);
  const auto close = [&](std::uint32_t node, Instant at) {
    const std::uint32_t row = open[node];
    if (row == UINT32_MAX || rows[row].condition == NodeCondition::Up) return;
    add_slice(rows[row].at, at, Subject::Condition, row, process_track(node + 1));
  };
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    close(rows[i].node.value, rows[i].at);
    open[rows[i].node.index()] = i;
  }
  for (std::uint32_t node = 0; node < nodes(); ++node) close(node, timeline_.end());
}

void TraceWriter::add_series(const StepSeries& series, TrackId track, double factor) {
  for (const SeriesPoint& point : series.points()) {
    add(point.at, EventKind::Value, Subject::Number, 0, track);
    events_.back().value = point.value * factor;
  }
}

void TraceWriter::gather_numbers() {
  add_series(timeline_.queue_length(), kQueue, 1);
  add_series(timeline_.devices_in_use(), kInUse, 1);
  if (timeline_.devices_total() > 0)
    add_series(timeline_.devices_in_use(),
               kUtilisation,
               100 / static_cast<double>(timeline_.devices_total()));
  for (std::size_t i = 0; i < timeline_.link_names().size(); ++i)
    add_series(timeline_.link_use(i), track_of(TrackKind::Link, i), 100);
}

void TraceWriter::declare_nodes() {
  // Threads have numbers that no process has.
  const std::uint32_t first_tid = nodes() + 16;
  for (std::uint32_t node = 0; node < nodes(); ++node) {
    const std::uint32_t pid = node + 1;
    packets_.process(process_track(pid), pid, "node " + std::to_string(node));
    for (std::int32_t device = 0; device < timeline_.devices_of(NodeId{node}); ++device) {
      const std::uint32_t number =
          timeline_.first_device(NodeId{node}) + static_cast<std::uint32_t>(device);
      const std::string name = "device " + std::to_string(device);
      packets_.thread(lane_track(number, 0), pid, first_tid + number, name);
      for (std::uint32_t lane = 1; lane < lanes_.count(number); ++lane)
        packets_.track(lane_track(number, lane), process_track(pid), name + ", shared");
    }
  }
}

void TraceWriter::declare() {
  const TrackId cluster = process_track(cluster_pid());
  packets_.process(cluster, cluster_pid(), "cluster");
  packets_.counter(kQueue, cluster, "jobs waiting", "jobs");
  packets_.counter(kInUse, cluster, "devices in use", "devices");
  packets_.counter(kUtilisation, cluster, "utilisation", "%");
  packets_.track(kFaults, cluster, "faults");
  packets_.track(kPlans, cluster, "plans");
  const std::uint32_t jobs_pid = cluster_pid() + 1;
  packets_.process(process_track(jobs_pid), jobs_pid, "jobs");
  for (std::uint32_t i = 0; i < has_track_.size(); ++i)
    if (has_track_[i])
      packets_.track(track_of(TrackKind::Job, i), process_track(jobs_pid), jobs_.name(JobId(i)));
  if (!timeline_.link_names().empty()) {
    const std::uint32_t network_pid = cluster_pid() + 2;
    packets_.process(process_track(network_pid), network_pid, "network");
    for (std::size_t i = 0; i < timeline_.link_names().size(); ++i)
      packets_.counter(
          track_of(TrackKind::Link, i), process_track(network_pid), timeline_.link_names()[i], "%");
  }
  declare_nodes();
}

void TraceWriter::put(const TraceEvent& event) {
  if (event.kind == EventKind::End) return packets_.end(event.at, event.track);
  if (event.kind == EventKind::Value) return packets_.value(event.at, event.track, event.value);
  annotations_.clear();
  switch (event.subject) {
    case Subject::Segment:
      return put_segment(event);
    case Subject::Phase:
      return put_phase(event);
    case Subject::Incident:
      return put_incident(event);
    case Subject::Condition:
      return put_named(event, "node", orrery::to_string(timeline_.nodes()[event.row].condition));
    case Subject::Strike: {
      const std::uint32_t fault = timeline_.strikes()[event.row].fault;
      return put_named(
          event,
          "fault",
          fault < fault_names_.size() ? fault_names_[fault] : "fault " + std::to_string(fault));
    }
    case Subject::Plan: {
      const PlanRow& plan = timeline_.plans()[event.row];
      annotations_.add("grants", std::uint64_t{plan.grants});
      return put_named(event, "plan", orrery::to_string(plan.trigger));
    }
    case Subject::Number:
      return;
  }
}

void TraceWriter::put_named(const TraceEvent& event,
                            std::string_view category,
                            std::string_view name) {
  if (event.kind == EventKind::Begin)
    packets_.begin(event.at, event.track, category, name, annotations_);
  else
    packets_.instant(event.at, event.track, category, name, annotations_);
}

void TraceWriter::put_segment(const TraceEvent& event) {
  const Segment& segment = timeline_.segments()[event.row];
  const DevicePart& part = timeline_.parts(segment)[event.part];
  annotations_.add("segment", std::uint64_t{segment.k});
  annotations_.add("generation", std::uint64_t{segment.generation.value});
  annotations_.add("reason", orrery::to_string(segment.reason));
  if (part.thousandths < 1000)
    annotations_.add("share", static_cast<double>(part.thousandths) / 1000);
  put_named(event, "job", jobs_.contains(segment.job) ? jobs_.name(segment.job) : "?");
}

void TraceWriter::put_phase(const TraceEvent& event) {
  const PhaseRow& row = timeline_.phases()[event.row];
  annotations_.add("reason", orrery::to_string(row.reason));
  if (const std::uint32_t incident = ends_flow_[event.row]; incident > 0)
    annotations_.flow_ends(incident);
  put_named(event, "phase", orrery::to_string(row.phase));
}

void TraceWriter::put_incident(const TraceEvent& event) {
  const IncidentRow& row = timeline_.incidents()[event.row];
  annotations_.add("scope", orrery::to_string(row.scope));
  annotations_.add("charged", std::uint64_t{row.charged ? 1U : 0U});
  if (begins_flow_[event.row] > 0) annotations_.flow_begins(event.row + 1);
  put_named(event, "incident", orrery::to_string(row.cause));
}

}  // namespace

PerfettoOutcome write_perfetto_trace(std::ostream& out,
                                     const Timeline& timeline,
                                     const JobTable& jobs,
                                     std::span<const std::string> fault_names,
                                     PerfettoLimits limits) {
  return TraceWriter(out, timeline, jobs, fault_names).write(limits);
}

}  // namespace orrery::sim
