#include "runtime/sdk/channel_store.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/number_text.hpp"
#include "runtime/sdk/hashes.hpp"
#include "runtime/sdk/served_connection.hpp"

namespace orrery::sdk::detail {
namespace {

constexpr std::string_view kPrefix = "orrery.channel.";

std::string channel_name(const Value& value) {
  if (!value.is_string() || value.get_ref<const std::string&>().empty())
    throw BadArguments("channel: found no name, needed a text that is not empty; name the channel");
  return value.get<std::string>();
}

std::uint64_t whole_number(const Value& value, const char* name, std::uint64_t least) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() < least)
    throw BadArguments(std::string("channel: ") + name + ": found " + value.dump().substr(0, 100) +
                       ", needed a whole number from " + std::to_string(least) + "; correct it");
  return value.get<std::uint64_t>();
}

double weight_in(const Value& value, const char* name) {
  if (value.is_null()) return 0;
  if (!value.is_number() || value.get<double>() < 0)
    throw BadArguments(std::string("channel: ") + name +
                       ": found what is no number from 0, needed one; correct it");
  return value.get<double>();
}

}  // namespace

bool ChannelStore::handles(const std::string& method) const {
  constexpr std::array<std::string_view, 6> kNames{"create", "put", "get", "ack", "state", "close"};
  return method.starts_with(kPrefix) &&
         std::ranges::find(kNames, std::string_view(method).substr(kPrefix.size())) != kNames.end();
}

void ChannelStore::handle(const ServedCallPtr& call) {
  struct Operation {
    MethodEntry entry;
    void (ChannelStore::*run)(const ServedCallPtr&, std::vector<Value>);
  };

  const auto operation = [](const char* name,
                            std::vector<std::string> parameters,
                            std::vector<bool> optional,
                            void (ChannelStore::*run)(const ServedCallPtr&, std::vector<Value>)) {
    MethodEntry entry;
    entry.name = std::string(kPrefix) + name;
    entry.arity = parameters.size();
    entry.options.parameters = std::move(parameters);
    entry.may_be_absent = std::move(optional);
    return std::pair(std::string(name), Operation{std::move(entry), run});
  };
  // Never destroyed: the I/O thread goes on while the program ends.
  static const auto& kOperations = *new std::map<std::string, Operation, std::less<>>{
      operation("create",
                {"name", "capacity", "weight_max"},
                {false, false, true},
                &ChannelStore::create),
      operation("put", {"name", "items", "epoch"}, {false, false, true}, &ChannelStore::put),
      operation("get",
                {"name", "count", "weight", "key", "epoch", "ack"},
                {false, true, true, true, true, true},
                &ChannelStore::get),
      operation("ack", {"name", "lease"}, {false, false}, &ChannelStore::ack),
      operation("state", {"name"}, {false}, &ChannelStore::state),
      operation("close", {"name"}, {false}, &ChannelStore::close),
  };
  const Operation& asked =
      kOperations.find(std::string_view(call->message.method).substr(kPrefix.size()))->second;
  try {
    (this->*asked.run)(
        call,
        bind_arguments(
            asked.entry, std::move(call->message.args), std::move(call->message.kwargs)));
  } catch (const CallError& error) {
    finish_(call, error.fields());
  }
}

ChannelStore::Channel& ChannelStore::find(const Value& name, const Value& epoch) {
  const std::string text = channel_name(name);
  const auto at = channels_.find(text);
  const bool is_old = !epoch.is_null() && (at == channels_.end() || epoch != at->second.epoch);
  if (is_old)
    raise(channel_error("ChannelClosed",
                        text,
                        "found another life of it, needed the one that this side knows; what was "
                        "in that one is lost, open it again"));
  if (at == channels_.end()) {
    std::string names;
    for (const auto& [each, channel] : channels_)
      names.append(names.empty() ? "" : ", ").append(each);
    raise(channel_error("NoSuchChannel",
                        text,
                        "found none of this name, needed one of " +
                            (names.empty() ? "none" : names) + "; create it first"));
  }
  return at->second;
}

/// What is told to who would make the channel anew, though it is closed with something left. A new
/// one of its name would take from consumers what they may still give back.
std::string ChannelStore::why_not_anew(const Channel& channel) {
  std::map<std::string, std::size_t> holders;
  for (const auto& [number, lease] : channel.leases)
    holders[lease.connection->caller()] += lease.items.size();
  std::string leased;
  for (const auto& [caller, count] : holders)
    leased += (leased.empty() ? "" : ", ") + std::to_string(count) + " of " + caller;
  return "found it closed with " + std::to_string(channel.items.size()) + " items left and " +
         std::to_string(channel.leases.size()) +
         " leases open (items: " + (leased.empty() ? "none" : leased) +
         "), needed one that is done with or open; get and acknowledge what is left (a driver that "
         "has a lease may end, too), and open it without a capacity for that";
}

void ChannelStore::create(const ServedCallPtr& call, std::vector<Value> values) {
  const std::string name = channel_name(values[0]);
  const std::uint64_t capacity = whole_number(values[1], "capacity", 1);
  const double weight_max = weight_in(values[2], "weight_max");
  // One that was closed and emptied has had its life.
  if (const auto old = channels_.find(name); old != channels_.end() && old->second.closed &&
                                             old->second.items.empty() &&
                                             old->second.leases.empty())
    channels_.erase(old);
  const auto [at, is_new] = channels_.try_emplace(name);
  Channel& channel = at->second;
  if (is_new) {
    channel.epoch = random_hex(8);
    channel.capacity = capacity;
    channel.weight_max = weight_max;
  } else if (channel.capacity != capacity || channel.weight_max != weight_max) {
    throw BadArguments("channel " + name + ": found one with capacity " +
                       std::to_string(channel.capacity) +
                       ", needed equal limits of all that create it; create it at one place");
  } else if (channel.closed) {
    raise(channel_error("ChannelClosed", name, why_not_anew(channel)));
  }
  finish_(call, channel_answer({{"epoch", channel.epoch}}));
}

void ChannelStore::put(const ServedCallPtr& call, std::vector<Value> values) {
  Channel& channel = find(values[0], values[2]);
  const std::string name = values[0].get<std::string>();
  Put put{call, {}, 0};
  if (!values[1].is_array())
    throw BadArguments("channel " + name + ": items: found no list, needed [[key, weight, value]]");
  for (Value& each : values[1]) {
    if (!each.is_array() || each.size() != 3)
      throw BadArguments("channel " + name +
                         ": found an item that is not [key, weight, value]; correct it");
    check_key(name, each[0]);
    check_text(name, each[2]);
    const double weight = weight_in(each[1], "weight");
    put.items.push_back(std::make_shared<const Item>(
        Item{std::move(each[0]), weight, OwnedValue(std::move(each[2]))}));
    put.weight += weight;
  }
  if (channel.closed)
    raise(channel_error("ChannelClosed", name, "it takes no more items; it was closed"));
  const bool never_fits = put.items.size() > channel.capacity ||
                          (channel.weight_max > 0 && put.weight > channel.weight_max);
  if (never_fits)
    raise(
        channel_error("ChannelFull",
                      name,
                      "found " + std::to_string(put.items.size()) + " items of weight " +
                          Value(put.weight).dump() + " at once, it never holds more than " +
                          std::to_string(channel.capacity) +
                          (channel.weight_max > 0 ? " of weight " + Value(channel.weight_max).dump()
                                                  : std::string()) +
                          "; put fewer at a time, or create it larger"));
  channel.puts.push_back(std::move(put));
  settle(name);
  if (!call->is_over) wait(call, name);
}

void ChannelStore::get(const ServedCallPtr& call, std::vector<Value> values) {
  Channel& channel = find(values[0], values[4]);
  const std::string name = values[0].get<std::string>();
  // What was taken is done with, whatever is asked for next.
  if (!values[5].is_null()) {
    acknowledge(channel, name, values[5]);
    settle(name);
  }
  Get get{call, 0, 0, std::move(values[3])};
  if (!values[1].is_null() && !values[2].is_null())
    throw BadArguments("channel: found count and weight, needed one of both; leave one out");
  if (values[2].is_null()) {
    get.count = values[1].is_null() ? 1 : whole_number(values[1], "count", 1);
  } else {
    get.weight = weight_in(values[2], "weight");
  }
  check_key(name, get.key);
  channel.gets.push_back(std::move(get));
  settle(name);
  if (!call->is_over) wait(call, name);
}

/// The call waits in a channel until its deadline.
void ChannelStore::wait(const ServedCallPtr& call, const std::string& name) {
  const std::weak_ptr<ServedCall> weak = call;
  call->on_abandoned = [this, weak, name] {
    if (const ServedCallPtr gone = weak.lock()) {
      forget(name, gone);
      drop_(gone, std::nullopt);
      settle(name);
    }
  };
  call->timer = Io::instance().after(
      std::max(Milliseconds(0),
               std::chrono::ceil<Milliseconds>(call->deadline - std::chrono::steady_clock::now())),
      [this, weak, name] {
        const ServedCallPtr late = weak.lock();
        if (!late) return;
        forget(name, late);
        drop_(late,
              error_fields("Timeout",
                           "channel " + name + ": found " + late->message.method +
                               " still waiting at its deadline; give it a longer one"));
        settle(name);
      });
}

void ChannelStore::forget(const std::string& name, const ServedCallPtr& call) {
  const auto at = channels_.find(name);
  if (at == channels_.end()) return;
  std::erase_if(at->second.puts, [&](const Put& put) { return put.call == call; });
  std::erase_if(at->second.gets, [&](const Get& get) { return get.call == call; });
}

/// Items of a lease are done with.
void ChannelStore::acknowledge(Channel& channel, const std::string& name, const Value& of) {
  const std::string number = of.is_string() ? of.get<std::string>() : std::string();
  const auto lease = channel.leases.find(parsed_number<std::uint64_t>(number).value_or(0));
  if (lease == channel.leases.end())
    throw BadArguments("channel " + name + ": found lease \"" + number.substr(0, 64) +
                       "\", which is acknowledged or was given back; its items may come again");
  channel.taken_count += lease->second.items.size();
  channel.leases.erase(lease);
}

void ChannelStore::ack(const ServedCallPtr& call, std::vector<Value> values) {
  Channel& channel = find(values[0], nullptr);
  acknowledge(channel, values[0].get<std::string>(), values[1]);
  finish_(call, channel_answer(nullptr));
  settle(values[0].get<std::string>());
}

void ChannelStore::state(const ServedCallPtr& call, std::vector<Value> values) {
  const Channel& channel = find(values[0], nullptr);
  Value by_key = Value::object();
  for (const auto& [place, item] : channel.items) {
    Value& count = by_key[item->key.is_string() ? item->key.get<std::string>() : std::string()];
    count = count.is_null() ? 1 : count.get<int>() + 1;
  }
  std::uint64_t leased = 0;
  for (const auto& [number, lease] : channel.leases) leased += lease.items.size();
  finish_(call,
          channel_answer({{"items", channel.items.size()},
                          {"weight", channel.weight},
                          {"by_key", by_key},
                          {"capacity", channel.capacity},
                          {"weight_max", channel.weight_max},
                          {"put", channel.put_count},
                          {"taken", channel.taken_count},
                          {"leased", leased},
                          {"waiting_puts", channel.puts.size()},
                          {"waiting_gets", channel.gets.size()},
                          {"closed", channel.closed},
                          {"epoch", channel.epoch}}));
}

void ChannelStore::close(const ServedCallPtr& call, std::vector<Value> values) {
  find(values[0], nullptr).closed = true;
  settle(values[0].get<std::string>());
  finish_(call, channel_answer(nullptr));
}

}  // namespace orrery::sdk::detail
