// How items move through a channel: in by puts, out by gets, back from consumers that are gone.
#include <algorithm>

#include "runtime/sdk/channel_store.hpp"

namespace orrery::sdk::detail {

ErrorFields channel_error(const char* type, const std::string& channel, const std::string& why) {
  ErrorFields out = error_fields(type, "channel " + channel + ": " + why);
  out.details["channel"] = channel;
  return out;
}

std::shared_ptr<const WrittenValues> channel_answer(Value value) {
  return write_result(std::move(value));
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
  out.fields = R"("value":{"lease":")" + std::to_string(lease) + R"(","items":[)";
  for (const auto& item : held->items) {
    if (&item != &held->items.front()) out.fields += ',';
    out.fields += '[';
    write_value(item->key, "key", out.fields, out.buffers);
    out.fields += ',' + Value(item->weight).dump() + ',';
    write_value(item->owned.value, "item", out.fields, out.buffers);
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
