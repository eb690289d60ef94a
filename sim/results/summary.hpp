// The numbers of one run, under the names that scripts depend on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/json_text.hpp"

namespace orrery::sim {

/// So many rows of a workload's file were treated so, for this reason.
struct ReasonCount {
  std::string reason;
  std::uint64_t rows = 0;

  friend bool operator==(const ReasonCount&, const ReasonCount&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("reason", self.reason);
    v.field("rows", self.rows);
  }
};

/// What became of the rows of the workload's file. Empty for jobs written out in the scenario.
struct WorkloadAccount {
  std::uint64_t rows_read = 0;
  std::vector<ReasonCount> dropped;  ///< No job came of them.
  std::vector<ReasonCount> altered;  ///< A job came of them, but not quite the one written there.
  std::vector<std::string> notes;    ///< Sentences on what was approximated, and how.

  friend bool operator==(const WorkloadAccount&, const WorkloadAccount&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("rows_read", self.rows_read);
    v.field("dropped", self.dropped);
    v.field("altered", self.altered);
    v.field("notes", self.notes);
  }
};

/// How full a cluster is, and how much of what is free is of no use, when so much has arrived.
struct ArrivalPoint {
  std::int64_t arrived_pct =
      0;                     ///< Devices asked for so far, in percent of the cluster's, rounded.
  double allocated_pct = 0;  ///< Devices held, in percent of the cluster's: mean over the jobs.
  double fragment_pct = 0;   ///< Fragments (core/placer/fragmentation.hpp), likewise.
  double fragment_of_free_pct = 0;  ///< Fragments in percent of what is free.

  friend bool operator==(const ArrivalPoint&, const ArrivalPoint&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("arrived_pct", self.arrived_pct);
    v.field("allocated_pct", self.allocated_pct);
    v.field("fragment_pct", self.fragment_pct);
    v.field("fragment_of_free_pct", self.fragment_of_free_pct);
  }
};

/// Means over a run of one queue, in devices; see core/control/queue_standings.hpp.
struct QueueMeans {
  std::string name;
  std::string parent;    ///< Empty: it stands at the top.
  double guarantee = 0;  ///< At the end.
  double share_avg = 0;  ///< What it was entitled to.
  double used_avg = 0;
  double borrowed_avg = 0;  ///< Beyond its guarantee.
  double used_max = 0;
  std::int64_t waiting_max = 0;  ///< Jobs.

  friend bool operator==(const QueueMeans&, const QueueMeans&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("name", self.name);
    v.field("parent", self.parent);
    v.field("guarantee", self.guarantee);
    v.field("share_avg", self.share_avg);
    v.field("used_avg", self.used_avg);
    v.field("borrowed_avg", self.borrowed_avg);
    v.field("used_max", self.used_max);
    v.field("waiting_max", self.waiting_max);
  }
};

/// Which of its candidates a policy of several adopted.
struct AdoptedCandidate {
  double at_s = 0;
  std::string candidate;
  std::string reason;

  friend bool operator==(const AdoptedCandidate&, const AdoptedCandidate&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("at_s", self.at_s);
    v.field("candidate", self.candidate);
    v.field("reason", self.reason);
  }
};

/// What differs from one run of the program to the next: times of this machine, and its memory.
struct Measured {
  double decision_p50_us = 0;  ///< One call of the policy.
  double decision_p99_us = 0;
  double decision_max_us = 0;
  double wall_s = 0;       ///< The whole run, without loading.
  double peak_rss_mb = 0;  ///< Largest resident memory of the process, in 10^6 bytes.

  friend bool operator==(const Measured&, const Measured&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("decision_p50_us", self.decision_p50_us);
    v.field("decision_p99_us", self.decision_p99_us);
    v.field("decision_max_us", self.decision_max_us);
    v.field("wall_s", self.wall_s);
    v.field("peak_rss_mb", self.peak_rss_mb);
  }
};

/// One run. Equal inputs give equal values, but for `measured`.
///
/// JCT (job completion time) is from submission to the end, of the jobs that succeeded. Queue time
/// is from submission to the first allocation, of the jobs that were ever allocated. Percentiles:
/// core/base/percentile.hpp.
struct Summary {
  Summary();  // All six are compiled once, in the source.
  Summary(const Summary& other);
  Summary(Summary&& other) noexcept;
  Summary& operator=(const Summary& other);
  Summary& operator=(Summary&& other) noexcept;
  ~Summary();

  std::string scenario;
  std::string policy;  ///< Versioned name.
  std::string world;
  std::uint64_t seed = 0;
  std::uint64_t jobs_total = 0;  ///< Submitted: finished + failed + unfinished.
  std::uint64_t jobs_finished = 0;
  std::uint64_t jobs_failed = 0;
  std::uint64_t jobs_unfinished = 0;
  double jct_avg_s = 0;
  double jct_p50_s = 0;
  double jct_p90_s = 0;
  double jct_p99_s = 0;
  double queue_avg_s = 0;
  double queue_p99_s = 0;
  std::uint64_t queue_max = 0;  ///< Most jobs that waited at the end of one instant.
  /// Bounded slowdown and finish-time fairness (sim/results/job_ratios.hpp) of the jobs that
  /// succeeded; 0 where there are none. `ftf_unfair`: the share of them above 1.
  double slowdown_avg = 0;
  double slowdown_p99 = 0;
  double ftf_avg = 0;
  double ftf_max = 0;
  double ftf_unfair = 0;
  double makespan_s = 0;  ///< First submission to last end; to the run's end if a job still runs.
  double gpu_utilization = 0;  ///< gpu_seconds_allocated / (devices * makespan_s), 0 to 1; more
                               ///< where two jobs have the same devices.
  double gpu_seconds_allocated = 0;
  /// Fragments (core/placer/fragmentation.hpp) for the jobs alive, of all devices, 0 to 1: mean
  /// over the run and highest, from samples.
  double fragmentation_avg = 0;
  double fragmentation_max = 0;
  std::uint64_t restarts = 0;       ///< Charged to failures.
  std::uint64_t reallocations = 0;  ///< Changes of membership by decision.
  std::uint64_t preemptions = 0;
  std::uint64_t node_losses = 0;  ///< Recoveries from lost nodes, beside `restarts`.
  std::uint64_t decisions = 0;    ///< Calls of the policy.
  std::uint64_t events = 0;       ///< Journal records.
  std::string state_digest;       ///< Of the controller's final state, 32 hexadecimal digits.
  WorkloadAccount workload;
  std::vector<ArrivalPoint> arrivals;  ///< Where jobs are to fill the cluster (`fill`); ascending.
  std::vector<QueueMeans> queues;      ///< In front of the policy, parents first; else empty.
  std::vector<AdoptedCandidate> policy_choices;  ///< Of a policy of several candidates; else empty.
  std::vector<std::string> unmet;  ///< Expectations of the scenario that did not hold.
  Measured measured;               ///< Not among `fields`: its place depends on the reader.

  friend bool operator==(const Summary&, const Summary&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("scenario", self.scenario);
    v.field("policy", self.policy);
    v.field("world", self.world);
    v.field("seed", self.seed);
    v.field("jobs_total", self.jobs_total);
    v.field("jobs_finished", self.jobs_finished);
    v.field("jobs_failed", self.jobs_failed);
    v.field("jobs_unfinished", self.jobs_unfinished);
    v.field("jct_avg_s", self.jct_avg_s);
    v.field("jct_p50_s", self.jct_p50_s);
    v.field("jct_p90_s", self.jct_p90_s);
    v.field("jct_p99_s", self.jct_p99_s);
    v.field("queue_avg_s", self.queue_avg_s);
    v.field("queue_p99_s", self.queue_p99_s);
    v.field("queue_max", self.queue_max);
    v.field("slowdown_avg", self.slowdown_avg);
    v.field("slowdown_p99", self.slowdown_p99);
    v.field("ftf_avg", self.ftf_avg);
    v.field("ftf_max", self.ftf_max);
    v.field("ftf_unfair", self.ftf_unfair);
    v.field("makespan_s", self.makespan_s);
    v.field("gpu_utilization", self.gpu_utilization);
    v.field("gpu_seconds_allocated", self.gpu_seconds_allocated);
    v.field("fragmentation_avg", self.fragmentation_avg);
    v.field("fragmentation_max", self.fragmentation_max);
    v.field("restarts", self.restarts);
    v.field("reallocations", self.reallocations);
    v.field("preemptions", self.preemptions);
    v.field("node_losses", self.node_losses);
    v.field("decisions", self.decisions);
    v.field("events", self.events);
    v.field("state_digest", self.state_digest);
    v.field("workload", self.workload);
    v.field("arrivals", self.arrivals);
    v.field("queues", self.queues);
    v.field("policy_choices", self.policy_choices);
    v.field("unmet", self.unmet);
  }
};

/// Where the measured values stand.
enum class MeasuredAs {
  Fields,    ///< Beside all others: what the program prints.
  SubObject  ///< Under "measured": files, whose other bytes are equal for equal inputs.
};

/// Appends the summary as one JSON object, keys in the order above.
void put_summary(const Summary& summary, MeasuredAs measured, JsonText& json);

/// The text of `summary.json`: indented, ending with a line feed.
std::string summary_file(const Summary& summary);

}  // namespace orrery::sim
