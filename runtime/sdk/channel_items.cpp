// How items move through a channel: in by puts, out by gets, back from consumers that are gone.
#include <algorithm>

#include "runtime/sdk/channel_store.hpp"

namespace orrery::sdk::detail {
namespace {

constexpr std::ptrdiff_t kKeyMax = 256;  ///< Characters.
// What the text of a get's answer may have: the rest of its header is short.
constexpr std::uint64_t kItemTextMax = kHeaderMax - 256;
// What is beside an item's value in an answer that has it alone, its key among that.
constexpr std::uint64_t kItemFrame = 4096;

ErrorFields too_large(const std::string& why, std::uint64_t bytes, std::uint64_t limit) {
  ErrorFields out = error_fields("TooLarge", why);
  out.details["bytes"] = bytes;
  out.details["limit"] = limit;
  return out;
}

/// No less than the bytes of its text with its part of the list of buffers.
// NOLINTNEXTLINE(misc-no-recursion): as deep as a value may be
std::uint64_t text_at_most(const Value& value) {
  constexpr std::uint64_t kScalar = 64;  // A number, or a buffer's mark and its size.
  constexpr std::uint64_t kEscaped = 6;  // A byte as \u0000.
  std::uint64_t sum = kScalar;
  if (value.is_string()) return sum + kEscaped * value.get_ref<const std::string&>().size();
  if (value.is_array())
    for (const Value& element : value) sum += text_at_most(element);
  if (value.is_object())
    for (const auto& [key, member] : value.items())
      sum += kEscaped * key.size() + text_at_most(member);
  return sum;
}

}  // namespace

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
  const std::uint64_t text = written->fields.size();
  const bool has_long_text = text > kItemTextMax;
  if (bytes > get.call->message.result_max || has_long_text) {
    give_back(channel, lease);
    channel.leases.erase(number);
    return finish_(get.call,
                   too_large("channel: found " + std::to_string(places.size()) + " items of " +
                                 std::to_string(has_long_text ? text : bytes) +
                                 (has_long_text ? " bytes of text" : " bytes") +
                                 ", more than the answer may have; get fewer at once",
                             has_long_text ? text : bytes,
                             has_long_text ? kItemTextMax : get.call->message.result_max));
  }
  finish_(get.call, written);
}

/// What a key may be, so that `state` can count by it: an object's keys never begin with $, which
/// marks buffers, and "" there is no key at all.
void ChannelStore::check_key(const std::string& channel, const Value& key) {
  if (key.is_null()) return;
  const std::string text = key.is_string() ? key.get<std::string>() : std::string();
  const auto characters = std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
  });
  if (!text.empty() && text.front() != '$' && characters <= kKeyMax) return;
  throw BadArguments("channel " + channel + ": found the key " + key.dump().substr(0, 100) +
                     ", needed null or a text of 1 to " + std::to_string(kKeyMax) +
                     " characters that does not begin with $; rename it");
}

/// An item that no answer can have would block the channel for ever.
void ChannelStore::check_text(const std::string& channel, const Value& item) {
  constexpr std::uint64_t kMost = kItemTextMax - kItemFrame;
  if (text_at_most(item) <= kMost) return;  // Nearly all, without writing them.
  std::string text;
  std::vector<ByteView> buffers;
  write_value(item, "item", text, buffers);
  text += buffers_field(buffers);
  if (text.size() <= kMost) return;
  raise(too_large("channel " + channel + ": found an item of " + std::to_string(text.size()) +
                      " bytes of text, needed at most " + std::to_string(kMost) +
                      "; put its bytes in buffers",
                  text.size(),
                  kMost));
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
