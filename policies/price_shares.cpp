#include "policies/price_shares.hpp"

#include <algorithm>
#include <queue>

namespace orrery::policies {
namespace {

// Halvings of a price's range, and turns of all kinds.
constexpr int kHalvings = 40;
constexpr int kTurns = 4;

/// The option that is worth most beyond its price, of equal ones the smallest; -1: none is.
std::int32_t best_at(std::span<const ShareOption> options, std::span<const double> prices) {
  std::int32_t best = -1;
  double most = 0;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const ShareOption& option = options[i];
    const double worth = option.value - prices[static_cast<std::size_t>(option.kind)] * option.size;
    if (worth <= most) continue;
    most = worth;
    best = static_cast<std::int32_t>(i);
  }
  return best;
}

}  // namespace

bool fits(const ShareProblem& problem, std::span<const std::int32_t> chosen) {
  std::vector<std::int64_t> left = problem.capacity;
  for (std::size_t job = 0; job < chosen.size(); ++job) {
    if (chosen[job] < 0) continue;
    const ShareOption& option = problem.of(job)[static_cast<std::size_t>(chosen[job])];
    if ((left[static_cast<std::size_t>(option.kind)] -= option.size) < 0) return false;
  }
  return true;
}

/// What the job takes of the kind where a device costs `price`: between what it takes at the two
/// ends of the range, since the dearer it is the less it takes.
std::int32_t PriceShares::taken_at(const ShareProblem& problem,
                                   const Taker& taker,
                                   double price) const {
  const std::span<const ShareOption> options = problem.of(taker.job);
  std::int32_t best = -1;
  double most = taker.others;
  for (std::int32_t i = std::max(taker.least, taker.first); i <= taker.most; ++i) {
    const ShareOption& option = options[static_cast<std::size_t>(i)];
    const double worth = option.value - price * option.size;
    if (worth <= most) continue;
    most = worth;
    best = i;
  }
  return best;
}

/// Who would take devices of the kind if they cost nothing, as the prices of the others are.
void PriceShares::find_takers(const ShareProblem& problem, std::int32_t kind) {
  takers_.clear();
  for (std::uint32_t job = 0; job < problem.jobs(); ++job) {
    const std::span<const ShareOption> options = problem.of(job);
    Taker taker{.job = job};
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(options.size()); ++i) {
      const ShareOption& option = options[static_cast<std::size_t>(i)];
      if (option.kind != kind) {
        const double price = prices_[static_cast<std::size_t>(option.kind)];
        taker.others = std::max(taker.others, option.value - price * option.size);
        continue;
      }
      if (taker.most < 0) taker.first = i;
      taker.most = i;
    }
    taker.most = taken_at(problem, taker, 0);
    if (taker.most >= 0) takers_.push_back(taker);
  }
}

/// The lowest price of the kind, nearly, at which what all jobs take of it fits, as the prices of
/// the other kinds are. A job that takes the same at both ends of the range takes that within it.
double PriceShares::price_of(const ShareProblem& problem, std::int32_t kind, double most) {
  find_takers(problem, kind);
  const auto size_of = [&](const Taker& taker, std::int32_t option) {
    return option < 0 ? 0 : problem.of(taker.job)[static_cast<std::size_t>(option)].size;
  };
  std::int64_t room = problem.capacity[static_cast<std::size_t>(kind)];
  std::int64_t sum = 0;
  for (const Taker& taker : takers_) sum += size_of(taker, taker.most);
  if (sum <= room) return 0;
  double low = 0;
  double high = most;
  for (int i = 0; i < kHalvings && high - low > 1e-9 * high; ++i) {
    const double price = low + (high - low) / 2;
    sum = 0;
    for (Taker& taker : takers_)
      sum += size_of(taker, taker.here = taken_at(problem, taker, price));
    const bool has_room = sum <= room;
    (has_room ? high : low) = price;
    for (Taker& taker : takers_) (has_room ? taker.least : taker.most) = taker.here;
    std::erase_if(takers_, [&](const Taker& taker) {
      if (taker.least != taker.most) return false;
      room -= size_of(taker, taker.most);
      return true;
    });
  }
  return high;
}

void PriceShares::find_prices(const ShareProblem& problem) {
  const std::size_t kinds = problem.capacity.size();
  prices_.assign(kinds, 0);
  double most = 0;
  for (const ShareOption& option : problem.options)
    most = std::max(most, option.value / option.size);
  const int turns = kinds == 1 ? 1 : kTurns;
  for (int turn = 0; turn < turns; ++turn)
    for (std::size_t kind = 0; kind < kinds; ++kind)
      prices_[kind] = price_of(problem, static_cast<std::int32_t>(kind), most);
}

/// Whether the job may have the option in place of what it has.
bool PriceShares::has_room(const ShareProblem& problem,
                           std::uint32_t job,
                           std::int32_t option) const {
  const std::span<const ShareOption> options = problem.of(job);
  const ShareOption& wanted = options[static_cast<std::size_t>(option)];
  std::int64_t room = left_[static_cast<std::size_t>(wanted.kind)];
  if (chosen_[job] >= 0) {
    const ShareOption& now = options[static_cast<std::size_t>(chosen_[job])];
    if (now.kind == wanted.kind) room += now.size;
  }
  return wanted.size <= room;
}

void PriceShares::take(const ShareProblem& problem, std::uint32_t job, std::int32_t option) {
  const std::span<const ShareOption> options = problem.of(job);
  if (chosen_[job] >= 0) {
    const ShareOption& now = options[static_cast<std::size_t>(chosen_[job])];
    left_[static_cast<std::size_t>(now.kind)] += now.size;
  }
  const ShareOption& wanted = options[static_cast<std::size_t>(option)];
  left_[static_cast<std::size_t>(wanted.kind)] -= wanted.size;
  chosen_[job] = option;
}

void PriceShares::take_smallest(const ShareProblem& problem) {
  order_.clear();
  for (std::uint32_t job = 0; job < problem.jobs(); ++job) {
    const std::span<const ShareOption> options = problem.of(job);
    Step step{0, job, -1};
    for (const ShareOption& option : options)
      step.worth = std::max(step.worth, option.value / option.size);
    if (!options.empty()) order_.push_back(step);
  }
  std::sort(order_.begin(), order_.end(), [](const Step& a, const Step& b) { return b < a; });
  for (Step& step : order_) {
    const std::span<const ShareOption> options = problem.of(step.job);
    const std::int32_t best = best_at(options, prices_);
    const std::int32_t kind = best < 0 ? -1 : options[static_cast<std::size_t>(best)].kind;
    step.to = best;
    // Of the kind that it would choose, else of another.
    for (const bool any : {false, true}) {
      for (std::size_t i = 0; i < options.size() && chosen_[step.job] < 0; ++i)
        if ((any || options[i].kind == kind) &&
            has_room(problem, step.job, static_cast<std::int32_t>(i)))
          take(problem, step.job, static_cast<std::int32_t>(i));
    }
  }
}

/// What each would choose, or the best of what there is room for.
void PriceShares::take_at_prices(const ShareProblem& problem) {
  for (const Step& step : order_) {
    if (chosen_[step.job] < 0) continue;
    const std::span<const ShareOption> options = problem.of(step.job);
    const auto surplus = [&](std::int32_t option) {
      const ShareOption& of = options[static_cast<std::size_t>(option)];
      return of.value - prices_[static_cast<std::size_t>(of.kind)] * of.size;
    };
    std::int32_t best = chosen_[step.job];
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(options.size()); ++i)
      if (surplus(i) > surplus(best) && has_room(problem, step.job, i)) best = i;
    take(problem, step.job, best);
  }
}

/// The step up that is worth most for a device; worth 0: there is none.
PriceShares::Step PriceShares::best_step(const ShareProblem& problem, std::uint32_t job) const {
  const std::span<const ShareOption> options = problem.of(job);
  const std::int32_t now = chosen_[job];
  Step best{0, job, -1};
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(options.size()); ++i) {
    const ShareOption& option = options[static_cast<std::size_t>(i)];
    double gain = option.value;
    std::int64_t more = option.size;
    if (now >= 0) {
      const ShareOption& had = options[static_cast<std::size_t>(now)];
      gain -= had.value;
      if (had.kind == option.kind) more -= had.size;
    }
    if (gain <= 0 || !has_room(problem, job, i)) continue;
    const double worth = gain / static_cast<double>(std::max<std::int64_t>(more, 1));
    if (worth > best.worth) best = {worth, job, i};
  }
  return best;
}

void PriceShares::fill(const ShareProblem& problem) {
  if (std::all_of(left_.begin(), left_.end(), [](std::int64_t left) { return left == 0; })) return;
  std::priority_queue<Step> steps;
  const auto offer = [&](std::uint32_t job) {
    if (const Step step = best_step(problem, job); step.worth > 0) steps.push(step);
  };
  for (std::uint32_t job = 0; job < problem.jobs(); ++job) offer(job);
  while (!steps.empty()) {
    const Step step = steps.top();
    steps.pop();
    // Others may have been there before: what fits now.
    if (has_room(problem, step.job, step.to)) take(problem, step.job, step.to);
    offer(step.job);
  }
}

std::vector<std::int32_t> PriceShares::choose(const ShareProblem& problem) {
  chosen_.assign(problem.jobs(), -1);
  left_ = problem.capacity;
  find_prices(problem);
  take_smallest(problem);
  take_at_prices(problem);
  fill(problem);
  return chosen_;
}

}  // namespace orrery::policies
