#include "sim/rehearsal/recent_arrivals.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "sim/rehearsal/forked_work.hpp"

namespace orrery::sim {
namespace {

constexpr std::size_t kRecentMax = 1000;
/// Jobs that come faster than this, on average, were read from a file; no rate follows from them.
constexpr Duration kGapLeast = Duration::milliseconds(1);

}  // namespace

RecentArrivals::RecentArrivals(const State& state, const RunHistory& history, Random random)
    : history_(history), random_(std::move(random)), last_(state.now) {
  std::vector<std::pair<Instant, std::shared_ptr<const JobSpec>>> known;
  state.for_each_job([&](const JobState& job) { known.emplace_back(job.row.submitted, job.spec); });
  std::ranges::stable_sort(known, {}, [](const auto& each) { return each.first; });
  if (known.size() > kRecentMax)
    known.erase(known.begin(), known.end() - static_cast<std::ptrdiff_t>(kRecentMax));
  if (known.size() < 2 ||
      state.now - known.front().first < kGapLeast * static_cast<std::int64_t>(known.size()))
    return;
  for (std::size_t i = 0; i < known.size(); ++i) {
    // The last gap is not over: none has come since.
    const Instant next = i + 1 < known.size() ? known[i + 1].first : state.now;
    gaps_.push_back(next - known[i].first);
    specs_.push_back(std::move(known[i].second));
  }
}

std::optional<ModelJob> RecentArrivals::next() {
  if (specs_.empty()) return std::nullopt;
  last_ = last_ + gaps_[static_cast<std::size_t>(random_.below(gaps_.size()))];
  JobSpec spec = *specs_[static_cast<std::size_t>(random_.below(specs_.size()))];
  // In its namespace, whose quota it is under.
  spec.name = std::string(namespace_of(spec.name)) + ".arrival-" + std::to_string(++count_);
  JobState fresh;
  fresh.spec = std::make_shared<const JobSpec>(std::move(spec));
  fresh.row.estimate = fresh.spec->estimate;
  return forked_arrival(fresh, last_, history_.drawn(fresh, last_, random_).left);
}

}  // namespace orrery::sim
