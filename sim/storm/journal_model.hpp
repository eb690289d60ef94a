// A second opinion of what the journal and the decisions mean: jobs, workers and nodes folded in
// the plainest way, from records, orders and notices alone. It shares no code with the core that
// decides.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/job/spec.hpp"
#include "core/record/command.hpp"
#include "core/record/event.hpp"

namespace orrery::sim {

/// One record with all that came of it.
struct FoldedRecord {
  Sequence sequence;
  const Event& event;
  const Commands& decided;
};

/// What a worker does, as far as it was told and reported.
enum class FoldedLife : std::uint8_t { Starting, Ready, Draining, Gone };

/// A member of a job's present membership; its rank is its place in `FoldedJob::members`.
struct FoldedWorker {
  Incarnation incarnation;
  Rank birth_rank;  ///< With the incarnation its lasting name in the job.
  Generation born;  ///< In which that was its rank.
  RoleIndex role;
  std::int32_t local_rank = 0;
  NodeId node;
  std::uint64_t devices = 0;
  FoldedLife life = FoldedLife::Starting;
  Sequence ordered;  ///< Record in which its start was ordered last.
};

/// The end of a worker otherwise than by success.
struct FoldedFailure {
  RoleIndex role;
  std::int32_t local_rank = 0;
  NodeId node;
  std::int32_t exit_code = 0;
};

struct FoldedJob {
  std::shared_ptr<const JobSpec> spec;
  Instant submitted;
  JobPhase phase = JobPhase::Pending;
  Reason reason = Reason::Submitted;  ///< Of the last change of the phase.
  Instant since;                      ///< Of the phase.
  Instant try_since;                  ///< The first Starting since the job last ran or waited.
  Instant first_start = Instant::never();
  Instant completed = Instant::never();
  Instant cleared = Instant::never();  ///< Final, and its last worker is gone.
  Sequence cleared_in;                 ///< The record of that.
  Instant stop_ordered;                ///< Workers were last told to stop with a grace, and
  Duration stop_grace;                 ///< with this one.
  Generation generation;
  bool ordered = true;  ///< The membership of this generation was told by an order. It is not where
                        ///< nobody of it lives or starts.
  bool complete = true;  ///< `members` has all of it: where none of those who stay lives, only
                         ///< those who start are told.
  std::array<std::uint32_t, EnumNames<Counter>::kNames.size()> counts{};
  std::int32_t granted = 0;  ///< Workers that it has, or was promised.
  std::vector<FoldedWorker> members;
  std::vector<FoldedFailure> failures;
  std::uint32_t incidents = 0;  ///< Opened so far.
  bool incident_open = false;
  bool changed = false;     ///< Its user has submitted it anew.
  Sequence deleted_in;      ///< The record by which its user wants nothing left of it; 0: none.
  Instant not_before;       ///< The next membership must not start before, for the backoff.
  Instant next_not_before;  ///< The same from the next record on.

  bool is_known() const { return spec != nullptr; }

  /// Whether `members` are the workers of the present generation.
  bool is_told() const { return ordered && complete; }
};

struct FoldedNode {
  std::uint32_t group = 0;  ///< Index of its declaration.
  bool silent = false;
  Epoch heard;  ///< Of its last complete list.
  bool excluded = false;
  bool lost_device = false;
  bool leaving = false;
  bool spare = false;
  Instant excluded_since;
  bool for_a_while = false;        ///< The exclusion ends by itself.
  std::vector<Instant> incidents;  ///< Since it was last let in: all that may count,
  std::vector<Instant> certain;    ///< and those that count for sure.

  bool is_healthy() const { return !silent && !excluded && !lost_device && !leaving; }
};

/// The fold. `facts` comes before the rules look at notices and orders, each of which is then told.
class JournalModel {
 public:
  /// The event's own facts.
  void facts(const FoldedRecord& record);

  /// One notice, in order.
  void told(const FoldedRecord& record, const Notice& notice);

  /// All orders of the record.
  void ordered(const FoldedRecord& record);

  FoldedJob* find(JobId job);

  std::vector<FoldedJob>& jobs() { return jobs_; }

  std::vector<FoldedNode>& nodes() { return nodes_; }

  const std::vector<NodeGroup>& groups() const { return groups_; }

  const Settings& settings() const { return settings_; }

  /// When the leader of now began.
  Instant epoch_since() const { return epoch_since_; }

 private:
  void declare(const NodesDeclared& declared);
  void returned(const NodeReturned& event);
  void give_up_unheard(FoldedJob& job);
  void lose_silent();
  void workers_changed(const WorkersChanged& event);
  void all_gone(NodeId node);
  void start(const FoldedRecord& record, const StartWorkers& order, const UpdateMembership* update);
  void stop(const FoldedRecord& record, const StopWorkers& order);

  std::vector<FoldedJob> jobs_;  ///< By id.
  std::vector<FoldedNode> nodes_;
  std::vector<NodeGroup> groups_;
  Settings settings_;
  Epoch epoch_;
  Instant epoch_since_;
};

}  // namespace orrery::sim
