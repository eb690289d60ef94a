// What happened in a run, over time: which job held which devices, phases, nodes, links, plans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/cluster/resources.hpp"
#include "core/record/command.hpp"
#include "core/state/state.hpp"
#include "sim/reports/step_series.hpp"
#include "sim/reports/timeline_rows.hpp"
#include "sim/results/fragment_samples.hpp"

namespace orrery::sim {

/// How much a timeline may keep. A segment takes 72 bytes and 32 for each of its nodes and roles, a
/// phase 24.
struct TimelineLimits {
  std::size_t segments_max = 4'000'000;
  std::size_t phases_max = 8'000'000;  ///< 0: they are not wanted, and none counts as left out.
  std::size_t rows_max = 1'000'000;    ///< Of nodes, strikes and incidents each.
  std::size_t plans_max = 100'000;     ///< Beyond that every 2nd, 4th, ... plan is kept.
  std::size_t points_max = 8192;       ///< Of each series; of all links together 64 times as many.
  std::size_t states_max = 0;  ///< Points of `computing` and `unavailable` each; 0: none are kept.
};

/// Device-time since the first submission, in device-nanoseconds.
struct DeviceTime {
  __int128 in_use = 0;       ///< Granted to a job, whatever the node's condition.
  __int128 computing = 0;    ///< Of that, on nodes that may be used.
  __int128 unavailable = 0;  ///< On nodes that may not be used, in use or not.
};

/// Records a run from the core's notices. Feed it in order of time, `close` it, then read.
///
/// A device counts as a job's from the grant until the job gives it up: the ledger's Claimed and
/// Held. A worker that still saves its work on a device that its job has given up (Releasing) does
/// not count, as in the ledger, so that no device is ever two jobs'. Metrics, which sees no ledger,
/// counts a preempted job until its last worker has gone.
///
/// Where the controller hears later that a job is over, nothing is the job's from its end in the
/// world on: segments end there, those that began later are left out, and device-time counts no
/// more. The series over time are as the controller saw it.
///
/// A release that no notice tells is seen with the next notice about its job, or when another job
/// is granted the device.
///
/// Above the limits no further rows of that kind are kept: `is_complete` says so, and the series
/// and totals still cover the whole run.
class Timeline {
 public:
  explicit Timeline(std::span<const NodeGroup> groups, TimelineLimits limits = {});
  Timeline(const Timeline& other);  // This and the next four are compiled once, in the source.
  Timeline(Timeline&& other) noexcept;
  Timeline& operator=(const Timeline& other);
  Timeline& operator=(Timeline&& other) noexcept;
  ~Timeline();

  /// A job was accepted, before any notice about it.
  void submitted(JobId job, Instant at);

  /// What one step told; `state` is the one after it.
  void observe(std::span<const Notice> notices, const State& state);

  void struck(std::uint32_t fault, Instant at);

  /// The policy was asked at `at` and answered with so many grants.
  void planned(Instant at, PlanTrigger trigger, std::uint32_t grants, Duration took);

  /// Once, before the first `link_used`: what the links are called.
  void declare_links(std::vector<std::string> names);

  /// From `at` on a link carries `share` of what it can, 0 to 1.
  void link_used(Instant at, std::uint32_t link, double share);

  /// The run ended: what is still open ends here.
  void close(Instant end);

  // --- complete after `close` ---

  /// In order of the job, then of time.
  std::span<const Segment> segments() const { return segments_; }

  /// Those of one job that were kept, in order of time.
  std::span<const Segment> segments_of(JobId job) const;

  /// Ascending by node.
  std::span<const DevicePart> parts(const Segment& segment) const {
    return {parts_.data() + segment.first_part, segment.part_count};
  }

  /// How many segments a job had in all, kept or not.
  std::uint32_t segment_count(JobId job) const {
    return job.index() < jobs_.size() ? jobs_[job.index()].segments : 0;
  }

  std::span<const PhaseRow> phases() const { return phases_; }

  std::span<const NodeRow> nodes() const { return node_rows_; }

  std::span<const StrikeRow> strikes() const { return strikes_; }

  std::span<const IncidentRow> incidents() const { return incidents_; }

  std::span<const PlanRow> plans() const { return plans_; }

  /// How many plans one row stands for.
  std::uint64_t plan_stride() const { return plan_stride_; }

  /// Jobs in phase Pending.
  const StepSeries& queue_length() const { return queue_series_; }

  /// Devices that at least one job holds.
  const StepSeries& devices_in_use() const { return use_series_; }

  /// Fragments for the jobs alive, in devices (FragmentSamples). Complete after `close`.
  const StepSeries& fragments() const { return fragment_series_; }

  const FragmentSamples& fragment_samples() const { return fragments_; }

  /// Devices that compute, and those of nodes that may not be used; empty unless asked for.
  const StepSeries& computing() const { return computing_series_; }

  const StepSeries& unavailable() const { return unavailable_series_; }

  const std::vector<std::string>& link_names() const { return link_names_; }

  const StepSeries& link_use(std::size_t link) const { return link_series_[link]; }

  /// Whether every segment and row was kept.
  bool is_complete() const { return segments_left_out_ == 0 && rows_left_out_ == 0; }

  std::uint64_t segments_left_out() const { return segments_left_out_; }

  /// Device-time up to the end; up to the last end of a job in the world, so far as it is known.
  const DeviceTime& device_time() const { return device_time_; }

  const DeviceTime& device_time_at_last_end() const { return at_last_end_; }

  std::int64_t devices_total() const { return devices_total_; }

  std::size_t node_count() const { return nodes_.size(); }

  /// Devices of a node as declared.
  std::int32_t devices_of(NodeId node) const { return nodes_[node.index()].devices; }

  /// Number in the cluster of a node's first device: those of node 0 come first, in their order on
  /// the node, then those of node 1, and so on.
  std::uint32_t first_device(NodeId node) const { return nodes_[node.index()].first_device; }

  /// When the first thing happened, and the end.
  Instant begin() const { return begin_; }

  Instant end() const { return now_; }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  struct JobTrack {
    std::uint32_t live = kNone;      // What it holds now, in `live_`.
    std::uint32_t segments = 0;      // Those that are over.
    std::uint32_t first_kept = 0;    // Once closed: place of its first one in `segments_`,
    std::uint32_t kept = 0;          // and how many of them there are.
    std::uint32_t incident = kNone;  // Row of the open incident.
    bool waits = false;
    Instant finished = Instant::never();  // In the world; the controller has heard of it.
  };

  // What a job holds now. Slots are reused.
  struct Live {
    Segment segment;
    std::vector<DevicePart> parts;
  };

  struct NodeTrack {
    std::uint32_t first_device = 0;  // In `holders_`.
    std::int32_t devices = 0;
    std::int32_t in_use = 0;
    NodeCondition condition = NodeCondition::Up;
    bool usable = true;
    Instant usable_changed = Instant::zero();
  };

  // Somebody held a device that was in two parts at some time.
  struct SharedTime {
    std::uint32_t device = 0;
    Instant from;
    Instant to;
  };

  void advance(Instant at);
  void note_draining(const State& state);
  void note(const Notice& notice);
  void phase_changed(const Notice& notice);
  void incident_opened(const Notice& notice);
  void incident_closed(const Notice& notice);
  void add_holders(NodeId node);
  void end_if_changed(JobId job, const State& state);
  void begin_if_holding(JobId job, const State& state);
  void refresh_node(NodeId node, const State& state);
  void gather(JobId job, const State& state);
  void end_segment(JobTrack& track, const JobState* job, bool cut_off = false);
  void begin_segment(JobTrack& track, const JobState& job);
  std::uint32_t free_slot();
  template <class Row>
  void keep(std::vector<Row>& rows, std::size_t rows_max, const Row& row);
  void hold(JobId job, std::span<const DevicePart> parts, int by);
  void cut_at_ends();
  void count_no_longer(const Segment& segment, Duration last);
  void add_shared(const Segment& segment, std::vector<SharedTime>& out) const;
  static __int128 time_in_use(std::vector<SharedTime>& times);
  void tell_states();
  JobTrack& track(JobId job);

  TimelineLimits limits_;
  std::vector<Segment> segments_;
  std::vector<DevicePart> parts_;
  std::vector<PhaseRow> phases_;
  std::vector<NodeRow> node_rows_;
  std::vector<StrikeRow> strikes_;
  std::vector<IncidentRow> incidents_;
  std::vector<PlanRow> plans_;
  std::uint64_t plans_seen_ = 0;
  std::uint64_t plan_stride_ = 1;
  StepSeries queue_series_;
  StepSeries use_series_;
  FragmentSamples fragments_;
  StepSeries fragment_series_;
  StepSeries computing_series_;
  StepSeries unavailable_series_;
  std::vector<std::string> link_names_;
  std::vector<StepSeries> link_series_;

  std::vector<JobTrack> jobs_;  // [job]
  std::vector<Live> live_;
  std::vector<std::uint32_t> free_live_;
  std::vector<NodeTrack> nodes_;         // [node]
  std::vector<std::uint16_t> holders_;   // [device of the cluster]: how many parts it is in.
  std::vector<std::uint8_t> is_shared_;  // [device of the cluster]: it was in two parts at a time.
  bool some_shared_ = false;             // Some device was.
  std::vector<JobId> holder_;            // [device of the cluster]: the last job that held it.
  bool has_shares_ = false;              // Some device was held in part; others hold it then too.
  std::vector<JobId> changed_;           // In the step at hand.
  std::vector<JobId> draining_;          // With workers that stop, at the last look; ascending.
  std::vector<NodeId> changed_nodes_;
  std::vector<DevicePart> scratch_;

  Instant begin_ = Instant::never();
  Instant now_;
  std::int64_t waiting_ = 0;
  std::int64_t in_use_ = 0;
  std::int64_t computing_ = 0;
  std::int64_t unavailable_ = 0;
  std::int64_t devices_total_ = 0;
  DeviceTime device_time_;
  DeviceTime at_last_end_;
  Instant last_end_ = Instant::zero();  // Of any job, in the world.
  std::uint64_t segments_left_out_ = 0;
  std::uint64_t rows_left_out_ = 0;  // Phases, node conditions, strikes and incidents.
};

}  // namespace orrery::sim
