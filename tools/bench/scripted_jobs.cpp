#include "tools/bench/scripted_jobs.hpp"

#include <time.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

namespace orrery::bench {
namespace {

constexpr std::uint32_t kSpareNodes = 64;
constexpr std::uint32_t kNodes = 16384;
constexpr Duration kStep = Duration::milliseconds(1);

// Devices of job number i; every round of 64 has the same mix, so it fits where the last one was.
constexpr std::array<std::int32_t, 8> kSizes{1, 1, 1, 2, 2, 4, 8, 16};

std::int32_t devices_of(std::uint32_t job) { return kSizes[job % kSizes.size()]; }

std::uint32_t workers_of(std::uint32_t job) { return devices_of(job) > 8 ? 2 : 1; }

std::shared_ptr<const JobSpec> spec_of(std::uint32_t job) {
  auto spec = std::make_shared<JobSpec>();
  spec->name = "default.job-" + std::to_string(job + 1);
  spec->rescale = RescaleMode::Restart;
  spec->recovery = RecoveryScope::Job;
  spec->estimate = Duration::seconds(1000 + job % 1000);
  spec->estimate_source = EstimateSource::Declared;
  RoleSpec role;
  role.name = "worker";
  role.bundle.devices = std::min(devices_of(job), 8);
  role.min_replicas = role.max_replicas = static_cast<std::int32_t>(workers_of(job));
  spec->roles.push_back(std::move(role));
  return spec;
}

}  // namespace

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

std::vector<Event> Script::opening() {
  Settings settings;
  settings.policy = "scripted/1";
  settings.plan_on_completion = settings.plan_on_capacity = false;
  NodeGroup nodes{"gpu", kNodes, {}, {}, 8, "h100", 0};
  NodeGroup spare{"cpu", kSpareNodes, {}, {}, 0, "", 0};
  const Instant zero;
  std::vector<Event> events;
  events.push_back({zero, zero, Origin::External, EpochStarted{Epoch{1}, settings}});
  events.push_back({zero, zero, Origin::External, NodesDeclared{{nodes, spare}}});
  return events;
}

Batch Script::batch(Step step) {
  now_ = now_ + kStep;
  return {step, now_, {}};
}

void Script::add_submissions(std::uint32_t count, std::vector<Batch>& out) {
  Batch b = batch(Step::Submit);
  for (std::uint32_t i = 0; i < count; ++i, ++submitted_)
    b.events.push_back(
        {now_, now_, Origin::External, JobSubmitted{submitted_ + 1, spec_of(submitted_)}});
  out.push_back(std::move(b));
}

// What the jobs that the planner has started since `first` tell: up, their rate; and checkpoints
// of others, far apart in memory.
void Script::add_reports(std::uint32_t first, std::vector<Batch>& out) {
  Batch ready = batch(Step::Ready);
  for (std::uint32_t j = first; j < started_; ++j)
    ready.events.push_back({now_,
                            now_,
                            Origin::Reaction,
                            WorkersChanged{JobId{j},
                                           Generation{1},
                                           Incarnation{1},
                                           WorkerFact::Ready,
                                           Rank{0},
                                           workers_of(j),
                                           0}});
  out.push_back(std::move(ready));
  Batch rate = batch(Step::Rate);
  for (std::uint32_t j = first; j < started_; ++j)
    rate.events.push_back(
        {now_, now_, Origin::External, ProgressReported{JobId{j}, Generation{1}, 0, 1}});
  out.push_back(std::move(rate));
  Batch saved = batch(Step::Checkpoint);
  const std::uint32_t running = started_ - ended_;
  for (std::uint32_t i = 0; i < started_ - first; ++i) {
    const std::uint32_t j = ended_ + (rounds_ * 7919 + i * 104729) % running;
    ProgressReported progress{JobId{j}, Generation{1}, 10.5 * rounds_, 1};
    progress.checkpointed = true;
    saved.events.push_back({now_, now_, Origin::External, progress});
  }
  out.push_back(std::move(saved));
}

void Script::add_exits(std::vector<Batch>& out) {
  Batch b = batch(Step::Exit);
  for (std::uint32_t i = 0; i < kRound; ++i, ++ended_)
    b.events.push_back({now_,
                        now_,
                        Origin::Reaction,
                        WorkersChanged{JobId{ended_},
                                       Generation{1},
                                       Incarnation{1},
                                       WorkerFact::Exited,
                                       Rank{0},
                                       workers_of(ended_),
                                       0}});
  out.push_back(std::move(b));
}

void Script::add_node_loss(std::vector<Batch>& out) {
  const NodeId node{kNodes + rounds_ % kSpareNodes};
  for (const bool up : {false, true}) {
    Batch b = batch(Step::Node);
    b.events.push_back({now_,
                        now_,
                        Origin::External,
                        up ? EventBody(NodeReturned{node, {}}) : EventBody(NodeSilent{node})});
    out.push_back(std::move(b));
  }
}

std::vector<Batch> Script::fill_cluster(std::uint32_t running) {
  std::vector<Batch> out;
  while (started_ < running) {
    add_submissions(kRound, out);
    started_ += kRound;
    add_reports(started_ - kRound, out);
  }
  return out;
}

std::vector<Batch> Script::fill_queue(std::uint32_t submitted) {
  std::vector<Batch> out;
  while (submitted_ < submitted) add_submissions(kRound, out);
  return out;
}

std::vector<Batch> Script::rounds(std::uint32_t count) {
  std::vector<Batch> out;
  for (std::uint32_t i = 0; i < count; ++i, ++rounds_) {
    add_exits(out);
    add_submissions(kRound, out);
    started_ += kRound;
    add_reports(started_ - kRound, out);
    add_node_loss(out);
  }
  return out;
}

void ScriptedWorld::play(std::vector<Batch> batches) {
  batches_ = std::move(batches);
  at_ = 0;
  tally_ = {};
  step_ = Step::Other;
  since_ = thread_seconds();
}

// The time since the last call belongs to the batch that was handed out then.
void ScriptedWorld::charge(Step next) {
  const double now = thread_seconds();
  tally_.seconds[static_cast<std::size_t>(step_)] += now - since_;
  since_ = now;
  step_ = next;
}

bool ScriptedWorld::wait_events(Instant deadline, std::vector<Event>& events) {
  // The driver looks for facts of this instant before it plans: there are none, and what it does
  // next is to answer the submissions.
  if (deadline <= now_) {
    if (step_ == Step::Submit) charge(Step::Plan);
    return at_ < batches_.size();
  }
  charge(Step::Other);
  if (at_ == batches_.size()) return false;
  Batch& batch = batches_[at_++];
  now_ = batch.at;
  step_ = batch.step;
  tally_.events[static_cast<std::size_t>(batch.step)] += batch.events.size();
  if (batch.step == Step::Submit)
    tally_.events[static_cast<std::size_t>(Step::Plan)] += batch.events.size();
  std::move(batch.events.begin(), batch.events.end(), std::back_inserter(events));
  return true;
}

void ScriptedPlanner::ask(const PlanRequest& request, Controller& controller) {
  (void)controller.take_touched();
  answer_ = PlanProposed{request.view, request.trigger, request.job, {}};
  if (!starts_) return;
  const JobId oldest = controller.state().waiting.front();
  answer_->plan.grant(oldest, controller.state().job(oldest).row.min_replicas);
}

}  // namespace orrery::bench
