// What Pollux' search is asked: which jobs, what each may have, and what was best the last time.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "policies/changes.hpp"
#include "policies/gang_trial.hpp"
#include "policies/pollux.hpp"
#include "policies/quotas.hpp"
#include "policies/restarts.hpp"

namespace orrery::policies {
namespace {

// Of one node: a cell of the search is a byte.
constexpr std::int32_t kReplicasOnNodeMax = 255;

}  // namespace

std::vector<JobId> Pollux::rows_in_order(const ClusterView& view) const {
  std::vector<JobId> rows;
  for (const JobId id : jobs_.sized()) {
    const JobRow& row = view.row(id);
    const bool may_start =
        waits(row) && view.quota_allows(id, row.min_replicas * row.demand.devices);
    if (may_start || may_be_taken_from(row)) rows.push_back(id);
  }
  const Instant now = view.now();
  std::sort(rows.begin(), rows.end(), [&](JobId a, JobId b) {
    const JobRow& x = view.row(a);
    const JobRow& y = view.row(b);
    if (x.priority != y.priority) return x.priority > y.priority;
    const std::int64_t had = x.attained_device_us(now);
    const std::int64_t other = y.attained_device_us(now);
    return had != other ? had < other : a < b;
  });
  // Each takes a device at least: no more could start, and the search has not more to weigh. Their
  // minima are not added up: a wide job that fits nowhere would keep the others out.
  std::int64_t may_start = view.devices_usable();
  std::erase_if(rows, [&](JobId id) { return !view.row(id).holds && --may_start < 0; });
  return rows;
}

SearchRow Pollux::row_for(const ClusterView& view, const JobView& job) const {
  const JobRow& row = job.row;
  SearchRow out;
  out.replicas_min = row.min_replicas;
  out.devices_each = row.demand.devices;
  out.replicas_max = std::clamp(models_.replicas_most(row.id), row.min_replicas, row.max_replicas);
  const auto allowed = [&](std::int32_t replicas) {
    return view.quota_allows(row.id, devices_at(row, replicas));
  };
  while (out.replicas_max > out.replicas_min && !allowed(out.replicas_max)) --out.replicas_max;
  const double age = (view.now() - row.submitted).in_seconds();
  const double restart = parameters_.restart.in_seconds();
  out.change_factor =
      std::max(age - static_cast<double>(restarts_of(row)) * restart, 0.0) / (age + restart);
  return out;
}

/// `trial_` has free what they may share.
Pollux::Rows Pollux::rows_of(const ClusterView& view) const {
  const FreeIndex& free = trial_.index();
  Rows rows;
  rows.jobs = rows_in_order(view);
  rows.devices.assign(free.size(), 0);
  for (std::size_t node = 0; node < free.size(); ++node) {
    const NodeFree& at = free.at(NodeId{static_cast<std::uint32_t>(node)});
    if (at.usable) rows.devices[node] = at.devices;
  }
  for (const JobId id : rows.jobs) {
    const JobView job = view.job(id);
    rows.limits.push_back(row_for(view, job));
    // A node that takes nothing new: what is there may stay.
    for (const NodeCount& at : job.nodes)
      if (!free.at(at.node).usable)
        rows.devices[at.node.index()] += at.replicas * job.row.demand.devices;
  }
  rows.devices_in_all = std::accumulate(rows.devices.begin(), rows.devices.end(), std::int64_t{0});
  return rows;
}

/// What a search depends on, but for models and the age and order of the jobs.
Digest Pollux::digest_of(const ClusterView& view, const Rows& rows) const {
  std::vector<std::uint32_t> by_id(rows.jobs.size());
  std::iota(by_id.begin(), by_id.end(), 0u);
  std::sort(
      by_id.begin(), by_id.end(), [&](auto a, auto b) { return rows.jobs[a] < rows.jobs[b]; });
  Digester digester;
  const auto add = [&](std::int64_t part) { digester.update(static_cast<std::uint64_t>(part)); };
  for (const std::uint32_t row : by_id) {
    const SearchRow& limits = rows.limits[row];
    for (const std::int64_t part : {std::int64_t{rows.jobs[row].value},
                                    std::int64_t{limits.replicas_min},
                                    std::int64_t{limits.replicas_max}})
      add(part);
    const std::span<const NodeCount> nodes = view.job(rows.jobs[row]).nodes;
    add(static_cast<std::int64_t>(nodes.size()));
    for (const NodeCount& at : nodes) add((std::int64_t{at.node.value} << 32) + at.replicas);
  }
  for (std::size_t node = 0; node < rows.devices.size(); ++node) {
    const NodeFree& at = trial_.index().at(NodeId{static_cast<std::uint32_t>(node)});
    for (const std::int64_t part :
         {std::int64_t{rows.devices[node]}, at.cpu.count, at.memory.count})
      add(part);
  }
  return digester.finish();
}

/// The search's problem on a part of the cluster.
SearchProblem Pollux::problem_for(const ClusterView& view,
                                  const Rows& rows,
                                  const Block& part) const {
  const FreeIndex& free = trial_.index();
  const std::size_t nodes = part.nodes.size();
  SearchProblem problem;
  problem.devices = part.devices;
  problem.current.assign(part.rows.size() * nodes, 0);
  for (const std::uint32_t r : part.rows) {
    const JobView job = view.job(rows.jobs[r]);
    SearchRow row = rows.limits[r];
    row.room.resize(nodes);
    for (std::size_t column = 0; column < nodes; ++column)
      row.room[column] = static_cast<std::uint8_t>(
          std::min(replicas_that_fit(free.at(NodeId{part.nodes[column]}), job.row.demand),
                   kReplicasOnNodeMax));
    std::size_t column = 0;
    for (const NodeCount& at : job.nodes) {
      while (part.nodes[column] != at.node.value) ++column;
      const auto replicas = static_cast<std::uint8_t>(at.replicas);
      problem.current[problem.rows.size() * nodes + column] = replicas;
      row.room[column] = std::max(row.room[column], replicas);
    }
    problem.rows.push_back(std::move(row));
  }
  return problem;
}

/// The last search's front for these rows and nodes.
std::vector<AllocationMatrix> Pollux::remembered(const std::vector<JobId>& rows,
                                                 std::size_t nodes) const {
  std::map<JobId, std::size_t> known;
  for (std::size_t row = 0; row < front_rows_.size(); ++row) known.emplace(front_rows_[row], row);
  const std::size_t shared = std::min(nodes, front_nodes_);
  std::vector<AllocationMatrix> states;
  for (const AllocationMatrix& old : front_) {
    AllocationMatrix state(rows.size() * nodes, 0);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const auto found = known.find(rows[row]);
      if (found == known.end()) continue;
      const auto from = old.begin() + static_cast<std::ptrdiff_t>(found->second * front_nodes_);
      std::copy(from,
                from + static_cast<std::ptrdiff_t>(shared),
                state.begin() + static_cast<std::ptrdiff_t>(row * nodes));
    }
    states.push_back(std::move(state));
  }
  return states;
}

}  // namespace orrery::policies
