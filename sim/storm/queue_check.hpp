// The part of the storm's checker that judges queues: no plan brings a queue or a user over its
// limit, and nobody is denied a guarantee for longer than a period while others borrow it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/queues/queue_loads.hpp"
#include "core/state/state.hpp"
#include "sim/storm/journal_model.hpp"
#include "sim/storm/violation.hpp"

namespace orrery::sim {

/// Whether its queue would bar the job if nothing else ran: limits of the queue, of one above it or
/// of its user, or for a fixed job what is guaranteed to others, are below what it needs at the
/// least, of the resource that it needs the largest part of. Then it waits for ever.
bool is_beyond_its_queue(const State& state, const JobState& job);

/// Knows the queues from the settings in the journal, and what they hold from the states alone.
class QueueCheck {
 public:
  explicit QueueCheck(Violations& found) : found_(found) {}

  /// The next record, and the state before it.
  void comes(const Event& event, const State& before);

  /// What came of it, and the state after it.
  void folded(Instant now, const FoldedRecord& record, const State& after);

 private:
  /// What the queues hold in one state.
  struct Picture {
    explicit Picture(const QueueTree& tree) : loads(tree) {}

    QueueScale scale;
    QueueLoads loads;
    std::vector<std::string> users;
  };

  /// `plan`: whose victims hold nothing more, although their workers still end; null: none.
  std::unique_ptr<Picture> picture_of(const State& state, const Plan* plan = nullptr) const;
  void read_tree(const State& state);
  void check_limits(const Picture& after);
  void check_guarantees(const Picture& now, const State& state);
  bool could_start(const Picture& now, const State& state, const JobState& job) const;
  void say(const std::string& text);

  Violations& found_;
  std::string text_;  ///< Of `tree_`.
  std::unique_ptr<QueueTree> tree_;
  std::unique_ptr<Picture> before_;  ///< Where the record is a plan made on the state before it.
  std::map<std::uint32_t, std::pair<Instant, std::uint64_t>>
      denied_;  ///< Since when and for how many periods, by queue.
  Instant now_;
  Sequence at_;
};

}  // namespace orrery::sim
