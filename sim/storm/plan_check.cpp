#include "sim/storm/plan_check.hpp"

#include <algorithm>

namespace orrery::sim {
namespace {

bool is_told_where(const JobSpec& spec) {
  return std::any_of(
      spec.roles.begin(), spec.roles.end(), [](const RoleSpec& role) { return role.is_seated(); });
}

std::vector<NodeCount> nodes_of(const Grant& grant, const Plan& plan) {
  std::vector<NodeCount> nodes;
  for (std::uint32_t i = 0; i < grant.node_count; ++i) {
    const NodeCount& named = plan.nodes[grant.first_node + i];
    const auto here = std::find_if(
        nodes.begin(), nodes.end(), [&](const NodeCount& n) { return n.node == named.node; });
    if (here == nodes.end())
      nodes.push_back(named);
    else
      here->replicas += named.replicas;
  }
  std::sort(nodes.begin(), nodes.end(), [](const NodeCount& a, const NodeCount& b) {
    return a.node < b.node;
  });
  return nodes;
}

// Whether the nodes that it names, if any, are of replicas that it grants.
bool is_sound(const Grant& grant, const Plan& plan) {
  const std::uint64_t end = std::uint64_t{grant.first_node} + grant.node_count;
  if (grant.replicas < 0 || end > plan.nodes.size()) return false;
  if (!grant.beside.is_none() && (grant.node_count > 0 || grant.replicas == 0)) return false;
  std::int64_t sum = 0;
  for (std::uint64_t i = grant.first_node; i < end; ++i) {
    if (plan.nodes[i].replicas < 1) return false;
    sum += plan.nodes[i].replicas;
  }
  return grant.node_count == 0 || sum == grant.replicas;
}

// How many replicas the node can take, for whole devices.
std::int64_t room_on(const State& state, NodeId node, const Demand& demand) {
  const LedgerNode& at = state.ledger.node(node);
  const NodeFree& free = state.ledger.free().at(node);
  if (!at.usable) return 0;
  if (demand.devices > 0 && !demand.model.is_none() && demand.model != at.model) return 0;
  std::int64_t room = INT32_MAX;
  if (demand.devices > 0) room = std::min<std::int64_t>(room, free.devices / demand.devices);
  if (demand.cpu.count > 0) room = std::min(room, free.cpu.count / demand.cpu.count);
  if (demand.memory.count > 0) room = std::min(room, free.memory.count / demand.memory.count);
  return room;
}

}  // namespace

void PlanCheck::say(const std::string& text) {
  found_.add(
      ViolationKind::DecisionWrong, now_, "record " + std::to_string(at_.value) + ": " + text);
}

const PlanCheck::Named* PlanCheck::find(JobId job) const {
  for (const Named& each : named_)
    if (each.job == job) return &each;
  return nullptr;
}

void PlanCheck::comes(const Event& event, const State& before) {
  named_.clear();
  needed_ = JobId::none();
  overdue_ = JobId::none();
  const auto* proposed = std::get_if<PlanProposed>(&event.body);
  if (proposed != nullptr || std::holds_alternative<PlanLost>(event.body))
    before.for_each_job([&](const JobState& job) {
      if (job.timers.earliest() <= event.at) overdue_ = job.row.id;
    });
  if (proposed == nullptr) return;
  for (const Grant& grant : proposed->plan.grants) {
    const JobState* job = before.find(grant.job);
    if (job == nullptr || find(grant.job) != nullptr) continue;
    const JobRow& row = job->row;
    named_.push_back({row.id,
                      row.phase,
                      row.holds,
                      row.preemptible,
                      row.infeasible,
                      row.elastic,
                      row.replicas,
                      row.min_replicas,
                      row.max_replicas,
                      row.quota_group != UINT32_MAX || row.quota_namespace != UINT32_MAX,
                      job->elastic_nodes});
  }
  if (!proposed->plan.grants.empty() &&
      must_be_granted(proposed->plan.grants.front(), proposed->plan, before))
    needed_ = proposed->plan.grants.front().job;
}

// The first grant, of a job that waits, of one role that sits anywhere and takes whole devices.
bool PlanCheck::must_be_granted(const Grant& grant, const Plan& plan, const State& before) const {
  const JobState* job = before.find(grant.job);
  if (job == nullptr || !is_sound(grant, plan) || before.settings.rules < 4) return false;
  const auto named = std::count_if(plan.grants.begin(), plan.grants.end(), [&](const Grant& other) {
    return other.job == grant.job;
  });
  if (named > 1) return false;
  const JobRow& row = job->row;
  const bool simple = job->role_count() == 1 && !is_told_where(*job->spec) &&
                      row.demand.share.is_whole() && grant.beside.is_none() &&
                      grant.role.is_none() && job->spec->family == JobFamily::Native &&
                      job->spec->roles[0].command.empty();
  const bool waits = row.phase == JobPhase::Pending && !row.holds && !row.infeasible;
  // Without nodes it is cut to what the job may have, and starts as small as it may where that is
  // all there is room for.
  const bool fits_bounds = grant.replicas >= row.min_replicas &&
                           (grant.node_count == 0 || grant.replicas <= row.max_replicas);
  if (!simple || !waits || !fits_bounds) return false;
  const std::int32_t devices = std::min(grant.replicas, row.max_replicas) * row.demand.devices;
  for (const QuotaUse& use : before.quotas) {
    const std::string space = "namespace/" + job->spec->name.substr(0, job->spec->name.find('.'));
    const bool counts = use.quota.scope == space || use.quota.scope == "group/" + *job->spec->group;
    if (counts && devices > use.quota.devices - use.held) return false;
  }
  if (grant.node_count > 0) {
    for (const NodeCount& n : nodes_of(grant, plan))
      if (n.node.index() >= before.nodes.size() || room_on(before, n.node, row.demand) < n.replicas)
        return false;
    return true;
  }
  std::int64_t room = 0;
  for (std::uint32_t n = 0; n < before.nodes.size(); ++n)
    room += room_on(before, NodeId{n}, row.demand);
  return room >= row.min_replicas;
}

// Whether the reason for which a grant is dropped is so.
bool PlanCheck::is_so(const Notice& notice, const PlanProposed& event, const Named& job) const {
  const auto any = [&](auto holds) {
    return std::any_of(event.plan.grants.begin(), event.plan.grants.end(), [&](const Grant& grant) {
      return grant.job == job.job && holds(grant);
    });
  };
  switch (notice.ignored) {
    case Ignored::JobFinished:
      return is_final(job.phase);
    case Ignored::NotInThisPhase:
      if (!job.holds) return job.phase != JobPhase::Pending || job.infeasible;
      return job.phase != JobPhase::Starting && job.phase != JobPhase::Running;
    case Ignored::FixedJob:
      return job.holds && !job.preemptible;
    case Ignored::AlreadyKnown: {
      const auto same = std::count_if(event.plan.grants.begin(),
                                      event.plan.grants.end(),
                                      [&](const Grant& grant) { return grant.job == job.job; });
      return same > 1 ||
             any([&](const Grant& grant) { return grant.replicas == 0 ? !job.holds : job.holds; });
    }
    case Ignored::OutOfBounds:
      return any([&](const Grant& grant) {
        return grant.replicas < job.least || grant.replicas > job.most ||
               (!grant.role.is_none() && grant.role != job.elastic);
      });
    case Ignored::OverQuota:
      return job.has_quota;
    case Ignored::DoesNotFit:
      return !is_final(job.phase);
    default:
      return false;
  }
}

void PlanCheck::folded(Instant now, const FoldedRecord& record, const State& after) {
  const auto* event = std::get_if<PlanProposed>(&record.event.body);
  now_ = now;
  at_ = record.sequence;
  // All facts of an instant come first, then its timers, then plans.
  if (!overdue_.is_none())
    say("a plan comes before a timer of job " + std::to_string(overdue_.value) + " that is due");
  if (event == nullptr || after.settings.rules < 4) return;
  std::size_t dropped = 0;
  for (const Notice& notice : record.decided.notices) {
    if (notice.kind == NoticeKind::IgnoredReport || notice.kind == NoticeKind::GrantDropped)
      ++dropped;
    if (notice.kind == NoticeKind::IgnoredReport) {
      const bool unknown = std::any_of(
          event->plan.grants.begin(), event->plan.grants.end(), [&](const Grant& grant) {
            const Named* job = find(grant.job);  // One that is over may be forgotten just then.
            return job == nullptr || is_final(job->phase);
          });
      const bool unsound = std::any_of(
          event->plan.grants.begin(), event->plan.grants.end(), [&](const Grant& grant) {
            return !is_sound(grant, event->plan);
          });
      // Why it waits is told only of a job that does.
      const bool remarked_in_vain = std::any_of(
          event->plan.grants.begin(), event->plan.grants.end(), [&](const Grant& grant) {
            const Named* job = find(grant.job);
            return grant.is_remark() && job != nullptr &&
                   (job->phase != JobPhase::Pending || job->holds || job->infeasible);
          });
      const bool so = notice.ignored == Ignored::UnknownJob         ? unknown
                      : notice.ignored == Ignored::BadSpecification ? unsound
                      : notice.ignored == Ignored::NotInThisPhase   ? remarked_in_vain
                                                                    : false;
      if (!so)
        say("a grant is ignored as " + std::string(to_string(notice.ignored)) +
            ", which is not so");
    }
    if (notice.kind != NoticeKind::GrantDropped) continue;
    const Named* job = find(notice.job);
    if (job == nullptr || !is_so(notice, *event, *job))
      say("a grant to job " + std::to_string(notice.job.value) + " is dropped as " +
          std::string(to_string(notice.ignored)) + ", which is not so");
    if (notice.job == needed_)
      say("the first grant of a plan, to job " + std::to_string(notice.job.value) +
          ", is dropped as " + std::string(to_string(notice.ignored)) + ", there is room for it");
  }
  if (dropped > event->plan.grants.size()) say("more grants are dropped than there are");
  check_done(record, *event, after);
}

// Of what is granted and not as it was something is told.
void PlanCheck::check_word(const FoldedRecord& record,
                           const PlanProposed& event,
                           const Named& job) {
  const bool any = std::any_of(
      record.decided.notices.begin(), record.decided.notices.end(), [&](const Notice& notice) {
        return notice.job == job.job && notice.kind != NoticeKind::GrantClipped;
      });
  if (any) return;
  for (const Grant& grant : event.plan.grants) {
    if (grant.job != job.job) continue;
    const bool other_role = !grant.role.is_none() && grant.role != job.elastic;
    const bool is_so = job.holds && grant.replicas == job.replicas;
    if (is_sound(grant, event.plan) && (other_role || !is_so))
      return say("a grant to job " + std::to_string(job.job.value) +
                 " is passed over without a word");
    return;
  }
}

// What changed by the plan is what it says.
void PlanCheck::check_done(const FoldedRecord& record,
                           const PlanProposed& event,
                           const State& after) {
  for (const Notice& notice : record.decided.notices) {
    const Named* job = find(notice.job);
    const bool by_plan = notice.kind == NoticeKind::PhaseChanged &&
                         (notice.reason == Reason::Rescaled || notice.reason == Reason::Moved ||
                          notice.reason == Reason::Preempted) &&
                         notice.to == JobPhase::Rescheduling;
    if (by_plan && job != nullptr && notice.reason != Reason::Rescaled &&
        (!job->preemptible || !job->holds))
      say("job " + std::to_string(notice.job.value) + " is moved by a plan and is fixed, or waits");
  }
  for (const Named& job : named_) {
    const JobState* now = after.find(job.job);
    const bool allocated = std::any_of(
        record.decided.notices.begin(), record.decided.notices.end(), [&](const Notice& notice) {
          return notice.kind == NoticeKind::Allocated && notice.job == job.job;
        });
    const std::string name = "job " + std::to_string(job.job.value) + " ";
    if (now == nullptr) continue;
    if (is_final(job.phase) && allocated) say(name + "is over and was given something");
    if (needed_ == job.job && !now->row.holds && !is_final(now->row.phase))
      say(name + "was granted first, there was room, and it holds nothing");
    check_word(record, event, job);
    // What waits changes by a grant alone.
    if (job.holds || !allocated || !now->row.holds || now->targets->size() > 0) continue;
    const bool right =
        std::any_of(event.plan.grants.begin(), event.plan.grants.end(), [&](const Grant& grant) {
          if (grant.job != job.job || !is_sound(grant, event.plan) || grant.replicas < 1)
            return false;
          const std::int32_t replicas = now->row.replicas;
          if (grant.node_count > 0 && !is_told_where(*now->spec))
            return replicas == grant.replicas && now->elastic_nodes == nodes_of(grant, event.plan);
          // One that is elastic may start smaller.
          return replicas <= grant.replicas && replicas >= job.least && replicas <= job.most;
        });
    if (!right) say(name + "waited and got something else than was granted");
    if (job.phase != JobPhase::Pending || job.infeasible)
      say(name + "was not in the queue and was granted something");
  }
  for (const QuotaUse& use : after.quotas)
    if (use.held > use.quota.devices && std::any_of(record.decided.notices.begin(),
                                                    record.decided.notices.end(),
                                                    [&](const Notice& notice) {
                                                      const Named* job = find(notice.job);
                                                      return notice.kind == NoticeKind::Allocated &&
                                                             job != nullptr && !job->holds &&
                                                             job->has_quota && notice.devices > 0;
                                                    }))
      say("quota " + use.quota.scope + " of " + std::to_string(use.quota.devices) +
          " devices is passed by a plan");
}

}  // namespace orrery::sim
