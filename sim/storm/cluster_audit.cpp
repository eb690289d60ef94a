#include "sim/storm/cluster_audit.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace orrery::sim {
namespace {

std::uint64_t all_devices(std::int32_t count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

bool is_part(const Demand& demand) { return demand.devices == 1 && !demand.share.is_whole(); }

bool is_well(const NodeState& node) {
  return !node.silent && !node.excluded && !node.lost_device && node.leaves_at.is_never();
}

std::vector<std::int16_t> parts_of(const NodeFree& free) {
  return free.parts == nullptr ? std::vector<std::int16_t>{} : *free.parts;
}

// How often the demand goes into what is free, by division.
std::int64_t fits(const NodeFree& free, const Demand& demand) {
  if (!free.usable) return 0;
  if (demand.devices > 0 && !demand.model.is_none() && demand.model != free.model) return 0;
  std::int64_t most = 1'000'000;
  if (demand.cpu.count > 0) most = std::min(most, free.cpu.count / demand.cpu.count);
  if (demand.memory.count > 0) most = std::min(most, free.memory.count / demand.memory.count);
  if (is_part(demand)) {
    std::int64_t parts = free.devices * (1000 / demand.share.thousandths);
    for (const std::int16_t left : parts_of(free)) parts += left / demand.share.thousandths;
    return std::min(most, parts);
  }
  if (demand.devices > 0) most = std::min<std::int64_t>(most, free.devices / demand.devices);
  return std::max<std::int64_t>(most, 0);
}

class ClusterAudit {
 public:
  explicit ClusterAudit(const State& state) : state_(state) {}

  std::vector<std::string> wrong() {
    leases_.resize(state_.ledger.node_count());
    for (std::uint32_t n = 0; n < state_.ledger.node_count(); ++n) node(NodeId{n});
    where_ = NodeId::none();
    totals();
    owners();
    sets();
    quotas();
    queries();
    spares();
    return std::move(wrong_);
  }

 private:
  void say(std::string_view what) {
    const std::string where = where_.is_none() ? "" : "node " + std::to_string(where_.value) + ": ";
    wrong_.push_back(where + std::string(what));
  }

  // Called often, and nearly always they are the same: no text is made for that.
  template <class T>
  void same(std::string_view what, T is, T follows) {
    if (is == follows) return;
    say(std::string(what) + " is " + std::to_string(is) + ", " + std::to_string(follows) +
        " follows");
  }

  void node(NodeId id) {
    const LedgerNode& node = state_.ledger.node(id);
    const NodeFree& free = state_.ledger.free().at(id);
    where_ = id;
    std::uint64_t promised = 0;
    std::uint64_t used = 0;
    std::int64_t cpu_promised = 0, cpu_used = 0, memory_promised = 0, memory_used = 0;
    std::uint32_t claimed = 0, beside = 0;
    bool plain = true, any_part = false;
    std::vector<std::int32_t> left(static_cast<std::size_t>(node.devices), 1000);
    LeaseId previous;
    std::int64_t ports = 0;
    for (LeaseId l = node.first; !l.is_none(); l = state_.ledger.lease(l).next) {
      const Lease& lease = state_.ledger.lease(l);
      if (lease.previous != previous || lease.node != id || lease.owner.is_none())
        say("its list of leases is broken");
      previous = l;
      leases_[id.index()].push_back(l);
      beside += lease.turns.beside.is_none() ? 0 : 1;
      ports += lease.ports.count;
      plain = plain && lease.turns.group == 0 && lease.turns.beside.is_none();
      if (lease.stage == LeaseStage::Claimed) {
        ++claimed;
      } else {
        used |= lease.devices;
        cpu_used += lease.demand.cpu.count;
        memory_used += lease.demand.memory.count;
      }
      if (lease.stage == LeaseStage::Releasing) continue;
      promised |= lease.devices;
      cpu_promised += lease.demand.cpu.count;
      memory_promised += lease.demand.memory.count;
      any_part = any_part || is_part(lease.demand);
      for (std::size_t d = 0; d < left.size(); ++d)
        if ((lease.devices >> d & 1) != 0)
          left[d] -= is_part(lease.demand) ? lease.demand.share.thousandths : 1000;
    }
    if (node.last != previous) say("its list of leases ends elsewhere");
    const std::uint64_t all = all_devices(node.devices);
    same("the mask of unclaimed devices", node.whole_unclaimed, all & ~promised);
    same("the mask of unused devices", node.whole_unused, all & ~used);
    same("unused cpu", node.cpu_unused.count, node.cpu.count - cpu_used);
    same("unused memory", node.memory_unused.count, node.memory.count - memory_used);
    same("the number of claims", node.claimed, claimed);
    same("the number of leases beside others", node.beside, beside);
    same("free cpu", free.cpu.count, node.cpu.count - cpu_promised);
    same("free memory", free.memory.count, node.memory.count - memory_promised);
    same("free devices", free.devices, std::popcount(all & ~promised));
    same("usable", free.usable, node.usable);
    const NodeState& known = state_.nodes[id.index()];
    same("usable", node.usable, is_well(known) && !known.spare);
    std::int64_t taken = 0;
    for (const PortRange& range : state_.ledger.ports().taken(id)) taken += range.count;
    same("ports taken",
         taken,
         ports + static_cast<std::int64_t>(state_.ledger.ports().avoided(id).size()));
    if (free.model != node.model) say("its model is another one in the index");
    // What takes turns or sits beside is counted by rules of its own.
    if (!plain || state_.settings.rules < 1) return;
    std::vector<std::int16_t> parts;
    for (std::size_t d = 0; any_part && d < left.size(); ++d)
      if ((promised >> d & 1) != 0 && left[d] > 0)
        parts.push_back(static_cast<std::int16_t>(left[d]));
    std::sort(parts.begin(), parts.end());
    if (parts_of(free) != parts) say("other parts of devices are left than the index says");
    same("the largest part left", free.partial_max, parts.empty() ? 0 : parts.back() + 0);
    for (const LeaseId l : leases_[id.index()]) waits_for_something(node, l);
  }

  // A claim is held as soon as everything that it names is unused.
  void waits_for_something(const LedgerNode& node, LeaseId id) {
    const Lease& lease = state_.ledger.lease(id);
    const bool whole = lease.stage == LeaseStage::Claimed && !is_part(lease.demand);
    if (!whole || lease.hardware != 0) return;
    if ((lease.devices & ~node.whole_unused) == 0 && lease.demand.cpu <= node.cpu_unused &&
        lease.demand.memory <= node.memory_unused)
      say("a claim of job " + std::to_string(lease.owner.value) +
          " waits, what it names is unused");
  }

  void totals() {
    const FreeIndex& free = state_.ledger.free();
    std::int64_t usable = 0, total = 0, devices = 0, thousandths = 0, cpu = 0, memory = 0;
    for (std::uint32_t n = 0; n < free.size(); ++n) {
      const NodeFree& at = free.at(NodeId{n});
      const std::int32_t has = state_.ledger.node(NodeId{n}).devices;
      total += has;
      if (!at.usable) continue;
      usable += has;
      devices += at.devices;
      cpu += at.cpu.count;
      memory += at.memory.count;
      thousandths += std::int64_t{at.devices} * 1000;
      if (at.parts == nullptr) thousandths += at.partial_max;
      for (const std::int16_t part : parts_of(at)) thousandths += part;
    }
    same("the sum of devices", state_.ledger.devices_total(), total);
    same("the sum of usable devices", state_.ledger.devices_usable(), usable);
    same("the sum of free devices", free.free_devices(), devices);
    same("the sum of free thousandths", free.free_thousandths(), thousandths);
    same("the sum of free cpu", free.free_cpu().count, cpu);
    same("the sum of free memory", free.free_memory().count, memory);
  }

  // Each lease is one worker's, and each worker's is its job's, on its node, of its devices.
  void owners() {
    std::map<LeaseId, int> seen;
    for (const std::vector<LeaseId>& on_node : leases_)
      for (const LeaseId lease : on_node) ++seen[lease];
    state_.for_each_job([&](const JobState& job) {
      const auto claim = [&](const Worker& worker) {
        const auto found = seen.find(worker.lease);
        const auto broken = [&](std::string_view what) {
          say(job.spec->name + ": a worker on node " + std::to_string(worker.node.value) +
              std::string(what));
        };
        if (found == seen.end()) return broken(" has a lease that is none, or another's");
        const Lease& lease = state_.ledger.lease(worker.lease);
        if (lease.owner != job.row.id || lease.node != worker.node ||
            lease.devices != worker.devices || lease.hardware != worker.hardware ||
            (worker.first_port != 0 && lease.ports.first != worker.first_port &&
             worker.state != WorkerState::Lost))
          broken(" has a lease of something else");
        seen.erase(found);
      };
      for (const Worker& worker : job.workers)
        if (!worker.lease.is_none()) claim(worker);
      for (std::size_t i = 0; i < job.next.size(); ++i)
        if (job.next_from[i] == UINT32_MAX) claim(job.next[i]);
    });
    for (const auto& [lease, count] : seen)
      say("a lease of job " + std::to_string(state_.ledger.lease(lease).owner.value) + " on node " +
          std::to_string(state_.ledger.lease(lease).node.value) + " is no worker's");
  }

  void sets() {
    std::vector<JobId> holding, wanting;
    std::vector<std::pair<std::int32_t, JobId>> waiting;
    std::size_t live = 0, jobs = 0;
    std::int32_t preemptible = 0;
    state_.for_each_job([&](const JobState& job) {
      const JobRow& row = job.row;
      ++jobs;
      if (row.holds) holding.push_back(row.id);
      if (row.holds && row.preemptible) ++preemptible;
      if (row.phase == JobPhase::Pending && !row.holds && !row.infeasible)
        waiting.emplace_back(-row.priority, row.id);
      if (job.wants_more) wanting.push_back(row.id);
      if (!is_final(row.phase)) ++live;
      for (const std::string& wrong : false_in_job(state_, job)) say(wrong);
    });
    same("the number of jobs", state_.job_count(), jobs);
    same("the number of live jobs", state_.live_count(), live);
    same("the number of jobs that hold", state_.holding_count(), holding.size());
    same("the number of preemptible jobs that hold", state_.preemptible_holding, preemptible);
    if (state_.holding() != holding) say("the list of jobs that hold is another one than follows");
    std::vector<JobId> more = state_.wants_more;
    std::sort(more.begin(), more.end());
    if (more != wanting) say("the list of jobs that want more is another one than follows");
    std::sort(waiting.begin(), waiting.end());
    std::size_t place = 0;
    bool in_order = true;
    state_.waiting.for_each([&](const WaitEntry& entry) {
      in_order = in_order && place < waiting.size() && waiting[place].second == entry.job;
      ++place;
      if (const JobState* job = state_.find(entry.job); job != nullptr) {
        const std::int64_t room =
            job->row.min_replicas * job->row.demand.thousandths() + job->row.rest_thousandths;
        same("the room of a job in the queue", std::int64_t{entry.devices}, (room + 999) / 1000);
        same("the estimate of a job in the queue", entry.estimate.ns, job->row.estimate.ns);
      }
      return true;
    });
    if (!in_order || place != waiting.size() || state_.waiting.size() != waiting.size())
      say("the queue is not those that wait, by priority and age");
  }

  void quotas() {
    std::vector<std::int32_t> held(state_.quotas.size(), 0);
    state_.for_each_job([&](const JobState& job) {
      if (job.row.elastic.is_none()) return;
      if (held.empty()) return;
      const std::string& name = job.spec->name;
      const std::string space = "namespace/" + name.substr(0, name.find('.'));
      const std::string group = "group/" + *job.spec->group;
      for (std::size_t q = 0; q < held.size(); ++q) {
        const std::string& scope = state_.quotas[q].quota.scope;
        const bool counts = scope == space || (!job.spec->group->empty() && scope == group);
        if (counts) held[q] += job.row.devices_held;
        if (counts != (job.row.quota_namespace == q || job.row.quota_group == q))
          say(name + ": quota " + scope + " is " + (counts ? "not " : "") + "counted");
      }
    });
    for (std::size_t q = 0; q < held.size(); ++q) {
      same("what a quota holds", state_.quotas[q].held, held[q]);
      // Quotas are declared before anything is held.
      if (held[q] > state_.quotas[q].quota.devices)
        say("quota " + state_.quotas[q].quota.scope + " holds " + std::to_string(held[q]) + ", " +
            std::to_string(state_.quotas[q].quota.devices) + " are allowed");
    }
  }

  // What the index answers for the demands that there are, against a look at every node.
  void queries() {
    const FreeIndex& free = state_.ledger.free();
    state_.for_each_job([&](const JobState& job) {
      if (is_final(job.row.phase)) return;
      const Demand& demand = job.row.demand;
      std::int64_t by_devices = 0;
      std::int32_t most = -1;
      for (std::uint32_t n = 0; n < free.size(); ++n) {
        const NodeFree& at = free.at(NodeId{n});
        most = std::max(most, at.devices);
        const bool other = !demand.model.is_none() && demand.model != at.model;
        if (demand.devices > 0 && at.usable && !other) by_devices += at.devices / demand.devices;
      }
      if (demand.devices > 0 && !is_part(demand))
        same("replicas by devices", free.replicas_by_devices(demand), by_devices);
      for (std::int32_t level = 0; level <= most; ++level) {
        NodeId first;
        for (std::uint32_t n = 0; n < free.size() && first.is_none(); ++n)
          if (free.at(NodeId{n}).devices == level && fits(free.at(NodeId{n}), demand) > 0)
            first = NodeId{n};
        if (state_.settings.rules >= 1 && free.first_with(demand, level, NodeId::none()) != first)
          say("the index finds another first node with " + std::to_string(level) +
              " free devices for " + job.spec->name);
      }
    });
  }

  // No spare stands by while a node of its group cannot be used and its place is not taken.
  void idle_spares(const std::vector<NodeId>& stand_ins) {
    std::set<std::string> stands_by;
    for (const NodeState& node : state_.nodes)
      if (node.spare && is_well(node)) stands_by.insert(node.group);
    if (stands_by.empty()) return;
    std::set<NodeId> taken;
    for (const NodeId each : stand_ins) taken.insert(state_.nodes[each.index()].stands_in_for);
    for (std::uint32_t n = 0; n < state_.nodes.size(); ++n) {
      const NodeState& node = state_.nodes[n];
      if (!node.spare && !is_well(node) && !taken.contains(NodeId{n}) &&
          stands_by.contains(node.group))
        say("node " + std::to_string(n) + " cannot be used, and a spare of its group stands by");
    }
  }

  void spares() {
    std::vector<NodeId> stand_ins;
    Instant timer = Instant::never();
    const Settings& settings = state_.settings;
    for (std::uint32_t n = 0; n < state_.nodes.size(); ++n) {
      const NodeState& node = state_.nodes[n];
      if (node.excluded) timer = std::min(timer, node.excluded_until);
      if (settings.rules >= 1 && !node.silent && !node.leaves_at.is_never())
        timer = std::min(timer, node.leaves_at + settings.node_lease + settings.fence_margin);
      const auto limit = static_cast<std::size_t>(std::max(settings.lemon_incidents, 0));
      if (!node.excluded && node.incidents.size() > limit)
        say("node " + std::to_string(n) + " keeps more incidents than exclude it");
      if (node.stands_in_for.is_none()) continue;
      stand_ins.emplace_back(n);
      const std::string name = "node " + std::to_string(n) + " stands in for ";
      if (node.spare && settings.rules >= 4) say(name + "another and is a spare");
      if (state_.nodes[node.stands_in_for.index()].group != node.group)
        say(name + "one of another group");
      for (std::uint32_t other = 0; other < n; ++other)
        if (state_.nodes[other].stands_in_for == node.stands_in_for)
          say(name + "one that another stands in for");
    }
    if (stand_ins != state_.stand_ins) say("the list of nodes that stand in is another one");
    if (settings.rules >= 4) idle_spares(stand_ins);
    if (timer != state_.node_timer()) say("the next timer of the nodes is another one");
  }

  const State& state_;
  NodeId where_;                              ///< That is looked at.
  std::vector<std::vector<LeaseId>> leases_;  ///< By node.
  std::vector<std::string> wrong_;
};

}  // namespace

std::vector<std::string> false_in_cluster(const State& state) {
  return ClusterAudit(state).wrong();
}

}  // namespace orrery::sim
