#include "policies/allox.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace orrery::policies {
namespace {

/// A position in the queues of one type's devices, counted from their ends.
struct Position {
  std::size_t type = 0;
  std::size_t from_end = 1;
};

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// Whether a job had its one device for itself.
bool had_device(const SharingJob& job, const std::vector<double>& before) {
  return job.devices == 1 && sum_of(before) == 1;
}

/// Whole devices of each type that nobody keeps. Jobs that keep one are marked, the oldest first,
/// as far as there are devices.
std::vector<std::size_t> free_devices(const Sharing& sharing,
                                      const Shares& before,
                                      std::vector<bool>& keeps) {
  std::vector<std::size_t> free;
  for (const double devices : sharing.devices)
    free.push_back(static_cast<std::size_t>(std::max(std::floor(devices), 0.0)));
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (!had_device(sharing.jobs[i], before[i])) continue;
    const auto at = std::find(before[i].begin(), before[i].end(), 1.0);
    if (at == before[i].end()) continue;
    std::size_t& left = free[static_cast<std::size_t>(at - before[i].begin())];
    if (left == 0) continue;
    --left;
    keeps[i] = true;
  }
  return free;
}

/// More of a type than this are in no matching of least cost: a queue would be longer than another.
std::vector<Position> positions_for(const std::vector<std::size_t>& free, std::size_t jobs) {
  std::vector<Position> out;
  for (std::size_t type = 0; type < free.size(); ++type) {
    if (free[type] == 0) continue;
    const std::size_t devices = std::min(free[type], jobs);
    const std::size_t longest = (jobs + devices - 1) / devices;
    for (std::size_t from_end = 1; from_end <= longest; ++from_end)
      out.insert(out.end(), devices, {type, from_end});
  }
  return out;
}

/// Places in `jobs` of those that run first: in each position of a type as many as have nobody
/// before them, the oldest.
std::vector<std::size_t> first_ones(const std::vector<Position>& matched, std::size_t types) {
  std::vector<std::vector<std::size_t>> in_position;  // [from_end * types + type].
  for (std::size_t i = 0; i < matched.size(); ++i) {
    const std::size_t at = matched[i].from_end * types + matched[i].type;
    if (in_position.size() <= at + types) in_position.resize(at + types + 1);
    in_position[at].push_back(i);
  }
  std::vector<std::size_t> first;
  for (std::size_t at = 0; at + types < in_position.size(); ++at) {
    const std::size_t before = in_position[at + types].size();
    for (std::size_t n = before; n < in_position[at].size(); ++n)
      first.push_back(in_position[at][n - before]);
  }
  return first;
}

}  // namespace

// The Hungarian method by shortest augmenting paths (H. W. Kuhn 1955; R. Jonker, A. Volgenant
// 1987). Column 0 stands for the row that is being added.
std::vector<std::size_t> least_assignment(const std::vector<std::vector<double>>& costs) {
  const std::size_t rows = costs.size();
  const std::size_t columns = rows == 0 ? 0 : costs.front().size();
  constexpr double kFar = std::numeric_limits<double>::infinity();
  std::vector<double> row_price(rows + 1);
  std::vector<double> column_price(columns + 1);
  std::vector<std::size_t> row_of(columns + 1);  // From 1; 0: nobody.
  std::vector<std::size_t> way(columns + 1);
  for (std::size_t row = 1; row <= rows; ++row) {
    row_of[0] = row;
    std::size_t at = 0;
    std::vector<double> distance(columns + 1, kFar);
    std::vector<bool> done(columns + 1);
    do {
      done[at] = true;
      const std::size_t i = row_of[at];
      double least = kFar;
      std::size_t next = 0;
      for (std::size_t j = 1; j <= columns; ++j) {
        if (done[j]) continue;
        const double length = costs[i - 1][j - 1] - row_price[i] - column_price[j];
        if (length < distance[j]) {
          distance[j] = length;
          way[j] = at;
        }
        if (distance[j] < least) {
          least = distance[j];
          next = j;
        }
      }
      for (std::size_t j = 0; j <= columns; ++j) {
        if (done[j]) {
          row_price[row_of[j]] += least;
          column_price[j] -= least;
        } else {
          distance[j] -= least;
        }
      }
      at = next;
    } while (row_of[at] != 0);
    for (; at != 0; at = way[at]) row_of[at] = row_of[way[at]];
  }
  std::vector<std::size_t> out(rows);
  for (std::size_t j = 1; j <= columns; ++j)
    if (row_of[j] != 0) out[row_of[j] - 1] = j - 1;
  return out;
}

Shares allox_shares(const Sharing& sharing, const Shares& before, const AlloXSettings& settings) {
  const std::size_t types = sharing.devices.size();
  std::vector<bool> keeps(sharing.jobs.size());
  const std::vector<std::size_t> free = free_devices(sharing, before, keeps);
  std::vector<std::size_t> jobs;  // That are matched.
  Shares out(sharing.jobs.size(), std::vector<double>(types));
  const auto runs_on = [&](std::size_t i, std::size_t type) {
    return free[type] > 0 && sharing.jobs[i].speed[type] > 0;
  };
  for (std::size_t i = 0; i < sharing.jobs.size(); ++i) {
    const bool had_one = had_device(sharing.jobs[i], before[i]);
    if (!before[i].empty() && (keeps[i] || !had_one)) out[i] = before[i];
    bool runs = false;
    for (std::size_t type = 0; type < types; ++type) runs = runs || runs_on(i, type);
    if (!keeps[i] && runs) jobs.push_back(i);
  }
  const std::size_t devices = std::accumulate(free.begin(), free.end(), std::size_t{0});
  const auto part =
      static_cast<std::size_t>(settings.considered * static_cast<double>(jobs.size()));
  jobs.resize(std::min({jobs.size(), std::max(part, devices), settings.depth}));
  if (jobs.empty()) return out;

  const std::vector<Position> positions = positions_for(free, jobs.size());
  constexpr double kNowhere = 1e30;
  // Rows that come first get the cheaper one of two equal places, the last of a queue: of equal
  // jobs that shall be the youngest.
  std::vector<std::vector<double>> costs;
  for (auto i = jobs.rbegin(); i != jobs.rend(); ++i) {
    costs.emplace_back();
    for (const Position& each : positions) {
      const double takes_s = sharing.jobs[*i].left / sharing.jobs[*i].speed[each.type];
      costs.back().push_back(runs_on(*i, each.type) ? static_cast<double>(each.from_end) * takes_s
                                                    : kNowhere);
    }
  }
  std::vector<Position> matched;
  for (const std::size_t column : least_assignment(costs)) matched.push_back(positions[column]);
  std::reverse(matched.begin(), matched.end());
  for (const std::size_t each : first_ones(matched, types)) {
    const std::size_t i = jobs[each];
    if (runs_on(i, matched[each].type))
      out[i][matched[each].type] = std::min(1 / sharing.jobs[i].devices, 1.0);
  }
  return out;
}

}  // namespace orrery::policies
