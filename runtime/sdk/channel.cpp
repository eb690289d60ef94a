#include "runtime/sdk/channel.hpp"

#include "runtime/sdk/buffer_memory.hpp"
#include "runtime/sdk/errors.hpp"

namespace orrery::sdk {
namespace {

[[noreturn]] void raise_odd_answer(const std::string& name, const std::string& method) {
  raise(detail::error_fields("Protocol",
                             "channel " + name + ": found an answer to " + method +
                                 " that docs/calls.md does not have; use SDKs of one version"));
}

Value field(const Value& object, const char* name) {
  const auto at = object.find(name);
  return at == object.end() ? Value() : *at;
}

template <class T>
T number(const Value& object, const char* name) {
  const Value value = field(object, name);
  return value.is_number() ? value.get<T>() : T{};
}

Value key_of(const std::optional<std::string>& key) { return key ? Value(*key) : Value(); }

}  // namespace

ChannelBatch::ChannelBatch(RemoteWorker owner, std::string name, Value answer)
    : owner_(std::move(owner)), name_(std::move(name)) {
  if (!answer.is_object() || !answer.contains("lease") || !answer.contains("items") ||
      !answer["items"].is_array())
    raise_odd_answer(name_, "get");
  lease_ = answer["lease"];
  for (Value& each : answer["items"]) {
    if (!each.is_array() || each.size() != 3 || !each[1].is_number())
      raise_odd_answer(name_, "get");
    ChannelItem& item = items.emplace_back();
    item.value = std::move(each[2]);
    if (each[0].is_string()) item.key = each[0].get<std::string>();
    item.weight = each[1].get<double>();
  }
}

ChannelBatch::~ChannelBatch() {
  for (ChannelItem& item : items) detail::give_memory(item.value);
}

void ChannelBatch::acknowledge() {
  owner_.call_named("orrery.channel.ack", {{"name", name_}, {"lease", lease_}});
}

Channel Channel::create(RemoteWorker owner, std::string name, const ChannelOptions& options) {
  const Value answer = owner.call_named(
      "orrery.channel.create",
      {{"name", name}, {"capacity", options.capacity}, {"weight_max", options.weight_max}});
  const Value epoch = answer.is_object() ? field(answer, "epoch") : answer;
  if (!epoch.is_string()) raise_odd_answer(name, "create");
  return {std::move(owner), std::move(name), epoch.get<std::string>()};
}

Channel Channel::open(RemoteWorker owner, std::string name) {
  const Value state = owner.call_named("orrery.channel.state", {{"name", name}});
  const Value epoch = state.is_object() ? field(state, "epoch") : Value();
  if (!epoch.is_string()) raise_odd_answer(name, "state");
  return {std::move(owner), std::move(name), epoch.get<std::string>()};
}

Value Channel::put_arguments(std::vector<ChannelItem> items) const {
  Value list = Value::array();
  for (ChannelItem& item : items) {
    Value triple = Value::array();
    triple.push_back(key_of(item.key));
    triple.push_back(item.weight);
    triple.push_back(std::move(item.value));
    list.push_back(std::move(triple));
  }
  Value named = {{"name", name_}, {"epoch", epoch_}};
  named["items"] = std::move(list);
  return named;
}

std::uint64_t Channel::put_all(std::vector<ChannelItem> items) {
  const Value answer = owner_.call_named("orrery.channel.put", put_arguments(std::move(items)));
  if (!answer.is_number_unsigned()) raise_odd_answer(name_, "put");
  return answer.get<std::uint64_t>();
}

Future<std::uint64_t> Channel::submit_put_all(std::vector<ChannelItem> items) {
  return owner_.submit_named<std::uint64_t>("orrery.channel.put", put_arguments(std::move(items)));
}

Value Channel::get_arguments(const ChannelTake& take) const {
  Value named = {{"name", name_}, {"epoch", epoch_}};
  if (take.key) named["key"] = *take.key;
  if (take.weight) {
    named["weight"] = *take.weight;
  } else {
    named["count"] = take.count;
  }
  return named;
}

ChannelBatch Channel::get(const ChannelTake& take) {
  return {owner_, name_, owner_.call_named("orrery.channel.get", get_arguments(take))};
}

ChannelBatch Channel::next(ChannelBatch done, const ChannelTake& take) {
  Value named = get_arguments(take);
  named["ack"] = std::move(done.lease_);
  { const ChannelBatch gone = std::move(done); }  // Its memory is there for what comes.
  return {owner_, name_, owner_.call_named("orrery.channel.get", std::move(named))};
}

ChannelState Channel::state() const {
  const Value answer = owner_.call_named("orrery.channel.state", {{"name", name_}});
  if (!answer.is_object()) raise_odd_answer(name_, "state");
  ChannelState out;
  out.items = number<std::uint64_t>(answer, "items");
  out.weight = number<double>(answer, "weight");
  out.by_key = field(answer, "by_key");
  out.capacity = number<std::uint64_t>(answer, "capacity");
  out.weight_max = number<double>(answer, "weight_max");
  out.put = number<std::uint64_t>(answer, "put");
  out.taken = number<std::uint64_t>(answer, "taken");
  out.leased = number<std::uint64_t>(answer, "leased");
  out.waiting_puts = number<std::uint64_t>(answer, "waiting_puts");
  out.waiting_gets = number<std::uint64_t>(answer, "waiting_gets");
  out.closed = field(answer, "closed") == true;
  const Value epoch = field(answer, "epoch");
  if (epoch.is_string()) out.epoch = epoch.get<std::string>();
  return out;
}

void Channel::close() { owner_.call_named("orrery.channel.close", {{"name", name_}}); }

}  // namespace orrery::sdk
