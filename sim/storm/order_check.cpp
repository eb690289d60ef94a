#include "sim/storm/order_check.hpp"

#include <algorithm>
#include <utility>

#include "core/state/past_requests.hpp"

namespace orrery::sim {
namespace {

Rank first_rank_of(const WorkerStart& start) {
  return start.birth_rank.is_none() ? start.rank : start.birth_rank;
}

Rank first_rank_of(const WorkerStop& stop) {
  return stop.birth_rank.is_none() ? stop.rank : stop.birth_rank;
}

const Worker* worker_of(const JobState& job, Incarnation incarnation, Rank birth_rank) {
  for (const Worker& worker : job.workers)
    if (worker.incarnation == incarnation && worker.birth_rank == birth_rank) return &worker;
  return nullptr;
}

// Whether the order tells of the worker what is so.
bool is_same(const WorkerStart& start, const Worker& worker) {
  return start.role == worker.role && start.local_rank == worker.local_rank &&
         start.node == worker.node && start.devices == worker.devices &&
         start.share == worker.share && start.hardware == worker.hardware &&
         start.first_port == worker.first_port && start.beside == worker.beside;
}

template <class Order, class Visit>
void for_each_order(const FoldedRecord& record, Visit visit) {
  for (const CommandBody& body : record.decided.orders)
    if (const auto* order = std::get_if<Order>(&body)) visit(*order);
}

// Whether the sub-master is stopped by an order behind the word: its agent hears both in this
// order, so that the word is void.
bool is_stopped_after(const FoldedRecord& record, const TellSubMaster& word, const Worker& master) {
  bool told = false;
  for (const CommandBody& body : record.decided.orders) {
    if (std::get_if<TellSubMaster>(&body) == &word) told = true;
    const auto* stop = std::get_if<StopWorkers>(&body);
    if (!told || stop == nullptr || stop->job != word.job) continue;
    if (std::any_of(stop->workers.begin(), stop->workers.end(), [&](const WorkerStop& each) {
          return each.incarnation == master.incarnation && first_rank_of(each) == master.birth_rank;
        }))
      return true;
  }
  return false;
}

// Sizes at which the role may be; empty: any.
bool may_be(const RoleSpec& role, std::int64_t replicas) {
  if (role.workers.is_set()) return false;
  return role.placements.empty() ||
         std::any_of(role.placements.begin(), role.placements.end(), [&](const auto& placement) {
           return placement.replicas == replicas;
         });
}

}  // namespace

void OrderCheck::say(const std::string& text) {
  found_.add(ViolationKind::OrderWrong, now_, "record " + std::to_string(at_.value) + ": " + text);
}

void OrderCheck::begin_again() {
  expected_.reset();
  accepted_.clear();
  stopped_.clear();
  allocated_.clear();
}

void OrderCheck::comes(const Event& event, const State& before) {
  expected_.reset();
  if (const auto* submitted = std::get_if<JobSubmitted>(&event.body)) {
    expect(*submitted, before);
  } else if (const auto* scale = std::get_if<ScaleRequested>(&event.body)) {
    expect(*scale, before);
  } else if (const auto* stop = std::get_if<StopRequested>(&event.body)) {
    expected_ = {stop->request, stop->job, true, {}, {}};
    expect_refusal(before.find(stop->job));
  } else if (const auto* change = std::get_if<JobChanged>(&event.body)) {
    expected_ = {change->request, change->job, true, {}, {}};
    expect_refusal(before.find(change->job));
  } else if (const auto* deletion = std::get_if<DeleteRequested>(&event.body)) {
    expected_ = {deletion->request, deletion->job, true, {}, {}};
    const JobState* job = before.find(deletion->job);
    if (job == nullptr) expect_refusal(nullptr);
    if (job != nullptr && is_final(job->row.phase)) expected_.reset();
  } else if (const auto* exclusion = std::get_if<ExclusionRequested>(&event.body);
             exclusion != nullptr && exclusion->request > 0) {
    expected_ = {exclusion->request, JobId::none(), true, {}, {}};
    if (exclusion->node.index() >= before.nodes.size()) {
      expected_->accepted = false;
      expected_->words = {"no such node"};
    }
  }
}

// Nothing can be asked of a job that is not there any more, or over.
void OrderCheck::expect_refusal(const JobState* job) {
  if (job != nullptr && !is_final(job->row.phase)) return;
  expected_->accepted = false;
  expected_->words = {job == nullptr ? "no such job" : job->spec->name + ": the job has ended"};
  // It may be forgotten just then.
  if (job != nullptr) expected_->or_else = "no such job";
}

void OrderCheck::expect(const JobSubmitted& event, const State& before) {
  expected_ = {event.request, before.next_job(), true, {}, {}};
  const std::string& name = event.spec->name;
  // What was asked before is answered as before, for a while beyond the life of its job. Rules
  // before 2 know only the youngest job of a name.
  const bool all = before.settings.rules >= 2;
  for (Accepted& each : accepted_)
    if (each.gone.is_never() && before.find(each.job) == nullptr) each.gone = before.now;
  const auto known = std::find_if(accepted_.rbegin(), accepted_.rend(), [&](const Accepted& each) {
    return event.request != 0 && each.request == event.request;
  });
  const JobState* youngest = nullptr;
  before.for_each_job([&](const JobState& job) {
    if (job.spec->name == name) youngest = &job;
  });
  if (known != accepted_.rend()) {
    // Those that are forgotten just then are not judged.
    if (!known->gone.is_never() || !all) return expected_.reset();
    expected_->job = known->job;
  } else if (youngest != nullptr && !is_final(youngest->row.phase)) {
    expected_->job = JobId::none();
    expected_->accepted = false;
    expected_->words = {name + ": a live job has this name"};
  } else if (std::any_of(event.spec->roles.begin(),
                         event.spec->roles.end(),
                         [](const RoleSpec& role) { return role.is_seated(); })) {
    expected_.reset();  // Its seats may be none.
  }
}

void OrderCheck::expect(const ScaleRequested& event, const State& before) {
  expected_ = {event.request, event.job, true, {}, {}};
  const JobState* job = before.find(event.job);
  expect_refusal(job);
  if (!expected_->accepted) return;
  const auto refuse = [&](std::vector<std::string> words) {
    expected_->accepted = false;
    expected_->words = std::move(words);
  };
  if (!event.role.is_none() && event.role.index() >= job->role_count())
    return refuse({job->spec->name + ": no role"});
  if (event.mode == ScaleMode::Clear) return;
  for (std::size_t r = 0; r < job->role_count(); ++r) {
    const RoleSpec& role = job->spec->roles[r];
    const bool leads = !role.master_of.is_none();
    if (event.role.is_none() ? leads : event.role.index() != r) continue;
    const bool sized = job->row.preemptible && job->row.elastic.index() == r &&
                       !job->sized_by_user && (role.is_elastic() || !event.any_fixed_size);
    const std::int32_t target = r < job->targets->size() ? (*job->targets)[r] : 0;
    std::int64_t base = target > 0 ? target : role.min_replicas;
    if (sized) {
      base = job->row.holds ? job->row.replicas : (target > 0 ? target : role.max_replicas);
      if (event.mode == ScaleMode::Add && before.settings.rules >= 1)
        base = std::max<std::int64_t>(base, target);
    }
    const std::int64_t wanted = event.mode == ScaleMode::Set   ? event.replicas
                                : event.mode == ScaleMode::Add ? base + event.replicas
                                                               : base - event.replicas;
    const bool bound = role.is_elastic() || sized;
    const std::int64_t low = leads || !bound ? 1 : role.min_replicas;
    const std::int64_t high = leads ? 1 : (bound ? role.max_replicas : kReplicasMax);
    const std::string would =
        "role " + role.name + " would have " + std::to_string(wanted) + " replicas, ";
    if (event.replicas < 1 || wanted < low || wanted > high)
      return refuse({would + std::to_string(low) + " to " + std::to_string(high)});
    if (!may_be(role, wanted)) return refuse({would});
  }
}

void OrderCheck::folded(Instant now, const FoldedRecord& record, const State& after) {
  now_ = now;
  at_ = record.sequence;
  check_answers(record, after);
  if (!record.decided.orders.empty()) {
    for_each_order<StartWorkers>(
        record, [&](const StartWorkers& order) { check_start(record, order, after); });
    for_each_order<UpdateMembership>(
        record, [&](const UpdateMembership& order) { check_update(order, after); });
    for_each_order<StopWorkers>(
        record, [&](const StopWorkers& order) { check_stop(record, order, after); });
    // What was said before within the record may be over.
    for_each_order<TellSubMaster>(record, [&](const TellSubMaster& order) {
      const TellSubMaster* last = nullptr;
      for_each_order<TellSubMaster>(record, [&](const TellSubMaster& other) {
        if (other.job == order.job) last = &other;
      });
      if (last == &order) check_master(record, order, after);
    });
    for_each_order<RelaunchNodes>(
        record, [&](const RelaunchNodes& order) { check_relaunch(order, after); });
  }
  check_list(record, after);
  check_missing(record, after);
  check_cleaning(record, after);
  check_notices(record, after);
}

void OrderCheck::check_answers(const FoldedRecord& record, const State&) {
  const auto* submitted = std::get_if<JobSubmitted>(&record.event.body);
  int answers = 0;
  for_each_order<AnswerRequest>(record, [&](const AnswerRequest& answer) {
    ++answers;
    if (submitted != nullptr && answer.accepted) {
      const bool again = std::any_of(accepted_.begin(), accepted_.end(), [&](const Accepted& each) {
        return each.request == answer.request && each.job == answer.job;
      });
      if (!again) accepted_.push_back({answer.request, answer.job});
    }
    if (!expected_) return;
    const std::string request = "request " + std::to_string(expected_->request);
    if (answer.request != expected_->request)
      say("the answer to " + request + " is for request " + std::to_string(answer.request));
    // A change may be refused for what its specification says.
    const bool may_refuse = std::holds_alternative<JobChanged>(record.event.body);
    if (answer.accepted != expected_->accepted && (answer.accepted || !may_refuse))
      say(request + " was " + (answer.accepted ? "accepted" : "refused: " + answer.message) +
          ", which what was so before does not allow");
    if (answer.job != expected_->job)
      say("the answer to " + request + " names job " + std::to_string(answer.job.value) +
          ", it is job " + std::to_string(expected_->job.value));
    if (!answer.accepted && !expected_->accepted)
      for (const std::string& words : expected_->words)
        if (answer.message.find(words) == std::string::npos &&
            (expected_->or_else.empty() || answer.message != expected_->or_else))
          say(request + " was refused with \"" + answer.message + "\", which does not say \"" +
              words + "\"");
  });
  if (expected_ && answers != 1)
    say("request " + std::to_string(expected_->request) + " has " + std::to_string(answers) +
        " answers");
  const bool is_request = expected_ || submitted != nullptr ||
                          std::holds_alternative<DeleteRequested>(record.event.body);
  if (!is_request && answers > 0) say("an answer was given, nobody has asked");
}

void OrderCheck::check_start(const FoldedRecord& record,
                             const StartWorkers& order,
                             const State& after) {
  const JobState* job = after.find(order.job);
  const std::string name =
      job == nullptr ? "job " + std::to_string(order.job.value) : job->spec->name;
  if (order.workers.empty()) say(name + ": a start of nobody was ordered");
  if (job == nullptr || is_final(job->row.phase)) return;
  for (std::size_t i = 0; i < order.workers.size(); ++i) {
    const WorkerStart& start = order.workers[i];
    for (std::size_t k = 0; k < i; ++k)
      if (order.workers[k].rank == start.rank) say(name + ": two starts have one rank");
    const Worker* worker = worker_of(*job, start.incarnation, first_rank_of(start));
    // What was taken back within the record is stopped again.
    if (worker == nullptr || worker->state != WorkerState::Starting) continue;
    if (!is_same(start, *worker) || order.generation != worker->born)
      say(name + ": a start was ordered otherwise than its worker is known");
    if (worker->ordered != record.sequence)
      say(name + ": a start is not known to have been ordered now");
    if (order.world_size != job->workers.size() && order.generation == job->row.generation)
      say(name + ": a start tells another size than the job has");
  }
}

void OrderCheck::check_update(const UpdateMembership& order, const State& after) {
  const JobState* job = after.find(order.job);
  if (job == nullptr || is_final(job->row.phase) || order.generation != job->row.generation) return;
  const std::string& name = job->spec->name;
  bool right =
      order.members.size() == job->workers.size() && order.world_size == job->workers.size();
  for (std::size_t rank = 0; right && rank < job->workers.size(); ++rank) {
    const WorkerStart& member = order.members[rank];
    const Worker& worker = job->workers[rank];
    right = member.rank.index() == rank && member.incarnation == worker.incarnation &&
            member.birth_rank == worker.birth_rank && is_same(member, worker);
  }
  if (!right) say(name + ": a membership is told otherwise than it is known");
  const bool needed =
      std::any_of(job->workers.begin(), job->workers.end(), [&](const Worker& worker) {
        return worker.born != job->row.generation;
      });
  if (!needed) say(name + ": a membership is told to nobody who does not know it");
}

void OrderCheck::check_stop(const FoldedRecord& record,
                            const StopWorkers& order,
                            const State& after) {
  const JobState* job = after.find(order.job);
  const std::string name =
      job == nullptr ? "job " + std::to_string(order.job.value) : job->spec->name;
  if (order.workers.empty()) say(name + ": a stop of nobody was ordered");
  const auto* list = std::get_if<NodeReturned>(&record.event.body);
  for (std::size_t i = 0; i < order.workers.size(); ++i) {
    const WorkerStop& stop = order.workers[i];
    for (std::size_t k = 0; k < i; ++k)
      if (order.workers[k].rank == stop.rank) say(name + ": a worker is stopped twice by an order");
    const ProcessName process{order.job, stop.incarnation, first_rank_of(stop)};
    const bool listed =
        list != nullptr && list->node == stop.node &&
        std::any_of(list->workers.begin(), list->workers.end(), [&](const RunningWorker& each) {
          return each.job == order.job && each.incarnation == stop.incarnation &&
                 each.rank == process.birth_rank;
        });
    const Worker* worker =
        job == nullptr ? nullptr : worker_of(*job, stop.incarnation, process.birth_rank);
    if (worker != nullptr && worker->node != stop.node && !listed)
      say(name + ": a worker is stopped on node " + std::to_string(stop.node.value) +
          ", it is on node " + std::to_string(worker->node.value));
    if (after.nodes[stop.node.index()].silent && order.grace > Duration::zero())
      say(name + ": a worker is asked to stop on node " + std::to_string(stop.node.value) +
          ", which is silent");
    if (worker != nullptr && worker->is_alive() && worker->state != WorkerState::Draining)
      say(name + ": a worker is stopped and is not known to be");
    stopped_.insert(process);
  }
}

// A node runs nothing that it should not, as far as it can be told.
void OrderCheck::check_list(const FoldedRecord& record, const State& after) {
  const auto* list = std::get_if<NodeReturned>(&record.event.body);
  if (list == nullptr || list->node.index() >= after.nodes.size()) return;
  for (const RunningWorker& listed : list->workers) {
    const JobState* job = after.find(listed.job);
    const Worker* worker =
        job == nullptr ? nullptr : worker_of(*job, listed.incarnation, listed.rank);
    const bool goes_on =
        worker != nullptr && worker->node == list->node &&
        (worker->state == WorkerState::Starting || worker->state == WorkerState::Ready);
    bool stopped = false;
    for_each_order<StopWorkers>(record, [&](const StopWorkers& order) {
      for (const WorkerStop& stop : order.workers)
        stopped = stopped || (order.job == listed.job && stop.node == list->node &&
                              stop.incarnation == listed.incarnation &&
                              (first_rank_of(stop) == listed.rank || stop.rank == listed.rank));
    });
    if (goes_on || stopped || after.nodes[list->node.index()].silent) continue;
    // One that is known by another rank than its first.
    if (job != nullptr && worker == nullptr && listed.generation >= job->row.generation) continue;
    say("node " + std::to_string(list->node.value) + " runs a worker of job " +
        std::to_string(listed.job.value) + " that it should not, and is not told to stop it");
  }
}

// What the state says was ordered, was.
void OrderCheck::check_missing(const FoldedRecord& record, const State& after) {
  std::vector<JobId> named;
  for (const Notice& notice : record.decided.notices)
    if (!notice.job.is_none()) named.push_back(notice.job);
  for (const CommandBody& body : record.decided.orders) {
    if (const auto* start = std::get_if<StartWorkers>(&body)) named.push_back(start->job);
    if (const auto* stop = std::get_if<StopWorkers>(&body)) named.push_back(stop->job);
  }
  std::sort(named.begin(), named.end());
  named.erase(std::unique(named.begin(), named.end()), named.end());
  for (const JobId id : named) {
    const JobState* job = after.find(id);
    if (job == nullptr) continue;
    const std::string& name = job->spec->name;
    check_allocation(record, after, *job);
    bool stays = false;
    for (std::uint32_t rank = 0; rank < job->workers.size(); ++rank) {
      const Worker& worker = job->workers[rank];
      const ProcessName process{id, worker.incarnation, worker.birth_rank};
      if (worker.is_gone()) stopped_.erase(process);
      if (worker.state == WorkerState::Draining && !stopped_.contains(process))
        say(name + ": a worker is taken to be stopping and was not told to");
      if (worker.is_alive() && worker.born != job->row.generation) stays = true;
      if (worker.state != WorkerState::Starting || worker.ordered != record.sequence) continue;
      bool ordered = false;
      for_each_order<StartWorkers>(record, [&](const StartWorkers& order) {
        if (order.job != id) return;
        for (const WorkerStart& start : order.workers)
          ordered = ordered || (start.incarnation == worker.incarnation &&
                                first_rank_of(start) == worker.birth_rank);
      });
      if (!ordered) say(name + ": a worker is taken to be starting and its start was not ordered");
    }
    bool changed = false;
    for (const Notice& notice : record.decided.notices)
      changed = changed || (notice.job == id && notice.kind == NoticeKind::PhaseChanged &&
                            notice.to == JobPhase::Starting);
    if (!changed || !stays || is_final(job->row.phase)) continue;
    bool told = false;
    for_each_order<UpdateMembership>(record, [&](const UpdateMembership& order) {
      told = told || (order.job == id && order.generation == job->row.generation);
    });
    if (!told) say(name + ": its membership changed and those who stay are not told");
  }
}

// What a job holds of its elastic role is told when it has changed, and then alone.
void OrderCheck::check_allocation(const FoldedRecord& record,
                                  const State& after,
                                  const JobState& job) {
  if (is_final(job.row.phase)) {
    allocated_.erase(job.row.id);
    return;
  }
  const bool told = std::any_of(
      record.decided.notices.begin(), record.decided.notices.end(), [&](const Notice& notice) {
        return notice.kind == NoticeKind::Allocated && notice.job == job.row.id;
      });
  // What goes back to the queue is told when its workers have ended.
  if (job.after_drain == AfterDrain::Wait) return;
  Places now{{}, job.row.devices_held, job.after_drain == AfterDrain::Start};
  for (const Worker& worker : job.after_drain == AfterDrain::Start ? job.next : job.workers)
    if (worker.role == job.row.elastic) now.workers.emplace_back(worker.role, worker.node);
  std::sort(now.workers.begin(), now.workers.end());
  Places& before = allocated_[job.row.id];
  // Between two changes of one record it may have come back to what it was.
  const auto changes = std::count_if(
      record.decided.notices.begin(), record.decided.notices.end(), [&](const Notice& notice) {
        return notice.kind == NoticeKind::Allocated && notice.job == job.row.id;
      });
  // Its other roles may have moved.
  if (told && changes == 1 && job.role_count() == 1 && now == before)
    say(job.spec->name + ": it is told to hold something else, and holds what it did");
  // Before rules 4 a membership that was dropped before it began was not.
  const bool is_dropped = after.settings.rules < 4 && before.of_next && !now.of_next;
  if (!told && now != before && !is_dropped)
    say(job.spec->name + ": it holds something else than before, which is not told");
  before = std::move(now);
}

void OrderCheck::check_cleaning(const FoldedRecord& record, const State& after) {
  for_each_order<CleanJob>(record, [&](const CleanJob& order) {
    const JobState* job = after.find(order.job);
    const bool ends = std::any_of(
        record.decided.notices.begin(), record.decided.notices.end(), [&](const Notice& notice) {
          return notice.job == order.job && notice.kind == NoticeKind::PhaseChanged &&
                 is_final(notice.to);
        });
    if (!ends) say("job " + std::to_string(order.job.value) + " is cleaned up and has not ended");
    if (job != nullptr && order.policy != job->spec->clean_pods)
      say(job->spec->name + ": it is cleaned up otherwise than it asks for");
  });
  for (const Notice& notice : record.decided.notices) {
    if (notice.kind != NoticeKind::PhaseChanged || !is_final(notice.to)) continue;
    const JobState* job = after.find(notice.job);
    if (job == nullptr) continue;
    int cleanings = 0;
    for_each_order<CleanJob>(
        record, [&](const CleanJob& order) { cleanings += order.job == notice.job ? 1 : 0; });
    const int needed = job->started_at.is_never() ? 0 : 1;
    if (cleanings != needed)
      say(job->spec->name + ": it has ended and is cleaned up " + std::to_string(cleanings) +
          " times");
    const bool keeps =
        job->spec->clean_pods == CleanPodPolicy::None && notice.reason != Reason::StoppedByUser;
    for (const Worker& worker : job->workers)
      if (!keeps && (worker.state == WorkerState::Ready || worker.state == WorkerState::Starting))
        say(job->spec->name + ": it has ended and a worker is not told to stop");
  }
}

void OrderCheck::check_master(const FoldedRecord& record,
                              const TellSubMaster& order,
                              const State& after) {
  const JobState* job = after.find(order.job);
  if (job == nullptr || job->failover->led == LedRecovery::None ||
      job->failover->told != order.incarnation)
    return;
  const std::string& name = job->spec->name;
  const Worker* master = nullptr;
  for (const Worker& worker : job->workers)
    if (worker.role == order.master && worker.incarnation == order.incarnation) master = &worker;
  if (master != nullptr && master->state == WorkerState::Draining &&
      is_stopped_after(record, order, *master))
    return;
  if (master == nullptr || master->state != WorkerState::Ready || master->node != order.node)
    say(name + ": a word goes to a sub-master that is not there");
  if (order.incident != job->failover->open.number || order.role != job->failover->led_role ||
      job->spec->roles[order.master.index()].master_of != order.role)
    say(name + ": a sub-master is told of another recovery than is under way");
  const bool restarted = job->failover->led == LedRecovery::Restarted;
  if (restarted != (order.word == SubMasterOrder::Restarted))
    say(name + ": a sub-master is told another stage than is so");
}

void OrderCheck::check_relaunch(const RelaunchNodes& order, const State& after) {
  const JobState* job = after.find(order.job);
  if (job == nullptr || job->failover->relaunching.empty()) return;
  const std::string& name = job->spec->name;
  const FailoverSpec& limits = *job->spec->failover;
  if (order.nodes != job->failover->relaunching || order.incident != job->failover->open.number)
    say(name + ": other nodes are asked for than it waits for");
  const Duration timeout =
      job->failover->relaunching_group ? limits.relaunch_group_timeout : limits.relaunch_timeout;
  if (order.timeout != timeout) say(name + ": new nodes are asked for with another timeout");
  if (!job->failover->relaunching_group && order.nodes.size() != 1)
    say(name + ": more than its node is asked for");
}

// The last notice of a kind says what is so.
void OrderCheck::check_notices(const FoldedRecord& record, const State& after) {
  const std::vector<Notice>& notices = record.decided.notices;
  for (std::size_t i = 0; i < notices.size(); ++i) {
    const Notice& notice = notices[i];
    if (notice.kind == NoticeKind::WorkLost && notice.work <= 0)
      say("job " + std::to_string(notice.job.value) + " is told to have lost no work");
    // A new machine has a new record.
    if (notice.kind == NoticeKind::NodeChanged && notice.change == NodeChange::Relaunched)
      after.for_each_job([&](const JobState& job) {
        // What the job that asked for it does next may fail there already.
        const auto* answer = std::get_if<NodesRelaunched>(&record.event.body);
        if (answer == nullptr || answer->job == job.row.id) return;
        for (const ReplicaRecord& replica : job.failover->replicas)
          if (replica.node == notice.node && replica.node_failures != 0)
            say(job.spec->name + ": failures on a node are counted that was replaced");
      });
    if (notice.kind != NoticeKind::Allocated && notice.kind != NoticeKind::Counted) continue;
    const JobState* job = after.find(notice.job);
    const bool later = std::any_of(
        notices.begin() + static_cast<std::ptrdiff_t>(i) + 1, notices.end(), [&](const Notice& n) {
          return n.job == notice.job && n.kind == notice.kind && n.counter == notice.counter;
        });
    if (job == nullptr || later || is_final(job->row.phase)) continue;
    const std::string& name = job->spec->name;
    if (notice.kind == NoticeKind::Allocated) {
      const std::vector<Worker>& members =
          job->after_drain == AfterDrain::Start ? job->next : job->workers;
      if (notice.devices != job->row.devices_held ||
          notice.count != static_cast<std::int32_t>(members.size()))
        say(name + ": it is told to hold something else than it does");
      continue;
    }
    std::uint32_t value = 0;
    switch (notice.counter) {
      case Counter::Restarts:
        value = job->row.restarts;
        break;
      case Counter::Reschedules:
        value = job->row.reschedules;
        break;
      case Counter::Preemptions:
        value = job->row.preemptions;
        break;
      case Counter::NodeLosses:
        value = job->row.node_losses;
        break;
      case Counter::JobRestarts:
        value = job->failover->job_restarts;
        break;
      case Counter::NodesRelaunched:
        value = job->failover->nodes_relaunched;
        break;
      case Counter::RoleRestarts:
        for (const std::uint32_t restarts : job->failover->role_restarts) value += restarts;
        break;
    }
    if (notice.count != static_cast<std::int32_t>(value))
      say(name + ": " + std::string(to_string(notice.counter)) + " is told to be " +
          std::to_string(notice.count) + ", it is " + std::to_string(value));
  }
}

}  // namespace orrery::sim
