// Calls of a method on a worker group: which workers run, with which part of the data, and which
// results return. Nothing is called here; docs/virtual_clusters.md has the rules in one table.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/enum_names.hpp"
#include "core/base/result.hpp"
#include "core/workers/named_sharding.hpp"

namespace orrery::workers {

/// What a worker is called with.
enum class CallData : std::uint8_t {
  Shared,  ///< The same for every worker that runs.
  Item,    ///< One item of a list.
  Shard,   ///< One element of a list nested along the sharded axes.
  Dummy,   ///< Nothing in every argument: so that it takes part in collectives.
};

}  // namespace orrery::workers

namespace orrery {

template <>
struct EnumNames<workers::CallData> {
  static constexpr std::array kNames{"shared", "item", "shard", "dummy"};
};

}  // namespace orrery

namespace orrery::workers {

/// One worker's part of a call.
struct WorkerCall {
  std::int32_t worker = 0;  ///< Rank in the group.
  CallData data = CallData::Shared;
  std::int32_t part = -1;  ///< Item: index into the list. Shard: index row by row over the sharded
                           ///< axes as they were named, the last running fastest. Otherwise -1.

  friend bool operator==(const WorkerCall&, const WorkerCall&) = default;
};

/// One call of the whole group.
struct RunPlan {
  std::vector<WorkerCall> calls;     ///< Ascending by worker.
  std::vector<std::size_t> returns;  ///< Indices into `calls` whose results return; ascending.
  std::vector<std::int32_t> shard_extents;  ///< Sharded data: sizes of the sharded axes as named.

  friend bool operator==(const RunPlan&, const RunPlan&) = default;
};

/// An argument given by keyword.
struct KeywordArgument {
  std::string name;
  std::vector<std::int32_t> extents;  ///< Lengths of its nested lists, outermost first: one for
                                      ///< multiple data, one per sharded axis for sharded data.
};

/// What a call is given. Arguments common to all workers need no mention.
struct CallArguments {
  std::int32_t positional = 0;  ///< Always refused unless 0: a worker may only be told by keyword.
  std::vector<KeywordArgument> keyword;
};

/// The group that is called.
struct CalledGroup {
  std::int32_t workers = 0;                 ///< Ranks 0 .. workers - 1.
  const NamedSharding* sharding = nullptr;  ///< Of exactly these ranks; null: none.
};

/// Whether the group's sharding, where it has one, has a place for each of its workers.
Status check_sharding(const CalledGroup& group);

/// One worker runs and returns.
Result<RunPlan> run_single_worker(const CalledGroup& group,
                                  std::int32_t worker,
                                  const CallArguments& arguments);

/// Every worker at index 0 of each axis of `run_rank_0_only_axes` runs with the same data and
/// returns. A group without sharding has no axes to name, and then all run.
Result<RunPlan> run_all_single_data(const CalledGroup& group,
                                    const CallArguments& arguments,
                                    std::span<const std::string> run_rank_0_only_axes = {});

/// The same workers run; the i-th of them takes the i-th item of every argument. At least one
/// argument, all as long as workers run.
Result<RunPlan> run_all_multiple_data(const CalledGroup& group,
                                      const CallArguments& arguments,
                                      std::span<const std::string> run_rank_0_only_axes = {});

/// How data lies along the axes of a sharded call. Axes named in neither of the first two lists are
/// free: only workers at their index 0 take data.
struct ShardedCall {
  std::vector<std::string> in_sharded_axes;       ///< Outermost list first.
  std::vector<std::string> replicate_on_axes;     ///< Every worker along them takes the same shard.
  std::vector<std::string> output_is_replicated;  ///< Results return from their index 0 only.
  bool make_dummy_calls_to_free_axes = false;     ///< The others run too, with nothing.
};

/// Sharded data. Results return from workers that took data and stand at index 0 of all axes along
/// which the output is replicated.
Result<RunPlan> run_all_sharded_data(const CalledGroup& group,
                                     const CallArguments& arguments,
                                     const ShardedCall& call);

/// Indices of a shard along the sharded axes, as they were named.
std::vector<std::int32_t> shard_path(const RunPlan& plan, std::int32_t part);

/// What one call answered: a value, or a stream of so many.
struct CallAnswer {
  bool is_stream = false;
  std::int32_t items = 1;  ///< Of a stream; a value counts one.
};

/// What becomes of streams.
enum class Streams : std::uint8_t {
  Flatten,   ///< Their items stand one after the other among the results.
  HandBack,  ///< Each is one result.
};

/// One result: the answer of `calls[call]`, or an item of its stream.
struct ResultPiece {
  std::size_t call = 0;
  std::int32_t item = -1;  ///< Of a flattened stream; otherwise -1.

  friend bool operator==(const ResultPiece&, const ResultPiece&) = default;
};

/// The results that return, in the order of the workers. `answers`: one per call of the plan.
std::vector<ResultPiece> collect(const RunPlan& plan,
                                 std::span<const CallAnswer> answers,
                                 Streams streams);

}  // namespace orrery::workers
