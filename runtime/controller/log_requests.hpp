// Worker logs on their way from nodes to the clients that read them.
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

/// Matches pieces of logs with the requests for them. Used on the core thread, but for the end
/// of a subscription, which may come on any.
class LogRequests {
 public:
  using Told = std::function<void(const LogPiece&)>;

  /// `cancel` is called on any thread with the request that has no reader any more.
  explicit LogRequests(std::function<void(std::uint64_t request, NodeId node)> cancel);

  /// Ends all of them with an error.
  ~LogRequests();

  /// A request to `node`, for that start of a worker; its number is put into `request`.
  std::unique_ptr<Subscription> open(NodeId node, LogRequest& request, Told told);

  void chunk(NodeId node, const LogChunk& chunk);

  /// The node's stream is gone, and with it what was on its way.
  void lost(NodeId node);

 private:
  struct Reader {
    NodeId node;
    Incarnation incarnation;
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

/// Which start of which worker a query means, and on which node. Returns why there is none, else
/// nothing.
std::string find_log(const JobState& job, const LogQuery& query, LogRequest& out, NodeId& node);

/// The end of a text: at most so many lines, and bytes from the begin of a line on where it has
/// several.
std::string last_lines(std::string_view text, int lines, std::size_t bytes);

}  // namespace orrery::runtime
