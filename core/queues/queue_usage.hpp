// Past use that is forgotten by and by, and weights that make up for it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/base/units.hpp"
#include "core/queues/queue_tree.hpp"

namespace orrery {

/// What each queue has used, halved once in each half-life: in integers, in steps of a 64th of it,
/// so that equal histories give equal numbers on every processor. Keeps nothing where the tree's
/// half-life is zero.
class QueueUsage {
 public:
  /// The tree must outlive it.
  explicit QueueUsage(const QueueTree& tree);

  /// Time passes until `now`, during which each queue held `held`, in the scale's units; by number.
  void pass(Instant now, const std::vector<std::int64_t>& held);

  /// By number: the written weights times how far each queue is behind its part by weight among its
  /// siblings. One that has had its part keeps its weight (times 1000), one that had nothing for
  /// long has up to four times that, one that had more than its part down to a quarter.
  ///
  ///     weight x 1000 x (part x (all + start)) / (own + part x start), 1/4 to 4
  ///
  /// with part = weight / weights of all siblings, own and all = decayed use, and start = what the
  /// whole cluster gives in an eighth of the half-life, so that first hours weigh little.
  std::vector<std::int64_t> weights(std::int64_t total) const;

  /// Of one queue, in the scale's units times milliseconds.
  std::int64_t used(std::uint32_t queue) const { return used_[queue]; }

  void save(ByteWriter& out) const;
  void load(ByteReader& in);

 private:
  void decay(std::int64_t steps);

  const QueueTree& tree_;
  Instant as_of_;
  std::vector<std::int64_t> used_;
};

}  // namespace orrery
