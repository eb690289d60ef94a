// A tree of queues made ready: who stands below whom, and what each is entitled to.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/queues/fair_dealing.hpp"
#include "core/queues/queue_spec.hpp"

namespace orrery {

/// What jobs hold or ask for, in the units of each resource.
struct QueueUse {
  std::int64_t devices = 0;  ///< Thousandths.
  std::int64_t cpu = 0;      ///< Thousandths of cores.
  std::int64_t memory = 0;   ///< Mebibytes.

  QueueUse& operator+=(const QueueUse& other);
  QueueUse& operator-=(const QueueUse& other);

  friend bool operator==(const QueueUse&, const QueueUse&) = default;
};

/// All that there is to share, and how parts of it are compared: in thousandths of a device where
/// the cluster has any, else in millionths of the cluster.
struct QueueScale {
  QueueUse capacity;
  bool cpu = false;     ///< Whether cores count.
  bool memory = false;  ///< Whether memory counts.

  /// The whole cluster in these units, above 0.
  std::int64_t total() const { return capacity.devices > 0 ? capacity.devices : 1'000'000; }

  /// Each resource as a part of what there is of it; 0 where it does not count.
  QueueVector parts(const QueueUse& use) const;

  /// The largest of these parts.
  std::int64_t dominant(const QueueUse& use) const;
};

/// One queue of the tree. Number 0 is the whole cluster.
struct QueueNode {
  QueueSpec spec;
  std::uint32_t parent = 0;
  std::vector<std::uint32_t> children;

  bool is_leaf() const { return children.empty(); }
};

/// The queues by number, parents and children linked. Of a tree that `check_queues` finds sound.
class QueueTree {
 public:
  explicit QueueTree(QueuesSpec spec);

  const QueuesSpec& spec() const { return spec_; }

  std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size()); }

  const QueueNode& node(std::uint32_t queue) const { return nodes_[queue]; }

  const std::string& name(std::uint32_t queue) const { return nodes_[queue].spec.name; }

  /// Every queue but the whole, parents before children, else in the order written.
  std::span<const std::uint32_t> order() const { return order_; }

  /// The queue of a job: the one without others below it that has the name of the job's group, else
  /// the default one.
  std::uint32_t queue_of(std::string_view group) const;

  /// What the queue may never exceed, in units of a cluster of `total`: its limit, and its
  /// guarantee with what it may borrow. INT64_MAX: nothing.
  std::int64_t most(std::uint32_t queue, std::int64_t total) const;

  /// What a user may hold in the queue and below it; INT64_MAX: any.
  std::int64_t user_most(std::uint32_t queue, std::string_view user, std::int64_t total) const;

  /// Whether some limit of users is written at the queue.
  bool limits_users(std::uint32_t queue) const {
    return nodes_[queue].spec.user_limit.has_value() || !nodes_[queue].spec.users.empty();
  }

  /// Whether anything but quotas and the size of the cluster can ever keep a job waiting: limits of
  /// queues or users, or guarantees.
  bool may_bar() const;

  /// What is guaranteed to the queue, or to those below it together, whichever is more.
  std::vector<std::int64_t> guarantees(std::int64_t total) const;

 private:
  QueuesSpec spec_;
  std::vector<QueueNode> nodes_;
  std::vector<std::uint32_t> order_;
  std::map<std::string, std::uint32_t, std::less<>> by_name_;
  std::uint32_t otherwise_ = 0;
};

/// A queue that is given so much after all guarantees, before weights.
struct QueueTurn {
  std::uint32_t queue = 0;  ///< 0: none has a turn.
  std::int64_t amount = 0;
};

/// What each queue is entitled to now, by number, in the scale's units: as much of its demand as
/// guarantees, classes and weights give it, level by level from the top; never more than `most`.
///
/// `wants`: by number, what the jobs of each queue ask for in all (those without queues below them;
/// others are not read). `weights`: by number, in place of those written; empty: as written.
/// `credits`: by number, what each should have more, or less, than that, as far as guarantees,
/// `most` and its demand let it: what one gets more others get less, in proportion; empty: nothing.
std::vector<std::int64_t> queue_shares(const QueueTree& tree,
                                       const QueueScale& scale,
                                       std::span<const QueueUse> wants,
                                       std::span<const std::int64_t> weights = {},
                                       const QueueTurn& turn = {},
                                       std::span<const std::int64_t> credits = {});

}  // namespace orrery
