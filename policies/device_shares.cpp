#include "policies/device_shares.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "policies/share_centre.hpp"
#include "policies/share_program.hpp"
#include "policies/solver/program.hpp"

namespace orrery::policies {
namespace {

using solver::Entry;
using solver::kInfinity;
using solver::Program;
using solver::Sense;

double sum(const std::vector<double>& values) {
  double total = 0;
  for (const double value : values) total += value;
  return total;
}

/// Of one among `all`.
std::vector<double> isolated_row(const Sharing& sharing, std::size_t job, std::size_t all) {
  std::vector<double> row;
  for (const double devices : sharing.devices)
    row.push_back(devices / (static_cast<double>(all) * sharing.jobs[job].devices));
  const double total = sum(row);
  if (total > 1)
    for (double& share : row) share /= total;
  return row;
}

std::vector<double> isolated_row(const Sharing& sharing, std::size_t job) {
  return isolated_row(sharing, job, sharing.jobs.size());
}

enum class Rest : std::uint8_t {
  Anywhere,  ///< What nobody needs goes wherever the solver ends.
  ToSpeed,   ///< It makes the sum of k_i speed_i(x) / C_i as large as can be.
  ToNobody,  ///< The sum of all shares is as small as can be.
};

/// Whether every job can be done with what it has left at the speeds `needed`, and how.
std::optional<Shares> shares_for(const Sharing& sharing,
                                 const std::vector<double>& needed,
                                 Rest rest) {
  ShareProgram shares(sharing, Sense::Maximise);
  for (std::size_t i = 0; i < sharing.jobs.size(); ++i) {
    const SharingJob& job = sharing.jobs[i];
    shares.program().add_row(needed[i], kInfinity, shares.speed_of(i, 1));
    const double mean = mean_speed(job, sharing.devices);
    if (rest == Rest::Anywhere || mean <= 0) continue;
    for (std::size_t j = 0; j < job.speed.size(); ++j) {
      const double worth = rest == Rest::ToNobody ? -1 : job.devices * job.speed[j] / mean;
      shares.program().set_column(shares.share(i, j), {.upper = 1, .objective = worth});
    }
  }
  const auto found = shares.solve();
  if (!found) return std::nullopt;
  return shares.shares_in(*found);
}

/// Speeds with which each job is done within `makespan_s`.
std::vector<double> speeds_within(const Sharing& sharing, double makespan_s) {
  std::vector<double> needed;
  for (const SharingJob& job : sharing.jobs) needed.push_back(job.left / makespan_s);
  return needed;
}

std::optional<Shares> shares_within(const Sharing& sharing, double makespan_s, Rest rest) {
  return shares_for(sharing, speeds_within(sharing, makespan_s), rest);
}

/// Shares that keep all bounds with as much to spare as can be, each bound in parts of its size;
/// nothing where they have to touch one.
std::optional<Shares> shares_inside(const Sharing& sharing, const std::vector<double>& needed) {
  constexpr double kRoom = 1e-9;
  ShareProgram shares(sharing, Sense::Maximise);
  Program& program = shares.program();
  const std::int32_t room = program.add_column({.lower = -1, .upper = 1, .objective = 1});
  std::vector<std::vector<Entry>> taken(sharing.devices.size());
  for (std::size_t i = 0; i < sharing.jobs.size(); ++i) {
    const SharingJob& job = sharing.jobs[i];
    std::vector<Entry> time{{room, 1}};
    for (std::size_t j = 0; j < sharing.devices.size(); ++j) {
      const std::int32_t share = shares.share(i, j);
      time.push_back({share, 1});
      if (sharing.devices[j] <= 0) continue;
      program.add_row(0, kInfinity, std::vector<Entry>{{share, 1}, {room, -1}});
      taken[j].push_back({share, job.devices / sharing.devices[j]});
    }
    program.add_row(-kInfinity, 1, time);
    const double mean = mean_speed(job, sharing.devices);
    if (mean <= 0) return std::nullopt;
    std::vector<Entry> speed = shares.speed_of(i, 1 / mean);
    speed.push_back({room, -1});
    program.add_row(needed[i] / mean, kInfinity, speed);
  }
  for (std::size_t j = 0; j < taken.size(); ++j) {
    if (sharing.devices[j] <= 0) continue;
    taken[j].push_back({room, 1});
    program.add_row(-kInfinity, 1, taken[j]);
  }
  const auto found = shares.solve();
  if (!found || found->objective <= kRoom) return std::nullopt;
  return shares.shares_in(*found);
}

/// The artifact's bisection: the last makespan that can be held, and some shares that hold it.
std::pair<MakespanSearch, std::optional<Shares>> bisect_makespan(const Sharing& sharing) {
  constexpr double kFirst = 100;
  constexpr double kLast = 1'000'000;
  constexpr double kNear = 1.05;
  constexpr int kRanges = 6;  // Of 10 times the length each, up to 3 x 10^4 years.
  MakespanSearch search;
  std::optional<Shares> best;
  double from = kFirst;
  double to = kLast;
  for (int range = 0; range < kRanges && !best; ++range) {
    double low = from;
    double high = to;
    while (kNear * low < high) {
      const double middle = (low + high) / 2;
      ++search.probes;
      if (auto shares = shares_within(sharing, middle, Rest::Anywhere)) {
        best = std::move(shares);
        search.makespan_s = middle;
        high = middle;
      } else {
        low = middle;
      }
    }
    from = to;
    to *= 10;
  }
  return {search, best};
}

}  // namespace

double SharingJob::speed_under(const std::vector<double>& shares) const {
  double total = 0;
  for (std::size_t j = 0; j < speed.size(); ++j) total += speed[j] * shares[j];
  return total;
}

Shares isolated_shares(const Sharing& sharing) {
  Shares out;
  for (std::size_t i = 0; i < sharing.jobs.size(); ++i) out.push_back(isolated_row(sharing, i));
  return out;
}

/// Places in `Sharing::jobs`, the highest priority first; equal ones stay in order of age.
static std::vector<std::size_t> in_queue_order(const Sharing& sharing) {
  std::vector<std::size_t> order(sharing.jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto comes_first = [&](std::size_t a, std::size_t b) {
    return sharing.jobs[a].priority > sharing.jobs[b].priority;
  };
  if (!std::is_sorted(order.begin(), order.end(), comes_first))
    std::stable_sort(order.begin(), order.end(), comes_first);
  return order;
}

Shares fifo_shares(const Sharing& sharing) {
  Shares out(sharing.jobs.size(), std::vector<double>(sharing.devices.size()));
  std::vector<double> left = sharing.devices;
  for (const std::size_t i : in_queue_order(sharing)) {
    const SharingJob& job = sharing.jobs[i];
    bool fits = false;
    std::size_t best = left.size();
    for (std::size_t j = 0; j < left.size(); ++j) {
      if (left[j] < job.devices) continue;
      fits = true;
      if (job.speed[j] > (best == left.size() ? 0 : job.speed[best])) best = j;
    }
    if (!fits) break;
    if (best == left.size()) continue;
    left[best] -= job.devices;
    out[i][best] = 1;
  }
  return out;
}

/// k / (w C) of each job; 0 where it runs nowhere.
static std::vector<double> worth_of_speeds(const Sharing& sharing) {
  std::vector<double> worth;
  for (const SharingJob& job : sharing.jobs) {
    const double mean = mean_speed(job, sharing.devices);
    worth.push_back(mean > 0 ? job.devices / (job.weight * mean) : 0);
  }
  return worth;
}

/// The least k speed(x) / (w C) of all jobs is greatest.
static Shares max_min(const Sharing& sharing, std::span<const SharingPair> pairs) {
  ShareProgram shares(sharing, Sense::Maximise, pairs);
  const std::int32_t least = shares.program().add_column({.lower = -kInfinity, .objective = 1});
  const std::vector<double> worth = worth_of_speeds(sharing);
  std::vector<std::vector<Entry>> speeds = shares.speeds_of_all(worth);
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    if (worth[i] <= 0) continue;  // It runs nowhere.
    speeds[i].push_back({least, -1});
    shares.program().add_row(0, kInfinity, speeds[i]);
  }
  if (const auto found = shares.solve()) return shares.shares_in(*found);
  Shares alone = isolated_shares(sharing);
  alone.resize(sharing.jobs.size() + pairs.size(), std::vector<double>(sharing.devices.size()));
  return alone;
}

Sharing without_types(Sharing sharing) {
  for (SharingJob& job : sharing.jobs) std::fill(job.speed.begin(), job.speed.end(), 1);
  return sharing;
}

Shares max_min_shares(const Sharing& sharing, SpareShares spare) {
  Shares best = max_min(sharing, {});
  if (spare == SpareShares::Least) return best;
  const std::vector<double> worth = worth_of_speeds(sharing);
  double least = kInfinity;
  for (std::size_t i = 0; i < worth.size(); ++i)
    if (worth[i] > 0) least = std::min(least, worth[i] * sharing.jobs[i].speed_under(best[i]));
  return centre_near(sharing, best, half_isolated(sharing), [&](double gap) {
    CentreBounds bounds;
    for (const double each : worth)
      bounds.needed.push_back(each > 0 ? least * (1 - gap) / each : -kInfinity);
    return bounds;
  });
}

Shares packed_shares(const Sharing& sharing) { return max_min(sharing, sharing.pairs); }

Shares paired_shares(const Sharing& sharing) {
  const std::size_t jobs = sharing.jobs.size();
  const std::size_t all = jobs - sharing.pairs.size();
  Shares out(jobs + sharing.pairs.size(), std::vector<double>(sharing.devices.size()));
  std::vector<bool> in_pair(jobs);
  for (std::size_t p = 0; p < sharing.pairs.size(); ++p) {
    const SharingPair& pair = sharing.pairs[p];
    in_pair[pair.first] = in_pair[pair.second] = true;
    out[jobs + p] = isolated_row(sharing, pair.first, all);
  }
  for (std::size_t i = 0; i < jobs; ++i)
    if (!in_pair[i]) out[i] = isolated_row(sharing, i, all);
  return out;
}

Shares max_sum_shares(const Sharing& sharing, SpareShares spare) {
  ShareProgram shares(sharing, Sense::Maximise);
  for (std::size_t i = 0; i < sharing.jobs.size(); ++i)
    for (std::size_t j = 0; j < sharing.devices.size(); ++j)
      shares.program().set_column(shares.share(i, j),
                                  {.upper = 1, .objective = sharing.jobs[i].speed[j]});
  const auto found = shares.solve();
  if (!found) return isolated_shares(sharing);
  Shares best = shares.shares_in(*found);
  if (spare == SpareShares::Least) return best;
  double all = 0;
  for (std::size_t i = 0; i < best.size(); ++i) all += sharing.jobs[i].speed_under(best[i]);
  return centre_near(sharing, best, half_isolated(sharing), [&](double gap) {
    return CentreBounds{.needed = std::vector<double>(best.size(), -kInfinity),
                        .all = all * (1 - gap)};
  });
}

MakespanSearch search_makespan(const Sharing& sharing) { return bisect_makespan(sharing).first; }

Shares makespan_shares(const Sharing& sharing, SpareShares spare) {
  const auto [search, some] = bisect_makespan(sharing);
  if (!some) return isolated_shares(sharing);
  if (spare == SpareShares::Centred) {
    const std::vector<double> needed = speeds_within(sharing, search.makespan_s);
    if (auto inside = shares_inside(sharing, needed))
      return centre_of(sharing, {.needed = needed}, std::move(*inside));
  }
  return shares_within(sharing, search.makespan_s, Rest::ToNobody).value_or(*some);
}

Shares finish_time_fair_shares(const Sharing& sharing, SpareShares spare) {
  std::vector<double> alone_s;  // Of each job, in its isolated share from its submission on.
  for (std::size_t i = 0; i < sharing.jobs.size(); ++i) {
    const SharingJob& job = sharing.jobs[i];
    const double speed = job.speed_under(isolated_row(sharing, i));
    alone_s.push_back(speed > 0 ? job.isolated_s + job.left / speed : kInfinity);
  }
  const auto has_ratio = [&](std::size_t i) {
    return alone_s[i] != kInfinity && sharing.jobs[i].left > 0;
  };
  // What each job needs for the ratio; nothing where one cannot have it any more.
  const auto needed_at = [&](double ratio, double of_others) -> std::optional<std::vector<double>> {
    std::vector<double> needed;
    for (std::size_t i = 0; i < sharing.jobs.size(); ++i) {
      const SharingJob& job = sharing.jobs[i];
      const double time_s = has_ratio(i) ? ratio * alone_s[i] - job.age_s : kInfinity;
      if (time_s <= 0) return std::nullopt;
      needed.push_back(has_ratio(i) ? job.left / time_s : of_others);
    }
    return needed;
  };
  const auto shares_at = [&](double ratio, Rest rest) -> std::optional<Shares> {
    const auto needed = needed_at(ratio, 0);
    return needed ? shares_for(sharing, *needed, rest) : std::nullopt;
  };
  double high = 1;
  std::optional<Shares> best = shares_at(high, Rest::Anywhere);
  constexpr int kDoublings = 60;
  for (int i = 0; i < kDoublings && !best; ++i) best = shares_at(high *= 2, Rest::Anywhere);
  if (!best) return isolated_shares(sharing);
  double low = 0;
  constexpr double kNear = 1e-7;
  while (high - low > kNear * high) {
    const double middle = (low + high) / 2;
    if (auto shares = shares_at(middle, Rest::Anywhere)) {
      best = std::move(shares);
      high = middle;
    } else {
      low = middle;
    }
  }
  if (spare == SpareShares::Least) return shares_at(high, Rest::ToSpeed).value_or(*best);
  Shares start = half_isolated(sharing);
  double first = high;  // A ratio that these have, and more.
  for (std::size_t i = 0; i < start.size(); ++i) {
    const SharingJob& job = sharing.jobs[i];
    if (has_ratio(i))
      first = std::max(first, 2 * (job.age_s + job.left / job.speed_under(start[i])) / alone_s[i]);
  }
  return centre_near(sharing, *best, std::move(start), [&](double gap) {
    return CentreBounds{.needed = *needed_at(high + gap * (first - high), -kInfinity),
                        .of_times = true};
  });
}

}  // namespace orrery::policies
