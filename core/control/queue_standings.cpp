#include "core/control/queue_standings.hpp"

#include <algorithm>
#include <utility>

#include "core/base/amount_text.hpp"
#include "core/job/phase.hpp"
#include "core/queues/queue_text.hpp"
#include "core/queues/vain_wants.hpp"

namespace orrery {
namespace {

double devices_in(std::int64_t thousandths) { return static_cast<double>(thousandths) / 1000; }

// "16 devices", "0.5 devices".
std::string devices_text(std::int64_t thousandths) {
  const std::string number = QueueAmount{thousandths, false}.text();
  return number + (thousandths == 1000 ? " device" : " devices");
}

}  // namespace

std::vector<QueueUse> queue_wants(const State& state,
                                  const QueueTree& tree,
                                  const QueueLoads& loads,
                                  const QueueScale& scale) {
  // Where all devices are there, what waits is no more than the cluster has, or infeasible.
  const bool all_there =
      !scale.cpu && !scale.memory && state.ledger.devices_usable() == state.ledger.devices_total();
  if (state.quotas.empty() && !tree.may_bar() && all_there) return loads.wants(scale);
  const bool sizes_jobs = tree.spec().sizes_jobs;
  VainWants vain(loads, scale);
  const auto allowed = [&](const QueueJob& known, const JobState& job) {
    return within_quotas(known, job.row, *job.spec, sizes_jobs, [&](std::int32_t devices) {
      return state.quota_allows(job, devices);
    });
  };
  for (const JobId id : state.holding()) {
    if (state.quotas.empty()) break;
    const JobState& job = state.job(id);
    const QueueJob known = queue_job(tree, job.row, *job.spec, sizes_jobs);
    vain.look_holding(known, allowed(known, job));
  }
  state.waiting.for_each([&](const WaitEntry& entry) {
    const JobState& job = state.job(entry.job);
    if (!vain.looks_at(tree.queue_of(*job.spec->group))) return true;
    const QueueJob known = queue_job(tree, job.row, *job.spec, sizes_jobs);
    vain.look_waiting(known, use_at(job.row, *job.spec, job.row.min_replicas), allowed(known, job));
    return true;
  });
  return loads.wants(scale, vain.found());
}

void QueueStandings::look(const State& state) {
  const std::string& text = state.settings.queues;
  if (parts_ == nullptr || parts_->text != text) {
    parts_ = nullptr;
    if (text.empty()) return;
    Result<QueuesSpec> spec = parsed_queues(text);
    // A journal of another program may have keys that this one does not know.
    if (!spec) return;
    parts_ = std::make_unique<Parts>(text, *std::move(spec));
  }
  Parts& p = *parts_;
  p.loads.clear();
  state.for_each_job([&](const JobState& job) {
    if (!is_final(job.row.phase))
      p.loads.add(queue_job(p.tree, job.row, *job.spec, p.tree.spec().sizes_jobs));
  });
  p.scale = p.loads.scale(state.ledger.devices_usable(), state.ledger.free());
  p.declared = std::int64_t{state.ledger.devices_total()} * 1000;
  p.shares = queue_shares(p.tree, p.scale, queue_wants(state, p.tree, p.loads, p.scale));
}

QueueStanding QueueStandings::standing(std::uint32_t queue, std::int32_t depth) const {
  const Parts& p = *parts_;
  const QueueSpec& spec = p.tree.node(queue).spec;
  const std::int64_t total = p.scale.total();
  const std::int64_t guarantee = p.tree.guarantees(total)[queue];
  const std::int64_t most = p.tree.most(queue, total);
  const std::int64_t used = p.scale.dominant(p.loads.use(queue));
  QueueStanding out;
  out.name = spec.name;
  out.parent = spec.parent;
  out.depth = depth;
  out.weight = spec.weight;
  out.priority = spec.priority;
  out.guarantee = devices_in(guarantee);
  out.limit = most == INT64_MAX ? 0 : devices_in(most);
  out.share = devices_in(p.shares[queue]);
  out.used = devices_in(used);
  out.borrowed = devices_in(std::max<std::int64_t>(0, used - guarantee));
  out.jobs_holding = p.loads.holding(queue);
  out.jobs_waiting = p.loads.waiting(queue);
  return out;
}

void QueueStandings::append(std::uint32_t queue,
                            std::int32_t depth,
                            std::vector<QueueStanding>& out) const {
  for (const std::uint32_t child : parts_->tree.node(queue).children) {
    out.push_back(standing(child, depth));
    append(child, depth + 1, out);
  }
}

std::vector<QueueStanding> QueueStandings::list() const {
  std::vector<QueueStanding> out;
  if (any()) append(0, 0, out);
  return out;
}

std::string QueueStandings::blocked_text(const QueueJob& known,
                                         const QueueBlock& block,
                                         std::int64_t gang) const {
  const Parts& p = *parts_;
  const std::int64_t total = p.scale.total();
  const std::string& name = p.tree.name(block.queue);
  // `most_of` what there is, now or with all nodes; `use` of that is held.
  const auto at_limit = [&](const std::string& whose, const auto& most_of, const QueueUse& use) {
    if (const std::int64_t ever = most_of(std::max(total, p.declared)); gang > ever)
      return whose + " may never hold more than " + devices_text(ever);
    return whose + " may hold " + devices_text(most_of(total)) + " and holds " +
           QueueAmount{p.scale.dominant(use), false}.text();
  };
  switch (block.cause) {
    case QueueCause::Limit:
      return at_limit(
          "its queue " + name,
          [&](std::int64_t of) { return p.tree.most(block.queue, of); },
          p.loads.use(block.queue));
    case QueueCause::UserLimit:
      return at_limit(
          "in queue " + name + " user " + known.user,
          [&](std::int64_t of) { return p.tree.user_most(block.queue, known.user, of); },
          p.loads.use_of(block.queue, known.user));
    case QueueCause::Guarantee:
      return "what is left is guaranteed to other queues, and a job that is not preemptible may "
             "not borrow it";
    case QueueCause::Share:
      return "its queue " + name + " has its share: it holds " +
             devices_text(p.scale.dominant(p.loads.use(block.queue))) + " of " +
             QueueAmount{p.shares[block.queue], false}.text() +
             ", and other queues ask for the rest";
  }
  return {};
}

std::string QueueStandings::why_waiting(const JobState& job) const {
  if (!any() || job.row.infeasible) return {};
  const Parts& p = *parts_;
  const QueueJob known = queue_job(p.tree, job.row, *job.spec, p.tree.spec().sizes_jobs);
  const QueueUse gang = use_at(job.row, *job.spec, job.row.min_replicas);
  const std::int64_t dominant = p.scale.dominant(gang);
  if (const auto block = p.loads.block(p.scale, known, gang))
    return blocked_text(known, *block, dominant);
  // A queue that has its share waits where the cluster is full; else nothing keeps it from
  // borrowing.
  for (std::uint32_t queue = known.queue; queue != 0; queue = p.tree.node(queue).parent)
    if (p.scale.dominant(p.loads.use(queue)) >= p.shares[queue] && p.shares[queue] > 0)
      return blocked_text(known, {QueueCause::Share, queue}, dominant);
  return {};
}

}  // namespace orrery
