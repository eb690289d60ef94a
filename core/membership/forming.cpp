#include "core/membership/forming.hpp"

#include <algorithm>
#include <utility>

#include "core/base/invariant.hpp"
#include "core/base/prefetch.hpp"
#include "core/discovery/port_demand.hpp"
#include "core/job/turns.hpp"
#include "core/membership/advancing.hpp"
#include "core/membership/places.hpp"
#include "core/membership/releasing.hpp"
#include "core/membership/seating.hpp"

namespace orrery {
namespace {

// Claims one place; counts it where it must wait for those before.
Worker claim_worker(Step& step, JobState& job, const Placed& placed) {
  Worker worker;
  worker.role = placed.role;
  worker.node = placed.at.node;
  prefetch(&step.state.nodes[worker.node.index()]);  // `advance` asks whether it was heard.
  worker.lease = claim(step, job, placed);
  // They go with the lease: a worker that starts again in place has them already.
  const std::int32_t ports = ports_of(*job.spec, placed.role);
  const bool listens = ports == 0 || step.state.ledger.take_ports(worker.lease, ports);
  invariant(listens, "places are found with ports");
  const Lease& lease = step.state.ledger.lease(worker.lease);
  worker.devices = lease.devices;
  worker.hardware = lease.hardware;
  worker.first_port = lease.ports.first;
  worker.beside = placed.beside;
  worker.share = placed.seat ? placed.seat->share : lease.demand.share;
  if (lease.stage == LeaseStage::Claimed) ++job.blocked;
  return worker;
}

// Claims what is to be added; the workers come in the order of `placed`.
std::vector<Worker> claim_added(Step& step, JobState& job, const std::vector<Placed>& placed) {
  std::vector<std::size_t> first(placed.size() + 1, 0);
  for (std::size_t i = 0; i < placed.size(); ++i)
    first[i + 1] = first[i] + static_cast<std::size_t>(placed[i].at.replicas);
  std::vector<Worker> added(first.back());
  for (const std::size_t i : claim_order(step.state, job, placed))
    for (std::size_t w = first[i]; w < first[i + 1]; ++w)
      added[w] = claim_worker(step, job, placed[i]);
  return added;
}

// A start that may still be under way says the place that its worker had then. Where the membership
// to come gives the worker another one, the start would bring up a second process in a place that
// somebody else has by now: such a worker is stopped, and starts again in place with its new one.
// ADR 0018 proves that a place has one process at a time from this.
void restart_moved_starts(Step& step, JobState& job) {
  if (step.state.settings.rules < 1) return;
  std::vector<std::uint32_t> moved;
  for (std::uint32_t rank = 0; rank < job.next.size(); ++rank) {
    const std::uint32_t from = job.next_from[rank];
    if (from == kNew || job.workers[from].state != WorkerState::Starting) continue;
    const std::int32_t local_rank = job.next[rank].local_rank;
    if (from == rank && job.workers[from].local_rank == local_rank) continue;
    job.next[rank] = successor_of(step.state.ledger, job.workers[from]);
    job.next[rank].local_rank = local_rank;
    job.next_from[rank] = kNew;
    moved.push_back(from);
  }
  stop_workers(step, job, moved, false);
}

void number_in_roles(JobState& job) {
  std::int32_t only = 0;
  std::vector<std::int32_t> local(job.role_count() > 1 ? job.role_count() : 0, 0);
  for (Worker& worker : job.next)
    worker.local_rank = local.empty() ? only++ : local[worker.role.index()]++;
}

}  // namespace

void form_next(Step& step, JobState& job, const MembershipChange& change) {
  job.next.clear();
  job.next_from.clear();
  job.blocked = 0;
  std::vector<Worker> added = claim_added(step, job, change.added);
  // A new worker takes the rank of one of its role that goes: those that stay keep theirs.
  const auto take = [&](RoleIndex role) {
    const auto found =
        std::find_if(added.begin(), added.end(), [&](const Worker& w) { return w.role == role; });
    if (found == added.end()) return;
    job.next.push_back(*found);
    job.next.back().recover = true;
    job.next_from.push_back(kNew);
    added.erase(found);
  };
  for (std::uint32_t rank = 0; rank < job.workers.size(); ++rank) {
    Worker& worker = job.workers[rank];
    if (change.replace[rank] != 0) {
      job.next.push_back(successor_of(step.state.ledger, worker));
      job.next_from.push_back(kNew);
    } else if (change.keep[rank] != 0) {
      job.next.push_back(worker);
      job.next_from.push_back(rank);
    } else if (!added.empty()) {
      take(worker.role);
    }
  }
  if (job.next.empty())
    job.next = std::move(added);
  else
    job.next.insert(job.next.end(), added.begin(), added.end());
  job.next_from.resize(job.next.size(), kNew);
  number_in_roles(job);
  job.after_drain = AfterDrain::Start;
  restart_moved_starts(step, job);
  note_allocation(step, job);
  advance(step, job);
}

namespace {

// Role and node of each worker, in order.
std::vector<std::pair<RoleIndex, NodeId>> places_of(const std::vector<Worker>& workers) {
  std::vector<std::pair<RoleIndex, NodeId>> places;
  places.reserve(workers.size());
  for (const Worker& worker : workers) places.emplace_back(worker.role, worker.node);
  std::sort(places.begin(), places.end());
  return places;
}

// Whether the membership to come has workers of some role elsewhere, or another number of them.
bool moves_a_role(const JobState& job) {
  return job.role_count() > 1 && job.after_drain == AfterDrain::Start &&
         places_of(job.next) != places_of(job.workers);
}

// Keeps the counts of the row, and tells what the job holds where that is something else than was
// told, or where a role other than the elastic one has `moved`.
void note_held(Step& step, JobState& job, bool moved) {
  const std::vector<Worker>& members =
      job.after_drain == AfterDrain::Start ? job.next : job.workers;
  std::int32_t devices = 0;
  std::int64_t thousandths = 0;
  std::int32_t replicas = 0;
  std::vector<NodeCount> nodes;
  const bool seated = is_seated(*job.spec);
  if (seated) devices = distinct_devices(job, members);
  for (const Worker& worker : members) {
    if (!seated) {
      const Bundle& bundle = job.spec->roles[worker.role.index()].bundle;
      devices += bundle.devices;
      thousandths += bundle.thousandths();
    }
    if (worker.role != job.row.elastic) continue;
    ++replicas;
    if (!nodes.empty() && nodes.back().node == worker.node) {
      ++nodes.back().replicas;
    } else {
      nodes.push_back({worker.node, 1});
    }
  }
  merge(nodes);
  const bool changed = nodes != job.elastic_nodes || devices != job.row.devices_held || moved;
  job.elastic_nodes = std::move(nodes);
  job.row.replicas = replicas;
  step.state.set_held(job, !members.empty(), devices);
  step.state.touch(job.row.id);
  if (!changed) return;
  Notice notice = step.notice(NoticeKind::Allocated, job);
  notice.count = static_cast<std::int32_t>(members.size());
  notice.devices = devices;
  if (seated) thousandths = held_thousandths(job, members);
  notice.thousandths = static_cast<std::int32_t>(thousandths);
  step.out.notices.push_back(notice);
}

}  // namespace

void note_allocation(Step& step, JobState& job) { note_held(step, job, moves_a_role(job)); }

void drop_next(Step& step, JobState& job) {
  const bool moved = moves_a_role(job);
  abandon_next(step, job);
  if (step.state.settings.rules >= 4) note_held(step, job, moved);
}

void tell_membership(Step& step, JobState& job) {
  const auto size = static_cast<std::uint32_t>(job.workers.size());
  UpdateMembership update{job.row.id, job.row.generation, size, {}};
  update.members.reserve(size);
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    update.members.push_back(start_of(job, rank));
    update.members.back().birth_rank = job.workers[rank].birth_rank;
  }
  step.out.orders.emplace_back(std::move(update));
}

}  // namespace orrery
