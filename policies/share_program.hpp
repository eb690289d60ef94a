// The bounds that all shares keep, as a linear program to which each rule adds its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policies/device_shares.hpp"
#include "policies/solver/program.hpp"

namespace orrery::policies {

/// A program over the shares of a sharing. Rows r of shares are jobs, then `pairs`; column
/// r * types + j is x_rj, and further columns follow.
class ShareProgram {
 public:
  ShareProgram(const Sharing& sharing, solver::Sense sense, std::span<const SharingPair> pairs = {})
      : sharing_(sharing), pairs_(pairs), types_(sharing.devices.size()), program_(sense) {
    const std::size_t jobs = sharing.jobs.size();
    std::vector<std::vector<solver::Entry>> time(jobs);     // Of each job,
    std::vector<std::vector<solver::Entry>> taken(types_);  // and devices of each type.
    for (std::size_t i = 0; i < jobs; ++i)
      for (std::size_t j = 0; j < types_; ++j) {
        program_.add_column({.upper = 1});
        time[i].push_back({share(i, j), 1});
        taken[j].push_back({share(i, j), sharing.jobs[i].devices});
      }
    for (std::size_t p = 0; p < pairs.size(); ++p)
      for (std::size_t j = 0; j < types_; ++j) {
        const SharingPair& pair = pairs[p];
        program_.add_column({.upper = fits(pair, j) ? 1.0 : 0.0});
        if (!fits(pair, j)) continue;
        for (const std::size_t i : {pair.first, pair.second})
          time[i].push_back({share(jobs + p, j), 1});
        taken[j].push_back({share(jobs + p, j), sharing.jobs[pair.first].devices});
      }
    for (const auto& row : time) program_.add_row(-solver::kInfinity, 1, row);
    for (std::size_t j = 0; j < types_; ++j)
      program_.add_row(-solver::kInfinity, sharing.devices[j], taken[j]);
  }

  std::int32_t share(std::size_t row, std::size_t type) const {
    return static_cast<std::int32_t>(row * types_ + type);
  }

  solver::Program& program() { return program_; }

  /// The speeds of all jobs, each times its factor, as entries of a row for each.
  std::vector<std::vector<solver::Entry>> speeds_of_all(const std::vector<double>& factors) const {
    const std::size_t jobs = sharing_.jobs.size();
    std::vector<std::vector<solver::Entry>> rows(jobs);
    for (std::size_t i = 0; i < jobs; ++i) rows[i] = speed_of(i, factors[i]);
    for (std::size_t p = 0; p < pairs_.size(); ++p)
      for (std::size_t j = 0; j < types_; ++j) {
        const SharingPair& pair = pairs_[p];
        if (!fits(pair, j)) continue;
        const std::int32_t column = share(jobs + p, j);
        rows[pair.first].push_back({column, pair.first_speed[j] * factors[pair.first]});
        rows[pair.second].push_back({column, pair.second_speed[j] * factors[pair.second]});
      }
    return rows;
  }

  /// The job's speed by itself times `factor`, as entries of a row.
  std::vector<solver::Entry> speed_of(std::size_t job, double factor) const {
    std::vector<solver::Entry> entries;
    for (std::size_t j = 0; j < types_; ++j)
      entries.push_back({share(job, j), sharing_.jobs[job].speed[j] * factor});
    return entries;
  }

  /// Nothing where the program has no answer.
  std::optional<solver::Solution> solve() const {
    solver::Solution found = solver::solve(program_);
    if (!found.has_values()) return std::nullopt;
    return found;
  }

  Shares shares_in(const solver::Solution& found) const {
    Shares out(sharing_.jobs.size() + pairs_.size(), std::vector<double>(types_));
    for (std::size_t r = 0; r < out.size(); ++r)
      for (std::size_t j = 0; j < types_; ++j)
        out[r][j] = std::clamp(found.values[static_cast<std::size_t>(share(r, j))], 0.0, 1.0);
    return out;
  }

 private:
  static bool fits(const SharingPair& pair, std::size_t type) {
    return pair.first_speed[type] > 0 && pair.second_speed[type] > 0;
  }

  const Sharing& sharing_;
  std::span<const SharingPair> pairs_;
  std::size_t types_;
  solver::Program program_;
};

/// C_i: the job's mean speed over all devices, 0 where there are none.
inline double mean_speed(const SharingJob& job, const std::vector<double>& devices) {
  double total = 0;
  double all = 0;
  for (std::size_t j = 0; j < devices.size(); ++j) {
    total += job.speed[j] * devices[j];
    all += devices[j];
  }
  return all > 0 ? total / all : 0;
}

}  // namespace orrery::policies
