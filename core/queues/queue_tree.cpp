#include "core/queues/queue_tree.hpp"

#include <algorithm>
#include <utility>

namespace orrery {
namespace {

__extension__ using Wide = __int128;

std::int64_t part_of(std::int64_t use, std::int64_t capacity, std::int64_t total) {
  if (capacity <= 0) return 0;
  return static_cast<std::int64_t>(static_cast<Wide>(use) * total / capacity);
}

std::int64_t largest(const QueueVector& parts) {
  return *std::max_element(parts.begin(), parts.end());
}

/// What one queue asks of the queue above it.
struct Asks {
  QueueVector most{};  ///< Of each resource.
  std::int64_t guaranteed = 0;
  std::int64_t ahead = 0;
};

/// The share of all queues, from what those at the bottom want.
class Sharing {
 public:
  Sharing(const QueueTree& tree,
          const QueueScale& scale,
          std::span<const std::int64_t> weights,
          const QueueTurn& turn,
          std::span<const std::int64_t> credits)
      : tree_(tree),
        scale_(scale),
        weights_(weights),
        turn_(turn),
        credits_(credits),
        guarantees_(tree.guarantees(scale.total())),
        asks_(tree.size()),
        shares_(tree.size(), 0) {}

  std::vector<std::int64_t> run(std::span<const QueueUse> wants) {
    const std::span<const std::uint32_t> order = tree_.order();
    for (auto queue = order.rbegin(); queue != order.rend(); ++queue) ask(*queue, wants);
    shares_[0] = scale_.total();
    QueueVector all;
    all.fill(scale_.total());
    deal(0, all);
    for (const std::uint32_t queue : order)
      if (!tree_.node(queue).is_leaf()) deal(queue, given(queue));
    return std::move(shares_);
  }

 private:
  // From the bottom: what is wanted, but never more than the queue may have.
  void ask(std::uint32_t queue, std::span<const QueueUse> wants) {
    Asks& asks = asks_[queue];
    const QueueNode& node = tree_.node(queue);
    std::int64_t below = 0;
    if (node.is_leaf()) asks.most = scale_.parts(wants[queue]);
    for (const std::uint32_t child : node.children) {
      for (std::size_t r = 0; r < kQueueResources; ++r) asks.most[r] += asks_[child].most[r];
      asks.ahead += asks_[child].ahead;
      below += asks_[child].guaranteed;
    }
    const std::int64_t wanted = largest(asks.most);
    const std::int64_t most = std::min(wanted, tree_.most(queue, scale_.total()));
    if (most < wanted)
      for (std::int64_t& part : asks.most)
        part = static_cast<std::int64_t>(static_cast<Wide>(part) * most / wanted);
    asks.guaranteed = std::min(most, std::max(below, std::min(guarantees_[queue], most)));
    if (queue == turn_.queue) asks.ahead = turn_.amount;
    asks.ahead = std::min(most, asks.ahead);
  }

  ShareClaim claim_of(std::uint32_t queue) const {
    const Asks& asks = asks_[queue];
    const QueueSpec& spec = tree_.node(queue).spec;
    ShareClaim claim;
    claim.weight = weights_.empty() ? spec.weight : weights_[queue];
    claim.priority = spec.priority;
    claim.most = largest(asks.most);
    claim.guaranteed = asks.guaranteed;
    claim.ahead = asks.ahead;
    for (std::size_t r = 0; r < kQueueResources && claim.most > 0; ++r)
      claim.shape[r] = part_of(asks.most[r], claim.most, kShapeUnit);
    return claim;
  }

  void deal(std::uint32_t above, const QueueVector& available) {
    std::vector<ShareClaim> claims;
    for (const std::uint32_t child : tree_.node(above).children) claims.push_back(claim_of(child));
    std::vector<std::int64_t> dealt = deal_shares(claims, available);
    if (!credits_.empty()) correct(above, claims, available, dealt);
    for (std::size_t i = 0; i < dealt.size(); ++i)
      shares_[tree_.node(above).children[i]] = dealt[i];
  }

  // First what each is due with its credit, then the rest as before.
  void correct(std::uint32_t above,
               std::vector<ShareClaim> claims,
               const QueueVector& available,
               std::vector<std::int64_t>& dealt) const {
    std::vector<ShareClaim> due = claims;
    for (std::size_t i = 0; i < due.size(); ++i) {
      // As far as there was so much for it.
      const std::int64_t least = std::min(dealt[i], std::max(due[i].guaranteed, due[i].ahead));
      const std::int64_t credit = credits_[tree_.node(above).children[i]];
      due[i].most = std::clamp(dealt[i] + credit, least, std::max(least, claims[i].most));
      due[i].weight = std::max<std::int64_t>(1, due[i].most - least);
      due[i].guaranteed = least;
      due[i].ahead = 0;
    }
    dealt = deal_shares(due, available);
    for (std::size_t i = 0; i < due.size(); ++i) {
      claims[i].guaranteed = dealt[i];
      claims[i].ahead = 0;
    }
    dealt = deal_shares(claims, available);
  }

  // What a queue has of each resource, in the mix that those below it ask for.
  QueueVector given(std::uint32_t queue) const {
    QueueVector out = asks_[queue].most;
    const std::int64_t most = largest(out);
    for (std::int64_t& part : out)
      part = most == 0 ? 0
                       : static_cast<std::int64_t>(
                             (static_cast<Wide>(part) * shares_[queue] + most - 1) / most);
    return out;
  }

  const QueueTree& tree_;
  const QueueScale& scale_;
  std::span<const std::int64_t> weights_;
  const QueueTurn& turn_;
  std::span<const std::int64_t> credits_;
  std::vector<std::int64_t> guarantees_;
  std::vector<Asks> asks_;
  std::vector<std::int64_t> shares_;
};

}  // namespace

QueueUse& QueueUse::operator+=(const QueueUse& other) {
  devices += other.devices;
  cpu += other.cpu;
  memory += other.memory;
  return *this;
}

QueueUse& QueueUse::operator-=(const QueueUse& other) {
  devices -= other.devices;
  cpu -= other.cpu;
  memory -= other.memory;
  return *this;
}

QueueVector QueueScale::parts(const QueueUse& use) const {
  return {part_of(use.devices, capacity.devices, total()),
          cpu ? part_of(use.cpu, capacity.cpu, total()) : 0,
          memory ? part_of(use.memory, capacity.memory, total()) : 0};
}

std::int64_t QueueScale::dominant(const QueueUse& use) const { return largest(parts(use)); }

QueueTree::QueueTree(QueuesSpec spec) : spec_(std::move(spec)) {
  nodes_.emplace_back();
  for (const QueueSpec& queue : spec_.queues) {
    by_name_.emplace(queue.name, size());
    nodes_.push_back({queue, 0, {}});
  }
  const std::string otherwise =
      spec_.otherwise.empty() ? std::string(kDefaultQueue) : spec_.otherwise;
  if (!by_name_.contains(otherwise)) {
    by_name_.emplace(otherwise, size());
    QueueNode node;
    node.spec.name = otherwise;
    nodes_.push_back(std::move(node));
  }
  otherwise_ = by_name_.at(otherwise);
  for (std::uint32_t i = 1; i < size(); ++i) {
    const std::string& parent = nodes_[i].spec.parent;
    nodes_[i].parent = parent.empty() ? 0 : by_name_.at(parent);
    nodes_[nodes_[i].parent].children.push_back(i);
  }
  order_ = nodes_[0].children;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const std::vector<std::uint32_t>& below = nodes_[order_[i]].children;
    order_.insert(order_.end(), below.begin(), below.end());
  }
}

std::uint32_t QueueTree::queue_of(std::string_view group) const {
  const auto found = by_name_.find(group);
  return found != by_name_.end() && nodes_[found->second].is_leaf() ? found->second : otherwise_;
}

std::int64_t QueueTree::most(std::uint32_t queue, std::int64_t total) const {
  const QueueSpec& spec = nodes_[queue].spec;
  std::int64_t most = INT64_MAX;
  if (spec.limit) most = spec.limit->of(total);
  if (spec.borrow) most = std::min(most, spec.guarantee.of(total) + spec.borrow->of(total));
  return most;
}

std::int64_t QueueTree::user_most(std::uint32_t queue,
                                  std::string_view user,
                                  std::int64_t total) const {
  const QueueSpec& spec = nodes_[queue].spec;
  for (const QueueUser& each : spec.users)
    if (each.name == user) return each.limit.of(total);
  return spec.user_limit ? spec.user_limit->of(total) : INT64_MAX;
}

bool QueueTree::may_bar() const {
  return std::any_of(order_.begin(), order_.end(), [&](std::uint32_t queue) {
    const QueueSpec& spec = nodes_[queue].spec;
    return spec.limit || spec.borrow || limits_users(queue) || spec.guarantee != QueueAmount{};
  });
}

std::vector<std::int64_t> QueueTree::guarantees(std::int64_t total) const {
  std::vector<std::int64_t> out(size(), 0);
  for (auto queue = order_.rbegin(); queue != order_.rend(); ++queue) {
    std::int64_t below = 0;
    for (const std::uint32_t child : nodes_[*queue].children) below += out[child];
    out[*queue] = std::max(below, nodes_[*queue].spec.guarantee.of(total));
  }
  return out;
}

std::vector<std::int64_t> queue_shares(const QueueTree& tree,
                                       const QueueScale& scale,
                                       std::span<const QueueUse> wants,
                                       std::span<const std::int64_t> weights,
                                       const QueueTurn& turn,
                                       std::span<const std::int64_t> credits) {
  return Sharing(tree, scale, weights, turn, credits).run(wants);
}

}  // namespace orrery
