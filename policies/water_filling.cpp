#include "policies/water_filling.hpp"

#include <cstdint>
#include <optional>

#include "policies/share_program.hpp"

namespace orrery::policies {
namespace {

/// What a job's speed is times to be normalised; 0: it runs nowhere.
double worth_of(const SharingJob& job, const std::vector<double>& devices) {
  const double mean = mean_speed(job, devices);
  return mean > 0 ? job.devices / (job.weight * mean) : 0;
}

/// Raises one level after the other.
class WaterFilling {
 public:
  explicit WaterFilling(const Sharing& sharing)
      : sharing_(sharing), shares_(sharing, solver::Sense::Maximise) {
    solver::Program& program = shares_.program();
    level_ = program.add_column({.lower = -solver::kInfinity, .objective = 1});
    for (std::size_t i = 0; i < sharing.jobs.size(); ++i) {
      const double worth = worth_of(sharing.jobs[i], sharing.devices);
      if (worth <= 0) continue;
      std::vector<solver::Entry> speed = shares_.speed_of(i, worth);
      // Its own floor, and while it is not settled the level.
      settled_rows_.push_back(program.add_row(0, solver::kInfinity, speed));
      speed.push_back({level_, -1});
      rising_rows_.push_back(program.add_row(0, solver::kInfinity, speed));
    }
  }

  Shares run() {
    Shares out = isolated_shares(sharing_);
    rising_.assign(rising_rows_.size(), true);
    for (std::size_t left = rising_.size(); left > 0;) {
      const auto found = shares_.solve();
      if (!found) break;
      out = shares_.shares_in(*found);
      const std::size_t settled = settle(*found);
      if (settled == 0) break;
      left -= settled;
    }
    return out;
  }

 private:
  /// Settles those that hold the level down; how many.
  std::size_t settle(const solver::Solution& found) {
    constexpr double kBinds = 1e-7;
    constexpr double kRounding = 1e-9;
    const double level = found.values[static_cast<std::size_t>(level_)];
    std::size_t settled = 0;
    for (std::size_t i = 0; i < rising_.size(); ++i) {
      const double dual = found.duals[static_cast<std::size_t>(rising_rows_[i])];
      if (!rising_[i] || -dual <= kBinds) continue;
      rising_[i] = false;
      ++settled;
      shares_.program().set_row(settled_rows_[i], level * (1 - kRounding), solver::kInfinity);
      shares_.program().set_row(rising_rows_[i], -solver::kInfinity, solver::kInfinity);
    }
    return settled;
  }

  const Sharing& sharing_;
  ShareProgram shares_;
  std::int32_t level_ = 0;
  std::vector<std::int32_t> settled_rows_;  ///< Of jobs that run somewhere,
  std::vector<std::int32_t> rising_rows_;   ///< and of the same ones.
  std::vector<bool> rising_;
};

}  // namespace

Shares water_filled_shares(const Sharing& sharing) { return WaterFilling(sharing).run(); }

std::vector<double> normalised_speeds(const Sharing& sharing, const Shares& shares) {
  std::vector<double> out;
  for (std::size_t i = 0; i < sharing.jobs.size(); ++i)
    out.push_back(worth_of(sharing.jobs[i], sharing.devices) *
                  sharing.jobs[i].speed_under(shares[i]));
  return out;
}

}  // namespace orrery::policies
