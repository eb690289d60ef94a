// The workers of a role, called together.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/sdk/driver.hpp"
#include "runtime/sdk/future.hpp"

namespace orrery::sdk {

/// Named axes over the ranks of a group, the last running fastest: {{"dp", "tp"}, {2, 4}}.
struct Sharding {
  std::vector<std::string> names;
  std::vector<std::int32_t> shape;
  std::vector<std::int32_t> ranks;  ///< Row by row; empty: 0, 1, 2 ...
};

struct GroupOptions {
  std::optional<Sharding> sharding;
  /// How long to wait until all workers of the role can be called.
  std::chrono::milliseconds form_deadline{120'000};
  CallOptions call;   ///< Of each call; the generation is the group's.
  bool claim = true;  ///< Whether the group is held, so that no second driver holds it.
};

/// How data lies along the axes. Axes in neither of the first two lists are free: only workers at
/// their index 0 take data.
struct ShardedAxes {
  std::vector<std::string> in_sharded_axes;       ///< Outermost list first.
  std::vector<std::string> replicate_on_axes;     ///< Workers along them take the same shard.
  std::vector<std::string> output_is_replicated;  ///< Results return from their index 0 only.
  bool make_dummy_calls_to_free_axes = false;     ///< The others run too, with null.
};

/// What one worker of a group answered.
struct GroupOutcome {
  std::int64_t rank = 0;  ///< In the group.
  std::optional<Value> value;
  std::optional<ErrorFields> error;
  bool returns = true;  ///< Whether result() has it.
};

namespace detail {

/// One call of a group.
struct GroupCall {
  std::string method;
  std::vector<std::shared_ptr<CallState>> calls;  ///< By rank.
  std::vector<std::int64_t> ranks;
  std::vector<std::size_t> returns;  ///< Indices into `calls`, ascending.
  bool stream = false;
};

/// What this group's call gave, with values moved out; once.
std::vector<GroupOutcome> group_outcomes(GroupCall& call);

/// Nobody reads the streams of workers whose values do not return.
void drop_unreturned(const GroupCall& call);

/// The values that return, streams flattened. Throws the first error by rank.
std::vector<Value> group_result(GroupCall& call);

}  // namespace detail

/// The answers of a group's call.
template <class T = Value>
class GroupFuture {
 public:
  explicit GroupFuture(detail::GroupCall call) : call_(std::move(call)) {}

  /// The values that return, in rank order; waits for all, so that nothing runs on unseen. Throws
  /// the first error by rank. Once.
  std::vector<T> result() {
    std::vector<T> out;
    for (Value& value : detail::group_result(call_)) out.push_back(value_as<T>(std::move(value)));
    return out;
  }

  /// As above where each worker answers with a list: their elements one after the other.
  std::vector<T> flat() {
    std::vector<T> out;
    for (Value& list : detail::group_result(call_))
      for (Value& value : list) out.push_back(value_as<T>(std::move(value)));
    return out;
  }

  /// What each worker that was called gave: nothing is lost because another one failed. Once.
  std::vector<GroupOutcome> outcomes() { return detail::group_outcomes(call_); }

  /// Ranks that were called.
  const std::vector<std::int64_t>& called() const { return call_.ranks; }

  /// Ranks whose values return.
  std::vector<std::int64_t> returning() const {
    std::vector<std::int64_t> out;
    for (const std::size_t index : call_.returns) out.push_back(call_.ranks[index]);
    return out;
  }

  /// Of calls with streams: the streams themselves, of the workers that return. Once.
  /// Each has a credit of its own: workers that wait for each other at every item are read side by
  /// side, or by `result`.
  std::vector<Stream<T>> streams() {
    detail::drop_unreturned(call_);
    std::vector<Stream<T>> out;
    for (const std::size_t index : call_.returns) out.emplace_back(call_.calls[index]);
    return out;
  }

  void wait() const {
    for (const auto& call : call_.calls) PendingCall(call).wait();
  }

  bool is_ready() const {
    for (const auto& call : call_.calls)
      if (!PendingCall(call).is_ready()) return false;
    return true;
  }

  void cancel() {
    for (const auto& call : call_.calls) PendingCall(call).cancel();
  }

 private:
  detail::GroupCall call_;
};

/// What a group's call may say besides.
struct GroupCallOptions {
  Value common = Value::object();  ///< Named arguments that are the same for all.
  bool stream = false;             ///< Asks for items; result() has them flattened.
  std::optional<std::chrono::milliseconds> deadline;
};

/// A group. The four run calls take named arguments only, as an object; their rules are those of
/// docs/virtual_clusters.md. Everything about a call is checked before the first worker is called.
/// After WorkerLost or GenerationChanged the next call takes the directory's new members by itself.
/// Copies are the same group. Any thread.
class WorkerGroup {
 public:
  /// Waits until all workers of the role can be called. Throws a CallError, BadArguments for a
  /// sharding that cannot be, or has not just one place for each worker.
  WorkerGroup(Driver driver, std::string role, GroupOptions options = {});

  std::int64_t size() const;
  std::uint64_t generation() const;
  const std::string& role() const;

  /// Lasting names by rank.
  std::vector<std::string> workers() const;

  /// The worker at a rank, called without a claim.
  RemoteWorker operator[](std::int64_t rank) const;

  /// Takes the members of now; waits for them as the constructor does. A new sharding replaces the
  /// old one.
  void refresh(std::optional<Sharding> sharding = std::nullopt);

  // --- calls by axes ---

  /// One worker.
  template <class T = Value>
  GroupFuture<T> run_single_worker(const std::string& method,
                                   std::int64_t rank,
                                   Value named = Value::object(),
                                   const GroupCallOptions& options = {}) {
    return GroupFuture<T>(single_worker(method, rank, std::move(named), options));
  }

  /// All workers, or those at index 0 of the axes, with the same data.
  template <class T = Value>
  GroupFuture<T> run_all_single_data(const std::string& method,
                                     Value named = Value::object(),
                                     const std::vector<std::string>& run_rank_0_only_axes = {},
                                     const GroupCallOptions& options = {}) {
    return GroupFuture<T>(single_data(method, std::move(named), run_rank_0_only_axes, options));
  }

  /// The same workers; the i-th that runs takes the i-th element of each list.
  template <class T = Value>
  GroupFuture<T> run_all_multiple_data(const std::string& method,
                                       Value lists,
                                       const std::vector<std::string>& run_rank_0_only_axes = {},
                                       const GroupCallOptions& options = {}) {
    return GroupFuture<T>(multiple_data(method, std::move(lists), run_rank_0_only_axes, options));
  }

  /// Sharded data: each argument a list nested as deep as there are sharded axes.
  template <class T = Value>
  GroupFuture<T> run_all_sharded_data(const std::string& method,
                                      Value nested,
                                      const ShardedAxes& axes,
                                      const GroupCallOptions& options = {}) {
    return GroupFuture<T>(sharded_data(method, std::move(nested), axes, options));
  }

  // --- calls by positional arguments ---

  /// All workers with the same arguments.
  template <class T = Value, class... A>
  GroupFuture<T> call(const std::string& method, A&&... arguments) {
    return GroupFuture<T>(all_same(method, detail::list_of(std::forward<A>(arguments)...)));
  }

  /// The worker at rank 0.
  template <class T = Value, class... A>
  Future<T> call_rank0(const std::string& method, A&&... arguments) {
    detail::GroupCall one = rank_0(method, detail::list_of(std::forward<A>(arguments)...));
    return Future<T>(one.calls.front());
  }

  /// Lists of `size` elements are cut into one piece per worker, whose lengths differ by one at
  /// most, the longer ones first; workers without a piece are not called. Other arguments are the
  /// same for all. Throws BadArguments for a list of another length.
  template <class T = Value, class... A>
  GroupFuture<T> call_batch(const std::string& method, std::size_t size, A&&... arguments) {
    return GroupFuture<T>(batch(method, size, detail::list_of(std::forward<A>(arguments)...)));
  }

 private:
  struct State;

  detail::GroupCall single_worker(const std::string& method,
                                  std::int64_t rank,
                                  Value named,
                                  const GroupCallOptions& options);
  detail::GroupCall single_data(const std::string& method,
                                Value named,
                                const std::vector<std::string>& axes,
                                const GroupCallOptions& options);
  detail::GroupCall multiple_data(const std::string& method,
                                  Value lists,
                                  const std::vector<std::string>& axes,
                                  const GroupCallOptions& options);
  detail::GroupCall sharded_data(const std::string& method,
                                 Value nested,
                                 const ShardedAxes& axes,
                                 const GroupCallOptions& options);
  detail::GroupCall all_same(const std::string& method, Value positional);
  detail::GroupCall rank_0(const std::string& method, Value positional);
  detail::GroupCall batch(const std::string& method, std::size_t size, Value positional);

  std::shared_ptr<State> state_;
};

}  // namespace orrery::sdk
