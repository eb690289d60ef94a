#include "sim/storm/queue_check.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <variant>

#include "core/control/queue_standings.hpp"
#include "core/control/state_view.hpp"
#include "core/job/phase.hpp"
#include "core/queues/queue_text.hpp"

namespace orrery::sim {
namespace {

// Leaders fall, plans are lost and asked for again, nodes are unknown for a while.
constexpr Duration kTroubleMost = Duration::seconds(240);
constexpr std::uint64_t kPlansLeast = 8;

bool may_be_taken(const JobRow& row) {
  return row.holds && row.preemptible &&
         (row.phase == JobPhase::Starting || row.phase == JobPhase::Running);
}

}  // namespace

bool is_beyond_its_queue(const State& state, const JobState& job) {
  if (state.settings.queues.empty()) return false;
  Result<QueuesSpec> spec = parsed_queues(state.settings.queues);
  if (!spec) return false;
  const QueueTree tree(*std::move(spec));
  QueueLoads all(tree);
  state.for_each_job([&](const JobState& other) {
    if (!is_final(other.row.phase)) all.add(queue_job(tree, other.row, *other.spec, false));
  });
  const QueueScale scale = all.scale(state.ledger.devices_usable(), state.ledger.free());
  const QueueJob own = queue_job(tree, job.row, *job.spec, false);
  return QueueLoads(tree)
      .block(scale, own, use_at(job.row, *job.spec, job.row.min_replicas))
      .has_value();
}

void QueueCheck::say(const std::string& text) {
  found_.add(
      ViolationKind::DecisionWrong, now_, "record " + std::to_string(at_.value) + ": " + text);
}

void QueueCheck::read_tree(const State& state) {
  if (state.settings.queues == text_) return;
  text_ = state.settings.queues;
  tree_.reset();
  denied_.clear();
  Result<QueuesSpec> spec = parsed_queues(text_);
  if (!text_.empty() && spec) tree_ = std::make_unique<QueueTree>(*std::move(spec));
}

std::unique_ptr<QueueCheck::Picture> QueueCheck::picture_of(const State& state,
                                                            const Plan* plan) const {
  auto out = std::make_unique<Picture>(*tree_);
  const auto gives_way = [plan](JobId id) {
    return plan != nullptr &&
           std::any_of(plan->grants.begin(), plan->grants.end(), [id](const Grant& grant) {
             return grant.job == id && !grant.is_remark() && grant.replicas == 0;
           });
  };
  state.for_each_job([&](const JobState& job) {
    if (is_final(job.row.phase)) return;
    QueueJob known = queue_job(*tree_, job.row, *job.spec, tree_->spec().sizes_jobs);
    if (gives_way(job.row.id)) known.use = {};
    out->loads.add(known);
    out->users.push_back(std::move(known.user));
  });
  std::sort(out->users.begin(), out->users.end());
  out->users.erase(std::unique(out->users.begin(), out->users.end()), out->users.end());
  out->scale = out->loads.scale(state.ledger.devices_usable(), state.ledger.free());
  return out;
}

// A plan is judged where it was made on the very state that it meets.
void QueueCheck::comes(const Event& event, const State& before) {
  before_.reset();
  if (before.settings.queues.empty()) return;
  read_tree(before);
  if (tree_ != nullptr && std::holds_alternative<PlanProposed>(event.body))
    before_ = picture_of(before);
}

void QueueCheck::check_limits(const Picture& after) {
  const QueueScale& scale = before_->scale;
  const std::int64_t total = scale.total();
  for (std::uint32_t queue = 1; queue < tree_->size(); ++queue) {
    const std::int64_t used = scale.dominant(after.loads.use(queue));
    const std::int64_t most = tree_->most(queue, total);
    if (used > most && used > scale.dominant(before_->loads.use(queue)))
      say("a plan brings queue " + tree_->name(queue) + " to " + std::to_string(used) +
          " thousandths of devices, " + std::to_string(most) + " are its most");
    if (!tree_->limits_users(queue)) continue;
    for (const std::string& user : after.users) {
      const std::int64_t held = scale.dominant(after.loads.use_of(queue, user));
      const std::int64_t allowed = tree_->user_most(queue, user, total);
      if (held > allowed && held > scale.dominant(before_->loads.use_of(queue, user)))
        say("a plan brings user " + user + " in queue " + tree_->name(queue) + " to " +
            std::to_string(held) + " thousandths of devices, " + std::to_string(allowed) +
            " are allowed");
    }
  }
}

// Whether the job would run if one that holds what others are guaranteed gave way.
bool QueueCheck::could_start(const Picture& now, const State& state, const JobState& job) const {
  const StateView view(state, {}, false);
  const std::vector<std::int64_t> shares =
      queue_shares(*tree_, now.scale, queue_wants(state, *tree_, now.loads, now.scale));
  const QueueJob own = queue_job(*tree_, job.row, *job.spec, false);
  CapacityTrial trial;
  trial.sync(state.ledger.free());
  for (const JobId id : state.holding()) {
    const JobState& other = state.job(id);
    const QueueJob known = queue_job(*tree_, other.row, *other.spec, false);
    const bool over = known.queue != own.queue &&
                      tree_->node(known.queue).parent == tree_->node(own.queue).parent &&
                      now.scale.dominant(now.loads.use(known.queue)) > shares[known.queue];
    if (!over || !may_be_taken(other.row) || !view.partner(id).is_none()) continue;
    const std::size_t mark = trial.mark();
    give_back(view, view.job(id), trial);
    const bool fits = try_start(view, view.job(job.row.id), job.row.min_replicas, trial);
    trial.undo(mark);
    if (fits) return true;
  }
  return false;
}

void QueueCheck::check_guarantees(const Picture& now, const State& state) {
  const std::vector<std::int64_t> guarantees = tree_->guarantees(now.scale.total());
  std::vector<bool> denied(tree_->size(), false);
  state.waiting.for_each([&](const WaitEntry& entry) {
    const JobState& job = state.job(entry.job);
    const QueueJob known = queue_job(*tree_, job.row, *job.spec, false);
    const QueueUse gang = use_at(job.row, *job.spec, job.row.min_replicas);
    QueueUse then = now.loads.use(known.queue);
    then += gang;
    const bool is_guaranteed =
        tree_->node(known.queue).spec.reclaim && tree_->node(known.queue).parent == 0 &&
        now.scale.dominant(then) <= guarantees[known.queue] &&
        state.quota_allows(job, job.row.gang_devices()) && !now.loads.block(now.scale, known, gang);
    if (is_guaranteed && !denied[known.queue] && job.spec->roles.size() == 1 &&
        job.spec->virtual_clusters.empty() && !is_seated(*job.spec))
      denied[known.queue] = could_start(now, state, job);
    return true;
  });
  const Duration patience = tree_->spec().patience;
  const Duration most =
      kTroubleMost + Duration{2 * tree_->spec().period.ns} + Duration{2 * patience.ns};
  for (std::uint32_t queue = 1; queue < tree_->size(); ++queue) {
    if (!denied[queue]) {
      denied_.erase(queue);
      continue;
    }
    auto& [since, plans] = denied_.try_emplace(queue, state.now, 0).first->second;
    ++plans;
    if (plans >= kPlansLeast && state.now - since > most) {
      say("queue " + tree_->name(queue) + " is denied what it is guaranteed since " +
          std::to_string(since.ns / Duration::seconds(1).ns) +
          " s, while a job of another queue beyond its share holds it");
      denied_.erase(queue);
    }
  }
}

void QueueCheck::folded(Instant now, const FoldedRecord& record, const State& after) {
  now_ = now;
  at_ = record.sequence;
  const auto* plan = std::get_if<PlanProposed>(&record.event.body);
  if (before_ == nullptr || plan == nullptr || tree_ == nullptr) return;
  if (plan->view.value + 1 == record.sequence.value) check_limits(*picture_of(after, &plan->plan));
  if (plan->trigger == PlanTrigger::Period) check_guarantees(*picture_of(after), after);
}

}  // namespace orrery::sim
