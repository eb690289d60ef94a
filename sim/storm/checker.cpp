#include "sim/storm/checker.hpp"

#include "sim/storm/cluster_audit.hpp"

namespace orrery::sim {
namespace {

std::size_t nodes_in(const std::vector<NodeGroup>& groups) {
  std::size_t nodes = 0;
  for (const NodeGroup& group : groups) nodes += static_cast<std::size_t>(group.count);
  return nodes;
}

}  // namespace

Checker::Checker(const CheckerFacts& facts)
    : journal_(found_),
      processes_(facts.groups, facts.stale_after, found_),
      jobs_(facts.work, processes_, found_),
      decisions_(facts.late_max, found_),
      orders_(found_),
      recoveries_(found_),
      blames_(found_),
      budgets_(found_),
      plans_(found_),
      queues_(found_),
      judges_queues_(!facts.plans_garbled),
      notices_(found_),
      agents_(nodes_in(facts.groups), facts.agents, found_) {}

void Checker::appended(Instant now, Epoch writer, const JournalBytes& record) {
  processes_.time_reached(now);
  const Event* event = journal_.appended(now, writer, record);
  if (event != nullptr) jobs_.appended(record.sequence, *event);
}

void Checker::store_crashed(Instant now, Sequence last) {
  journal_.crashed(now, last);
  jobs_.crashed(last);
}

void Checker::stepped(Instant now, Sequence sequence, std::span<const Notice> notices) {
  jobs_.stepped(now, sequence, notices);
}

void Checker::released(Instant now, const Command& order) {
  journal_.released(now, order);
  jobs_.released(now, order);
}

void Checker::leader_has(Instant now, Sequence at, std::span<const JobCounts> jobs) {
  jobs_.leader_has(now, at, jobs);
}

void Checker::folded(Instant now,
                     const FoldedRecord& record,
                     const StatusReader& reader,
                     const State& after) {
  decisions_.folded(now, record, reader);
  orders_.folded(now, record, after);
  recoveries_.folded(now, record, after);
  blames_.folded(now, record, after);
  budgets_.folded(now, record, after);
  plans_.folded(now, record, after);
  if (judges_queues_) queues_.folded(now, record, after);
  notices_.folded(now, record, reader);
  if (const auto* measured = std::get_if<ProfilingChanged>(&record.event.body))
    if (const JobState* job = after.find(measured->job))
      for (const std::string& wrong : false_in_job(after, *job))
        found_.add(ViolationKind::StateWrong,
                   now,
                   "after record " + std::to_string(record.sequence.value) + " " + wrong);
  // A look at everything costs as much as several steps.
  constexpr std::uint64_t kEvery = 16;
  if (record.sequence.value % kEvery != 0) return;
  for (const std::string& wrong : false_in_cluster(after))
    found_.add(ViolationKind::StateWrong,
               now,
               "after record " + std::to_string(record.sequence.value) + " " + wrong);
}

void Checker::compared(Instant now, Sequence at, Digest of_leader, Digest of_journal) {
  if (of_leader == of_journal) return;
  found_.add(ViolationKind::ReplayDiffers,
             now,
             "the leader's state after record " + std::to_string(at.value) +
                 " is not what the journal leads to");
}

void Checker::process_began(Instant now, TrueProcess process) {
  process.bundle = jobs_.bundle_of(process.name.job, process.role);
  const JobId beside = process.turns.beside;
  process.turns = jobs_.turns_of_role(process.name.job, process.role);
  process.turns.beside = beside;
  processes_.began(now, process);
}

void Checker::process_gone(Instant now, NodeId node, const ProcessName& name) {
  processes_.gone(node, name);
  processes_.time_reached(now);
}

void Checker::worked(Instant now, JobId job, double done) { jobs_.worked(now, job, done); }

}  // namespace orrery::sim
