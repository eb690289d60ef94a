#include "core/workers/run_all.hpp"

#include <algorithm>
#include <utility>

#include "core/base/invariant.hpp"

namespace orrery::workers {
namespace {

Error refused_call(const std::string& about, std::string message) {
  return {ErrorCode::InvalidInput, {}, 0, about, std::move(message)};
}

/// What every kind of call needs.
void check_call(const CalledGroup& group, const CallArguments& arguments, Errors& errors) {
  if (arguments.positional != 0)
    errors.push_back(refused_call("arguments",
                                  "found " + std::to_string(arguments.positional) +
                                      " positional, needed keywords only; name each argument"));
  if (const Status whole = check_sharding(group); !whole)
    errors.insert(errors.end(), whole.errors().begin(), whole.errors().end());
}

/// Positions of the named axes among those of the group; what is wrong goes to `errors`.
std::vector<std::size_t> positions(const CalledGroup& group,
                                   std::span<const std::string> axes,
                                   const std::string& list,
                                   Errors& errors) {
  std::vector<std::size_t> out;
  if (group.sharding == nullptr) {
    if (!axes.empty())
      errors.push_back(
          refused_call(list,
                       "found axis " + axes.front() +
                           " for a group without named sharding, needed no axes; give the "
                           "group a sharding or leave the axes out"));
    return out;
  }
  for (const std::string& axis : axes) {
    const Result<std::size_t> position = group.sharding->axis_index(axis);
    if (!position) {
      errors.push_back(refused_call(list, position.errors().front().message));
    } else if (std::ranges::find(out, *position) != out.end()) {
      errors.push_back(
          refused_call(list, "found axis " + axis + " twice, needed it once; name it once"));
    } else {
      out.push_back(*position);
    }
  }
  return out;
}

/// Coordinates of a worker in a sharding that was found whole.
std::vector<std::int32_t> coordinates(const CalledGroup& group, std::int32_t worker) {
  if (group.sharding == nullptr) return {};
  return group.sharding->coordinates_of(worker).value();
}

bool all_zero(const std::vector<std::int32_t>& at, const std::vector<std::size_t>& axes) {
  return std::ranges::all_of(axes, [&](std::size_t axis) { return at[axis] == 0; });
}

void add_returning(RunPlan& plan, const WorkerCall& call) {
  plan.returns.push_back(plan.calls.size());
  plan.calls.push_back(call);
}

/// All workers at index 0 of the axes, each with the same data.
RunPlan at_zero_of(const CalledGroup& group, const std::vector<std::size_t>& axes) {
  RunPlan plan;
  for (std::int32_t worker = 0; worker < group.workers; ++worker)
    if (all_zero(coordinates(group, worker), axes))
      add_returning(plan, {worker, CallData::Shared, -1});
  return plan;
}

void check_items(const CallArguments& arguments, std::size_t started, Errors& errors) {
  if (arguments.keyword.empty())
    errors.push_back(
        refused_call("arguments",
                     "found none, needed at least one list with an item per worker; call "
                     "with single data instead"));
  for (const KeywordArgument& argument : arguments.keyword) {
    const std::int32_t items = argument.extents.empty() ? 0 : argument.extents.front();
    if (static_cast<std::size_t>(items) == started) continue;
    errors.push_back(refused_call("argument " + argument.name,
                                  "found " + std::to_string(items) + " items, needed " +
                                      std::to_string(started) +
                                      ", one per worker that is started; give each its item"));
  }
}

/// Axes of a sharded call by position.
struct CallAxes {
  std::vector<std::size_t> sharded;
  std::vector<std::size_t> free;
  std::vector<std::size_t> output;
};

CallAxes axes_of(const CalledGroup& group, const ShardedCall& call, Errors& errors) {
  CallAxes out;
  out.sharded = positions(group, call.in_sharded_axes, "in_sharded_axes", errors);
  const std::vector<std::size_t> replicated =
      positions(group, call.replicate_on_axes, "replicate_on_axes", errors);
  out.output = positions(group, call.output_is_replicated, "output_is_replicated", errors);
  const auto has = [](const std::vector<std::size_t>& axes, std::size_t axis) {
    return std::ranges::find(axes, axis) != axes.end();
  };
  for (std::size_t axis = 0; axis < group.sharding->names().size(); ++axis) {
    const bool is_sharded = has(out.sharded, axis);
    const bool is_replicated = has(replicated, axis);
    if (is_sharded && is_replicated)
      errors.push_back(
          refused_call("replicate_on_axes",
                       "found axis " + group.sharding->names()[axis] +
                           ", which is sharded too, needed one of both; take it out of "
                           "one list"));
    if (!is_sharded && !is_replicated) out.free.push_back(axis);
  }
  return out;
}

void check_extents(const CallArguments& arguments,
                   const std::vector<std::int32_t>& needed,
                   const std::vector<std::string>& axes,
                   Errors& errors) {
  for (const KeywordArgument& argument : arguments.keyword)
    for (std::size_t depth = 0; depth < needed.size(); ++depth) {
      const std::int32_t found = depth < argument.extents.size() ? argument.extents[depth] : 0;
      if (found == needed[depth]) continue;
      errors.push_back(refused_call("argument " + argument.name,
                                    "found " + std::to_string(found) + " elements along axis " +
                                        axes[depth] + ", needed " + std::to_string(needed[depth]) +
                                        "; split the data into one element per index of the axis"));
    }
}

}  // namespace

Status check_sharding(const CalledGroup& group) {
  if (group.sharding == nullptr) return Done{};
  const std::vector<std::int32_t>& ranks = group.sharding->ranks();
  const bool is_whole =
      ranks.size() == static_cast<std::size_t>(group.workers) &&
      std::ranges::all_of(ranks, [&](std::int32_t rank) { return rank < group.workers; });
  if (is_whole) return Done{};
  return refused_call("named sharding",
                      "found " + group.sharding->text() + ", needed a place for each of the " +
                          std::to_string(group.workers) +
                          " workers; number its ranks 0 to workers - 1");
}

Result<RunPlan> run_single_worker(const CalledGroup& group,
                                  std::int32_t worker,
                                  const CallArguments& arguments) {
  Errors errors;
  check_call(group, arguments, errors);
  if (worker < 0 || worker >= group.workers)
    errors.push_back({ErrorCode::NotFound,
                      {},
                      0,
                      "worker " + std::to_string(worker),
                      "found no such worker, needed 0 to " + std::to_string(group.workers - 1) +
                          "; choose a worker of the group"});
  if (!errors.empty()) return errors;
  RunPlan plan;
  add_returning(plan, {worker, CallData::Shared, -1});
  return plan;
}

Result<RunPlan> run_all_single_data(const CalledGroup& group,
                                    const CallArguments& arguments,
                                    std::span<const std::string> run_rank_0_only_axes) {
  Errors errors;
  check_call(group, arguments, errors);
  const std::vector<std::size_t> axes =
      positions(group, run_rank_0_only_axes, "run_rank_0_only_axes", errors);
  if (!errors.empty()) return errors;
  return at_zero_of(group, axes);
}

Result<RunPlan> run_all_multiple_data(const CalledGroup& group,
                                      const CallArguments& arguments,
                                      std::span<const std::string> run_rank_0_only_axes) {
  Result<RunPlan> shared = run_all_single_data(group, arguments, run_rank_0_only_axes);
  if (!shared) return shared;
  Errors errors;
  check_items(arguments, shared->calls.size(), errors);
  if (!errors.empty()) return errors;
  std::int32_t item = 0;
  for (WorkerCall& call : shared->calls) call = {call.worker, CallData::Item, item++};
  return shared;
}

Result<RunPlan> run_all_sharded_data(const CalledGroup& group,
                                     const CallArguments& arguments,
                                     const ShardedCall& call) {
  if (group.sharding == nullptr)
    return refused_call(
        "group",
        "found no named sharding, needed one for sharded data; give the group its axes "
        "or call with multiple data");
  Errors errors;
  check_call(group, arguments, errors);
  const CallAxes axes = axes_of(group, call, errors);
  RunPlan plan;
  for (const std::size_t axis : axes.sharded)
    plan.shard_extents.push_back(group.sharding->shape()[axis]);
  if (errors.empty()) check_extents(arguments, plan.shard_extents, call.in_sharded_axes, errors);
  if (!errors.empty()) return errors;
  for (std::int32_t worker = 0; worker < group.workers; ++worker) {
    const std::vector<std::int32_t> at = coordinates(group, worker);
    if (!all_zero(at, axes.free)) {
      if (call.make_dummy_calls_to_free_axes) plan.calls.push_back({worker, CallData::Dummy, -1});
      continue;
    }
    std::int32_t shard = 0;
    for (const std::size_t axis : axes.sharded)
      shard = shard * group.sharding->shape()[axis] + at[axis];
    if (all_zero(at, axes.output)) plan.returns.push_back(plan.calls.size());
    plan.calls.push_back({worker, CallData::Shard, shard});
  }
  return plan;
}

std::vector<std::int32_t> shard_path(const RunPlan& plan, std::int32_t part) {
  std::vector<std::int32_t> out(plan.shard_extents.size());
  for (std::size_t axis = out.size(); axis-- > 0;) {
    out[axis] = part % plan.shard_extents[axis];
    part /= plan.shard_extents[axis];
  }
  return out;
}

std::vector<ResultPiece> collect(const RunPlan& plan,
                                 std::span<const CallAnswer> answers,
                                 Streams streams) {
  invariant(answers.size() == plan.calls.size(), "every call of a plan has one answer");
  std::vector<ResultPiece> out;
  for (const std::size_t call : plan.returns) {
    if (!answers[call].is_stream || streams == Streams::HandBack) {
      out.push_back({call, -1});
      continue;
    }
    for (std::int32_t item = 0; item < answers[call].items; ++item) out.push_back({call, item});
  }
  return out;
}

}  // namespace orrery::workers
