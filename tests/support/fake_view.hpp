// A cluster of plain tables for policy tests: terse jobs and nodes, plans carried out and judged,
// time that moves when told.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/policy.hpp"
#include "tests/support/placing.hpp"
#include "tests/support/policy_jobs.hpp"

namespace orrery::testing {

/// Work per second of `replicas` replicas, in units of one second at one replica.
using RateCurve = std::function<double(std::int32_t replicas)>;

/// Jobs and nodes, and the view of them. `carry_out` does what a plan says and notes in
/// `violations` whatever a policy must not do.
class FakeCluster : public ClusterView {
 public:
  // ---- Building ----

  void add_nodes(std::int32_t count,
                 std::int32_t devices,
                 std::int64_t cores = 1000,
                 const std::string& model = "gpu") {
    for (std::int32_t i = 0; i < count; ++i) {
      NodeFree node{MilliCpu{cores * 1000},
                    Bytes{1} + Bytes{(std::int64_t{1} << 50)},
                    devices,
                    0,
                    devices == 0 ? DeviceModelId::none() : model_id(model),
                    true};
      whole_.push_back(node);
      free_.add(node);
      devices_usable_ += devices;
    }
    everything_changed();
  }

  void set_quota(const std::string& group, std::int32_t devices) {
    quotas_[group_id(group)] = devices;
    everything_changed();
  }

  /// Submits a job that has `work` to do, in seconds at its minimum of replicas; default: its
  /// estimate, else 60 s.
  JobId submit(const JobBuilder& builder, double work = -1) { return submit(builder.spec(), work); }

  JobId submit(std::shared_ptr<const JobSpec> spec, double work = -1) {
    const JobId id{static_cast<std::uint32_t>(jobs_.size())};
    Job& j = jobs_.emplace_back();
    j.spec = std::move(spec);
    JobRow& row = j.row;
    row.id = id;
    row.elastic = elastic_role(*j.spec);
    const RoleSpec& role = j.spec->roles[row.elastic.index()];
    row.preemptible = j.spec->preemptible;
    row.priority = j.spec->priority;
    row.min_replicas = role.min_replicas;
    row.max_replicas = role.max_replicas;
    row.demand = demand_of(*j.spec, row.elastic);
    for (const RoleSpec& r : j.spec->roles)
      if (&r != &role) {
        row.rest_devices += r.min_replicas * r.bundle.devices;
        row.rest_thousandths += r.min_replicas * r.bundle.thousandths();
      }
    row.estimate = j.spec->estimate;
    row.estimate_source = j.spec->estimate_source;
    row.submitted = row.attained_as_of = now_;
    if (!j.spec->group->empty()) row.quota_group = group_id(*j.spec->group);
    if (work < 0)
      work = row.estimate_source == EstimateSource::None ? 60 : row.estimate.in_seconds();
    j.left = work * rate_of(j, row.min_replicas);
    if (j.spec->roles.size() > 1) j.rest.resize(j.spec->roles.size());
    wait(j);
    ++live_;
    touch(id);
    return id;
  }

  /// How a job's speed follows its replicas; default: proportional. Before it starts.
  void set_rate(JobId id, RateCurve curve) { jobs_[id.index()].curve = std::move(curve); }

  /// From now on the rows carry progress reports with an oracle's estimate of what remains.
  void report_progress() { reports_ = true; }

  /// The job's last report, at this time: so much work done, and its rate, whatever it does since.
  void tell(JobId id, double done, double rate) {
    ProgressView& progress = jobs_[id.index()].row.progress;
    progress.done = done;
    progress.rate = rate;
    progress.as_of = now_;
    touch(id);
  }

  /// So many training epochs of the job are over, the last one now.
  void complete_epochs(JobId id, std::int32_t epochs) {
    ProgressView& progress = jobs_[id.index()].row.progress;
    progress.epoch = epochs;
    progress.as_of = now_;
    touch(id);
  }

  /// Marks a node as gone or back; what ran there is lost and waits again.
  void set_usable(NodeId node, bool usable) {
    for (const JobId id : std::vector<JobId>(holding().begin(), holding().end()))
      if (!usable && touches(jobs_[id.index()], node)) release(jobs_[id.index()]);
    NodeFree free = free_.at(node);
    if (free.usable != usable) devices_usable_ += usable ? free.devices : -free.devices;
    free.usable = usable;
    free_.set(node, free);
    everything_changed();
  }

  /// From now on the node takes nothing new; what runs there goes on.
  void cordon(NodeId node) {
    NodeFree free = free_.at(node);
    if (!free.usable) return;
    devices_usable_ -= whole_[node.index()].devices;
    free.usable = false;
    free_.set(node, free);
    everything_changed();
  }

  // ---- Asking and doing ----

  /// The policy's answer about one job; the list of touched jobs starts anew.
  Plan ask_allocate(Policy& policy, JobId id) {
    shown_.swap(touched_);
    const Plan plan = policy.allocate(job(id), *this);
    shown_.clear();
    touched_complete_ = true;
    return plan;
  }

  Plan ask_optimize(Policy& policy) {
    shown_.swap(touched_);
    Plan plan = policy.optimize(*this);
    shown_.clear();
    touched_complete_ = true;
    return plan;
  }

  /// What the next view says about `touched` as after a policy's `load`.
  void everything_changed() { touched_complete_ = false; }

  /// Carries a plan out as one change: what it takes back or moves counts as free first. A grant
  /// that cannot be carried out is noted and skipped.
  void carry_out(const Plan& plan) {
    std::vector<bool> good;
    for (const Grant& grant : plan.grants) good.push_back(!grant.is_remark() && give_up(grant));
    for (std::size_t i = 0; i < good.size(); ++i)
      if (good[i] && plan.grants[i].replicas > 0)
        place(plan, plan.grants[i], jobs_[plan.grants[i].job.index()]);
  }

  /// What plans did that no plan may do, in words.
  const std::vector<std::string>& violations() const { return violations_; }

  /// Moves time on; jobs whose work is done end. Does nothing else.
  void advance_to(Instant t) {
    while (!ends_.empty() && ends_.begin()->first <= t) {
      now_ = std::max(now_, ends_.begin()->first);
      Job& j = jobs_[ends_.begin()->second.index()];
      finish(j);
    }
    now_ = std::max(now_, t);
  }

  /// Ends a job that runs, whatever it had to do yet.
  void end_now(JobId id) {
    if (jobs_[id.index()].row.holds) finish(jobs_[id.index()]);
  }

  /// Takes back a job that waits.
  void cancel(JobId id) {
    Job& j = jobs_[id.index()];
    if (j.row.holds || is_final(j.row.phase)) return;
    waiting_.erase(j.row.priority, id);
    j.row.phase = JobPhase::Failed;
    j.ended = now_;
    --live_;
    touch(id);
  }

  /// Its user gives a job that waits another, fixed, number of replicas.
  void resize(JobId id, std::int32_t replicas) {
    Job& j = jobs_[id.index()];
    if (j.row.holds || is_final(j.row.phase)) return;
    waiting_.erase(j.row.priority, id);
    JobSpec spec = *j.spec;
    RoleSpec& role = spec.roles[j.row.elastic.index()];
    role.min_replicas = role.max_replicas = replicas;
    j.spec = std::make_shared<const JobSpec>(std::move(spec));
    j.row.min_replicas = j.row.max_replicas = replicas;
    wait(j);
    touch(id);
  }

  void advance(std::int64_t seconds) { advance_to(now_ + Duration::seconds(seconds)); }

  /// When the next job ends; never where none runs.
  Instant next_end() const { return ends_.empty() ? Instant::never() : ends_.begin()->first; }

  std::size_t live_count() const { return live_; }

  Instant ended_at(JobId id) const { return jobs_[id.index()].ended; }

  std::int32_t replicas(JobId id) const { return jobs_[id.index()].row.replicas; }

  std::uint64_t preemptions() const { return preemptions_; }

  /// Counts all replicas node by node, without the free index; false where a node gives too much.
  bool capacity_holds() const {
    std::vector<NodeFree> used(whole_.size());
    std::vector<std::int64_t> parts(whole_.size());
    for (const JobId id : holding()) {
      const Job& j = jobs_[id.index()];
      for (std::size_t r = 0; r < j.spec->roles.size(); ++r) {
        const RoleIndex role{static_cast<std::uint16_t>(r)};
        Demand d = demand_of(*j.spec, role);
        if (role == j.row.elastic && !j.partner.is_none() && j.partner < id) d.devices = 0;
        for (const NodeCount& n : role == j.row.elastic ? j.nodes : j.rest[r]) {
          NodeFree& u = used[n.node.index()];
          u.cpu = u.cpu + MilliCpu{d.cpu.count * n.replicas};
          u.memory = u.memory + Bytes{d.memory.count * n.replicas};
          parts[n.node.index()] += std::int64_t{d.devices} * n.replicas * d.share.thousandths;
        }
      }
    }
    for (std::size_t i = 0; i < used.size(); ++i)
      if (parts[i] > whole_[i].devices * 1000 || whole_[i].cpu < used[i].cpu ||
          whole_[i].memory < used[i].memory)
        return false;
    return true;
  }

  // ---- The view ----

  Instant now() const override { return now_; }

  const WaitQueue& waiting() const override { return waiting_; }

  std::span<const JobId> holding() const override {
    if (holding_stale_) holding_list_.assign(holding_.begin(), holding_.end());
    holding_stale_ = false;
    return holding_list_;
  }

  JobView job(JobId id) const override {
    const Job& j = jobs_[id.index()];
    return {j.row, *j.spec, j.nodes};
  }

  void append_nodes(JobId id, RoleIndex role, std::vector<NodeCount>& out) const override {
    const Job& j = jobs_[id.index()];
    const std::vector<NodeCount>& from = role == j.row.elastic ? j.nodes : j.rest[role.index()];
    out.insert(out.end(), from.begin(), from.end());
  }

  const JobRow& row(JobId id) const override { return jobs_[id.index()].row; }

  bool is_live(JobId id) const override {
    return id.index() < jobs_.size() && !is_final(jobs_[id.index()].row.phase);
  }

  const FreeIndex& capacity() const override { return free_; }

  std::int64_t devices_usable() const override { return devices_usable_; }

  bool quota_allows(JobId id, std::int32_t devices) const override {
    const JobRow& row = jobs_[id.index()].row;
    const auto quota = quotas_.find(row.quota_group);
    if (quota == quotas_.end()) return true;
    std::int64_t held = devices;
    for (const JobId other : holding())
      if (other != id && jobs_[other.index()].row.quota_group == row.quota_group)
        held += jobs_[other.index()].row.devices_held;
    return held <= quota->second;
  }

  std::int32_t target(JobId id, RoleIndex role) const override {
    return jobs_[id.index()].spec->roles[role.index()].min_replicas;
  }

  DeviceModelId model_named(std::string_view name) const override {
    const auto found = models_.find(name);
    return found == models_.end() ? DeviceModelId{65000} : found->second;
  }

  JobId partner(JobId id) const override { return jobs_[id.index()].partner; }

  std::span<const JobId> touched() const override { return shown_; }

  bool touched_complete() const override { return touched_complete_; }

 private:
  struct Job {
    JobRow row;
    std::shared_ptr<const JobSpec> spec;
    std::vector<NodeCount> nodes;
    std::vector<NodeCount> before;             ///< What a plan that is being carried out moves.
    std::vector<std::vector<NodeCount>> rest;  ///< [role]; empty where there is only one.
    JobId partner;                             ///< On the same devices.
    RateCurve curve;
    double left = 0;  ///< Work, as of `since`.
    Instant since;
    Instant end = Instant::never();
    Instant ended = Instant::never();
  };

  static double rate_of(const Job& j, std::int32_t replicas) {
    return j.curve ? j.curve(replicas) : replicas;
  }

  static bool touches(const Job& j, NodeId node) {
    const auto on = [&](const std::vector<NodeCount>& nodes) {
      return std::any_of(
          nodes.begin(), nodes.end(), [&](const NodeCount& n) { return n.node == node; });
    };
    return on(j.nodes) || std::any_of(j.rest.begin(), j.rest.end(), on);
  }

  DeviceModelId model_id(const std::string& name) {
    const DeviceModelId next{static_cast<std::uint16_t>(models_.size())};
    return models_.emplace(name, next).first->second;
  }

  std::uint32_t group_id(const std::string& name) {
    return groups_.emplace(name, static_cast<std::uint32_t>(groups_.size())).first->second;
  }

  void touch(JobId id) { touched_.push_back(id); }

  bool blame(const Grant& grant, const std::string& what) {
    violations_.push_back("job " + std::to_string(grant.job.value) + ", " +
                          std::to_string(grant.replicas) + " replicas: " + what);
    return false;
  }

  // Checks the grant and frees what the job gives up for it; false where it is refused.
  bool give_up(const Grant& grant) {
    if (!is_live(grant.job)) return blame(grant, "is not live");
    Job& j = jobs_[grant.job.index()];
    const JobRow& row = j.row;
    if (row.holds && row.is_fixed()) return blame(grant, "fixed job changed");
    if (!j.before.empty()) return blame(grant, "named twice: out of bounds");
    if (grant.replicas == 0) {
      if (!row.holds) return blame(grant, "preempted but waits");
      ++preemptions_;
      ++j.row.preemptions;
      release(j);
      return true;
    }
    if (grant.replicas < row.min_replicas || grant.replicas > row.max_replicas)
      return blame(grant, "out of bounds");
    j.before = j.nodes;
    give_nodes(j, j.before);
    return true;
  }

  // As the real placer: nodes named by the plan exactly, else the old ones and the tightest more.
  void place(const Plan& plan, const Grant& grant, Job& j) {
    const std::vector<NodeCount> before = std::exchange(j.before, {});
    if (!quota_allows(j.row.id, grant.replicas * j.row.demand.devices + j.row.rest_devices)) {
      blame(grant, "over quota");
      return put_back(j, before);
    }
    std::vector<NodeCount> nodes;
    bool fits = !grant.beside.is_none() ? take_beside(grant, j, nodes)
                : grant.node_count > 0  ? take_named(plan, grant, j.row.demand, before, nodes)
                                        : take_near(before, grant.replicas, j.row.demand, nodes);
    if (fits && !j.row.holds && !(fits = take_rest(j)))
      for (const NodeCount& n : nodes) free_.give(n.node, j.row.demand, n.replicas);
    if (!fits) {
      blame(grant, "does not fit");
      return put_back(j, before);
    }
    settle(j);
    if (!j.row.holds) {
      waiting_.erase(j.row.priority, j.row.id);
      holding_.insert(j.row.id);
      holding_stale_ = true;
    }
    j.nodes = sorted_by_node(std::move(nodes));
    j.row.holds = true;
    j.row.phase = JobPhase::Running;
    j.row.replicas = grant.replicas;
    j.row.devices_held = grant.replicas * j.row.demand.devices + j.row.rest_devices;
    j.row.allocated_at = now_;
    set_end(j, now_ + Duration::from_seconds(std::max(j.left, 0.0) / rate_of(j, grant.replicas)));
    report(j);
    touch(j.row.id);
  }

  // What is held together with a partner stays the partner's.
  void give_nodes(Job& j, const std::vector<NodeCount>& nodes) {
    Demand demand = j.row.demand;
    if (!j.partner.is_none()) {
      demand.devices = 0;
      jobs_[j.partner.index()].partner = JobId::none();
      j.partner = JobId::none();
    }
    for (const NodeCount& n : nodes) free_.give(n.node, demand, n.replicas);
  }

  // The devices of the host, which is alone on them.
  bool take_beside(const Grant& grant, Job& j, std::vector<NodeCount>& nodes) {
    Job& host = jobs_[grant.beside.index()];
    Demand demand = j.row.demand;
    if (!host.row.holds || !host.before.empty() || !host.partner.is_none() ||
        host.row.replicas != grant.replicas || host.row.demand.devices != demand.devices ||
        !demand.share.is_whole() || !host.row.demand.share.is_whole())
      return false;
    demand.devices = 0;
    for (const NodeCount& n : host.nodes)
      if (replicas_that_fit(free_.at(n.node), demand) < n.replicas) return false;
    for (const NodeCount& n : host.nodes) free_.take(n.node, demand, n.replicas);
    nodes = host.nodes;
    host.partner = j.row.id;
    j.partner = grant.beside;
    return true;
  }

  // Where it was, or where that is taken already, nowhere.
  void put_back(Job& j, const std::vector<NodeCount>& before) {
    for (const NodeCount& n : before)
      if (replicas_that_fit(free_.at(n.node), j.row.demand) < n.replicas) {
        j.nodes.clear();
        return release(j);
      }
    for (const NodeCount& n : before) free_.take(n.node, j.row.demand, n.replicas);
  }

  static std::vector<NodeCount> sorted_by_node(const std::vector<NodeCount>& nodes) {
    std::map<NodeId, std::int32_t> by_node;
    for (const NodeCount& n : nodes) by_node[n.node] += n.replicas;
    std::vector<NodeCount> sorted;
    for (const auto& [node, replicas] : by_node) sorted.push_back({node, replicas});
    return sorted;
  }

  // What was on a node that takes nothing new may stay there.
  bool take_named(const Plan& plan,
                  const Grant& grant,
                  const Demand& demand,
                  const std::vector<NodeCount>& before,
                  std::vector<NodeCount>& nodes) {
    std::int32_t sum = 0;
    for (std::uint32_t i = 0; i < grant.node_count; ++i) {
      const NodeCount& n = plan.nodes[grant.first_node + i];
      NodeFree free = free_.at(n.node);
      free.usable = free.usable || std::any_of(before.begin(), before.end(), [&](const auto& at) {
                      return at.node == n.node && at.replicas >= n.replicas;
                    });
      if (replicas_that_fit(free, demand) < n.replicas) {
        for (const NodeCount& taken : nodes) free_.give(taken.node, demand, taken.replicas);
        return false;
      }
      free_.take(n.node, demand, n.replicas);
      nodes.push_back(n);
      sum += n.replicas;
    }
    if (sum != grant.replicas) blame(grant, "nodes do not sum to the replicas");
    return true;
  }

  bool take_near(const std::vector<NodeCount>& before,
                 std::int32_t replicas,
                 const Demand& demand,
                 std::vector<NodeCount>& nodes) {
    for (const NodeCount& n : before) {
      const std::int32_t kept = std::min(replicas, n.replicas);
      if (kept == 0) break;
      free_.take(n.node, demand, kept);
      nodes.push_back({n.node, kept});
      replicas -= kept;
    }
    std::vector<NodeCount> more;
    if (replicas > 0 && !take_gang(free_, demand, replicas, more)) {
      for (const NodeCount& n : nodes) free_.give(n.node, demand, n.replicas);
      return false;
    }
    nodes.insert(nodes.end(), more.begin(), more.end());
    return true;
  }

  bool take_rest(Job& j) {
    for (std::size_t r = 0; r < j.rest.size(); ++r) {
      const RoleIndex role{static_cast<std::uint16_t>(r)};
      if (role == j.row.elastic) continue;
      if (take_gang(free_, demand_of(*j.spec, role), target(j.row.id, role), j.rest[r])) continue;
      give_rest(j);
      return false;
    }
    return true;
  }

  void give_rest(Job& j) {
    for (std::size_t r = 0; r < j.rest.size(); ++r) {
      const Demand demand = demand_of(*j.spec, RoleIndex{static_cast<std::uint16_t>(r)});
      for (const NodeCount& n : j.rest[r]) free_.give(n.node, demand, n.replicas);
      j.rest[r].clear();
    }
  }

  void wait(Job& j) {
    waiting_.insert(
        j.row.priority,
        {j.row.id,
         j.row.gang_room(),
         j.row.estimate_source == EstimateSource::None ? Duration::zero() : j.row.estimate},
        j.row.wait_kind());
  }

  // Books work and service up to now.
  void settle(Job& j) {
    if (j.row.holds) j.left -= (now_ - j.since).in_seconds() * rate_of(j, j.row.replicas);
    j.since = now_;
    j.row.attained_us = j.row.attained_device_us(now_);
    j.row.attained_as_of = now_;
  }

  void report(Job& j) {
    ProgressView& p = j.row.progress;
    p.rate = j.row.holds ? rate_of(j, j.row.replicas) : 0;
    p.as_of = now_;
    if (!reports_) return;
    p.source = EstimateSource::Oracle;
    p.remaining = Duration::from_seconds(
        j.left / rate_of(j, j.row.holds ? j.row.replicas : j.row.min_replicas));
  }

  void set_end(Job& j, Instant end) {
    if (!j.end.is_never()) ends_.erase({j.end, j.row.id});
    j.end = end;
    if (!end.is_never()) ends_.insert({end, j.row.id});
  }

  void drop(Job& j) {
    settle(j);
    give_nodes(j, j.nodes);
    give_rest(j);
    j.nodes.clear();
    j.row.holds = false;
    j.row.replicas = j.row.devices_held = 0;
    set_end(j, Instant::never());
    holding_.erase(j.row.id);
    holding_stale_ = true;
    touch(j.row.id);
  }

  void release(Job& j) {
    drop(j);
    j.row.phase = JobPhase::Pending;
    report(j);
    wait(j);
  }

  void finish(Job& j) {
    drop(j);
    j.row.phase = JobPhase::Succeeded;
    j.ended = now_;
    --live_;
  }

  Instant now_;
  std::deque<Job> jobs_;  ///< By id; references stay good.
  std::vector<NodeFree> whole_;
  FreeIndex free_;
  std::int64_t devices_usable_ = 0;
  WaitQueue waiting_;
  std::set<JobId> holding_;
  mutable std::vector<JobId> holding_list_;
  mutable bool holding_stale_ = false;
  std::set<std::pair<Instant, JobId>> ends_;
  std::size_t live_ = 0;
  bool reports_ = false;
  std::uint64_t preemptions_ = 0;
  std::map<std::string, DeviceModelId, std::less<>> models_;
  std::map<std::string, std::uint32_t> groups_;
  std::map<std::uint32_t, std::int32_t> quotas_;
  std::vector<JobId> touched_;
  std::vector<JobId> shown_;
  bool touched_complete_ = false;
  std::vector<std::string> violations_;
};

}  // namespace orrery::testing
