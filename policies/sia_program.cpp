#include "policies/sia_program.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <queue>

#include "core/base/invariant.hpp"
#include "core/base/math.hpp"

namespace orrery::policies {
namespace {

constexpr double kLeast = 1e-4;
constexpr double kValueMax = 3000;

/// What of an option must be chosen for it to count as chosen.
constexpr double kWhole = 1 - 1e-6;

/// Programs of more options are solved in parts of options first.
constexpr std::size_t kOptionsWhole = 3000;

/// An option that may be chosen. Costs are minimised whatever the sign of the power.
struct Candidate {
  int option = -1;
  int kind = 0;
  std::int64_t gpus = 0;
  double cost = 0;
};

/// All candidates of all jobs, and what a job without one costs.
struct Market {
  std::vector<std::vector<Candidate>> jobs;
  double none = 0;
};

std::vector<Candidate> candidates_of(const SiaJob& job, const SiaSettings& settings, double none) {
  std::vector<double> goodputs;
  for (const SiaOption& option : job.options) goodputs.push_back(option.goodput);
  const std::vector<double> scaled = scaled_goodputs(goodputs);
  const bool held = std::any_of(
      job.options.begin(), job.options.end(), [](const SiaOption& o) { return o.current; });
  std::vector<Candidate> all;
  for (std::size_t i = 0; i < scaled.size(); ++i) {
    const SiaOption& option = job.options[i];
    if (scaled[i] <= kLeast) continue;
    const double factor = held && !option.current ? job.restart_factor : 1;
    const double value = option_value(std::max(factor * scaled[i], kLeast), settings.power);
    const double cost = settings.power < 0 ? value : -value;
    if (cost < none) all.push_back({static_cast<int>(i), option.kind, option.gpus, cost});
  }
  // Of each kind by devices, then cost; what costs no less than a smaller one is never chosen.
  std::stable_sort(all.begin(), all.end(), [&](const Candidate& a, const Candidate& b) {
    if (a.kind != b.kind) return a.kind < b.kind;
    if (a.gpus != b.gpus) return a.gpus < b.gpus;
    if (a.cost != b.cost) return a.cost < b.cost;
    return job.options[static_cast<std::size_t>(a.option)].current;
  });
  std::vector<Candidate> kept;
  for (const Candidate& candidate : all) {
    const bool current = job.options[static_cast<std::size_t>(candidate.option)].current;
    const bool same_kind = !kept.empty() && kept.back().kind == candidate.kind;
    // Where nothing is gained by a move, the job stays where it is.
    if (same_kind && candidate.cost >= kept.back().cost && !current) continue;
    kept.push_back(candidate);
  }
  return kept;
}

/// Which candidate each job has; -1: none.
struct Assignment {
  std::vector<int> chosen;
  double cost = 0;
};

/// One step of the greedy rule.
struct Step {
  double worth = 0;  ///< Cost saved for each device more.
  std::size_t job = 0;
  int candidate = 0;
  int from = -1;

  bool operator<(const Step& other) const {
    if (worth != other.worth) return worth < other.worth;
    return job != other.job ? job > other.job : candidate > other.candidate;
  }
};

class Greedy {
 public:
  Greedy(const Market& market, std::vector<std::int64_t> left)
      : market_(market), left_(std::move(left)) {
    out_.chosen.assign(market.jobs.size(), -1);
    out_.cost = market.none * static_cast<double>(market.jobs.size());
  }

  /// Goes on from choices that fit.
  Greedy& from(Assignment start) {
    out_ = std::move(start);
    for (std::size_t job = 0; job < out_.chosen.size(); ++job)
      if (const Candidate* candidate = at(job, out_.chosen[job]); candidate != nullptr)
        left_[static_cast<std::size_t>(candidate->kind)] -= candidate->gpus;
    return *this;
  }

  Assignment run() {
    for (std::size_t job = 0; job < market_.jobs.size(); ++job) offer(job);
    while (!steps_.empty()) {
      const Step step = steps_.top();
      steps_.pop();
      if (step.from != out_.chosen[step.job]) continue;
      take(step);
    }
    return std::move(out_);
  }

 private:
  const Candidate* at(std::size_t job, int index) const {
    return index < 0 ? nullptr : &market_.jobs[job][static_cast<std::size_t>(index)];
  }

  double cost_of(std::size_t job, int index) const {
    const Candidate* candidate = at(job, index);
    return candidate == nullptr ? market_.none : candidate->cost;
  }

  /// Devices that the step takes beyond what the job gives back of the same kind.
  std::int64_t more(std::size_t job, int from, int to) const {
    const Candidate* before = at(job, from);
    const Candidate& after = *at(job, to);
    return after.gpus - (before != nullptr && before->kind == after.kind ? before->gpus : 0);
  }

  void offer(std::size_t job) {
    const int from = out_.chosen[job];
    for (int to = 0; to < static_cast<int>(market_.jobs[job].size()); ++to) {
      const double saved = cost_of(job, from) - cost_of(job, to);
      if (to == from || saved <= 0) continue;
      const auto devices = static_cast<double>(std::max<std::int64_t>(more(job, from, to), 1));
      steps_.push({saved / devices, job, to, from});
    }
  }

  void take(const Step& step) {
    const Candidate& after = *at(step.job, step.candidate);
    const auto kind = static_cast<std::size_t>(after.kind);
    const std::int64_t devices = more(step.job, step.from, step.candidate);
    if (devices > left_[kind]) return;
    if (const Candidate* before = at(step.job, step.from); before != nullptr)
      left_[static_cast<std::size_t>(before->kind)] += before->gpus;
    left_[kind] -= after.gpus;
    out_.cost += after.cost - cost_of(step.job, step.from);
    out_.chosen[step.job] = step.candidate;
    offer(step.job);
  }

  const Market& market_;
  std::vector<std::int64_t> left_;
  std::priority_queue<Step> steps_;
  Assignment out_;
};

/// The program over the candidates.
class Assigned {
 public:
  /// Not `whole`: options may be chosen in parts, for a bound.
  Assigned(const Market& market, const std::vector<std::int64_t>& capacity, bool whole)
      : market_(market) {
    std::vector<std::vector<solver::Entry>> kinds(capacity.size());
    for (const std::vector<Candidate>& job : market.jobs) {
      std::vector<solver::Entry> one;
      for (const Candidate& candidate : job) {
        const std::int32_t column = program_.add_column(
            {.upper = 1, .objective = candidate.cost - market.none, .integer = whole});
        one.push_back({column, 1});
        kinds[static_cast<std::size_t>(candidate.kind)].push_back(
            {column, static_cast<double>(candidate.gpus)});
      }
      if (one.size() > 1) program_.add_row(-solver::kInfinity, 1, one);
    }
    for (std::size_t kind = 0; kind < kinds.size(); ++kind)
      if (!kinds[kind].empty())
        program_.add_row(-solver::kInfinity, static_cast<double>(capacity[kind]), kinds[kind]);
  }

  /// Nothing where the solver has no values within its limits.
  std::optional<Assignment> solve(const solver::Limits& limits, bool& optimal) const {
    const solver::Solution solution = solver::solve(program_, limits);
    optimal = solution.status == solver::Status::Optimal;
    if (!solution.has_values()) return std::nullopt;
    Assignment out;
    std::size_t column = 0;
    for (const std::vector<Candidate>& job : market_.jobs) {
      int chosen = -1;
      for (std::size_t i = 0; i < job.size(); ++i, ++column)
        if (solution.values[column] > kWhole) chosen = static_cast<int>(i);
      out.chosen.push_back(chosen);
      out.cost += chosen < 0 ? market_.none : job[static_cast<std::size_t>(chosen)].cost;
    }
    return out;
  }

 private:
  const Market& market_;
  solver::Program program_{solver::Sense::Minimise};
};

/// The choice of the program. Of a large one the linear program decides: no more jobs than there
/// are kinds get parts of options there, and what these leave is given out greedily.
std::optional<Assignment> solve_market(const Market& market,
                                       const std::vector<std::int64_t>& capacity,
                                       const solver::Limits& limits,
                                       bool& optimal) {
  std::size_t options = 0;
  for (const std::vector<Candidate>& job : market.jobs) options += job.size();
  const bool whole = options <= kOptionsWhole;
  auto solved = Assigned(market, capacity, whole).solve(limits, optimal);
  if (whole || !solved) return solved;
  optimal = false;
  return Greedy(market, capacity).from(std::move(*solved)).run();
}

/// One kind of device shared out job by job: the least cost for every number of its devices.
/// Nothing where there are several kinds, or too many devices for the table.
std::optional<Assignment> share_one_kind(const Market& market,
                                         const std::vector<std::int64_t>& capacity) {
  constexpr std::int64_t cells_max = 5'000'000;
  std::int64_t unit = 0;
  int kind = -1;
  for (const std::vector<Candidate>& job : market.jobs)
    for (const Candidate& candidate : job) {
      if (kind >= 0 && candidate.kind != kind) return std::nullopt;
      kind = candidate.kind;
      unit = std::gcd(unit, candidate.gpus);
    }
  if (unit == 0) return std::nullopt;
  const std::int64_t units = capacity[static_cast<std::size_t>(kind)] / unit;
  const auto jobs = static_cast<std::int64_t>(market.jobs.size());
  if ((units + 1) * jobs > cells_max) return std::nullopt;
  const auto width = static_cast<std::size_t>(units + 1);
  std::vector<double> best(width, 0);
  std::vector<std::int16_t> taken(width * market.jobs.size(), -1);
  for (std::size_t job = 0; job < market.jobs.size(); ++job) {
    // From many devices to few, so that what is read is still without this job.
    for (std::size_t left = width; left-- > 0;) {
      double least = best[left] + market.none;
      for (std::size_t i = 0; i < market.jobs[job].size(); ++i) {
        const auto needed = static_cast<std::size_t>(market.jobs[job][i].gpus / unit);
        if (needed > left) continue;
        const double cost = best[left - needed] + market.jobs[job][i].cost;
        if (cost >= least) continue;
        least = cost;
        taken[job * width + left] = static_cast<std::int16_t>(i);
      }
      best[left] = least;
    }
  }
  Assignment out{std::vector<int>(market.jobs.size(), -1), best.back()};
  std::size_t left = width - 1;
  for (std::size_t job = market.jobs.size(); job-- > 0;) {
    const int chosen = out.chosen[job] = taken[job * width + left];
    if (chosen >= 0)
      left -=
          static_cast<std::size_t>(market.jobs[job][static_cast<std::size_t>(chosen)].gpus / unit);
  }
  return out;
}

/// Whether every job gets its cheapest candidate without anybody missing a device.
std::optional<Assignment> all_wishes(const Market& market, std::vector<std::int64_t> left) {
  Assignment out;
  for (const std::vector<Candidate>& job : market.jobs) {
    const auto best = std::min_element(
        job.begin(), job.end(), [](const auto& a, const auto& b) { return a.cost < b.cost; });
    if (best == job.end()) {
      out.chosen.push_back(-1);
      out.cost += market.none;
      continue;
    }
    std::int64_t& kind = left[static_cast<std::size_t>(best->kind)];
    if ((kind -= best->gpus) < 0) return std::nullopt;
    out.chosen.push_back(static_cast<int>(best - job.begin()));
    out.cost += best->cost;
  }
  return out;
}

}  // namespace

double restart_factor(Duration age, std::int64_t restarts, Duration delay) {
  if (age < delay || delay <= Duration::zero()) return 1;
  const double age_s = age.in_seconds();
  const double delay_s = delay.in_seconds();
  return std::max(age_s - static_cast<double>(restarts) * delay_s, 0.0) / (age_s + delay_s);
}

std::vector<double> scaled_goodputs(std::span<const double> goodputs) {
  double least = 0;
  for (const double each : goodputs)
    if (each > kLeast && (least <= 0 || each < least)) least = each;
  std::vector<double> out;
  for (const double each : goodputs)
    out.push_back(each > kLeast && least > 0 ? each / least : kLeast);
  return out;
}

double option_value(double scaled_goodput, double power) {
  const double value = math::pow(scaled_goodput, power);
  if (value >= kValueMax) return kValueMax;
  return std::floor(value * 100 + 0.5) / 100;
}

SiaChoice choose_options(const std::vector<SiaJob>& jobs,
                         const std::vector<std::int64_t>& capacity,
                         const SiaSettings& settings) {
  invariant(settings.power != 0, "a power of 0 makes all options equal");
  const double sign = settings.power < 0 ? 1 : -1;
  Market market;
  market.none = sign * settings.unallocated;
  for (const SiaJob& job : jobs) market.jobs.push_back(candidates_of(job, settings, market.none));
  SiaPath path = SiaPath::Exact;
  std::optional<Assignment> best = all_wishes(market, capacity);
  if (!best) best = share_one_kind(market, capacity);
  if (!best) {
    best = Greedy(market, capacity).run();
    bool optimal = false;
    std::optional<Assignment> solved;
    if (solver::is_available()) solved = solve_market(market, capacity, settings.limits, optimal);
    constexpr double rounding = 1e-9;
    if (solved && solved->cost <= best->cost + rounding) {
      best = std::move(solved);
      path = optimal ? SiaPath::Program : SiaPath::Limited;
    } else {
      path = SiaPath::Greedy;
    }
  }
  SiaChoice out{path, {}, sign * best->cost};
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    const int chosen = best->chosen[job];
    out.options.push_back(chosen < 0 ? -1
                                     : market.jobs[job][static_cast<std::size_t>(chosen)].option);
  }
  return out;
}

}  // namespace orrery::policies
