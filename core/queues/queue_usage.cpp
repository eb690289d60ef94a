#include "core/queues/queue_usage.hpp"

#include <algorithm>

namespace orrery {
namespace {

__extension__ using Wide = __int128;

constexpr std::int64_t kStepsPerHalf = 64;
/// 2^(-1/64) in 2^-32, rounded: what remains after one step.
constexpr std::int64_t kOneStep = 4'248'701'965;
constexpr int kFraction = 32;
constexpr std::int64_t kPerMillisecond = 1'000'000;

std::int64_t times(std::int64_t value, std::int64_t fraction) {
  return static_cast<std::int64_t>(static_cast<Wide>(value) * fraction >> kFraction);
}

}  // namespace

QueueUsage::QueueUsage(const QueueTree& tree) : tree_(tree), used_(tree.size(), 0) {}

void QueueUsage::decay(std::int64_t steps) {
  std::int64_t left = std::int64_t{1} << kFraction;
  std::int64_t power = kOneStep;
  for (std::int64_t n = steps; n > 0; n >>= 1) {
    if ((n & 1) != 0) left = times(left, power);
    power = times(power, power);
  }
  for (std::int64_t& used : used_) used = times(used, left);
}

void QueueUsage::pass(Instant now, const std::vector<std::int64_t>& held) {
  const Duration half_life = tree_.spec().half_life;
  if (half_life.ns > 0 && now > as_of_) {
    const std::int64_t step = half_life.ns / kStepsPerHalf;
    decay(now.ns / step - as_of_.ns / step);
    const std::int64_t passed = now.ns / kPerMillisecond - as_of_.ns / kPerMillisecond;
    for (std::size_t i = 0; i < used_.size() && i < held.size(); ++i)
      used_[i] += static_cast<std::int64_t>(static_cast<Wide>(held[i]) * passed);
  }
  as_of_ = std::max(as_of_, now);
}

std::vector<std::int64_t> QueueUsage::weights(std::int64_t total) const {
  std::vector<std::int64_t> out(tree_.size(), 0);
  const Wide start = static_cast<Wide>(total) * (tree_.spec().half_life.ns / 8 / kPerMillisecond);
  for (std::uint32_t above = 0; above < tree_.size(); ++above) {
    Wide all = 0;
    Wide weights = 0;
    for (const std::uint32_t child : tree_.node(above).children) {
      all += used_[child];
      weights += tree_.node(child).spec.weight;
    }
    for (const std::uint32_t child : tree_.node(above).children) {
      const std::int64_t weight = tree_.node(child).spec.weight;
      out[child] = weight * 1000;
      if (weight == 0 || start == 0) continue;
      const Wide due = (all + start) * weight / weights;
      const Wide had = used_[child] + start * weight / weights;
      const Wide behind = had == 0 ? 4000 : due * 1000 / std::max<Wide>(had, 1);
      out[child] = weight * static_cast<std::int64_t>(std::clamp<Wide>(behind, 250, 4000));
    }
  }
  return out;
}

void QueueUsage::save(ByteWriter& out) const {
  out.i64(as_of_.ns);
  out.varint(used_.size());
  for (const std::int64_t used : used_) out.signed_varint(used);
}

void QueueUsage::load(ByteReader& in) {
  as_of_ = Instant{in.i64()};
  used_.assign(tree_.size(), 0);
  const std::uint64_t count = in.varint();
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    const std::int64_t used = in.signed_varint();
    if (i < used_.size()) used_[i] = used;
  }
}

}  // namespace orrery
