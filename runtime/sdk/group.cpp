#include "runtime/sdk/group.hpp"

#include <algorithm>
#include <map>

#include "runtime/sdk/group_state.hpp"

namespace orrery::sdk {
namespace {

using Written = std::shared_ptr<const WrittenValues>;

/// Named arguments with those that are common to all; the same name twice is refused.
Value with_common(Value named, const Value& common, const std::string& method) {
  for (const auto& [name, value] : common.items()) {
    if (named.contains(name))
      throw BadArguments(method + ": found the argument " + name +
                         " among the common ones too, needed it once; leave one out");
    named[name] = value;
  }
  return named;
}

void check_objects(const std::string& method, const Value& named, const Value& common) {
  if (!named.is_object() || !common.is_object())
    throw BadArguments(method +
                       ": found arguments that are no object, needed named ones; name each");
}

/// Lengths of nested lists, outermost first; stops at `depth`. Refuses lists of unequal length.
void measure(const Value& value,
             std::size_t depth,
             const std::string& name,
             std::vector<std::int32_t>& extents) {
  if (extents.size() == depth || !value.is_array()) return;
  const std::size_t level = extents.size();
  extents.push_back(static_cast<std::int32_t>(value.size()));
  std::vector<std::int32_t> first;
  for (std::size_t i = 0; i < value.size(); ++i) {
    std::vector<std::int32_t> below(extents.begin(),
                                    extents.begin() + static_cast<std::ptrdiff_t>(level) + 1);
    measure(value[i], depth, name, below);
    if (i > 0 && below != first)
      throw BadArguments("argument " + name +
                         ": found lists of unequal length inside each other, needed one element "
                         "per index of each axis; fill it up");
    first = std::move(below);
  }
  if (!first.empty()) extents = std::move(first);
}

workers::CallArguments arguments_of(const Value& named, std::size_t depth) {
  workers::CallArguments out;
  for (const auto& [name, value] : named.items()) {
    workers::KeywordArgument argument;
    argument.name = name;
    measure(value, depth, name, argument.extents);
    out.keyword.push_back(std::move(argument));
  }
  return out;
}

/// Writes the arguments of each call of a plan, equal ones once.
class PlanWriter {
 public:
  PlanWriter(const workers::RunPlan& plan, Value named, const Value& common, std::string method)
      : plan_(plan), named_(std::move(named)), common_(common), method_(std::move(method)) {}

  std::vector<Written> write() {
    std::vector<Written> out;
    for (const workers::WorkerCall& call : plan_.calls) {
      Written& written = done_[{call.data, call.part}];
      if (!written)
        written = write_arguments(Value::array(), with_common(part_for(call), common_, method_));
      out.push_back(written);
    }
    return out;
  }

 private:
  Value part_for(const workers::WorkerCall& call) {
    if (call.data == workers::CallData::Shared) return named_;
    Value out = Value::object();
    for (auto& [name, value] : named_.items()) {
      if (call.data == workers::CallData::Dummy) {
        out[name] = nullptr;
        continue;
      }
      // Each part is written once, so it is taken out of the data.
      Value* part = &value;
      if (call.data == workers::CallData::Item) {
        part = &value[static_cast<std::size_t>(call.part)];
      } else {
        for (const std::int32_t index : workers::shard_path(plan_, call.part))
          part = &(*part)[static_cast<std::size_t>(index)];
      }
      out[name] = std::move(*part);
    }
    return out;
  }

  const workers::RunPlan& plan_;
  Value named_;
  const Value& common_;
  std::string method_;
  std::map<std::pair<workers::CallData, std::int32_t>, Written> done_;
};

std::vector<std::int32_t> ranks_of(const workers::RunPlan& plan) {
  std::vector<std::int32_t> out;
  for (const workers::WorkerCall& call : plan.calls) out.push_back(call.worker);
  return out;
}

std::vector<std::int32_t> all_ranks(std::size_t count) {
  std::vector<std::int32_t> out;
  for (std::size_t rank = 0; rank < count; ++rank) out.push_back(static_cast<std::int32_t>(rank));
  return out;
}

/// The group as the rules of calls see it.
struct Called {
  std::shared_ptr<const GroupMembers> members;
  std::optional<workers::NamedSharding> sharding;

  workers::CalledGroup group() const {
    return {static_cast<std::int32_t>(members->peers.size()), sharding ? &*sharding : nullptr};
  }
};

template <class State>
Called called_of(State& state) {
  Called out{state.current(), std::nullopt};
  const std::scoped_lock lock(state.mutex);
  out.sharding = state.sharding;
  return out;
}

template <class State>
detail::GroupCall send_plan(State& state,
                            const Called& called,
                            const Result<workers::RunPlan>& plan,
                            const std::string& method,
                            Value named,
                            const GroupCallOptions& options) {
  if (!plan) raise_unfit(method, plan.errors());
  const std::vector<Written> written =
      PlanWriter(*plan, std::move(named), options.common, method).write();
  detail::GroupCall out = state.send(*called.members, method, ranks_of(*plan), written, options);
  out.returns = plan->returns;
  return out;
}

}  // namespace

WorkerGroup::WorkerGroup(Driver driver, std::string role, GroupOptions options)
    : state_(std::make_shared<State>(std::move(driver), std::move(role), std::move(options))) {}

std::int64_t WorkerGroup::size() const {
  const std::scoped_lock lock(state_->mutex);
  return static_cast<std::int64_t>(state_->members->peers.size());
}

std::uint64_t WorkerGroup::generation() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->members->generation;
}

const std::string& WorkerGroup::role() const { return state_->role; }

std::vector<std::string> WorkerGroup::workers() const {
  const std::scoped_lock lock(state_->mutex);
  std::vector<std::string> out;
  for (const Peer& peer : state_->members->peers) out.push_back(peer.worker);
  return out;
}

RemoteWorker WorkerGroup::operator[](std::int64_t rank) const {
  return state_->driver.worker(state_->role, rank);
}

void WorkerGroup::refresh(std::optional<Sharding> sharding) {
  state_->refresh(std::move(sharding));
}

detail::GroupCall WorkerGroup::single_worker(const std::string& method,
                                             std::int64_t rank,
                                             Value named,
                                             const GroupCallOptions& options) {
  check_objects(method, named, options.common);
  const Called called = called_of(*state_);
  const bool is_rank = rank >= 0 && rank < called.group().workers;
  const auto plan = workers::run_single_worker(
      called.group(), is_rank ? static_cast<std::int32_t>(rank) : -1, arguments_of(named, 0));
  return send_plan(*state_, called, plan, method, std::move(named), options);
}

detail::GroupCall WorkerGroup::single_data(const std::string& method,
                                           Value named,
                                           const std::vector<std::string>& axes,
                                           const GroupCallOptions& options) {
  check_objects(method, named, options.common);
  const Called called = called_of(*state_);
  const auto plan = workers::run_all_single_data(called.group(), arguments_of(named, 0), axes);
  return send_plan(*state_, called, plan, method, std::move(named), options);
}

detail::GroupCall WorkerGroup::multiple_data(const std::string& method,
                                             Value lists,
                                             const std::vector<std::string>& axes,
                                             const GroupCallOptions& options) {
  check_objects(method, lists, options.common);
  const Called called = called_of(*state_);
  const auto plan = workers::run_all_multiple_data(called.group(), arguments_of(lists, 1), axes);
  return send_plan(*state_, called, plan, method, std::move(lists), options);
}

detail::GroupCall WorkerGroup::sharded_data(const std::string& method,
                                            Value nested,
                                            const ShardedAxes& axes,
                                            const GroupCallOptions& options) {
  check_objects(method, nested, options.common);
  const Called called = called_of(*state_);
  const auto plan = workers::run_all_sharded_data(called.group(),
                                                  arguments_of(nested, axes.in_sharded_axes.size()),
                                                  {axes.in_sharded_axes,
                                                   axes.replicate_on_axes,
                                                   axes.output_is_replicated,
                                                   axes.make_dummy_calls_to_free_axes});
  return send_plan(*state_, called, plan, method, std::move(nested), options);
}

detail::GroupCall WorkerGroup::all_same(const std::string& method, Value positional) {
  const std::shared_ptr<const GroupMembers> members = state_->current();
  const Written written = write_arguments(std::move(positional), Value::object());
  const std::vector<Written> each(members->peers.size(), written);
  return state_->send(*members, method, all_ranks(each.size()), each, {});
}

detail::GroupCall WorkerGroup::rank_0(const std::string& method, Value positional) {
  const std::shared_ptr<const GroupMembers> members = state_->current();
  return state_->send(
      *members, method, {0}, {write_arguments(std::move(positional), Value::object())}, {});
}

detail::GroupCall WorkerGroup::batch(const std::string& method,
                                     std::size_t size,
                                     Value positional) {
  for (const Value& argument : positional)
    if (argument.is_array() && argument.size() != size)
      throw BadArguments(method + ": found a list of " + std::to_string(argument.size()) +
                         " elements, needed " + std::to_string(size) +
                         "; give lists of the batch's size, or wrap what is the same for all "
                         "into an object");
  const std::shared_ptr<const GroupMembers> members = state_->current();
  const std::size_t count = std::min(size, members->peers.size());
  std::vector<Written> written;
  std::size_t begin = 0;
  for (std::size_t rank = 0; rank < count; ++rank) {
    const std::size_t length = size / count + (rank < size % count ? 1 : 0);
    Value args = Value::array();
    for (Value& argument : positional) {
      if (!argument.is_array()) {
        args.push_back(argument);
        continue;
      }
      Value piece = Value::array();
      for (std::size_t i = begin; i < begin + length; ++i) piece.push_back(std::move(argument[i]));
      args.push_back(std::move(piece));
    }
    written.push_back(write_arguments(std::move(args), Value::object()));
    begin += length;
  }
  return state_->send(*members, method, all_ranks(count), written, {});
}

namespace detail {

std::vector<GroupOutcome> group_outcomes(GroupCall& call) {
  std::vector<GroupOutcome> out;
  // They are read one after the other, and a worker may go on with the others only.
  if (call.stream)
    for (const auto& each : call.calls) each->let_all_come(true);
  for (std::size_t i = 0; i < call.calls.size(); ++i) {
    GroupOutcome& outcome = out.emplace_back();
    outcome.rank = call.ranks[i];
    outcome.returns = std::ranges::binary_search(call.returns, i);
    try {
      if (call.stream) {
        Value items = Value::array();
        while (std::optional<Value> item = call.calls[i]->take_item())
          items.push_back(std::move(*item));
        outcome.value = std::move(items);
      } else {
        outcome.value = call.calls[i]->take_result();
      }
    } catch (const CallError& error) {
      outcome.error = error.fields();
    }
  }
  return out;
}

void drop_unreturned(const GroupCall& call) {
  for (std::size_t i = 0; i < call.calls.size(); ++i)
    if (!std::ranges::binary_search(call.returns, i)) call.calls[i]->let_all_come(false);
}

std::vector<Value> group_result(GroupCall& call) {
  std::vector<GroupOutcome> outcomes = group_outcomes(call);
  for (const GroupOutcome& outcome : outcomes)
    if (outcome.error) raise(*outcome.error);
  workers::RunPlan plan;
  plan.calls.resize(outcomes.size());
  plan.returns = call.returns;
  std::vector<workers::CallAnswer> answers;
  for (const GroupOutcome& outcome : outcomes)
    answers.push_back(
        {call.stream, call.stream ? static_cast<std::int32_t>(outcome.value->size()) : 1});
  std::vector<Value> out;
  for (const workers::ResultPiece& piece :
       workers::collect(plan, answers, workers::Streams::Flatten)) {
    Value& value = *outcomes[piece.call].value;
    out.push_back(std::move(piece.item < 0 ? value : value[static_cast<std::size_t>(piece.item)]));
  }
  return out;
}

}  // namespace detail
}  // namespace orrery::sdk
