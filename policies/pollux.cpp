#include "policies/pollux.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "policies/changes.hpp"
#include "policies/gang_trial.hpp"
#include "policies/pollux_reports.hpp"

namespace orrery::policies {

namespace {

// Of one node: a cell of the search is a byte.
constexpr std::int32_t kReplicasOnNodeMax = 255;
// Cycles between two searches where nothing changes, at most.
constexpr std::int64_t kPauseMax = 64;

/// How often the job was started anew after its first start, for whatever reason.
double restarts_of(const JobRow& row) {
  return row.generation.value > 0 ? static_cast<double>(row.generation.value - 1) : 0;
}

/// What a search depends on, but for models and the age of the jobs.
Digest digest_of(const std::vector<JobId>& rows, const SearchProblem& problem) {
  Digester digester;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const SearchRow& each = problem.rows[row];
    digester.update(std::uint64_t{rows[row].value});
    for (const std::int32_t part : {each.replicas_min, each.replicas_max, each.devices_each})
      digester.update(static_cast<std::uint64_t>(part));
    digester.update(std::as_bytes(std::span(each.room)));
  }
  for (const std::int32_t devices : problem.devices)
    digester.update(static_cast<std::uint64_t>(devices));
  digester.update(std::as_bytes(std::span(problem.current)));
  return digester.finish();
}

}  // namespace

/// Speedups of the rows of one search against a fair share of the cluster.
class Pollux::ModelSpeedups final : public Speedups {
 public:
  ModelSpeedups(std::map<JobId, Model>& models,
                const std::vector<JobId>& rows,
                const SearchProblem& problem) {
    const std::int64_t devices = problem.devices_in_all();
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const std::int64_t each = problem.rows[row].devices_each;
      const std::int64_t parts = each * static_cast<std::int64_t>(rows.size());
      const std::int64_t fair = (devices + parts - 1) / parts;
      const auto known = models.find(rows[row]);
      if (known == models.end() || known->second.profile.empty()) {
        rows_.push_back({nullptr, static_cast<double>(fair)});
        continue;
      }
      Model& model = known->second;
      if (std::exchange(model.stale, false))
        model.table = GoodputTable(model.profile.parameters(), model.limits);
      model.table.set_stats(model.stats);
      const std::int64_t nodes =
          (static_cast<std::int64_t>(problem.nodes()) * each + devices - 1) / devices;
      const double base =
          model.table.at({static_cast<int>(nodes), static_cast<int>(std::max(fair, nodes))});
      rows_.push_back({&model.table, base});
    }
  }

  double at(std::size_t row, ReplicaSpread spread) override {
    const Row& r = rows_[row];
    return (r.table == nullptr ? spread.replicas : r.table->at(spread)) / r.base;
  }

 private:
  struct Row {
    GoodputTable* table = nullptr;  ///< Null: in proportion to the replicas.
    double base = 1;                ///< Goodput on a fair share.
  };

  std::vector<Row> rows_;
};

Pollux::Pollux(const PolluxParameters& parameters, std::uint64_t seed)
    : parameters_(parameters),
      random_(Random::stream(seed, "pollux")),
      autoscaler_(parameters.autoscale) {}

Triggers Pollux::triggers() const {
  return {
      .submission = false, .completion = false, .capacity = false, .period = parameters_.period};
}

Plan Pollux::allocate(const JobView& /*job*/, const ClusterView& view) {
  jobs_.absorb(view);
  return {};
}

// --- models ---

/// Whether the model is another one now.
bool Pollux::learn_from(const ClusterView& view, const JobView& job, Model& model) {
  const JobRow& row = job.row;
  model.replicas_most = std::max(model.replicas_most, row.replicas);
  const GoodputReport report =
      read_report(view.profilings(row.id), row, static_cast<int>(job.nodes.size()));
  bool learned = report.observed && model.profile.add(*report.observed);
  learned |= report.limits != model.limits;
  model.stale |= learned;
  learned |= report.stats != model.stats;
  model.stats = report.stats;
  model.limits = report.limits;
  return learned;
}

/// Whether any model is another one now.
bool Pollux::learn(const ClusterView& view) {
  std::erase_if(models_, [&](const auto& entry) { return !view.is_live(entry.first); });
  bool learned = false;
  for (const JobId id : view.holding())
    if (view.row(id).phase == JobPhase::Running && jobs_.sized().contains(id))
      learned |= learn_from(view, view.job(id), models_[id]);
  return learned;
}

// --- the search's problem ---

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
  std::int32_t most = 1;
  if (const auto known = models_.find(row.id); known != models_.end()) {
    const Model& model = known->second;
    most = std::max(most, 2 * std::max(model.replicas_most, model.profile.replicas_most()));
    if (!model.profile.empty())
      most = std::min(most, model.limits.total_max / model.limits.atomic_min);
  }
  out.replicas_max = std::clamp(most, row.min_replicas, row.max_replicas);
  const auto allowed = [&](std::int32_t replicas) {
    return view.quota_allows(row.id, replicas * row.demand.devices + row.rest_devices);
  };
  while (out.replicas_max > out.replicas_min && !allowed(out.replicas_max)) --out.replicas_max;
  const double age = (view.now() - row.submitted).in_seconds();
  const double restart = parameters_.restart.in_seconds();
  out.change_factor = std::max(age - restarts_of(row) * restart, 0.0) / (age + restart);
  return out;
}

SearchProblem Pollux::problem_for(const ClusterView& view, const std::vector<JobId>& rows) const {
  const FreeIndex& free = trial_.index();
  SearchProblem problem;
  problem.devices.assign(free.size(), 0);
  problem.current.assign(rows.size() * free.size(), 0);
  for (std::size_t node = 0; node < free.size(); ++node) {
    const NodeFree& at = free.at(NodeId{static_cast<std::uint32_t>(node)});
    if (at.usable) problem.devices[node] = at.devices;
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const JobView job = view.job(rows[r]);
    SearchRow row = row_for(view, job);
    row.room.resize(free.size());
    for (std::size_t node = 0; node < free.size(); ++node)
      row.room[node] = static_cast<std::uint8_t>(std::min(
          replicas_that_fit(free.at(NodeId{static_cast<std::uint32_t>(node)}), job.row.demand),
          kReplicasOnNodeMax));
    for (const NodeCount& node : job.nodes) {
      const auto replicas = static_cast<std::uint8_t>(node.replicas);
      problem.current[r * free.size() + node.node.index()] = replicas;
      row.room[node.node.index()] = std::max(row.room[node.node.index()], replicas);
      // A node that takes nothing new: what is there may stay.
      if (!free.at(node.node).usable)
        problem.devices[node.node.index()] += replicas * job.row.demand.devices;
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

/// Whether to search now; notes the search, or its pause.
bool Pollux::may_find_more(const std::vector<JobId>& rows,
                           const SearchProblem& problem,
                           bool learned) {
  const Digest digest = digest_of(rows, problem);
  if (learned || pace_.moved || digest != pace_.problem) {
    pace_ = {.problem = digest};
    return true;
  }
  if (++pace_.passed < pace_.pause) return false;
  pace_.pause = std::min(2 * pace_.pause, kPauseMax);
  pace_.passed = 0;
  return true;
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

/// Grants what the search found where it differs from what is. What CPU or memory do not allow on
/// a node, which the search counts for each job alone, is left out.
void Pollux::propose(const ClusterView& view,
                     const std::vector<JobId>& rows,
                     const SearchProblem& problem,
                     const AllocationMatrix& best,
                     Plan& plan) {
  const std::size_t nodes = problem.nodes();
  const auto stays = [&](std::size_t row) {
    const auto from = static_cast<std::ptrdiff_t>(row * nodes);
    return std::equal(best.begin() + from,
                      best.begin() + from + static_cast<std::ptrdiff_t>(nodes),
                      problem.current.begin() + from);
  };
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (!stays(row)) continue;
    for (const NodeCount& node : view.job(rows[row]).nodes)
      trial_.take(node.node, view.row(rows[row]).demand, node.replicas);
  }
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (stays(row)) continue;
    const JobRow& job = view.row(rows[row]);
    std::vector<NodeCount> chosen;
    std::int32_t replicas = 0;
    for (std::size_t n = 0; n < nodes; ++n) {
      const NodeId node{static_cast<std::uint32_t>(n)};
      const std::int32_t fits = std::min<std::int32_t>(
          best[row * nodes + n], replicas_that_fit(trial_.index().at(node), job.demand));
      if (fits <= 0) continue;
      chosen.push_back({node, fits});
      replicas += fits;
    }
    if (replicas >= job.min_replicas && replicas > 0) {
      for (const NodeCount& node : chosen) trial_.take(node.node, job.demand, node.replicas);
      grant_on(rows[row], replicas, chosen, plan);
    } else if (job.holds) {
      plan.preempt(rows[row]);
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

}  // namespace

SearchResult Pollux::search_within(const std::vector<JobId>& rows,
                                   const SearchProblem& whole,
                                   std::int32_t nodes,
                                   SearchProblem& problem) {
  problem = on_first_nodes(whole, nodes);
  ModelSpeedups speedups(models_, rows, problem);
  std::vector<AllocationMatrix> starts = remembered(rows, problem.nodes());
  add_packed(problem, starts);
  return search_allocations(problem, speedups, parameters_.search, starts, random_);
}

/// The sum of speedups against one device each, over the devices of the problem.
double Pollux::utility_of(const std::vector<JobId>& rows,
                          const SearchProblem& problem,
                          const AllocationMatrix& state) {
  ModelSpeedups speedups(models_, rows, problem);
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
void Pollux::choose_nodes(const std::vector<JobId>& rows, const SearchProblem& whole) {
  const std::int32_t all = usable_nodes(whole);
  if (!autoscaler_.is_on(all)) {
    nodes_used_ = 0;
    return;
  }
  const std::int32_t used = nodes_used_ > 0 ? std::min(nodes_used_, all) : all;
  const double utility = utility_of(rows, on_first_nodes(whole, used), whole.current);
  nodes_used_ = autoscaler_.next(utility, used, all, [&](std::int32_t nodes) {
    SearchProblem problem;
    const SearchResult found = search_within(rows, whole, nodes, problem);
    return utility_of(rows, problem, found.best);
  });
}

void Pollux::start_alone(const ClusterView& view, const PolluxJobs::Gangs& gangs, Plan& plan) {
  std::vector<JobId> victims = rows_in_order(view);
  std::erase_if(victims, [&](JobId id) { return !view.row(id).holds; });
  PolluxJobs::start_alone(view, gangs, victims, trial_, plan);
}

/// Shares out what the trial has free.
void Pollux::search(const ClusterView& view, bool learned, Plan& plan) {
  const std::vector<JobId> rows = rows_in_order(view);
  if (rows.empty()) return;
  const SearchProblem whole = problem_for(view, rows);
  if (whole.devices_in_all() == 0) {
    // The gangs take all: what runs gives way.
    for (const JobId id : rows)
      if (view.row(id).holds) plan.preempt(id);
    return;
  }
  const std::int32_t all = usable_nodes(whole);
  // Samples of the utility are taken each cycle.
  if (!may_find_more(rows, whole, learned || autoscaler_.is_on(all))) return;
  choose_nodes(rows, whole);
  SearchProblem problem;
  SearchResult found = search_within(rows, whole, nodes_used_ > 0 ? nodes_used_ : all, problem);
  front_rows_ = rows;
  front_nodes_ = problem.nodes();
  front_ = std::move(found.front);
  pace_.moved = found.best != problem.current;
  propose(view, rows, problem, found.best, plan);
}

Plan Pollux::optimize(const ClusterView& view) {
  jobs_.absorb(view);
  const std::int64_t cycle = view.now().ns / parameters_.period.ns;
  if (cycle == cycle_) return {};
  cycle_ = cycle;
  const bool learned = learn(view);
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
  search(view, learned, plan);
  return plan;
}

// --- state ---

void Pollux::save_models(ByteWriter& out) const {
  out.varint(models_.size());
  for (const auto& [job, model] : models_) {
    out.u32(job.value);
    out.varint(static_cast<std::uint64_t>(model.replicas_most));
    out.varint(model.profile.observations().size());
    for (const ThroughputObservation& each : model.profile.observations()) {
      for (const int whole : {each.spread.nodes, each.spread.replicas, each.atomic_batch})
        out.varint(static_cast<std::uint64_t>(whole));
      out.f64(each.compute_s);
      out.f64(each.step_s);
    }
    out.f64(model.stats.sqr);
    out.f64(model.stats.var);
    for (const int limit : {model.limits.initial_total,
                            model.limits.total_max,
                            model.limits.atomic_min,
                            model.limits.atomic_max})
      out.varint(static_cast<std::uint64_t>(limit));
  }
}

void Pollux::save(ByteWriter& out) const {
  for (const std::uint64_t word : random_.state()) out.u64(word);
  out.i64(cycle_);
  save_models(out);
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
  out.i64(pace_.pause);
  out.i64(pace_.passed);
}

void Pollux::load_model(ByteReader& in) {
  const auto whole = [&] { return static_cast<int>(in.varint()); };
  Model& model = models_[JobId{in.u32()}];
  model.replicas_most = whole();
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    ThroughputObservation each;
    each.spread.nodes = whole();
    each.spread.replicas = whole();
    each.atomic_batch = whole();
    each.compute_s = in.f64();
    each.step_s = in.f64();
    if (in.ok()) model.profile.add(each);
  }
  model.stats.sqr = in.f64();
  model.stats.var = in.f64();
  model.limits.initial_total = whole();
  model.limits.total_max = whole();
  model.limits.atomic_min = whole();
  model.limits.atomic_max = whole();
}

void Pollux::load(ByteReader& in) {
  Random::State words;
  for (std::uint64_t& word : words) word = in.u64();
  if (in.ok()) random_ = Random::from_state(words);
  cycle_ = in.i64();
  models_.clear();
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left) load_model(in);
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
  pace_.pause = in.i64();
  pace_.passed = in.i64();
  if (!in.ok()) front_.clear();
}

}  // namespace orrery::policies
