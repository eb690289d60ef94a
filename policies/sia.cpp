#include "policies/sia.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "core/base/invariant.hpp"
#include "policies/changes.hpp"
#include "policies/device_parts.hpp"
#include "policies/gang_trial.hpp"
#include "policies/pollux_reports.hpp"
#include "policies/quotas.hpp"
#include "policies/restarts.hpp"

namespace orrery::policies {
namespace {

/// Where a job that holds devices has them: the model of its first node.
DeviceModelId kind_of(const ClusterView& view, const JobView& job) {
  if (job.nodes.empty()) return DeviceModelId::none();
  return view.capacity().at(job.nodes.front().node).model;
}

bool is_pinned(const JobRow& row) { return row.holds && !may_be_taken_from(row); }

void add_option(std::vector<KindAndSize>& options, const KindAndSize& option) {
  const bool known = std::any_of(options.begin(), options.end(), [&](const KindAndSize& o) {
    return o.kind == option.kind && o.replicas == option.replicas;
  });
  if (!known) options.push_back(option);
}

}  // namespace

Sia::Sia(const SiaParameters& parameters, std::unique_ptr<GoodputEstimates> estimates)
    : parameters_(parameters), estimates_(std::move(estimates)) {
  invariant(estimates_ != nullptr, "sia has estimates to ask");
}

Triggers Sia::triggers() const {
  return {
      .submission = false, .completion = false, .capacity = false, .period = parameters_.period};
}

Plan Sia::allocate(const JobView& /*job*/, const ClusterView& view) {
  misfits_.follow(view);
  return {};
}

void Sia::learn(const ClusterView& view) {
  std::erase_if(jobs_, [&](const auto& entry) { return !view.is_live(entry.first); });
  for (const JobId id : view.holding()) {
    const JobView job = view.job(id);
    Remembered& remembered = jobs_[id];
    remembered.replicas_most = std::max(remembered.replicas_most, job.row.replicas);
    if (parameters_.tune_batch) learn_batches(view, job, remembered);
    const ProgressView& progress = job.row.progress;
    // A report from before the present allocation speaks of another one.
    if (progress.rate <= 0 || progress.as_of < job.row.allocated_at || job.row.replicas == 0)
      continue;
    remembered.by_kind[kind_of(view, job)][job.row.replicas] = progress.rate;
  }
}

void Sia::learn_batches(const ClusterView& view, const JobView& job, Remembered& remembered) const {
  const std::span<const ProfilingSeries> profilings = view.profilings(job.row.id);
  if (job.row.phase != JobPhase::Running || profilings.empty()) return;
  const GoodputReport report = read_report(profilings, job.row, static_cast<int>(job.nodes.size()));
  remembered.stats = report.stats;
  remembered.limits = report.limits;
  if (report.observed) remembered.fitted[kind_of(view, job)].add(*report.observed);
}

/// The kinds by id, with what is free of them or held by jobs that may be changed.
std::vector<Sia::Kind> Sia::kinds_of(const ClusterView& view) const {
  const FreeIndex& free = view.capacity();
  std::vector<std::int64_t> held(free.size(), 0);
  std::vector<std::int64_t> movable(free.size(), 0);
  for (const JobId id : view.holding()) {
    const JobView job = view.job(id);
    const std::vector<DevicePart> parts = device_parts(view, job);
    const bool stays =
        is_pinned(job.row) || holds_several_models(view, parts) || !is_all(parts, job.row);
    for (const DevicePart& part : parts) {
      held[part.node.index()] += part.thousandths;
      if (!stays) movable[part.node.index()] += part.thousandths;
    }
  }
  std::map<DeviceModelId, Kind> kinds;
  for (std::size_t n = 0; n < free.size(); ++n) {
    const NodeFree& node = free.at(NodeId{static_cast<std::uint32_t>(n)});
    if (!node.usable) continue;
    Kind& kind = kinds.try_emplace(node.model, Kind{.model = node.model}).first->second;
    const std::int64_t size = (node.thousandths() + held[n]) / 1000;
    ++kind.nodes;
    kind.node_size = std::max(kind.node_size, static_cast<std::int32_t>(size));
    kind.capacity += node.thousandths() + movable[n];
  }
  std::vector<Kind> out;
  for (const auto& [model, kind] : kinds) out.push_back(kind);
  return out;
}

/// Whether the program, which chooses one kind for a job, can say nothing of this one.
bool Sia::stands_outside(const ClusterView& view, const JobView& job) {
  if (job.row.holds) {
    if (closed_.hold_all_of(job.row)) return true;  // It takes nothing from anybody.
    const std::vector<DevicePart> parts = device_parts(view, job);
    return holds_several_models(view, parts) || !is_all(parts, job.row);
  }
  return !empty_kinds_.one_holds(job, job.row.min_replicas);
}

std::int32_t Sia::replicas_limit(const JobView& job) const {
  const JobRow& row = job.row;
  const auto remembered = jobs_.find(row.id);
  const std::int32_t had = remembered == jobs_.end() ? 0 : remembered->second.replicas_most;
  const std::int32_t each = std::max(row.demand.devices, 1);
  std::int32_t shared_out = row.max_replicas;
  // More replicas than that would have less than the smallest batch each.
  if (remembered != jobs_.end() && !remembered->second.fitted.empty())
    shared_out = remembered->second.limits.total_max / remembered->second.limits.atomic_min;
  const std::int32_t most = std::min({2 * std::max(had, row.min_replicas),
                                      row.max_replicas,
                                      shared_out,
                                      std::max(parameters_.devices_most / each, 1)});
  return std::max(most, row.min_replicas);
}

/// Configurations that the job may have, whatever they bring.
Sia::Options Sia::options_of(const ClusterView& view,
                             const JobView& job,
                             const std::vector<Kind>& kinds) {
  const JobRow& row = job.row;
  const std::int32_t each = row.demand.devices;
  const std::int32_t least = row.min_replicas;
  const std::int32_t most = row.is_fixed() ? least : replicas_limit(job);
  Options out;
  for (const Kind& kind : kinds) {
    if (each > kind.node_size) continue;
    if (!row.demand.model.is_none() && row.demand.model != kind.model) continue;
    // What fits by count may not node by node, and would be chosen in each cycle again.
    if (!row.holds && !empty_kinds_.holds(job, least, kind.model)) continue;
    if (!row.holds) {
      if (!misfits_.may_choose(view, row.id, kind.model)) continue;
      misfits_.note_chosen(view, row.id, kind.model);
    }
    const std::int32_t size = std::max(kind.node_size, 1);
    const auto placed = placed_most_.find({row.id, kind.model});
    const std::int32_t fit = placed == placed_most_.end() ? most : std::min(most, placed->second);
    const auto offer = [&](std::int32_t nodes, std::int32_t devices) {
      if (each == 0 || devices % each != 0) return;
      const std::int32_t replicas = devices / each;
      if (replicas < least || replicas > fit || replicas % nodes != 0) return;
      if (view.quota_allows(row.id, devices_at(row, replicas)))
        add_option(out, {kind.model, nodes, replicas});
    };
    for (std::int32_t devices = 1; devices < size; devices *= 2) offer(1, devices);
    for (std::int32_t nodes = 1; nodes <= kind.nodes && nodes * size <= fit * std::max(each, 1);
         ++nodes)
      offer(nodes, nodes * size);
    // Its minimum, whatever its size, and what it has.
    if (view.quota_allows(row.id, devices_at(row, least)))
      add_option(out, {kind.model, std::max(1, (least * each + size - 1) / size), least});
    if (row.holds && kind_of(view, job) == kind.model)
      add_option(out, {kind.model, static_cast<std::int32_t>(job.nodes.size()), row.replicas});
  }
  return out;
}

std::optional<double> Sia::measured(JobId id, DeviceModelId kind, std::int32_t replicas) const {
  const auto remembered = jobs_.find(id);
  if (remembered == jobs_.end()) return std::nullopt;
  const auto speeds = remembered->second.by_kind.find(kind);
  if (speeds == remembered->second.by_kind.end()) return std::nullopt;
  return speed_with(speeds->second, replicas);
}

/// How much faster one replica is on `kind` than on `other`, as far as the estimates know.
double Sia::speed_ratio(const ClusterView& view,
                        const JobView& job,
                        DeviceModelId kind,
                        DeviceModelId other) {
  const auto here = estimates_->goodput(view, job, {kind, 1, 1});
  const auto there = estimates_->goodput(view, job, {other, 1, 1});
  return here && there && *there > 0 ? *here / *there : 1;
}

/// Of the best batch; nothing where no model was fitted.
std::optional<double> Sia::tuned(const ClusterView& view,
                                 const JobView& job,
                                 const KindAndSize& where) {
  const auto known = jobs_.find(job.row.id);
  if (known == jobs_.end() || known->second.fitted.empty()) return std::nullopt;
  Remembered& remembered = known->second;
  const auto own = remembered.fitted.find(where.kind);
  const auto of = own == remembered.fitted.end() ? remembered.fitted.begin() : own;
  GoodputTable& goodputs = of->second.goodputs(remembered.limits, remembered.stats);
  const double goodput = goodputs.at({where.nodes, where.replicas});
  return of == own ? goodput : goodput * speed_ratio(view, job, where.kind, of->first);
}

std::optional<double> Sia::goodput(const ClusterView& view,
                                   const JobView& job,
                                   const KindAndSize& where) {
  if (const auto best = tuned(view, job, where)) return best;
  if (const auto known = estimates_->goodput(view, job, where)) return known;
  const JobId id = job.row.id;
  if (const auto own = measured(id, where.kind, where.replicas)) return own;
  const auto remembered = jobs_.find(id);
  if (remembered == jobs_.end() || remembered->second.by_kind.empty()) return std::nullopt;
  const DeviceModelId other = remembered->second.by_kind.begin()->first;
  return *measured(id, other, where.replicas) * speed_ratio(view, job, where.kind, other);
}

SiaJob Sia::program_job(const ClusterView& view,
                        const JobView& job,
                        const std::vector<Kind>& kinds,
                        const Options& options) {
  const JobRow& row = job.row;
  SiaJob out;
  out.restart_factor =
      restart_factor(view.now() - row.submitted, restarts_of(row), parameters_.restart_delay);
  if (row.min_replicas == row.max_replicas) {
    // A rigid job is not held back before it has had as much service as a restart costs.
    const std::int64_t attained_us = row.attained_device_us(view.now());
    if (attained_us < parameters_.restart_delay.ns / 1000) out.restart_factor = 1;
  }
  for (const KindAndSize& option : options) {
    SiaOption each;
    each.kind = static_cast<int>(
        std::find_if(
            kinds.begin(), kinds.end(), [&](const Kind& k) { return k.model == option.kind; }) -
        kinds.begin());
    each.nodes = option.nodes;
    each.gpus = row.thousandths_at(option.replicas);
    each.current =
        row.holds && row.replicas == option.replicas && kind_of(view, job) == option.kind;
    // Of closed nodes it takes nothing from anybody.
    if (each.current) each.gpus -= closed_.held(row.id);
    const std::optional<double> known = goodput(view, job, option);
    // Of a job of which nothing is known only the smallest option counts.
    each.goodput = known ? *known : option.replicas == row.min_replicas || each.current ? 1 : 0;
    out.options.push_back(each);
  }
  return out;
}

/// Jobs of one priority choose from what is left; `kinds` is less what they take.
void Sia::choose_equals(const ClusterView& view,
                        const std::vector<JobId>& jobs,
                        std::vector<Kind>& kinds,
                        std::vector<RoundPlacement::Wanted>& wanted) {
  std::vector<Options> options;
  std::vector<SiaJob> program;
  for (const JobId id : jobs) {
    const JobView job = view.job(id);
    options.push_back(options_of(view, job, kinds));
    program.push_back(program_job(view, job, kinds, options.back()));
  }
  std::vector<std::int64_t> capacity;
  for (const Kind& kind : kinds) capacity.push_back(std::max<std::int64_t>(kind.capacity, 0));
  const SiaChoice choice = choose_options(program, capacity, parameters_.program);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (choice.options[i] < 0) {
      some_wait_ = some_wait_ || !(program[i].options.empty() || view.row(jobs[i]).holds);
      continue;
    }
    const auto chosen = static_cast<std::size_t>(choice.options[i]);
    kinds[static_cast<std::size_t>(program[i].options[chosen].kind)].capacity -=
        program[i].options[chosen].gpus;
    const KindAndSize& option = options[i][chosen];
    const bool stays = program[i].options[chosen].current;
    wanted.push_back({.job = jobs[i],
                      .replicas = option.replicas,
                      .model = option.kind,
                      .nodes = stays ? 0 : option.nodes,
                      .least = view.row(jobs[i]).min_replicas});
  }
}

Plan Sia::optimize(const ClusterView& view) {
  misfits_.follow(view);
  const std::int64_t cycle = view.now().ns / parameters_.period.ns;
  if (cycle == planned_) return {};
  planned_ = cycle;
  learn(view);
  empty_kinds_.begin(view);
  closed_.begin(view);
  misfits_.begin();
  placed_most_.clear();
  Plan plan = plan_round(view);
  while (chooses_again(view)) plan = plan_round(view);
  placement_.add_to(view, left_waiting(view, plan), plan);
  return plan;
}

/// Jobs whose devices may be of several kinds, as nobody can say for each of them where it is to
/// be, and that the plan gives nothing: they would wait for one kind while others are idle.
std::vector<JobId> Sia::left_waiting(const ClusterView& view, const Plan& plan) const {
  const std::vector<JobId> granted = granted_jobs(plan);
  std::vector<JobId> out;
  view.waiting().for_each([&](const WaitEntry& entry) {
    const bool in_parts = view.job(entry.job).spec.roles.size() > 1 || view.is_seated(entry.job);
    if (in_parts && !std::binary_search(granted.begin(), granted.end(), entry.job))
      out.push_back(entry.job);
    return true;
  });
  return out;
}

/// Whether others could have what was chosen and fits by count and on no node: what a job that
/// waits was to have, or, while some wait that got nothing, what one was to have more.
bool Sia::chooses_again(const ClusterView& view) {
  for (const RoundPlacement::Found& each : placement_.found())
    if (!each.model.is_none()) misfits_.note_placed(view, each.job, each.place, each.model);
  bool again = misfits_.choose_again();
  for (const RoundPlacement::Wanted& each : placement_.cut_short()) {
    const bool is_new = placed_most_.insert_or_assign({each.job, each.model}, each.replicas).second;
    again = again || (is_new && some_wait_);
  }
  return again;
}

/// Chooses by count, and looks for nodes.
Plan Sia::plan_round(const ClusterView& view) {
  some_wait_ = false;
  std::vector<Kind> kinds = kinds_of(view);
  std::vector<RoundPlacement::Wanted> wanted;
  const std::vector<JobId> jobs = jobs_in_order(view);
  for (std::size_t first = 0; first < jobs.size();) {
    const std::int32_t priority = view.row(jobs[first]).priority;
    std::vector<JobId> equals;
    for (; first < jobs.size() && view.row(jobs[first]).priority == priority; ++first) {
      const JobRow& row = view.row(jobs[first]);
      const bool outside = stands_outside(view, view.job(row.id));
      if (!is_pinned(row) && !outside)
        equals.push_back(row.id);
      else if (!row.holds && view.quota_allows(row.id, devices_at(row, row.min_replicas)))
        wanted.push_back({.job = row.id, .replicas = row.min_replicas});
      else if (row.holds && !row.is_fixed())
        wanted.push_back({.job = row.id, .replicas = row.replicas});
    }
    if (!equals.empty()) choose_equals(view, equals, kinds, wanted);
  }
  return placement_.plan(view, wanted);
}

void Sia::save(ByteWriter& out) const {
  out.signed_varint(planned_);
  out.varint(jobs_.size());
  for (const auto& [job, remembered] : jobs_) {
    out.u32(job.value);
    out.signed_varint(remembered.replicas_most);
    out.varint(remembered.by_kind.size());
    for (const auto& [kind, speeds] : remembered.by_kind) {
      out.u32(kind.value);
      out.varint(speeds.size());
      for (const auto& [replicas, rate] : speeds) {
        out.signed_varint(replicas);
        out.f64(rate);
      }
    }
    out.varint(remembered.fitted.size());
    for (const auto& [kind, speed] : remembered.fitted) {
      out.u32(kind.value);
      speed.save(out);
    }
    save_batches(remembered.limits, remembered.stats, out);
  }
}

void Sia::load(ByteReader& in) {
  jobs_.clear();
  planned_ = in.signed_varint();
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    Remembered& remembered = jobs_[JobId{in.u32()}];
    remembered.replicas_most = static_cast<std::int32_t>(in.signed_varint());
    for (std::uint64_t kinds = in.varint(); kinds > 0 && in.ok(); --kinds) {
      const DeviceModelId kind{static_cast<decltype(DeviceModelId::value)>(in.u32())};
      MeasuredSpeeds& speeds = remembered.by_kind[kind];
      for (std::uint64_t n = in.varint(); n > 0 && in.ok(); --n) {
        const auto replicas = static_cast<std::int32_t>(in.signed_varint());
        speeds[replicas] = in.f64();
      }
    }
    for (std::uint64_t kinds = in.varint(); kinds > 0 && in.ok(); --kinds) {
      const DeviceModelId kind{static_cast<decltype(DeviceModelId::value)>(in.u32())};
      remembered.fitted[kind].load(in);
    }
    load_batches(remembered.limits, remembered.stats, in);
  }
}

}  // namespace orrery::policies
