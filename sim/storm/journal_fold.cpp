#include "sim/storm/journal_fold.hpp"

#include <numeric>
#include <span>

#include "core/base/bytes.hpp"
#include "core/record/codec.hpp"

namespace orrery::sim {

void JournalFold::append(const StoredRecord& record) {
  bytes_.insert(bytes_.end(), record.bytes.begin(), record.bytes.end());
  ends_.push_back(bytes_.size());
}

void JournalFold::lose(Sequence last) {
  if (last.value >= ends_.size()) return;
  ends_.resize(last.value);
  bytes_.resize(ends_.empty() ? 0 : ends_.back());
  if (controller_->state().sequence > last) begin_again();
}

void JournalFold::begin_again() {
  controller_ = std::make_unique<Controller>();
  ended_.clear();
  if (listener_ != nullptr) listener_->begin_again();
}

const State* JournalFold::state_at(Sequence at) {
  if (at.value > ends_.size()) return nullptr;
  if (controller_->state().sequence > at) begin_again();
  Commands told;
  while (controller_->state().sequence < at) {
    const std::size_t i = controller_->state().sequence.value;
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    ByteReader in(std::span<const std::byte>(bytes_).subspan(begin, ends_[i] - begin));
    Event event;
    if (!decode(in, kRecordVersion, event)) return nullptr;
    told.clear();
    if (listener_ != nullptr) listener_->comes(event, controller_->state());
    controller_->step(event, told);
    for (const Notice& notice : told.notices)
      if (notice.kind == NoticeKind::PhaseChanged && is_final(notice.to))
        ended_.push_back(notice.job);
    if (listener_ != nullptr)
      listener_->folded(controller_->state().sequence, event, told, controller_->state());
  }
  return &controller_->state();
}

std::vector<JobCounts> JournalFold::counts() const {
  std::vector<JobCounts> out = counts_in(controller_->state());
  for (const JobId job : ended_) {
    if (controller_->state().find(job) != nullptr) continue;
    JobCounts retired;
    retired.job = job;
    retired.final = retired.retired = true;
    out.push_back(retired);
  }
  return out;
}

std::vector<JobCounts> counts_in(const State& state) {
  std::vector<JobCounts> out;
  state.for_each_job([&](const JobState& job) {
    JobCounts counts;
    counts.job = job.row.id;
    counts.name = job.spec->name;
    counts.final = is_final(job.row.phase);
    const auto set = [&](Counter counter, std::uint32_t value) {
      counts.counters[static_cast<std::size_t>(counter)] = value;
    };
    set(Counter::Restarts, job.row.restarts);
    set(Counter::Reschedules, job.row.reschedules);
    set(Counter::Preemptions, job.row.preemptions);
    set(Counter::NodeLosses, job.row.node_losses);
    set(Counter::JobRestarts, job.failover->job_restarts);
    set(Counter::NodesRelaunched, job.failover->nodes_relaunched);
    const auto& roles = job.failover->role_restarts;
    set(Counter::RoleRestarts, std::accumulate(roles.begin(), roles.end(), 0U));
    out.push_back(counts);
  });
  return out;
}

}  // namespace orrery::sim
