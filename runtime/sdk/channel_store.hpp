// The channels that live in this worker: bounded queues in its memory. On the I/O thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/sdk/buffer_memory.hpp"
#include "runtime/sdk/served_call.hpp"

namespace orrery::sdk::detail {

/// An error about a channel.
ErrorFields channel_error(const char* type, const std::string& channel, const std::string& why);

std::shared_ptr<const WrittenValues> channel_answer(Value value);

class ChannelStore {
 public:
  using Finish = std::function<void(const ServedCallPtr&, const Outcome&)>;

  using Drop = std::function<void(const ServedCallPtr&, const std::optional<ErrorFields>&)>;

  /// `finish` answers a call; `drop` lets one go that did nothing, answered where there is an
  /// error.
  ChannelStore(Finish finish, Drop drop) : finish_(std::move(finish)), drop_(std::move(drop)) {}

  /// Whether `method` is one of orrery.channel.*.
  bool handles(const std::string& method) const;

  /// Answers now or later, by the call's deadline.
  void handle(const ServedCallPtr& call);

  /// A consumer is gone: what it did not acknowledge goes back.
  void on_end(const ServedConnection& connection);

  /// A consumer gave up a get that was answered already: it never saw the items.
  void on_late_cancel(const ServedConnection& connection, std::uint64_t id);

  /// The worker is being drained: what waits is answered Cancelled.
  void end();

 private:
  struct Item {
    Value key;
    double weight = 0;
    OwnedValue owned;
  };

  /// Items on their way to a consumer, by their places.
  struct Lease {
    const ServedConnection* connection = nullptr;
    std::uint64_t call = 0;
    std::map<std::uint64_t, std::shared_ptr<const Item>> items;
  };

  struct Put {
    ServedCallPtr call;
    std::vector<std::shared_ptr<const Item>> items;
    double weight = 0;
  };

  struct Get {
    ServedCallPtr call;
    std::uint64_t count = 0;  ///< 0: by weight.
    double weight = 0;
    Value key;  ///< Null: any.
  };

  struct Channel {
    std::string epoch;
    std::uint64_t capacity = 0;
    double weight_max = 0;
    bool closed = false;
    std::map<std::uint64_t, std::shared_ptr<const Item>> items;  ///< By place.
    double weight = 0;
    std::uint64_t last_place = 0;
    std::map<std::uint64_t, Lease> leases;
    std::deque<Put> puts;  ///< That wait for room.
    std::deque<Get> gets;  ///< That wait for an item.
    std::uint64_t put_count = 0;
    std::uint64_t taken_count = 0;  ///< Acknowledged.
  };

  void create(const ServedCallPtr& call, std::vector<Value> values);
  void put(const ServedCallPtr& call, std::vector<Value> values);
  void get(const ServedCallPtr& call, std::vector<Value> values);
  void ack(const ServedCallPtr& call, std::vector<Value> values);
  void state(const ServedCallPtr& call, std::vector<Value> values);
  void close(const ServedCallPtr& call, std::vector<Value> values);

  static std::string why_not_anew(const Channel& channel);
  static void acknowledge(Channel& channel, const std::string& name, const Value& of);
  Channel& find(const Value& name, const Value& epoch);
  void wait(const ServedCallPtr& call, const std::string& name);
  void forget(const std::string& name, const ServedCallPtr& call);

  /// Lets puts and gets that wait go on, as far as they can.
  void settle(const std::string& name);
  static bool has_room(const Channel& channel, const Put& put);
  static std::vector<std::uint64_t> places_for(const Channel& channel, const Get& get);
  static bool may_still_come(const Channel& channel, const Get& get);
  void take_in(Channel& channel, Put put);
  void hand_out(Channel& channel, const Get& get, const std::vector<std::uint64_t>& places);
  static std::shared_ptr<const WrittenValues> write_items(
      std::uint64_t lease, std::vector<std::shared_ptr<const Item>> items);
  static void give_back(Channel& channel, Lease& lease);
  static void check_key(const std::string& channel, const Value& key);
  static void check_text(const std::string& channel, const Value& item);

  Finish finish_;
  Drop drop_;
  std::map<std::string, Channel> channels_;
  std::uint64_t last_lease_ = 0;
};

}  // namespace orrery::sdk::detail
