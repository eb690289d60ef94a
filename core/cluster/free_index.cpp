#include "core/cluster/free_index.hpp"

#include <algorithm>

#include "core/base/invariant.hpp"

namespace orrery {
namespace {

constexpr std::size_t kLogSize = 4096;
constexpr std::int32_t kMany = 1'000'000;
constexpr const char* kNoMore = "a node gives no more devices than it has free";

// One replica of a share where only the emptiest partly taken device is known: from that if it fits
// there, else from a new one.
void take_by_estimate(NodeFree& free, std::int32_t thousandths) {
  if (free.partial_max >= thousandths) {
    free.partial_max -= thousandths;
  } else {
    --free.devices;
    free.partial_max = std::max(free.partial_max, 1000 - thousandths);
  }
}

void give_by_estimate(NodeFree& free, std::int32_t thousandths) {
  free.partial_max += thousandths;
  if (free.partial_max >= 1000) {
    free.partial_max -= 1000;
    ++free.devices;
  }
}

bool is_estimate(const NodeFree& free) { return free.parts == nullptr && free.partial_max > 0; }

DeviceParts parts_of(const NodeFree& free) { return free.parts ? *free.parts : DeviceParts{}; }

// Usable, and nothing is left in parts.
bool has_whole_devices(const NodeFree& free) {
  return free.usable && free.partial_max == 0 && free.parts == nullptr;
}

// As `parts_of`, ascending, with the part that is known of an estimate, and `whole` devices as
// parts.
DeviceParts known_parts(const NodeFree& free, std::int32_t whole) {
  DeviceParts parts = parts_of(free);
  if (is_estimate(free)) parts.push_back(static_cast<std::int16_t>(free.partial_max));
  parts.insert(parts.end(), static_cast<std::size_t>(whole), std::int16_t{1000});
  return parts;
}

void take_shares(NodeFree& free, std::int32_t thousandths, std::int32_t replicas) {
  if (is_estimate(free)) {
    for (std::int32_t i = 0; i < replicas; ++i) take_by_estimate(free, thousandths);
    return;
  }
  DeviceParts parts = parts_of(free);
  for (std::int32_t i = 0; i < replicas; ++i) {
    auto from = std::lower_bound(parts.begin(), parts.end(), thousandths);
    std::int32_t left = 1000;
    if (from == parts.end()) {
      --free.devices;
    } else {
      left = *from;
      parts.erase(from);
    }
    left -= thousandths;
    const auto part = static_cast<std::int16_t>(left);
    if (left > 0) parts.insert(std::lower_bound(parts.begin(), parts.end(), part), part);
  }
  set_parts(free, std::move(parts));
}

void give_shares(NodeFree& free, std::int32_t thousandths, std::int32_t replicas) {
  if (is_estimate(free)) {
    for (std::int32_t i = 0; i < replicas; ++i) give_by_estimate(free, thousandths);
    return;
  }
  DeviceParts parts = parts_of(free);
  for (std::int32_t i = 0; i < replicas; ++i) {
    const auto above = std::upper_bound(parts.begin(), parts.end(), 1000 - thousandths);
    std::int32_t left = thousandths;
    if (above != parts.begin()) {
      left += *(above - 1);
      parts.erase(above - 1);
    }
    const auto part = static_cast<std::int16_t>(left);
    if (left == 1000) {
      ++free.devices;
    } else {
      parts.insert(std::lower_bound(parts.begin(), parts.end(), part), part);
    }
  }
  set_parts(free, std::move(parts));
}

}  // namespace

std::int64_t NodeFree::thousandths() const {
  std::int64_t sum = std::int64_t{devices} * 1000;
  if (parts == nullptr) return sum + partial_max;
  for (const std::int16_t part : *parts) sum += part;
  return sum;
}

void set_parts(NodeFree& free, DeviceParts parts) {
  std::sort(parts.begin(), parts.end());
  free.partial_max = parts.empty() ? 0 : parts.back();
  free.parts = parts.empty() ? nullptr : std::make_shared<const DeviceParts>(std::move(parts));
}

NodeFree least_of(const NodeFree& a, const NodeFree& b) {
  const bool within = b.usable && a.cpu <= b.cpu && a.memory <= b.memory && a.devices <= b.devices;
  if (within && has_whole_devices(a)) return a;
  NodeFree least = a;
  least.cpu.count = std::min(a.cpu.count, b.cpu.count);
  least.memory.count = std::min(a.memory.count, b.memory.count);
  least.devices = std::min(a.devices, b.devices);
  least.usable = a.usable && b.usable;
  if (a.partial_max == 0 && b.partial_max == 0) return least;
  // Device by device, the emptiest first: so each has a device of its own in either.
  const DeviceParts of_a = known_parts(a, a.devices - least.devices);
  const DeviceParts of_b = known_parts(b, b.devices - least.devices);
  DeviceParts parts;
  for (auto p = of_a.rbegin(), q = of_b.rbegin(); p != of_a.rend() && q != of_b.rend(); ++p, ++q)
    parts.push_back(std::min(*p, *q));
  set_parts(least, std::move(parts));
  return least;
}

bool has_room(const NodeFree& free, const Demand& demand) {
  if (!free.usable) return false;
  // What is not asked for need not be there.
  if (demand.cpu.count > 0 && free.cpu < demand.cpu) return false;
  if (demand.memory.count > 0 && free.memory < demand.memory) return false;
  if (demand.devices == 0) return true;
  if (!demand.model.is_none() && demand.model != free.model) return false;
  return free.devices >= demand.devices ||
         (is_share(demand) && free.partial_max >= demand.share.thousandths);
}

std::int32_t replicas_that_fit(const NodeFree& free, const Demand& demand) {
  if (!free.usable) return 0;
  if (demand.devices > 0 && !demand.model.is_none() && demand.model != free.model) return 0;
  std::int64_t fit = kMany;
  if (demand.cpu.count > 0) fit = std::min(fit, free.cpu.count / demand.cpu.count);
  if (demand.memory.count > 0) fit = std::min(fit, free.memory.count / demand.memory.count);
  if (is_share(demand)) {
    const std::int64_t s = demand.share.thousandths;
    std::int64_t shares = free.devices * (1000 / s);
    if (is_estimate(free)) shares += free.partial_max / s;
    if (free.parts != nullptr)
      for (const std::int16_t part : *free.parts) shares += part / s;
    fit = std::min(fit, shares);
  } else if (demand.devices > 0) {
    fit = std::min<std::int64_t>(fit, free.devices / demand.devices);
  }
  return static_cast<std::int32_t>(std::max<std::int64_t>(fit, 0));
}

std::int64_t replicas_by_devices(const NodeFree& free, const Demand& demand) {
  const bool other = !demand.model.is_none() && demand.model != free.model;
  return !free.usable || other ? 0 : free.devices / demand.devices;
}

inline void FreeIndex::note_change(NodeId node) {
  if (log_.empty()) log_.resize(kLogSize);
  log_[version_ % kLogSize] = node;
  ++version_;
}

NodeId FreeIndex::add(const NodeFree& free) {
  const NodeId node{static_cast<std::uint32_t>(nodes_.size())};
  nodes_.push_back(free);
  count(free, 1);
  insert(node);
  note_change(node);
  return node;
}

void FreeIndex::set(NodeId node, const NodeFree& free) {
  NodeFree& now = nodes_[node.index()];
  if (has_whole_devices(now) && has_whole_devices(free) && now.model == free.model)
    return change(node, free.cpu - now.cpu, free.memory - now.memory, free.devices - now.devices);
  erase(node);
  count(now, -1);
  now = free;
  count(now, 1);
  insert(node);
  note_change(node);
}

// As `set` does for a node that is usable and has no part of a device before or after.
void FreeIndex::change(NodeId node, MilliCpu cpu, Bytes memory, std::int32_t devices) {
  NodeFree& now = nodes_[node.index()];
  now.cpu = now.cpu + cpu;
  now.memory = now.memory + memory;
  free_cpu_ = free_cpu_ + cpu;
  free_memory_ = free_memory_ + memory;
  if (devices != 0) {
    ModelBuckets& buckets = models_[bucket_of(now.model)];
    const auto from = static_cast<std::size_t>(now.devices);
    now.devices += devices;
    const auto to = static_cast<std::size_t>(now.devices);
    buckets.by_free[from].erase(node.index());
    --buckets.count[from];
    if (to < buckets.by_free.size() && node.index() < buckets.by_free[to].size()) {
      buckets.by_free[to].insert(node.index());
      ++buckets.count[to];
    } else {
      insert(node);
    }
    free_devices_ += devices;
    free_thousandths_ += std::int64_t{devices} * 1000;
  }
  note_change(node);
}

void FreeIndex::insert(NodeId node) {
  const NodeFree& free = nodes_[node.index()];
  if (!free.usable) return;
  const std::size_t b = bucket_of(free.model);
  if (models_.size() <= b) models_.resize(b + 1);
  ModelBuckets& buckets = models_[b];
  const auto level = static_cast<std::size_t>(free.devices);
  if (buckets.by_free.size() <= level) {
    buckets.by_free.resize(level + 1);
    buckets.count.resize(level + 1, 0);
  }
  devices_most_ = std::max(devices_most_, free.devices);
  BitsetIndex& set = buckets.by_free[level];
  if (set.size() <= node.index()) set.resize((node.index() + 1) * 2);
  set.insert(node.index());
  ++buckets.count[level];
}

void FreeIndex::erase(NodeId node) {
  const NodeFree& free = nodes_[node.index()];
  if (!free.usable) return;
  ModelBuckets& buckets = models_[bucket_of(free.model)];
  const auto level = static_cast<std::size_t>(free.devices);
  buckets.by_free[level].erase(node.index());
  --buckets.count[level];
}

void FreeIndex::count(const NodeFree& free, int sign) {
  if (!free.usable) return;
  free_devices_ += sign * free.devices;
  free_thousandths_ += sign * free.thousandths();
  free_cpu_.count += sign * free.cpu.count;
  free_memory_.count += sign * free.memory.count;
}

bool FreeIndex::changed_since(std::uint64_t version, std::vector<NodeId>& out) const {
  if (version > version_ || version < log_begin_ || version_ - version > kLogSize) return false;
  for (std::uint64_t v = version; v < version_; ++v) out.push_back(log_[v % kLogSize]);
  return true;
}

void FreeIndex::become(const FreeIndex& other) {
  const std::uint64_t after = std::max(version_, other.version_) + 1;
  *this = other;
  version_ = log_begin_ = after;
}

std::int64_t FreeIndex::replicas_by_devices(const Demand& demand) const {
  if (demand.devices == 0 || is_share(demand)) return kMany;
  std::int64_t fit = 0;
  const std::size_t begin = demand.model.is_none() ? 0 : bucket_of(demand.model);
  const std::size_t end = demand.model.is_none() ? models_.size() : begin + 1;
  for (std::size_t m = begin; m < end && m < models_.size(); ++m)
    for (std::size_t level = static_cast<std::size_t>(demand.devices);
         level < models_[m].count.size();
         ++level)
      fit += std::int64_t{models_[m].count[level]} *
             static_cast<std::int64_t>(level / static_cast<std::size_t>(demand.devices));
  return fit;
}

NodeId FreeIndex::first_with(const Demand& demand,
                             std::int32_t devices,
                             NodeId avoid,
                             std::uint32_t from) const {
  const bool any = demand.devices == 0 || demand.model.is_none();
  const std::size_t begin = any ? 0 : bucket_of(demand.model);
  const std::size_t end = any ? models_.size() : std::min(begin + 1, models_.size());
  const auto level = static_cast<std::size_t>(devices);
  NodeId best;
  for (std::size_t m = begin; m < end; ++m) {
    if (level >= models_[m].count.size() || models_[m].count[level] == 0) continue;
    const BitsetIndex& set = models_[m].by_free[level];
    for (std::size_t i = set.next_from(from); i != BitsetIndex::kNone; i = set.next_from(i + 1)) {
      const NodeId node{static_cast<std::uint32_t>(i)};
      if (best < node) break;
      if (node == avoid || replicas_that_fit(nodes_[i], demand) < 1) continue;
      best = node;
      break;
    }
  }
  return best;
}

NodeFree less(NodeFree free, const Demand& demand, std::int32_t replicas) {
  free.cpu = free.cpu - MilliCpu{demand.cpu.count * replicas};
  free.memory = free.memory - Bytes{demand.memory.count * replicas};
  if (is_share(demand)) {
    take_shares(free, demand.share.thousandths, replicas);
  } else {
    free.devices -= demand.devices * replicas;
  }
  invariant(free.devices >= 0, kNoMore);
  return free;
}

NodeFree less_from(NodeFree free, const Demand& demand, std::int32_t left) {
  const std::int32_t rest = left - demand.share.thousandths;
  invariant(is_share(demand) && rest >= 0, kNoMore);
  free.cpu = free.cpu - demand.cpu;
  free.memory = free.memory - demand.memory;
  DeviceParts parts = parts_of(free);
  if (left == 1000) {
    invariant(--free.devices >= 0, kNoMore);
  } else {
    const auto from = std::lower_bound(parts.begin(), parts.end(), left);
    invariant(from != parts.end() && *from == left, kNoMore);
    parts.erase(from);
  }
  if (rest > 0) parts.push_back(static_cast<std::int16_t>(rest));
  set_parts(free, std::move(parts));
  return free;
}

void FreeIndex::take(NodeId node, const Demand& demand, std::int32_t replicas) {
  const NodeFree& now = at(node);
  if (!is_share(demand)) {
    invariant(now.devices >= demand.devices * replicas, kNoMore);
    if (has_whole_devices(now)) return change_by(node, demand, -replicas);
  }
  set(node, less(now, demand, replicas));
}

void FreeIndex::give(NodeId node, const Demand& demand, std::int32_t replicas) {
  if (!is_share(demand) && has_whole_devices(at(node))) return change_by(node, demand, replicas);
  NodeFree free = at(node);
  free.cpu = free.cpu + MilliCpu{demand.cpu.count * replicas};
  free.memory = free.memory + Bytes{demand.memory.count * replicas};
  if (is_share(demand)) {
    give_shares(free, demand.share.thousandths, replicas);
  } else {
    free.devices += demand.devices * replicas;
  }
  set(node, free);
}

void FreeIndex::change_by(NodeId node, const Demand& demand, std::int32_t replicas) {
  change(node,
         MilliCpu{demand.cpu.count * replicas},
         Bytes{demand.memory.count * replicas},
         demand.devices * replicas);
}

inline void CapacityTrial::touch(NodeId node) {
  touched_.push_back(node);
  before_.push_back(copy_.at(node));
}

void CapacityTrial::sync(const FreeIndex& base) {
  if (base_ == &base) {
    rollback();
    changed_.clear();
    if (base.changed_since(base_version_, changed_) && copy_.size() == base.size()) {
      for (const NodeId node : changed_)
        if (!(copy_.at(node) == base.at(node))) copy_.set(node, base.at(node));
      base_version_ = base.version();
      return;
    }
  }
  base_ = &base;
  copy_.become(base);
  base_version_ = base.version();
  touched_.clear();
  before_.clear();
  notes_.clear();
}

void CapacityTrial::rollback() {
  if (base_ == nullptr) return;
  for (const NodeId node : touched_)
    if (!(copy_.at(node) == base_->at(node))) copy_.set(node, base_->at(node));
  touched_.clear();
  before_.clear();
  notes_.clear();
}

void CapacityTrial::undo(std::size_t mark) {
  for (std::size_t i = touched_.size(); i-- > mark;)
    if (!(copy_.at(touched_[i]) == before_[i])) copy_.set(touched_[i], before_[i]);
  touched_.resize(mark);
  before_.resize(mark);
  while (!notes_.empty() && notes_.back().entry >= mark) notes_.pop_back();
}

bool CapacityTrial::gave(NodeId node, JobId job) const {
  for (std::size_t i = notes_.size(); i-- > 0;)
    if (notes_[i].job == job && touched_[notes_[i].entry] == node) return notes_[i].gives;
  return false;
}

void CapacityTrial::note(JobId whose, bool gives) {
  if (!whose.is_none()) notes_.push_back({touched_.size() - 1, whose, gives});
}

void CapacityTrial::take(NodeId node, const Demand& demand, std::int32_t replicas, JobId whose) {
  touch(node);
  note(whose, false);
  copy_.take(node, demand, replicas);
}

void CapacityTrial::take_from(NodeId node, const Demand& demand, std::int32_t left) {
  touch(node);
  copy_.set(node, less_from(copy_.at(node), demand, left));
}

void CapacityTrial::give(NodeId node, const Demand& demand, std::int32_t replicas, JobId whose) {
  touch(node);
  note(whose, true);
  copy_.give(node, demand, replicas);
}

void CapacityTrial::reduce(NodeId node, const NodeFree& most) {
  const NodeFree least = least_of(copy_.at(node), most);
  if (least == copy_.at(node)) return;
  touch(node);
  copy_.set(node, least);
}

}  // namespace orrery
