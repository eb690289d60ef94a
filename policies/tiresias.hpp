// tiresias/1: discretised two-dimensional least attained service, and its Gittins index.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/plan/policy.hpp"
#include "policies/closed_nodes.hpp"
#include "policies/gang_shape.hpp"
#include "policies/gang_trial.hpp"
#include "policies/gittins_table.hpp"
#include "policies/priority_placement.hpp"

namespace orrery::policies {

struct TiresiasParameters {
  /// Service in device-seconds, rising, each above 0: n of them make n + 1 queues. By default 16
  /// device-hours and two queues.
  std::vector<std::int64_t> thresholds_device_s = {57'600};
  Duration period = Duration::seconds(60);  ///< Of the cycle, above zero.
  /// A job that has waited this many times as long as it has run goes back to the first queue;
  /// 0: none does.
  double promote_after = 0;
  /// Orders each queue by the Gittins index; empty: by order of entry.
  GittinsTable gittins;
};

/// Queues of rigid jobs. A new job enters the first; service beyond a threshold demotes it to the
/// tail of the queue behind that. Each cycle scans the queues in order and runs every job whose
/// devices are still left by count, so small jobs pass big ones; the rest is preempted. A job that
/// goes on running keeps its devices; others take the nodes with the most free ones. Only where it
/// stands in the way of one of higher priority, it moves or gives way.
///
/// (Gu et al., NSDI 2019; the defaults, two queues without promotion in order of entry, and this
/// placement as in the Pollux artifact.) Jobs run at `rigid_replicas`, priorities come before the
/// order of the queues, and fixed jobs keep what they hold.
///
/// A cycle costs what changed since the last one, what runs, and what it starts.
class Tiresias : public Policy {
 public:
  explicit Tiresias(TiresiasParameters parameters);

  std::string_view name() const override { return "tiresias/1"; }

  Triggers triggers() const override;

  std::string_view usual_placer() const override { return "most_free/1"; }

  /// Nothing: a job starts at a cycle.
  Plan allocate(const JobView& job, const ClusterView& view) override;

  Plan optimize(const ClusterView& view) override;

  void save(ByteWriter& out) const override;
  void load(ByteReader& in) override;

 private:
  /// A job that was moved from the queue and the place that it had by its arrival.
  struct Moved {
    std::uint32_t queue = 0;
    Instant at;
    std::uint64_t order = 0;      ///< Of all moves.
    std::int64_t started_us = 0;  ///< Service that was forgiven when it was promoted.
  };

  /// Where a job stands: what comes first compares less.
  struct Place {
    std::int32_t priority = 0;
    std::uint32_t queue = 0;
    std::int64_t index = 0;  ///< Gittins; descending.
    Instant entered;
    std::uint64_t order = 0;
    JobId job;
    std::int64_t thousandths = 0;  ///< Of devices, that it has or starts with; decides nothing.

    friend bool operator<(const Place& a, const Place& b) {
      if (a.priority != b.priority) return a.priority > b.priority;
      if (a.queue != b.queue) return a.queue < b.queue;
      if (a.index != b.index) return a.index > b.index;
      return a.entered != b.entered ? a.entered < b.entered : a.order < b.order;
    }
  };

  /// Waiting jobs of which one can run, by count and on nodes, where another can.
  struct Group {
    std::int64_t thousandths = 0;
    GangShape shape;
    std::uint32_t quota_group = 0;
    std::uint32_t quota_namespace = 0;
    std::int32_t devices = 0;  ///< As quotas count them; 0 where there is no quota.

    friend auto operator<=>(const Group&, const Group&) = default;
  };

  using Places = std::set<Place>;

  struct Known {
    bool runs = false;  ///< Holds devices and may be preempted.
    bool waits = false;
    Place place;
    Group group;
    Instant next = Instant::never();
  };

  /// Of waiting jobs, those of one group that were not looked at yet.
  struct Cursor {
    const Group* group;
    Places::const_iterator next;
    Places::const_iterator end;
    bool quota_asked;

    /// For std::push_heap: the first in order on top.
    friend bool operator<(const Cursor& a, const Cursor& b) { return *b.next < *a.next; }
  };

  /// How far the queues were looked through.
  struct Scan {
    std::vector<Cursor> heap;
    Places::const_iterator runner;
    std::int64_t left = 0;  ///< Thousandths of devices.
  };

  /// A job that shall start.
  struct Starting {
    JobId job;
    const Group* group;
    Place place;
    Scan scan;  ///< Just before it was chosen.
    std::size_t preempted;
  };

  /// Jobs of a group of which one was chosen and found no place, and all behind that one.
  struct Blocked {
    const Group* group;
    Place from;
  };

  /// The jobs that shall start, and those that must give devices back.
  struct Choice {
    Scan scan;
    std::vector<Starting> starting;
    std::vector<JobId> preempted;
    std::vector<JobId> blocked;           ///< That were chosen and found no place, ascending.
    std::vector<Blocked> blocked_groups;  ///< Each once.

    bool blocks(const Group& group, const Place& place) const;
    void block(const Group& group, const Place& place);
  };

  /// The plan as it is made.
  struct Placing {
    /// What was done before a job of `Choice::starting` was placed.
    struct Mark {
      std::size_t trial;
      std::size_t grants;
      std::size_t nodes;
    };

    Plan plan;
    std::vector<Mark> marks;
  };

  void note_changes(const ClusterView& view);
  void absorb(const ClusterView& view);
  void refresh(const ClusterView& view, JobId id);
  void forget(JobId id);
  bool move(const ClusterView& view, const JobView& job);
  Known known_now(const ClusterView& view, const JobView& job) const;
  Instant next_change(const ClusterView& view, const JobView& job, std::uint32_t queue) const;
  std::int64_t service_us(const JobRow& row, Instant now) const;
  std::uint32_t queue_of(JobId id) const;
  std::uint32_t queue_by_service(std::int64_t service_us) const;
  Scan whole_scan(const ClusterView& view) const;
  static bool quotas_admit(const ClusterView& view, Cursor& cursor);
  static void sink_first(std::vector<Cursor>& heap);
  static void scan_waiting(const ClusterView& view, Choice& choice);
  std::int64_t taken_by(const Place& runner) const;
  void scan(const ClusterView& view, Choice& choice) const;
  void take_back(const ClusterView& view, const Choice& choice, Placing& placing);
  std::size_t place(const ClusterView& view, Choice& choice, Placing& placing);
  bool lower_ones_give_way(const ClusterView& view, const Choice& choice, const Placing& placing);
  bool choose_anew(const ClusterView& view, std::size_t misfit, Choice& choice) const;

  TiresiasParameters parameters_;
  std::vector<std::int64_t> thresholds_us_;
  std::map<JobId, Moved>
      moved_;  ///< Live jobs only, but for those that ended since the last cycle.
  std::uint64_t moves_ = 0;
  // All below follows from the views and from the above.
  bool follows_ = false;        ///< The tables are those of the last view but for `changed_`.
  std::vector<JobId> changed_;  ///< Since the last cycle, possibly repeated.
  std::map<JobId, Known> known_;
  std::map<Group, Places> waiting_;          ///< None is empty.
  Places running_;                           ///< Those that may be preempted.
  std::set<std::pair<Instant, JobId>> due_;  ///< When a job changes its place by itself.
  ClosedNodes closed_;                       ///< Of the present view.
  GangTrial placer_;
  PriorityPlacement by_priority_;
};

}  // namespace orrery::policies
