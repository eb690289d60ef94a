// Logs on their way from nodes to whoever reads them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/ids.hpp"
#include "runtime/controller/control_api.hpp"
#include "runtime/link/messages.hpp"

namespace orrery::runtime {

/// Matches pieces of logs with those who asked for them. Used on the core thread, but for the end
/// of a subscription, which may come on any.
class LogRequests {
 public:
  using Told = std::function<void(std::string_view data, bool last, const std::string& error)>;

  /// `cancel` is called on any thread with the request that nobody reads any more.
  explicit LogRequests(std::function<void(std::uint64_t request, NodeId node)> cancel);

  /// Ends all of them with an error.
  ~LogRequests();

  /// A request for `node`; its number is in `request`.
  std::unique_ptr<Subscription> open(NodeId node, Told told, std::uint64_t& request);

  void chunk(NodeId node, const LogChunk& chunk);

  /// The node's stream is gone, and with it what was on its way.
  void lost(NodeId node);

 private:
  struct Reader {
    NodeId node;
    Told told;
  };

  struct Table {
    std::mutex mutex;
    std::uint64_t next = 0;
    std::unordered_map<std::uint64_t, Reader> readers;  // Looked up by number.
    std::function<void(std::uint64_t, NodeId)> cancel;  ///< Empty once the requests are gone.
  };

  class Reading;

  std::shared_ptr<Table> table_;
};

}  // namespace orrery::runtime
