// How pollux searches a large cluster: in blocks of a few nodes with the jobs there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "core/base/random.hpp"
#include "core/cluster/node_count.hpp"

namespace orrery::policies {

/// Of the rows that wait so many more are searched than devices could start with one each: who is
/// first may be too wide, and would keep the others out.
inline constexpr std::int32_t kWaitingMore = 16;

/// One job as blocks are made of it.
struct BlockRow {
  std::int32_t replicas_min = 1;
  std::int32_t replicas_max = 1;     ///< At least `replicas_min`.
  std::int32_t devices_each = 1;     ///< Of one replica, at least 1.
  std::int32_t replicas = 0;         ///< That it holds; 0: it waits.
  std::span<const NodeCount> nodes;  ///< Where it holds them.
};

/// Rows and nodes that are searched together, by index, ascending.
struct Block {
  std::vector<std::uint32_t> rows;
  std::vector<std::uint32_t> nodes;
  std::vector<std::int32_t> devices;  ///< By place in `nodes`: less what rows outside hold there.
};

struct BlockOptions {
  std::int32_t nodes = 16;  ///< Of a block, at least 1; more where its jobs need more.
  bool whole_jobs = true;   ///< Of a job on several nodes, a block has all nodes or none.
};

/// Lists of small numbers, by a small number, in one piece of memory.
class NumberLists {
 public:
  /// `each(f)` calls `f(list, item)` for all items, twice the same; lists are below `count`.
  template <class Each>
  void fill(std::size_t count, Each&& each) {
    starts_.assign(count + 1, 0);
    each([&](std::size_t list, std::uint32_t) { ++starts_[list + 1]; });
    std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
    items_.resize(starts_.back());
    std::vector<std::uint32_t> next(starts_.begin(), starts_.end() - 1);
    each([&](std::size_t list, std::uint32_t item) { items_[next[list]++] = item; });
  }

  std::span<const std::uint32_t> at(std::size_t list) const {
    return std::span(items_).subspan(starts_[list], starts_[list + 1] - starts_[list]);
  }

 private:
  std::vector<std::uint32_t> starts_;
  std::vector<std::uint32_t> items_;
};

/// Cuts blocks out of one cluster, which share no node. A block is made around the next of the
/// `seeds` (rows that hold replicas and may gain from a search) and the rows that wait. Nodes with
/// free devices are added as far as these could use them, the emptiest and the fullest by turns;
/// where that is not enough, nodes drawn at random, whose rows may give some up. One row that needs
/// more than half of a block for its minimum gets its turn, drawn at random.
class BlockMaker {
 public:
  /// `rows`: where they wait, the earlier one has its turn first; `devices`: by node, what the rows
  /// may share; `seeds`: indices of rows that hold replicas. All three outlive the maker.
  BlockMaker(std::span<const BlockRow> rows,
             std::span<const std::int32_t> devices,
             std::span<const std::uint32_t> seeds,
             const BlockOptions& options,
             Random& random);

  /// The next block; nothing where no seed and no waiting row is left that one can be made for.
  std::optional<Block> next();

  /// How many seeds have had their turn.
  std::size_t seeds_passed() const { return next_seed_; }

 private:
  /// The block that is being made.
  struct Draft {
    Block block;
    std::size_t nodes_most = 0;
    std::int64_t wanted = 0;  ///< Devices that its rows could use beyond what they hold.
    std::int64_t free = 0;    ///< Devices that its nodes have free.
  };

  void make_groups();
  void order_free_groups();
  void sort_waiting();
  bool take(Draft& draft, std::uint32_t group);
  void take_groups_of(Draft& draft, const BlockRow& row);
  void add_seeds(Draft& draft);
  void add_wide(Draft& draft);
  void add_free(Draft& draft);
  void add_donors(Draft& draft);
  void add_rows(Draft& draft);
  void count_devices(Block& block) const;

  std::span<const BlockRow> rows_;
  std::span<const std::int32_t> devices_;
  std::span<const std::uint32_t> seeds_;
  BlockOptions options_;
  Random& random_;
  std::int32_t node_size_ = 1;              ///< Devices of the largest node.
  std::vector<std::int32_t> free_;          ///< By node: devices that no row holds.
  NumberLists rows_at_;                     ///< By node: rows that hold replicas there.
  std::vector<std::uint32_t> group_;        ///< By node: its group, named by one of its nodes.
  NumberLists nodes_of_;                    ///< By group.
  std::vector<std::uint32_t> free_groups_;  ///< Those with free devices, most of them first.
  std::size_t emptiest_ = 0;                ///< Where those are that were not offered yet.
  std::size_t fullest_ = 0;                 ///< Their end.
  std::vector<std::uint32_t> donors_;       ///< All groups in random order, once asked for.
  std::size_t next_donor_ = 0;
  std::vector<std::uint32_t> block_of_;  ///< By node: the number of its block, 0: none yet.
  std::uint32_t blocks_ = 0;             ///< That were begun.
  std::vector<std::uint32_t> waiting_;   ///< Rows that wait for half a block at most.
  std::optional<std::uint32_t> wide_;    ///< One that waits for more.
  std::size_t next_seed_ = 0;
  std::size_t next_waiting_ = 0;
};

}  // namespace orrery::policies
