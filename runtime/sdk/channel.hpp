// A bounded queue that lives in one worker, as its producers and consumers see it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/sdk/driver.hpp"
#include "runtime/sdk/value.hpp"

namespace orrery::sdk {

struct ChannelOptions {
  std::uint64_t capacity = 1024;  ///< Items.
  double weight_max = 0;          ///< Of all items; 0: no limit.
};

/// One item.
struct ChannelItem {
  Value value;
  std::optional<std::string> key = std::nullopt;  ///< By which consumers may choose.
  double weight = 1;                              ///< 0 or more.
};

/// What a get takes: so many items, or items until their weights reach one.
struct ChannelTake {
  std::uint64_t count = 1;
  std::optional<double> weight = std::nullopt;    ///< In the place of the count.
  std::optional<std::string> key = std::nullopt;  ///< Only items of this key.
};

struct ChannelState {
  std::uint64_t items = 0;
  double weight = 0;
  Value by_key;  ///< Number of items by key, "" for those without.
  std::uint64_t capacity = 0;
  double weight_max = 0;
  std::uint64_t put = 0;     ///< Items that were ever put,
  std::uint64_t taken = 0;   ///< and acknowledged.
  std::uint64_t leased = 0;  ///< Given to consumers, not acknowledged.
  std::uint64_t waiting_puts = 0;
  std::uint64_t waiting_gets = 0;
  bool closed = false;
  std::string epoch;
};

/// Items that a consumer got. Until it acknowledges them they go back to the front when its
/// connection to the owner ends, and another consumer gets them: at least once.
class ChannelBatch {
 public:
  ChannelBatch(RemoteWorker owner, std::string name, Value answer);

  ChannelBatch(const ChannelBatch&) = default;
  ChannelBatch& operator=(const ChannelBatch&) = default;
  ChannelBatch(ChannelBatch&&) = default;
  ChannelBatch& operator=(ChannelBatch&&) = default;

  /// Memory of large items that are still in it is used again.
  ~ChannelBatch();

  std::vector<ChannelItem> items;

  /// These items are done with. Throws a CallError. `Channel::next` says it with less messages.
  void acknowledge();

 private:
  friend class Channel;

  RemoteWorker owner_;
  std::string name_;
  Value lease_;
};

/// Copies are the same channel. All calls wait by the deadline of `owner`'s options.
class Channel {
 public:
  /// Makes it in its owner, or finds it there with equal limits. Throws a CallError.
  static Channel create(RemoteWorker owner, std::string name, const ChannelOptions& options = {});

  /// Finds it. Throws NoSuchChannel.
  static Channel open(RemoteWorker owner, std::string name);

  /// Waits while it is full. Returns the number of items in it. Throws ChannelClosed once it is
  /// closed or its owner was replaced: what was in it is lost then.
  template <class T>
  std::uint64_t put(T&& value, std::optional<std::string> key = std::nullopt, double weight = 1) {
    std::vector<ChannelItem> items;
    items.push_back({value_of(std::forward<T>(value)), std::move(key), weight});
    return put_all(std::move(items));
  }

  /// All of them or none. Throws ChannelFull where they never fit.
  std::uint64_t put_all(std::vector<ChannelItem> items);

  /// As put_all, without waiting: several may be under way, and are carried out in their order. The
  /// result is the number of items in the channel then.
  Future<std::uint64_t> submit_put_all(std::vector<ChannelItem> items);

  /// Waits for the first item. Throws ChannelClosed once it is closed and empty.
  ChannelBatch get(const ChannelTake& take = {});

  /// As get, and acknowledges `done` before it, in one message. Throws BadArguments, and takes
  /// nothing, where `done` is acknowledged already.
  ChannelBatch next(ChannelBatch done, const ChannelTake& take = {});

  /// One item, acknowledged at once.
  template <class T = Value>
  T take(std::optional<std::string> key = std::nullopt) {
    ChannelBatch batch = get({1, std::nullopt, std::move(key)});
    batch.acknowledge();
    return value_as<T>(std::move(batch.items.front().value));
  }

  ChannelState state() const;

  /// Puts are refused from now on; gets take what is left.
  void close();

  const std::string& name() const { return name_; }

  /// Of this life of the channel.
  const std::string& epoch() const { return epoch_; }

 private:
  Channel(RemoteWorker owner, std::string name, std::string epoch)
      : owner_(std::move(owner)), name_(std::move(name)), epoch_(std::move(epoch)) {}

  Value put_arguments(std::vector<ChannelItem> items) const;
  Value get_arguments(const ChannelTake& take) const;

  RemoteWorker owner_;
  std::string name_;
  std::string epoch_;
};

}  // namespace orrery::sdk
