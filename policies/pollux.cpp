#include "policies/pollux.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "policies/changes.hpp"
#include "policies/gang_trial.hpp"

namespace orrery::policies {

namespace {

// Cycles between two searches where nothing changes: at most, and the first time after an update.
constexpr std::int64_t kPauseMax = 64;
constexpr std::int64_t kUpdatePause = 4;

}  // namespace

Pollux::Pollux(const PolluxParameters& parameters, std::uint64_t seed)
    : parameters_(parameters),
      random_(Random::stream(seed, "pollux")),
      autoscaler_(parameters.autoscale) {}

Triggers Pollux::triggers() const {
  return {
      .submission = false, .completion = false, .capacity = false, .period = parameters_.period};
}

Plan Pollux::allocate(const JobView& /*job*/, const ClusterView& view) {
  absorb(view);
  return {};
}

void Pollux::absorb(const ClusterView& view) {
  changed_ = changed_ || !view.touched_complete() || !view.touched().empty();
  jobs_.absorb(view);
}

// --- pace ---

/// Whether to search now; notes the search, or its pause.
bool Pollux::may_find_more(Digest problem, bool always) {
  if (always || pace_.learned || pace_.moved || problem != pace_.problem) {
    pace_ = {.problem = problem, .left = -1};
    return true;
  }
  if (pace_.left != 0) return true;
  if (++pace_.passed < pace_.pause) return false;
  pace_.pause = std::min(2 * pace_.pause, kPauseMax);
  pace_.passed = 0;
  pace_.left = -1;
  return true;
}

/// Whether this cycle asks what the last one asked, and a search is not due yet.
bool Pollux::is_quiet(const ClusterView& view) const {
  return settled_ && !changed_ && view.capacity().version() == capacity_version_ &&
         !pace_.learned && !pace_.moved && pace_.left == 0 && pace_.passed + 1 < pace_.pause;
}

// --- the plan ---

/// States to start from beside those that are remembered, where a job waits that single steps of
/// the search hardly start: the waiting jobs at their minimum on what is free, and every job at its
/// minimum.
void Pollux::add_packed(const SearchProblem& problem, std::vector<AllocationMatrix>& starts) {
  const std::size_t nodes = problem.nodes();
  const auto holds = [&](std::size_t row) {
    const auto from = problem.current.begin() + static_cast<std::ptrdiff_t>(row * nodes);
    return std::any_of(
        from, from + static_cast<std::ptrdiff_t>(nodes), [](auto c) { return c > 0; });
  };
  bool needed = false;
  for (std::size_t row = 0; row < problem.rows.size(); ++row)
    needed |= problem.rows[row].replicas_min * problem.rows[row].devices_each > 1 && !holds(row);
  if (!needed) return;
  for (const bool keeps : {true, false}) {
    AllocationMatrix state(problem.current.size(), 0);
    if (keeps) state = problem.current;
    std::vector<std::int32_t> left = problem.devices;
    for (std::size_t row = 0; row < problem.rows.size(); ++row)
      for (std::size_t node = 0; node < nodes; ++node)
        left[node] -= state[row * nodes + node] * problem.rows[row].devices_each;
    for (std::size_t row = 0; row < problem.rows.size(); ++row) {
      if (keeps && holds(row)) continue;
      const SearchRow& each = problem.rows[row];
      std::int32_t wanted = each.replicas_min;
      for (std::size_t node = 0; node < nodes && wanted > 0; ++node) {
        const std::int32_t taken = std::clamp(
            std::min<std::int32_t>(each.room[node], left[node] / each.devices_each), 0, wanted);
        state[row * nodes + node] = static_cast<std::uint8_t>(taken);
        left[node] -= taken * each.devices_each;
        wanted -= taken;
      }
    }
    starts.push_back(std::move(state));
  }
}

/// Appends what `best` has otherwise than it is.
void Pollux::add_moves(const SearchProblem& problem,
                       const AllocationMatrix& best,
                       const Block& part,
                       std::vector<Move>& moves) {
  const std::size_t nodes = problem.nodes();
  for (std::size_t row = 0; row < part.rows.size(); ++row) {
    const auto from = static_cast<std::ptrdiff_t>(row * nodes);
    const auto to = from + static_cast<std::ptrdiff_t>(nodes);
    if (std::equal(best.begin() + from, best.begin() + to, problem.current.begin() + from))
      continue;
    Move& move = moves.emplace_back(Move{part.rows[row], {}});
    for (std::size_t column = 0; column < nodes; ++column)
      if (const std::int32_t replicas = best[row * nodes + column]; replicas > 0)
        move.nodes.push_back({NodeId{part.nodes[column]}, replicas});
  }
}

/// Grants what the search found. What CPU or memory do not allow on a node, which the search counts
/// for each job alone, is left out; so is what jobs of a fixed size have taken in a block that was
/// not searched.
void Pollux::propose(const ClusterView& view,
                     const std::vector<JobId>& rows,
                     std::vector<Move> moves,
                     Plan& plan) {
  std::vector<bool> stays(rows.size(), true);
  for (const Move& move : moves) stays[move.row] = false;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (!stays[row]) continue;
    const JobView job = view.job(rows[row]);
    if (!keep_held(job, trial_)) moves.push_back({row, {job.nodes.begin(), job.nodes.end()}});
  }
  std::sort(moves.begin(), moves.end(), [](const Move& a, const Move& b) { return a.row < b.row; });
  for (const Move& move : moves) {
    const JobRow& job = view.row(rows[move.row]);
    std::vector<NodeCount> chosen;
    std::int32_t replicas = 0;
    for (const NodeCount& at : move.nodes) {
      const std::int32_t fits =
          std::min(at.replicas, replicas_that_fit(trial_.index().at(at.node), job.demand));
      if (fits <= 0) continue;
      chosen.push_back({at.node, fits});
      replicas += fits;
    }
    if (replicas >= job.min_replicas && replicas > 0) {
      for (const NodeCount& node : chosen) trial_.take(node.node, job.demand, node.replicas);
      grant_on(job.id, replicas, chosen, plan);
    } else if (job.holds) {
      plan.preempt(job.id);
    }
  }
}

// --- nodes in use ---

namespace {

std::int32_t usable_nodes(const SearchProblem& problem) {
  return static_cast<std::int32_t>(
      std::count_if(problem.devices.begin(), problem.devices.end(), [](auto d) { return d > 0; }));
}

/// The problem on its first nodes that have devices.
SearchProblem on_first_nodes(SearchProblem problem, std::int32_t nodes) {
  for (std::size_t node = 0; node < problem.nodes(); ++node) {
    if (problem.devices[node] == 0 || nodes-- > 0) continue;
    problem.devices[node] = 0;
    for (SearchRow& row : problem.rows) row.room[node] = 0;
  }
  return problem;
}

ClusterShare share_of(const SearchProblem& problem) {
  return {.devices = problem.devices_in_all(),
          .nodes = static_cast<std::int64_t>(problem.nodes()),
          .jobs = static_cast<std::int64_t>(problem.rows.size())};
}

}  // namespace

SearchResult Pollux::search_within(const std::vector<JobId>& rows,
                                   const SearchProblem& whole,
                                   std::int32_t nodes,
                                   const SearchOptions& options,
                                   SearchProblem& problem) {
  problem = on_first_nodes(whole, nodes);
  ModelSpeedups speedups(models_, rows, problem, share_of(problem));
  std::vector<AllocationMatrix> starts = remembered(rows, problem.nodes());
  add_packed(problem, starts);
  return search_allocations(problem, speedups, options, starts, random_);
}

/// The sum of speedups against one device each, over the devices of the problem.
double Pollux::utility_of(const std::vector<JobId>& rows,
                          const SearchProblem& problem,
                          const AllocationMatrix& state) {
  ModelSpeedups speedups(models_, rows, problem, share_of(problem));
  double sum = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    ReplicaSpread spread{0, 0};
    for (std::size_t node = 0; node < problem.nodes(); ++node) {
      const std::uint8_t replicas = state[row * problem.nodes() + node];
      spread.nodes += replicas > 0;
      spread.replicas += replicas;
    }
    const double one = speedups.at(row, {1, 1});
    if (spread.replicas > 0 && one > 0)
      sum += speedups.at(row, spread) / one * problem.rows[row].devices_each;
  }
  return sum / static_cast<double>(problem.devices_in_all());
}

/// Sets how many nodes are used from now on.
void Pollux::choose_nodes(const std::vector<JobId>& rows,
                          const SearchProblem& whole,
                          const SearchOptions& options) {
  const std::int32_t all = usable_nodes(whole);
  if (!autoscaler_.is_on(all)) {
    nodes_used_ = 0;
    return;
  }
  const std::int32_t used = nodes_used_ > 0 ? std::min(nodes_used_, all) : all;
  const double utility = utility_of(rows, on_first_nodes(whole, used), whole.current);
  nodes_used_ = autoscaler_.next(utility, used, all, [&](std::int32_t nodes) {
    SearchProblem problem;
    const SearchResult found = search_within(rows, whole, nodes, options, problem);
    return utility_of(rows, problem, found.best);
  });
}

// --- the search ---

void Pollux::start_alone(const ClusterView& view, const PolluxJobs::Gangs& gangs, Plan& plan) {
  std::vector<JobId> victims = rows_in_order(view);
  std::erase_if(victims, [&](JobId id) { return !view.row(id).holds; });
  PolluxJobs::start_alone(view, gangs, victims, trial_, plan);
}

std::vector<Pollux::Move> Pollux::search_whole(const ClusterView& view,
                                               const Rows& rows,
                                               const SearchOptions& options) {
  Block all{.rows = std::vector<std::uint32_t>(rows.jobs.size()),
            .nodes = std::vector<std::uint32_t>(rows.devices.size()),
            .devices = rows.devices};
  std::iota(all.rows.begin(), all.rows.end(), 0u);
  std::iota(all.nodes.begin(), all.nodes.end(), 0u);
  const SearchProblem whole = problem_for(view, rows, all);
  choose_nodes(rows.jobs, whole, options);
  const std::int32_t nodes = nodes_used_ > 0 ? nodes_used_ : usable_nodes(whole);
  SearchProblem problem;
  SearchResult found = search_within(rows.jobs, whole, nodes, options, problem);
  front_rows_ = rows.jobs;
  front_nodes_ = problem.nodes();
  front_ = std::move(found.front);
  pace_.left = 0;
  std::vector<Move> moves;
  add_moves(problem, found.best, all, moves);
  return moves;
}

/// Jobs that a search may give more, or fewer nodes: first those of whose devices a job of a fixed
/// size has taken some, then those that may grow; each from the one after the last that had its
/// turn.
std::vector<std::uint32_t> Pollux::seeds_in_turn(const Rows& rows,
                                                 const std::vector<BlockRow>& parts) const {
  std::vector<std::int32_t> left = rows.devices;
  for (const BlockRow& part : parts)
    for (const NodeCount& at : part.nodes) left[at.node.index()] -= at.replicas * part.devices_each;
  enum class Need { Room, Growth, FewerNodes };
  using Seed = std::tuple<Need, bool, JobId, std::uint32_t>;
  std::vector<Seed> seeds;
  for (std::uint32_t row = 0; row < parts.size(); ++row) {
    const BlockRow& part = parts[row];
    if (part.replicas == 0) continue;
    const bool is_robbed = std::ranges::any_of(
        part.nodes, [&](const NodeCount& at) { return left[at.node.index()] < 0; });
    const bool may_grow = part.replicas < part.replicas_max;
    if (!is_robbed && !may_grow && part.nodes.size() == 1) continue;
    const Need need = is_robbed ? Need::Room : may_grow ? Need::Growth : Need::FewerNodes;
    const JobId job = rows.jobs[row];
    seeds.emplace_back(need, !turn_.is_none() && job <= turn_, job, row);
  }
  std::sort(seeds.begin(), seeds.end());
  std::vector<std::uint32_t> in_turn;
  for (const Seed& seed : seeds) in_turn.push_back(std::get<std::uint32_t>(seed));
  return in_turn;
}

std::vector<Pollux::Move> Pollux::search_blocks(const ClusterView& view,
                                                const Rows& rows,
                                                std::int32_t nodes,
                                                const SearchOptions& options) {
  front_.clear();
  std::vector<BlockRow> parts;
  for (std::size_t row = 0; row < rows.jobs.size(); ++row) {
    const JobView job = view.job(rows.jobs[row]);
    const SearchRow& limits = rows.limits[row];
    parts.push_back({.replicas_min = limits.replicas_min,
                     .replicas_max = limits.replicas_max,
                     .devices_each = limits.devices_each,
                     .replicas = job.row.holds ? job.row.replicas : 0,
                     .nodes = job.nodes});
  }
  const std::vector<std::uint32_t> seeds = seeds_in_turn(rows, parts);
  if (pace_.left < 0)
    pace_.left = std::max<std::int64_t>(1, static_cast<std::int64_t>(seeds.size()));
  BlockMaker blocks(parts,
                    rows.devices,
                    seeds,
                    {.nodes = nodes, .whole_jobs = options.avoid_interference},
                    random_);
  const ClusterShare share{
      .devices = rows.devices_in_all,
      .nodes = std::count_if(
          rows.devices.begin(), rows.devices.end(), [](std::int32_t d) { return d > 0; }),
      .jobs = static_cast<std::int64_t>(rows.jobs.size())};
  std::vector<Move> moves;
  std::int64_t cells = 0;
  std::optional<Block> block;
  while ((options.budget == 0 || cells < options.budget) && (block = blocks.next())) {
    const SearchProblem problem = problem_for(view, rows, *block);
    if (problem.devices_in_all() == 0) continue;
    std::vector<JobId> jobs;
    for (const std::uint32_t row : block->rows) jobs.push_back(rows.jobs[row]);
    ModelSpeedups speedups(models_, jobs, problem, share);
    std::vector<AllocationMatrix> starts;
    add_packed(problem, starts);
    const SearchResult found = search_allocations(problem, speedups, options, starts, random_);
    cells += found.cells;
    add_moves(problem, found.best, *block, moves);
  }
  const auto passed = static_cast<std::int64_t>(blocks.seeds_passed());
  // Where all had their turn, another one is first next time, and finds the most that is free.
  if (passed > 0)
    turn_ = rows.jobs[block ? seeds[static_cast<std::size_t>(passed - 1)] : seeds.front()];
  pace_.left =
      block ? std::max<std::int64_t>(0, pace_.left - std::max<std::int64_t>(1, passed)) : 0;
  return moves;
}

/// Leaves of the rows that wait few more than could start beside those that hold devices.
void Pollux::drop_hopeless(const ClusterView& view, Rows& rows) {
  std::int64_t may_start = rows.devices_in_all + kWaitingMore;
  for (const JobId id : rows.jobs) may_start -= view.row(id).holds ? 1 : 0;
  std::size_t kept = 0;
  for (std::size_t row = 0; row < rows.jobs.size(); ++row) {
    if (!view.row(rows.jobs[row]).holds && --may_start < 0) continue;
    rows.jobs[kept] = rows.jobs[row];
    rows.limits[kept++] = rows.limits[row];
  }
  rows.jobs.resize(kept);
  rows.limits.resize(kept);
}

/// Shares out what the trial has free.
void Pollux::search(const ClusterView& view, Plan& plan) {
  Rows rows = rows_of(view);
  if (rows.jobs.empty()) return;
  if (rows.devices_in_all == 0) {
    // The gangs take all: what runs gives way.
    for (const JobId id : rows.jobs)
      if (view.row(id).holds) plan.preempt(id);
    return;
  }
  const auto usable = static_cast<std::int32_t>(
      std::count_if(rows.devices.begin(), rows.devices.end(), [](auto d) { return d > 0; }));
  // Samples of the utility are taken each cycle.
  const bool autoscales = autoscaler_.is_on(usable);
  const bool is_update = unlearned_ >= parameters_.update_after && !autoscales;
  settled_ = !autoscales && plan.empty();
  if (!may_find_more(digest_of(view, rows), autoscales)) return;
  if (is_update) pace_.pause = std::max(pace_.pause, kUpdatePause);
  SearchOptions options = parameters_.search;
  if (is_update) {
    options.population = std::min(options.population, parameters_.update_population);
    options.patience = std::min(options.patience, parameters_.update_patience);
    drop_hopeless(view, rows);
  }
  const std::int32_t nodes = parameters_.block_nodes;
  std::vector<Move> moves = nodes > 0 && usable > nodes && !autoscales
                                ? search_blocks(view, rows, nodes, options)
                                : search_whole(view, rows, options);
  pace_.moved = !moves.empty();
  propose(view, rows.jobs, std::move(moves), plan);
}

Plan Pollux::optimize(const ClusterView& view) {
  absorb(view);
  const std::int64_t cycle = view.now().ns / parameters_.period.ns;
  if (cycle == cycle_) return {};
  cycle_ = cycle;
  const bool learned = models_.learn(view, jobs_.sized());
  pace_.learned |= learned;
  unlearned_ = learned ? 0 : unlearned_ + 1;
  if (is_quiet(view)) {
    ++pace_.passed;
    return {};
  }
  settled_ = false;
  changed_ = false;
  capacity_version_ = view.capacity().version();
  Plan plan;
  const PolluxJobs::Gangs gangs = jobs_.gangs_to_start(view, trial_);
  if (gangs.starting.empty() && jobs_.sized().empty()) return plan;
  const bool in_parts =
      std::any_of(gangs.starting.begin(), gangs.starting.end(), [&](const auto& gang) {
        return PolluxJobs::is_placed_in_parts(view, gang.job);
      });
  if (in_parts) {
    start_alone(view, gangs, plan);
    return plan;
  }
  jobs_.start(view, gangs, trial_, plan);
  search(view, plan);
  return plan;
}

// --- state ---

void Pollux::save(ByteWriter& out) const {
  for (const std::uint64_t word : random_.state()) out.u64(word);
  out.i64(cycle_);
  models_.save(out);
  out.varint(front_rows_.size());
  for (const JobId job : front_rows_) out.u32(job.value);
  out.varint(front_nodes_);
  out.varint(front_.size());
  for (const AllocationMatrix& state : front_) out.raw(std::as_bytes(std::span(state)));
  out.varint(static_cast<std::uint64_t>(nodes_used_));
  autoscaler_.save(out);
  out.u64(pace_.problem.high);
  out.u64(pace_.problem.low);
  out.boolean(pace_.moved);
  out.boolean(pace_.learned);
  out.i64(pace_.pause);
  out.i64(pace_.passed);
  out.i64(pace_.left);
  out.i64(unlearned_);
  out.u32(turn_.value);
}

void Pollux::load(ByteReader& in) {
  Random::State words;
  for (std::uint64_t& word : words) word = in.u64();
  if (in.ok()) random_ = Random::from_state(words);
  cycle_ = in.i64();
  models_.load(in);
  front_rows_.clear();
  front_.clear();
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left)
    front_rows_.push_back(JobId{in.u32()});
  front_nodes_ = in.varint();
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    const auto bytes = in.raw(front_rows_.size() * front_nodes_);
    AllocationMatrix& state = front_.emplace_back();
    for (const std::byte cell : bytes) state.push_back(static_cast<std::uint8_t>(cell));
  }
  nodes_used_ = static_cast<std::int32_t>(in.varint());
  autoscaler_.load(in);
  pace_.problem.high = in.u64();
  pace_.problem.low = in.u64();
  pace_.moved = in.boolean();
  pace_.learned = in.boolean();
  pace_.pause = in.i64();
  pace_.passed = in.i64();
  pace_.left = in.i64();
  unlearned_ = in.i64();
  turn_ = JobId{in.u32()};
  if (!in.ok()) front_.clear();
}

}  // namespace orrery::policies
