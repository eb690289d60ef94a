#include "policies/pollux_blocks.hpp"

#include <algorithm>
#include <utility>

namespace orrery::policies {

namespace {

std::int64_t devices_least(const BlockRow& row) {
  return std::int64_t{row.replicas_min} * row.devices_each;
}

/// The root of the node's tree; what lies on the way points nearer to it afterwards.
std::uint32_t root_of(std::vector<std::uint32_t>& parents, std::uint32_t node) {
  while (parents[node] != node) node = parents[node] = parents[parents[node]];
  return node;
}

}  // namespace

BlockMaker::BlockMaker(std::span<const BlockRow> rows,
                       std::span<const std::int32_t> devices,
                       std::span<const std::uint32_t> seeds,
                       const BlockOptions& options,
                       Random& random)
    : rows_(rows),
      devices_(devices),
      seeds_(seeds),
      options_(options),
      random_(random),
      free_(devices.begin(), devices.end()),
      block_of_(devices.size(), 0) {
  for (const std::int32_t size : devices_) node_size_ = std::max(node_size_, size);
  rows_at_.fill(devices_.size(), [&](auto&& put) {
    for (std::uint32_t row = 0; row < rows_.size(); ++row)
      for (const NodeCount& at : rows_[row].nodes) put(at.node.index(), row);
  });
  for (const BlockRow& row : rows_)
    for (const NodeCount& at : row.nodes) free_[at.node.index()] -= at.replicas * row.devices_each;
  make_groups();
  order_free_groups();
  sort_waiting();
}

/// Nodes that no block may part.
void BlockMaker::make_groups() {
  group_.resize(devices_.size());
  std::iota(group_.begin(), group_.end(), 0u);
  if (options_.whole_jobs)
    for (const BlockRow& row : rows_)
      for (const NodeCount& at : row.nodes)
        group_[root_of(group_, at.node.value)] = root_of(group_, row.nodes.front().node.value);
  for (std::uint32_t node = 0; node < group_.size(); ++node) group_[node] = root_of(group_, node);
  nodes_of_.fill(group_.size(), [&](auto&& put) {
    for (std::uint32_t node = 0; node < group_.size(); ++node) put(group_[node], node);
  });
}

void BlockMaker::order_free_groups() {
  std::vector<std::int64_t> free(group_.size(), 0);
  for (std::size_t node = 0; node < group_.size(); ++node) free[group_[node]] += free_[node];
  for (std::uint32_t group = 0; group < group_.size(); ++group)
    if (free[group] > 0) free_groups_.push_back(group);
  std::stable_sort(
      free_groups_.begin(), free_groups_.end(), [&](auto a, auto b) { return free[a] > free[b]; });
  fullest_ = free_groups_.size();
}

void BlockMaker::sort_waiting() {
  std::vector<std::uint32_t> wide;
  const std::int64_t half = std::int64_t{options_.nodes} * node_size_ / 2;
  for (std::uint32_t row = 0; row < rows_.size(); ++row)
    if (rows_[row].replicas == 0)
      (devices_least(rows_[row]) > half ? wide : waiting_).push_back(row);
  if (!wide.empty()) wide_ = wide[random_.below(wide.size())];
}

/// Adds the group's nodes that no block has; whether there was one.
bool BlockMaker::take(Draft& draft, std::uint32_t group) {
  bool any = false;
  for (const std::uint32_t node : nodes_of_.at(group)) {
    if (block_of_[node] != 0) continue;
    any = true;
    block_of_[node] = blocks_;
    draft.block.nodes.push_back(node);
    draft.free += std::max(free_[node], 0);
  }
  return any;
}

void BlockMaker::take_groups_of(Draft& draft, const BlockRow& row) {
  for (const NodeCount& at : row.nodes) take(draft, group_[at.node.index()]);
}

/// Up to half of the block; the first one whatever it has.
void BlockMaker::add_seeds(Draft& draft) {
  const std::size_t half = draft.nodes_most / 2;
  for (; next_seed_ < seeds_.size(); ++next_seed_) {
    const BlockRow& row = rows_[seeds_[next_seed_]];
    const bool is_taken = std::ranges::any_of(row.nodes, [&](const NodeCount& at) {
      const std::uint32_t block = block_of_[at.node.index()];
      return block != 0 && block != blocks_;
    });
    if (is_taken) continue;
    if (!draft.block.nodes.empty() && draft.block.nodes.size() + row.nodes.size() > half) return;
    take_groups_of(draft, row);
    draft.wanted += std::int64_t{row.replicas_max - row.replicas} * row.devices_each;
    // It may go together on emptier nodes.
    if (row.nodes.size() > 1) draft.wanted += std::int64_t{row.replicas} * row.devices_each;
    draft.nodes_most = std::max(draft.nodes_most, 2 * draft.block.nodes.size());
  }
}

void BlockMaker::add_wide(Draft& draft) {
  if (!wide_) return;
  const std::int64_t devices = devices_least(rows_[*wide_]);
  const std::int64_t nodes = (devices + node_size_ - 1) / node_size_;
  draft.nodes_most = std::max(draft.nodes_most, static_cast<std::size_t>(nodes + nodes / 2));
  draft.wanted += devices;
  draft.block.rows.push_back(*std::exchange(wide_, std::nullopt));
}

void BlockMaker::add_free(Draft& draft) {
  bool from_front = true;
  while (emptiest_ < fullest_ && draft.free < draft.wanted &&
         draft.block.nodes.size() < draft.nodes_most) {
    take(draft, free_groups_[from_front ? emptiest_++ : --fullest_]);
    from_front = !from_front;
  }
}

void BlockMaker::add_donors(Draft& draft) {
  if (draft.free >= draft.wanted) return;
  if (donors_.empty()) {
    for (std::uint32_t group = 0; group < group_.size(); ++group)
      if (!nodes_of_.at(group).empty()) donors_.push_back(group);
    random_.shuffle(donors_);
  }
  while (next_donor_ < donors_.size() && draft.block.nodes.size() < draft.nodes_most)
    take(draft, donors_[next_donor_++]);
}

/// Those that hold nothing outside, and some of those that wait.
void BlockMaker::add_rows(Draft& draft) {
  std::vector<std::uint32_t>& rows = draft.block.rows;
  std::int64_t devices = 0;
  const std::size_t waiting = rows.size();
  for (const std::uint32_t node : draft.block.nodes) {
    devices += devices_[node];
    for (const std::uint32_t row : rows_at_.at(node)) rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  std::erase_if(rows, [&](std::uint32_t row) {
    return std::ranges::any_of(rows_[row].nodes, [&](const NodeCount& at) {
      return block_of_[at.node.index()] != blocks_;
    });
  });
  std::int64_t may_start =
      devices - static_cast<std::int64_t>(rows.size() - waiting) + kWaitingMore;
  while (next_waiting_ < waiting_.size() && may_start-- > 0 &&
         devices_least(rows_[waiting_[next_waiting_]]) <= devices)
    rows.push_back(waiting_[next_waiting_++]);
  std::sort(rows.begin(), rows.end());
}

/// Less what rows hold that are not in the block.
void BlockMaker::count_devices(Block& block) const {
  for (const std::uint32_t node : block.nodes) {
    std::int32_t devices = devices_[node];
    for (const std::uint32_t row : rows_at_.at(node)) {
      if (std::binary_search(block.rows.begin(), block.rows.end(), row)) continue;
      for (const NodeCount& at : rows_[row].nodes)
        if (at.node.value == node) devices -= at.replicas * rows_[row].devices_each;
    }
    block.devices.push_back(std::max(devices, 0));
  }
}

std::optional<Block> BlockMaker::next() {
  ++blocks_;
  Draft draft;
  const std::size_t seeds = next_seed_;
  const std::size_t waiting = next_waiting_;
  draft.nodes_most = static_cast<std::size_t>(options_.nodes);
  add_seeds(draft);
  add_wide(draft);
  const std::int64_t most = static_cast<std::int64_t>(draft.nodes_most) * node_size_;
  for (std::size_t i = next_waiting_; i < waiting_.size() && draft.wanted < most; ++i)
    draft.wanted += devices_least(rows_[waiting_[i]]);
  if (draft.wanted == 0 && draft.block.nodes.empty()) return std::nullopt;
  add_free(draft);
  add_donors(draft);
  const bool is_wide = !draft.block.rows.empty();
  add_rows(draft);
  const bool has_purpose = is_wide || next_seed_ > seeds || next_waiting_ > waiting;
  if (draft.block.rows.empty() || !has_purpose) return std::nullopt;
  std::sort(draft.block.nodes.begin(), draft.block.nodes.end());
  count_devices(draft.block);
  return std::move(draft.block);
}

}  // namespace orrery::policies
