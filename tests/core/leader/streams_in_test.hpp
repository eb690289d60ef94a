// Streams that note what a leader says, a word for each message.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/leader/leader.hpp"

namespace orrery::tests {

class StreamsInTest final : public NodeStreams {
 public:
  std::vector<std::string> said;  ///< "0 renew": to node 0.
  std::vector<CommandBody> orders;

  /// Saying this breaks the node's stream: the leader is told from within the call.
  std::string breaks_at;
  Leader* leader = nullptr;

  void renew(NodeId node, Instant, bool) override { note(node, "renew"); }

  void announce(NodeId node) override { note(node, "announce"); }

  void tell_job(NodeId node, const JobState&) override { note(node, "job"); }

  void tell_members(NodeId node, const JobState&) override { note(node, "members"); }

  void order(NodeId node, const std::shared_ptr<const Command>& command) override {
    static constexpr const char* kNames[] = {
        "start", "stop", "update", "clean", "answer", "tell", "relaunch"};
    orders.push_back(part_for(node, command->body));
    note(node, kNames[command->body.index()]);
  }

  void close(NodeId node, std::string_view) override { note(node, "close"); }

  std::vector<std::string> take() { return std::exchange(said, {}); }

 private:
  void note(NodeId node, std::string_view word) {
    said.push_back(std::to_string(node.value) + " " + std::string(word));
    if (said.back() == breaks_at) leader->disconnected(node);
  }
};

}  // namespace orrery::tests
