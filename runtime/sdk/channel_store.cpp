#include "runtime/sdk/channel_store.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/sdk/hashes.hpp"

namespace orrery::sdk::detail {
namespace {

constexpr std::string_view kPrefix = "orrery.channel.";

ErrorFields channel_error(const char* type, const std::string& channel, const std::string& why) {
  ErrorFields out = error_fields(type, "channel " + channel + ": " + why);
  out.details["channel"] = channel;
  return out;
}

std::shared_ptr<const WrittenValues> channel_answer(Value value) {
  return write_result(std::move(value));
}

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

  const auto operation = [](std::vector<std::string> parameters,
                            std::vector<bool> optional,
                            void (ChannelStore::*run)(const ServedCallPtr&, std::vector<Value>)) {
    MethodEntry entry;
    entry.arity = parameters.size();
    entry.options.parameters = std::move(parameters);
    entry.may_be_absent = std::move(optional);
    return Operation{std::move(entry), run};
  };
  static const std::map<std::string, Operation, std::less<>> kOperations{
      {"create",
       operation({"name", "capacity", "weight_max"}, {false, false, true}, &ChannelStore::create)},
      {"put", operation({"name", "items", "epoch"}, {false, false, true}, &ChannelStore::put)},
      {"get",
       operation({"name", "count", "weight", "key", "epoch"},
                 {false, true, true, true, true},
                 &ChannelStore::get)},
      {"ack", operation({"name", "lease"}, {false, false}, &ChannelStore::ack)},
      {"state", operation({"name"}, {false}, &ChannelStore::state)},
      {"close", operation({"name"}, {false}, &ChannelStore::close)},
  };
  const Operation& asked =
      kOperations.find(std::string_view(call->message.method).substr(kPrefix.size()))->second;
  MethodEntry entry = asked.entry;
  entry.name = call->message.method;
  try {
    (this->*asked.run)(
        call,
        bind_arguments(entry, std::move(call->message.args), std::move(call->message.kwargs)));
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

void ChannelStore::create(const ServedCallPtr& call, std::vector<Value> values) {
  const std::string name = channel_name(values[0]);
  const std::uint64_t capacity = whole_number(values[1], "capacity", 1);
  const double weight_max = weight_in(values[2], "weight_max");
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
    if (!each.is_array() || each.size() != 3 || !(each[0].is_null() || each[0].is_string()))
      throw BadArguments("channel " + name +
                         ": found an item that is not [key, weight, value] with a text or null as "
                         "key; correct it");
    const double weight = weight_in(each[1], "weight");
    put.items.push_back(
        std::make_shared<const Item>(Item{std::move(each[0]), weight, std::move(each[2])}));
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
  wait(call, name);
  settle(name);
}

void ChannelStore::get(const ServedCallPtr& call, std::vector<Value> values) {
  Channel& channel = find(values[0], values[4]);
  Get get{call, 0, 0, std::move(values[3])};
  if (!values[1].is_null() && !values[2].is_null())
    throw BadArguments("channel: found count and weight, needed one of both; leave one out");
  if (values[2].is_null()) {
    get.count = values[1].is_null() ? 1 : whole_number(values[1], "count", 1);
  } else {
    get.weight = weight_in(values[2], "weight");
  }
  channel.gets.push_back(std::move(get));
  const std::string name = values[0].get<std::string>();
  wait(call, name);
  settle(name);
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

bool ChannelStore::has_room(const Channel& channel, const Put& put) {
  return channel.items.size() + put.items.size() <= channel.capacity &&
         (channel.weight_max <= 0 || channel.weight + put.weight <= channel.weight_max);
}

std::vector<std::uint64_t> ChannelStore::places_for(const Channel& channel, const Get& get) {
  std::vector<std::uint64_t> out;
  double weight = 0;
  for (const auto& [place, item] : channel.items) {
    if (!get.key.is_null() && item->key != get.key) continue;
    out.push_back(place);
    weight += item->weight;
    if (get.count > 0 ? out.size() >= get.count : weight >= get.weight) break;
  }
  return out;
}

/// Whether an item for `get` may come although nothing is put any more: one that another consumer
/// has and does not acknowledge.
bool ChannelStore::may_still_come(const Channel& channel, const Get& get) {
  const auto own = get.call->connection.lock();
  return std::ranges::any_of(channel.leases, [&](const auto& each) {
    return each.second.connection != own.get() &&
           std::ranges::any_of(each.second.items, [&](const auto& item) {
             return get.key.is_null() || item.second->key == get.key;
           });
  });
}

void ChannelStore::take_in(Channel& channel, Put put) {
  channel.put_count += put.items.size();
  channel.weight += put.weight;
  for (auto& item : put.items) channel.items.emplace(++channel.last_place, std::move(item));
  finish_(put.call, channel_answer(channel.items.size()));
}

void ChannelStore::hand_out(Channel& channel,
                            const Get& get,
                            const std::vector<std::uint64_t>& places) {
  const std::uint64_t number = ++last_lease_;
  Lease& lease = channel.leases[number];
  lease.connection = get.call->connection.lock().get();
  lease.call = get.call->message.id;
  std::vector<std::shared_ptr<const Item>> items;
  for (const std::uint64_t place : places) {
    auto node = channel.items.extract(place);
    channel.weight -= node.mapped()->weight;
    items.push_back(node.mapped());
    lease.items.insert(std::move(node));
  }
  if (channel.items.empty()) channel.weight = 0;  // No rest of rounding.
  const auto written = write_items(number, std::move(items));
  const std::uint64_t bytes = bytes_in(written->buffers);
  if (bytes > get.call->message.result_max || written->fields.size() + 256 > kHeaderMax) {
    give_back(channel, lease);
    channel.leases.erase(number);
    ErrorFields error =
        error_fields("TooLarge",
                     "channel: found items of " + std::to_string(bytes) +
                         " bytes, more than the answer may have; get fewer at once");
    error.details["bytes"] = bytes;
    error.details["limit"] = get.call->message.result_max;
    return finish_(get.call, error);
  }
  finish_(get.call, written);
}

/// The answer of a get. The items stay where they are: the lease has them too.
std::shared_ptr<const WrittenValues> ChannelStore::write_items(
    std::uint64_t lease, std::vector<std::shared_ptr<const Item>> items) {
  struct Held {
    std::vector<std::shared_ptr<const Item>> items;
    WrittenValues written;
  };

  const auto held = std::make_shared<Held>();
  held->items = std::move(items);
  WrittenValues& out = held->written;
  out.fields = R"("value":{"lease":)" + std::to_string(lease) + R"(,"items":[)";
  for (const auto& item : held->items) {
    if (!out.fields.ends_with('[')) out.fields += ',';
    out.fields += '[';
    write_value(item->key, "key", out.fields, out.buffers);
    out.fields += ',' + Value(item->weight).dump() + ',';
    write_value(item->value, "item", out.fields, out.buffers);
    out.fields += ']';
  }
  out.fields += "]}" + buffers_field(out.buffers);
  return {held, &held->written};
}

void ChannelStore::give_back(Channel& channel, Lease& lease) {
  for (const auto& [place, item] : lease.items) channel.weight += item->weight;
  channel.items.merge(lease.items);
}

void ChannelStore::settle(const std::string& name) {
  const auto at = channels_.find(name);
  if (at == channels_.end()) return;
  Channel& channel = at->second;
  for (bool moved = true; moved;) {
    moved = false;
    // Puts in their order: a small one does not pass a large one, which would wait for ever.
    while (!channel.puts.empty() && !channel.closed && has_room(channel, channel.puts.front())) {
      Put put = std::move(channel.puts.front());
      channel.puts.pop_front();
      take_in(channel, std::move(put));
      moved = true;
    }
    for (std::size_t i = 0; i < channel.gets.size() && !channel.items.empty();) {
      const std::vector<std::uint64_t> places = places_for(channel, channel.gets[i]);
      if (places.empty()) {
        ++i;
        continue;
      }
      const Get get = std::move(channel.gets[i]);
      channel.gets.erase(channel.gets.begin() + static_cast<std::ptrdiff_t>(i));
      hand_out(channel, get, places);
      moved = true;
    }
  }
  if (!channel.closed) return;
  for (const Put& put : std::exchange(channel.puts, {}))
    finish_(put.call, channel_error("ChannelClosed", name, "it was closed while a put waited"));
  std::deque<Get> still;
  for (Get& get : std::exchange(channel.gets, {})) {
    if (may_still_come(channel, get)) {
      still.push_back(std::move(get));
    } else {
      finish_(get.call,
              channel_error("ChannelClosed", name, "it was closed and has no items left"));
    }
  }
  channel.gets = std::move(still);
}

void ChannelStore::ack(const ServedCallPtr& call, std::vector<Value> values) {
  Channel& channel = find(values[0], nullptr);
  const std::uint64_t number = whole_number(values[1], "lease", 1);
  const auto lease = channel.leases.find(number);
  if (lease == channel.leases.end())
    throw BadArguments("channel " + values[0].get<std::string>() + ": found lease " +
                       std::to_string(number) +
                       ", which is acknowledged or was given back; its items may come again");
  channel.taken_count += lease->second.items.size();
  channel.leases.erase(lease);
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

void ChannelStore::on_end(const ServedConnection& connection) {
  for (auto& [name, channel] : channels_) {
    for (auto& [number, lease] : channel.leases)
      if (lease.connection == &connection) give_back(channel, lease);
    std::erase_if(channel.leases,
                  [&](const auto& each) { return each.second.connection == &connection; });
    settle(name);
  }
}

void ChannelStore::on_late_cancel(const ServedConnection& connection, std::uint64_t id) {
  for (auto& [name, channel] : channels_) {
    const auto lease = std::ranges::find_if(channel.leases, [&](const auto& each) {
      return each.second.connection == &connection && each.second.call == id;
    });
    if (lease == channel.leases.end()) continue;
    give_back(channel, lease->second);
    channel.leases.erase(lease);
    return settle(name);
  }
}

void ChannelStore::end() {
  for (auto& [name, channel] : channels_) {
    const ErrorFields error =
        error_fields("Cancelled", "channel " + name + ": its owner is being drained");
    for (const Put& put : std::exchange(channel.puts, {})) drop_(put.call, error);
    for (const Get& get : std::exchange(channel.gets, {})) drop_(get.call, error);
  }
}

}  // namespace orrery::sdk::detail
