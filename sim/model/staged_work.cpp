#include "sim/model/staged_work.hpp"

#include <algorithm>
#include <utility>

#include "core/base/invariant.hpp"
#include "core/base/random.hpp"

namespace orrery::sim {
namespace {

constexpr std::uint64_t kAnyTurn = UINT64_MAX;

// Shares of a turn that are closer than this are the same: the sums of stages round.
constexpr double kSameShare = 1e-9;

bool sends(const Stage& stage) {
  return std::any_of(stage.exchanges.begin(), stage.exchanges.end(), [](const Exchange& exchange) {
    return !transfers_of(exchange).empty();
  });
}

}  // namespace

StagedWork::StagedWork(const scenarios::Scenario& scenario, Fabric& fabric)
    : scenario_(scenario),
      fabric_(fabric),
      on_fabric_(scenario.fidelity >= scenarios::Fidelity::L1),
      renews_flows_(scenario.fidelity >= scenarios::Fidelity::L2) {
  if (scenario.network.wiring == scenarios::Wiring::InOrder) return;
  for (std::uint32_t n = 0; n < scenario.node_count(); ++n) places_.emplace_back(n);
  Random::stream(scenario.seed, "wiring").shuffle(places_);
}

void StagedWork::form(LiveJob& job) {
  if (job.stages == nullptr) job.stages = std::make_unique<StageRun>();
  StageRun& run = *job.stages;
  if (run.gang_of == job.generation && run.gang_newest == job.newest && !run.gang.empty()) return;
  run.gang_of = job.generation;
  run.gang_newest = job.newest;
  std::vector<const ModelWorker*> members;
  for (const ModelWorker& worker : job.workers)
    if (job.counts(worker) && !job.is_master(worker)) members.push_back(&worker);
  std::sort(members.begin(), members.end(), [](const ModelWorker* a, const ModelWorker* b) {
    return a->rank < b->rank;
  });
  run.gang.clear();
  for (const ModelWorker* worker : members)
    run.gang.push_back({worker->role,
                        worker->local_rank,
                        place_of(worker->node),
                        job.job.spec->roles[worker->role.index()].bundle.devices});
  run.on_fabric = false;
  run.alone_rate = run.measured = 0;
  if (run.gang.empty()) return;
  run.turn = kAnyTurn;
  turn_to(job, kAnyTurn);
  run.alone_rate = orrery::sim::alone_rate(run.cycle, fabric_);
  run.save = checkpoint_stage({*job.job.spec, job.job.work, run.gang, scenario_.network, {}},
                              /*restore=*/false);
  run.on_fabric =
      on_fabric_ && (is_random(job.job.work) || sends(run.save) ||
                     std::any_of(run.cycle.stages.begin(), run.cycle.stages.end(), sends));
}

// The cycle of one turn, and where in it its stages end.
void StagedWork::turn_to(LiveJob& job, std::uint64_t turn) {
  StageRun& run = *job.stages;
  CycleInputs inputs{*job.job.spec, job.job.work, run.gang, scenario_.network, {}};
  for (const GangMember& member : run.gang) inputs.flops.push_back(fabric_.node_flops(member.node));
  const std::uint64_t seed = scenario_.seed ^ (std::uint64_t{job.id.value} << 32);
  run.cycle =
      cycle_of(inputs, seed, turn == kAnyTurn ? std::nullopt : std::optional<std::uint64_t>(turn));
  run.turn = turn;
  run.ends.clear();
  double sum = 0;
  for (const Stage& stage : run.cycle.stages) run.ends.push_back(sum += alone_s(stage));
  for (double& end : run.ends) end = sum > 0 ? end / sum : 1;
  run.ends.back() = 1;
}

double StagedWork::save_alone_s(const LiveJob& job) const {
  return std::max(scenario_.timing.checkpoint_cost.in_seconds(), alone_s(job.stages->save));
}

double StagedWork::restore_alone_s(const LiveJob& job) const {
  return alone_s(checkpoint_stage(
      {*job.job.spec, job.job.work, job.stages->gang, scenario_.network, {}}, /*restore=*/true));
}

Duration StagedWork::checkpoint_interval(const LiveJob& job) const {
  const Duration own = job.job.work.traffic->checkpoint.interval;
  return own > Duration::zero() ? own : scenario_.timing.checkpoint_interval;
}

bool StagedWork::saves_block(const LiveJob& job) const {
  return job.job.work.traffic->checkpoint.blocking;
}

// --- stages begin ---

void StagedWork::work(LiveJob& job, double slowness, Instant now) {
  StageRun& run = *job.stages;
  const double all = job.job.work.units;
  const double turns = job.done / run.cycle.units;
  auto turn = static_cast<std::uint64_t>(turns + kSameShare);
  const double share = std::max(0.0, turns - static_cast<double>(turn));
  if (is_random(job.job.work) && run.turn != turn) turn_to(job, turn);
  std::size_t at = 0;
  while (at + 1 < run.ends.size() && run.ends[at] <= share + kSameShare) ++at;
  const double first = at == 0 ? 0 : run.ends[at - 1];
  const double width = run.ends[at] - first;
  const double part_done = width > 0 ? std::clamp((share - first) / width, 0.0, 1.0) : 0;
  Stage stage = run.cycle.stages[at];
  stage.compute_s *= slowness;
  const double whole = stage.steps;
  stage.steps *= 1 - part_done;
  run.from = job.done;
  run.to = (static_cast<double>(turn) + run.ends[at]) * run.cycle.units;
  // A cycle of one kind of step is many steps at once: all that is left, or as much of it as flows
  // go on without looking at each other again.
  if (run.cycle.stages.size() == 1 && stage.paced && !is_random(job.job.work)) {
    const double steps_left = (all - job.done) / run.cycle.units * whole;
    const double step_s = fabric_.step_alone_s(stage);
    const double longest =
        renews_flows_ && step_s > 0 ? scenario_.network.stage.in_seconds() / step_s : steps_left;
    stage.steps = std::max(std::min(steps_left, longest), 1e-12);
    // A short rest is done in one go with the rest before it.
    if (steps_left - stage.steps < longest * 0.01) stage.steps = steps_left;
    run.to = stage.steps == steps_left ? all : job.done + stage.steps / whole * run.cycle.units;
  }
  if (run.to > all) {  // The last turn of a job whose work is no whole number of turns.
    stage.steps *= (all - run.from) / (run.to - run.from);
    run.to = all;
  }
  run.began = now;
  begin(job, StageActivity::Work, stage, now);
}

void StagedWork::save(LiveJob& job, bool beside, Instant now) {
  StageRun& run = *job.stages;
  Stage stage = run.save;
  // The stall that the scenario declares goes on while the bytes are on their way.
  stage.compute_s = std::max(stage.compute_s, scenario_.timing.checkpoint_cost.in_seconds());
  stage.overlap = 1;
  if (!beside) {
    run.save_due = false;
    return begin(job, StageActivity::Save, stage, now);
  }
  if (run.saving) return;  // The last one is still being written.
  run.saving = fabric_.begin(stage, now);
  run.saving_done = job.done;
  own(*run.saving, job.id);
}

void StagedWork::restore(LiveJob& job, Instant now) {
  StageRun& run = *job.stages;
  run.restore_due = false;
  begin(job,
        StageActivity::Restore,
        checkpoint_stage({*job.job.spec, job.job.work, run.gang, scenario_.network, {}}, true),
        now);
}

void StagedWork::begin(LiveJob& job, StageActivity activity, const Stage& stage, Instant now) {
  StageRun& run = *job.stages;
  invariant(run.doing == StageActivity::None, "a job is in one stage at a time");
  run.doing = activity;
  run.steps = stage.steps;
  run.id = fabric_.begin(stage, now);
  own(run.id, job.id);
}

void StagedWork::own(StageId id, JobId job) {
  if (owners_.size() <= id.value) owners_.resize(id.value + 1);
  owners_[id.value] = job;
  ++under_way_;
}

// --- stages go on and end ---

void StagedWork::settle(LiveJob& job, Instant now) {
  StageRun& run = *job.stages;
  if (run.doing != StageActivity::Work) return;
  const double share = std::clamp(fabric_.steps_done(run.id, now) / run.steps, 0.0, 1.0);
  job.done = std::max(job.done, run.from + (run.to - run.from) * share);
}

double StagedWork::rate(const LiveJob& job, double slowness) {
  const StageRun& run = *job.stages;
  if (run.doing == StageActivity::Work && !renews_flows_ && run.steps > 0)
    return fabric_.pace(run.id) * (run.to - run.from) / run.steps;
  return run.measured > 0 ? run.measured : run.alone_rate / slowness;
}

void StagedWork::halt(LiveJob& job, Instant now) {
  StageRun& run = *job.stages;
  if (run.doing == StageActivity::None) return;
  fabric_.end(run.id, now);
  --under_way_;
  run.save_due = run.save_due || run.doing == StageActivity::Save;
  run.restore_due = run.restore_due || run.doing == StageActivity::Restore;
  run.doing = StageActivity::None;
}

void StagedWork::drop(LiveJob& job, Instant now) {
  if (job.stages == nullptr) return;
  StageRun& run = *job.stages;
  halt(job, now);
  if (run.saving) {
    fabric_.end(*run.saving, now);
    --under_way_;
  }
  run.saving.reset();
  run.save_due = run.restore_due = run.checkpoints_timed = false;
  ++run.checkpoints;
}

StageEnd StagedWork::end_of(LiveJob& job, StageId id, Instant now) {
  StageRun& run = *job.stages;
  --under_way_;
  if (run.saving == id) {
    run.saving.reset();
    job.safe = std::max(job.safe, run.saving_done);
    return {job.id, StageActivity::Save, true};
  }
  invariant(run.doing != StageActivity::None && run.id == id, "a stage ends for its job");
  const StageEnd end{job.id, std::exchange(run.doing, StageActivity::None), false};
  if (end.activity == StageActivity::Work) {
    if (now > run.began) run.measured = (run.to - run.from) / (now - run.began).in_seconds();
    job.worked += run.to - job.done;
    job.done = run.to;
    job.as_of = now;
  } else if (end.activity == StageActivity::Save) {
    job.safe = std::max(job.safe, job.done);
  }
  return end;
}

}  // namespace orrery::sim
