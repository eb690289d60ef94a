#include "core/queues/fair_dealing.hpp"

#include <algorithm>

namespace orrery {
namespace {

__extension__ using Wide = __int128;

/// Raises what claims have, kind by kind of right.
class Dealing {
 public:
  Dealing(std::span<const ShareClaim> claims, const QueueVector& available)
      : claims_(claims),
        available_(available),
        base_(claims.size(), 0),
        floor_(claims.size(), 0),
        has_(claims.size(), 0),
        most_(claims.size(), 0),
        weight_(claims.size(), 0),
        rises_(claims.size(), false) {}

  /// Gains are counted from what claims have now on.
  void count_gains_from_here() { base_ = has_; }

  /// Raises those with a weight to at most `most_`, so that gains are in proportion to weights.
  /// Nobody gets less than before: who has gained more than that waits for the others.
  void fill() {
    floor_ = has_;
    scale_ = 0;
    active_.clear();
    for (std::size_t i = 0; i < claims_.size(); ++i)
      if (weight_[i] > 0 && most_[i] > has_[i]) active_.push_back(i);
    std::int64_t level = 0;
    while (!active_.empty()) {
      std::fill(rises_.begin(), rises_.end(), false);
      for (const std::size_t i : active_) rises_[i] = true;
      level = highest_level(level);
      for (const std::size_t i : active_) has_[i] = at_level(i, level);
      deal_units();
    }
  }

  void aim(std::size_t claim, std::int64_t weight, std::int64_t most) {
    weight_[claim] = weight;
    most_[claim] = most;
  }

  const std::vector<std::int64_t>& has() const { return has_; }

 private:
  std::int64_t heaviest() const {
    std::int64_t most = 1;
    for (const std::size_t i : active_) most = std::max(most, weight_[i]);
    return most;
  }

  // What a claim has when one of weight `scale_` that had nothing before has gained `level`.
  std::int64_t at_level(std::size_t i, std::int64_t level) const {
    // Dealing is for the most part this division; in 128 bits it takes ten times as long.
    std::int64_t product = 0;
    const Wide gain = __builtin_mul_overflow(weight_[i], level, &product)
                          ? static_cast<Wide>(weight_[i]) * level / scale_
                          : product / scale_;
    return std::max(floor_[i],
                    static_cast<std::int64_t>(std::min<Wide>(most_[i], base_[i] + gain)));
  }

  // Rounded up. At most 10^13 times a million: less than 2^64.
  static std::int64_t taken(std::int64_t amount, std::int64_t shape) {
    if (shape == kShapeUnit) return amount;
    const std::uint64_t product =
        static_cast<std::uint64_t>(amount) * static_cast<std::uint64_t>(shape);
    return static_cast<std::int64_t>((product + kShapeUnit - 1) / kShapeUnit);
  }

  // What all of them take of a resource.
  Wide sum(std::size_t resource, std::int64_t level) const {
    Wide total = 0;
    for (std::size_t i = 0; i < claims_.size(); ++i) {
      const std::int64_t shape = claims_[i].shape[resource];
      if (shape != 0) total += taken(rises_[i] ? at_level(i, level) : has_[i], shape);
    }
    return total;
  }

  bool fits(std::int64_t level) const {
    for (std::size_t r = 0; r < kQueueResources; ++r)
      if (sum(r, level) > available_[r]) return false;
    return true;
  }

  // The highest level from `low` on at which all fits; `low` fits, or nothing does.
  std::int64_t highest_level(std::int64_t low) {
    scale_ = scale_ == 0 ? heaviest() : scale_;
    Wide top = low;
    for (const std::size_t i : active_)
      top = std::max(top, static_cast<Wide>(most_[i] - base_[i]) * scale_ / weight_[i] + 1);
    auto high = static_cast<std::int64_t>(top);
    if (fits(high)) return high;
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (fits(middle) ? low : high) = middle;
    }
    return low;
  }

  // Whether one more unit of the claim fits beside what all have.
  bool one_more_fits(std::size_t claim, const std::array<Wide, kQueueResources>& sums) const {
    for (std::size_t r = 0; r < kQueueResources; ++r) {
      const std::int64_t shape = claims_[claim].shape[r];
      const Wide more = taken(has_[claim] + 1, shape) - taken(has_[claim], shape);
      if (more > 0 && sums[r] + more > available_[r]) return false;
    }
    return true;
  }

  // Between two levels each gains a unit at most: those are dealt one by one, in order, and who
  // cannot have the next one is settled. At least one is, or the level above would have fitted.
  void deal_units() {
    std::erase_if(active_, [&](std::size_t i) { return has_[i] >= most_[i]; });
    std::array<Wide, kQueueResources> sums{};
    for (std::size_t r = 0; r < kQueueResources; ++r)
      for (std::size_t i = 0; i < claims_.size(); ++i)
        sums[r] += taken(has_[i], claims_[i].shape[r]);
    bool settled = active_.empty();
    while (!settled) {
      const std::size_t next =
          *std::min_element(active_.begin(), active_.end(), [&](std::size_t a, std::size_t b) {
            const Wide left = static_cast<Wide>(has_[a] - base_[a] + 1) * weight_[b];
            const Wide right = static_cast<Wide>(has_[b] - base_[b] + 1) * weight_[a];
            return left != right ? left < right : a < b;
          });
      if (one_more_fits(next, sums)) {
        for (std::size_t r = 0; r < kQueueResources; ++r)
          sums[r] += taken(has_[next] + 1, claims_[next].shape[r]) -
                     taken(has_[next], claims_[next].shape[r]);
        ++has_[next];
        if (has_[next] < most_[next]) continue;
      }
      std::erase(active_, next);
      settled = true;
    }
  }

  std::span<const ShareClaim> claims_;
  const QueueVector& available_;
  std::vector<std::int64_t> base_;   ///< From where gains are counted.
  std::vector<std::int64_t> floor_;  ///< Had before this round.
  std::vector<std::int64_t> has_;
  std::vector<std::int64_t> most_;
  std::vector<std::int64_t> weight_;
  std::vector<std::size_t> active_;  ///< Ascending.
  std::vector<bool> rises_;          ///< By claim: whether it is one of them, at this level.
  std::int64_t scale_ = 0;
};

}  // namespace

std::vector<std::int64_t> deal_shares(std::span<const ShareClaim> claims,
                                      const QueueVector& available) {
  Dealing dealing(claims, available);
  const auto round = [&](auto&& weight_of, auto&& most_of) {
    for (std::size_t i = 0; i < claims.size(); ++i)
      dealing.aim(i, weight_of(claims[i]), most_of(claims[i]));
    dealing.fill();
  };
  const auto guaranteed = [](const ShareClaim& c) { return c.guaranteed; };
  round(guaranteed, guaranteed);
  dealing.count_gains_from_here();
  round([](const ShareClaim& c) { return c.ahead > c.guaranteed ? 1 : 0; },
        [](const ShareClaim& c) { return std::max(c.ahead, c.guaranteed); });
  std::vector<std::int32_t> classes;
  for (const ShareClaim& claim : claims) classes.push_back(claim.priority);
  std::sort(classes.rbegin(), classes.rend());
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  const auto most = [](const ShareClaim& c) { return c.most; };
  for (const std::int32_t priority : classes)
    round([&](const ShareClaim& c) { return c.priority == priority ? c.weight : 0; }, most);
  round([](const ShareClaim& c) { return c.weight == 0 ? 1 : 0; }, most);
  return dealing.has();
}

}  // namespace orrery
