// What must hold of the controller's state after every step.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/control/controller.hpp"
#include "core/discovery/port_demand.hpp"
#include "core/job/phase.hpp"
#include "core/membership/seating.hpp"
#include "core/record/codec.hpp"

namespace orrery::tests {

/// The counters of one job, which never go down.
struct JobCounters {
  std::uint32_t generation = 0;
  std::uint32_t restarts = 0;
  std::uint32_t reschedules = 0;
  std::uint32_t preemptions = 0;
  std::uint32_t node_losses = 0;
  std::uint32_t incidents = 0;
  std::uint32_t nodes_relaunched = 0;
};

class StateChecker {
 public:
  /// After every step, with what the step told.
  void check(const State& state, const std::vector<Notice>& notices) {
    state.ledger.check();
    check_edges(notices);
    check_sets(state);
    check_leases(state);
    state.for_each_job([&](const JobState& job) {
      check_counters(job);
      check_job(job, state);
    });
  }

 private:
  static void check_edges(const std::vector<Notice>& notices) {
    for (const Notice& n : notices)
      if (n.kind == NoticeKind::PhaseChanged && n.from != n.to) {
        EXPECT_TRUE(is_legal(n.from, n.to)) << to_string(n.from) << " to " << to_string(n.to);
      }
  }

  static void check_sets(const State& state) {
    std::vector<JobId> holding;
    std::set<std::uint32_t> waiting;
    std::vector<std::int64_t> held(state.quotas.size(), 0);
    std::size_t live = 0;
    std::int32_t preemptible = 0;
    state.for_each_job([&](const JobState& job) {
      const JobRow& row = job.row;
      if (row.holds) holding.push_back(row.id);
      if (row.holds && row.preemptible) ++preemptible;
      if (row.phase == JobPhase::Pending && !row.holds && !row.infeasible)
        waiting.insert(row.id.value);
      if (!is_final(row.phase)) ++live;
      if (!row.holds) {
        EXPECT_EQ(row.devices_held, 0);
        EXPECT_EQ(row.replicas, 0);
      }
      for (const std::uint32_t q : {row.quota_group, row.quota_namespace})
        if (q != UINT32_MAX) held[q] += row.devices_held;
    });
    EXPECT_EQ(state.holding(), holding);
    EXPECT_EQ(state.preemptible_holding, preemptible);
    EXPECT_EQ(state.live_count(), live);
    for (std::size_t q = 0; q < held.size(); ++q) EXPECT_EQ(state.quotas[q].held, held[q]);
    std::set<std::uint32_t> queued;
    WaitScan all;
    state.waiting.for_each_of(all, [&](const WaitEntry& entry, WaitKind kind) {
      queued.insert(entry.job.value);
      const JobRow& row = state.job(entry.job).row;
      EXPECT_EQ(entry.devices, row.gang_room());
      EXPECT_EQ(kind, row.wait_kind());
      return true;
    });
    EXPECT_EQ(queued, waiting);
    EXPECT_EQ(state.waiting.size(), waiting.size());
  }

  // Every lease belongs to exactly one worker, and every worker that may run has one.
  static void check_leases(const State& state) {
    std::map<std::uint32_t, std::uint32_t> owner_of;  // Lease to job.
    state.for_each_job([&](const JobState& job) {
      const auto claim = [&](const Worker& worker) {
        EXPECT_TRUE(owner_of.emplace(worker.lease.value, job.row.id.value).second)
            << "two workers have lease " << worker.lease.value;
        const Lease& lease = state.ledger.lease(worker.lease);
        EXPECT_EQ(lease.owner, job.row.id);
        EXPECT_EQ(lease.node, worker.node);
        EXPECT_EQ(lease.devices, worker.devices);
        EXPECT_EQ(lease.ports.first, worker.first_port);
        EXPECT_EQ(lease.ports.count, ports_of(*job.spec, worker.role));
      };
      for (const Worker& worker : job.workers)
        if (!worker.lease.is_none()) claim(worker);
      for (std::size_t i = 0; i < job.next.size(); ++i)
        if (job.next_from[i] == UINT32_MAX) claim(job.next[i]);
    });
    std::size_t leases = 0;
    for (std::uint32_t n = 0; n < state.ledger.node_count(); ++n)
      for (LeaseId l = state.ledger.node(NodeId{n}).first; !l.is_none();
           l = state.ledger.lease(l).next) {
        ++leases;
        EXPECT_TRUE(owner_of.contains(l.value)) << "lease " << l.value << " has leaked";
      }
    EXPECT_EQ(leases, owner_of.size());
  }

  static void check_job(const JobState& job, const State& state) {
    const JobRow& row = job.row;
    SCOPED_TRACE("job " + std::to_string(row.id.value) + " " + std::string(to_string(row.phase)));
    const auto in_state = [&](WorkerState wanted) {
      return std::count_if(job.workers.begin(), job.workers.end(), [&](const Worker& w) {
        return w.state == wanted;
      });
    };
    EXPECT_EQ(job.ready, in_state(WorkerState::Ready));
    EXPECT_EQ(job.draining, in_state(WorkerState::Draining));
    for (const Worker& w : job.workers) {
      if (w.is_alive() && job.after_drain == AfterDrain::Nothing) {
        EXPECT_FALSE(w.lease.is_none()) << "a live worker has its devices";
      }
      if (w.state == WorkerState::Succeeded || w.state == WorkerState::Stopped) {
        EXPECT_TRUE(w.lease.is_none());
      }
    }
    const auto trues = std::count_if(
        job.conditions.begin(), job.conditions.end(), [](const Condition& c) { return c.status; });
    EXPECT_EQ(trues, 1);
    for (const Condition& c : job.conditions)
      if (c.status) {
        EXPECT_EQ(c.phase, row.phase);
      }
    EXPECT_TRUE(row.holds || row.phase == JobPhase::Pending || is_final(row.phase))
        << "it has no places and does not wait for any";
    check_change(job);
    check_timers(job, state.settings);
    check_seats(job);
    if (row.holds) {
      const RoleSpec& role = job.spec->roles[row.elastic.index()];
      EXPECT_GE(row.replicas, row.preemptible && !job.sized_by_user ? role.min_replicas : 1);
      // Bounds that have changed in the middle of something are met once the job runs.
      if (row.preemptible && !job.sized_by_user && row.phase == JobPhase::Running) {
        EXPECT_LE(row.replicas, role.max_replicas);
      }
      std::int32_t sum = 0;
      for (const NodeCount& n : job.elastic_nodes) sum += n.replicas;
      EXPECT_EQ(sum, row.replicas);
    }
    if (is_final(row.phase)) {
      EXPECT_FALSE(row.holds);
    } else {
      EXPECT_EQ(state.named(job.spec->name), row.id);
    }
  }

  // A worker with a declared assignment has exactly that one.
  static void check_seats(const JobState& job) {
    if (job.after_drain != AfterDrain::Nothing || is_final(job.row.phase)) return;
    for (const Worker& worker : job.workers) {
      const RoleSpec& role = job.spec->roles[worker.role.index()];
      const auto size = std::count_if(job.workers.begin(), job.workers.end(), [&](const Worker& w) {
        return w.role == worker.role;
      });
      if (!role.placements.empty()) {
        EXPECT_TRUE(sits_right(job, worker, static_cast<std::int32_t>(size)))
            << role.name << " " << worker.local_rank << " of " << size;
      }
    }
  }

  static void check_change(const JobState& job) {
    const bool changing = job.after_drain != AfterDrain::Nothing;
    const auto blocked = std::count_if(job.next.begin(), job.next.end(), [&](const Worker& w) {
      return w.state == WorkerState::Claimed;
    });
    EXPECT_LE(job.blocked, static_cast<std::uint32_t>(blocked));
    EXPECT_EQ(job.next.size(), job.next_from.size());
    switch (job.row.phase) {
      case JobPhase::Pending:
        EXPECT_TRUE(job.workers.empty());
        EXPECT_EQ(changing, job.row.holds);
        break;
      case JobPhase::Starting:
        EXPECT_FALSE(changing);
        EXPECT_FALSE(job.workers.empty());
        break;
      case JobPhase::Running:
        EXPECT_FALSE(changing);
        break;
      case JobPhase::Unknown:
        EXPECT_FALSE(changing);
        break;
      case JobPhase::Rescheduling:
      case JobPhase::Restarting:
        break;
      case JobPhase::Succeeded:
      case JobPhase::Failed:
        EXPECT_FALSE(changing);
        EXPECT_TRUE(job.next.empty());
        break;
    }
  }

  // Nothing is waited for without an end.
  static void check_timers(const JobState& job, const Settings& settings) {
    const bool changing = job.after_drain != AfterDrain::Nothing;
    const auto is_set = [&](TimerKind kind) { return job.timers.is_set(kind); };
    if (settings.rules < 3) {
      const bool is_change =
          job.row.phase == JobPhase::Rescheduling || job.row.phase == JobPhase::Restarting;
      const bool waits = is_change && (!changing || job.draining > 0 || job.blocked == 0);
      if (waits || job.row.phase == JobPhase::Starting || job.row.phase == JobPhase::Unknown) {
        EXPECT_TRUE(is_set(TimerKind::Sole));
      }
      return;
    }
    EXPECT_FALSE(is_set(TimerKind::Sole));
    EXPECT_EQ(is_set(TimerKind::Drain), job.draining > 0);
    if (job.draining == 0) {
      EXPECT_FALSE(is_set(TimerKind::Kill));
    }
    if (is_final(job.row.phase)) {
      EXPECT_EQ(job.timers.earliest(), job.timers.at(TimerKind::Drain));
      return;
    }
    EXPECT_EQ(job.timers.at(TimerKind::Run), job.started_at + job.spec->run_deadline);
    EXPECT_EQ(is_set(TimerKind::Contact), job.row.phase == JobPhase::Unknown);
    EXPECT_EQ(is_set(TimerKind::Wait),
              job.row.phase == JobPhase::Pending && !job.spec->wait_deadline.is_forever());
    if (job.row.phase == JobPhase::Starting) {
      EXPECT_TRUE(is_set(TimerKind::Start) || is_set(TimerKind::Answer));
    }
    const bool is_change =
        job.row.phase == JobPhase::Rescheduling || job.row.phase == JobPhase::Restarting;
    if (!is_change || job.draining > 0) return;
    if (!changing) {
      EXPECT_TRUE(is_set(TimerKind::Answer));
    } else if (job.blocked > 0) {
      EXPECT_TRUE(is_set(TimerKind::Change));
    } else {
      EXPECT_TRUE(is_set(TimerKind::Lists) || is_set(TimerKind::Backoff));
    }
  }

  void check_counters(const JobState& job) {
    JobCounters& last = counters_[job.row.id.value];
    const JobRow& row = job.row;
    EXPECT_GE(row.generation.value, last.generation);
    EXPECT_GE(row.restarts, last.restarts);
    EXPECT_GE(row.reschedules, last.reschedules);
    EXPECT_GE(row.preemptions, last.preemptions);
    EXPECT_GE(row.node_losses, last.node_losses);
    if (job.spec->failover->reset_window.is_forever()) {
      EXPECT_LE(row.restarts, static_cast<std::uint32_t>(job.spec->backoff_limit));
    }
    EXPECT_GE(job.failover->incidents, last.incidents);
    EXPECT_GE(job.failover->nodes_relaunched, last.nodes_relaunched);
    last = {row.generation.value,
            row.restarts,
            row.reschedules,
            row.preemptions,
            row.node_losses,
            job.failover->incidents,
            job.failover->nodes_relaunched};
  }

  std::map<std::uint32_t, JobCounters> counters_;
};

/// Bytes of a state: equal for equal states.
inline std::string bytes_of(const State& state) {
  ByteWriter out;
  state.save(out);
  return std::string(out.text());
}

/// Bytes of what one step gave, notices included.
inline std::string bytes_of(const Commands& commands) {
  ByteWriter out;
  Encoder encoder(out);
  for (const CommandBody& order : commands.orders) encoder.put(order);
  for (const Notice& n : commands.notices) {
    encoder.put(n.kind);
    encoder.put(n.at);
    encoder.put(n.job);
    encoder.put(n.node);
    encoder.put(n.generation);
    encoder.put(n.from);
    encoder.put(n.to);
    encoder.put(n.reason);
    encoder.put(n.ignored);
    encoder.put(n.counter);
    encoder.put(n.first);
    encoder.put(n.count);
    encoder.put(n.devices);
  }
  return std::string(out.text());
}

}  // namespace orrery::tests
