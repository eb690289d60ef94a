// How queues stand now, for people: what each is entitled to, holds and has borrowed, and which of
// them lets a job wait.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/queues/queue_loads.hpp"
#include "core/state/state.hpp"

namespace orrery {

/// One queue. Amounts are devices, or devices' worth of another resource where that is the larger
/// part of the cluster.
struct QueueStanding {
  std::string name;
  std::string parent;      ///< Empty: it stands at the top.
  std::int32_t depth = 0;  ///< Queues above it.
  std::int64_t weight = 1;
  std::int32_t priority = 0;
  double guarantee = 0;
  double limit = 0;  ///< What it never exceeds; 0: nothing but the cluster.
  double share = 0;  ///< What it is entitled to of what it asks for.
  double used = 0;
  double borrowed = 0;  ///< Held beyond the guarantee.
  std::int64_t jobs_holding = 0;
  std::int64_t jobs_waiting = 0;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("name", self.name);
    v.field("parent", self.parent);
    v.field("depth", self.depth);
    v.field("weight", self.weight);
    v.field("priority", self.priority);
    v.field("guarantee", self.guarantee);
    v.field("limit", self.limit);
    v.field("share", self.share);
    v.field("used", self.used);
    v.field("borrowed", self.borrowed);
    v.field("jobs_holding", self.jobs_holding);
    v.field("jobs_waiting", self.jobs_waiting);
  }
};

/// By queue: what its jobs ask for, less what they ask for in vain (VainWants). The loads are those
/// of all live jobs.
std::vector<QueueUse> queue_wants(const State& state,
                                  const QueueTree& tree,
                                  const QueueLoads& loads,
                                  const QueueScale& scale);

/// What can be said of the queues that the settings name. Shares are those of now: weights as
/// written, without past use and turns, which only the policy knows.
class QueueStandings {
 public:
  /// Of no queues.
  QueueStandings() = default;

  /// See `look`.
  explicit QueueStandings(const State& state) { look(state); }

  /// Looks at every live job; what is said afterwards is of the state as it was. The tree of queues
  /// is read only where its text is another than at the last look.
  void look(const State& state);

  /// Whether there are queues at all.
  bool any() const { return parts_ != nullptr; }

  /// Parents before what is below them, siblings in the order written.
  std::vector<QueueStanding> list() const;

  /// Which limit or share of a queue lets a waiting job wait, in words: "its queue research may
  /// hold 16 devices and holds 16". Empty where none does.
  std::string why_waiting(const JobState& job) const;

 private:
  struct Parts {
    Parts(std::string settings, QueuesSpec spec)
        : text(std::move(settings)), tree(std::move(spec)), loads(tree) {}

    std::string text;  ///< Settings::queues, which the tree was read from.
    QueueTree tree;
    QueueScale scale;
    std::int64_t declared = 0;  ///< Thousandths of the devices that there are when all nodes are.
    QueueLoads loads;
    std::vector<std::int64_t> shares;
  };

  QueueStanding standing(std::uint32_t queue, std::int32_t depth) const;
  void append(std::uint32_t queue, std::int32_t depth, std::vector<QueueStanding>& out) const;
  /// `gang`: what the job starts with, in thousandths of a device.
  std::string blocked_text(const QueueJob& known, const QueueBlock& block, std::int64_t gang) const;

  std::unique_ptr<Parts> parts_;
};

}  // namespace orrery
