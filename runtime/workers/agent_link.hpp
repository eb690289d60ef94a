// A worker's connection to the agent of its node: hears of memberships, tells profilings.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "runtime/workers/agent_lines.hpp"
#include "runtime/workers/cancel.hpp"
#include "runtime/workers/deadline.hpp"

namespace orrery::worker {

/// Connects to a Unix stream socket and says hello, again whenever the agent restarts; a thread of
/// its own until it is destroyed. Works without a listener: then nothing is ever received.
class AgentLink {
 public:
  /// `on_membership` is called on the link's thread with each membership that is heard.
  AgentLink(std::string socket,
            std::string worker,
            std::string token,
            std::function<void(const MembershipSaid&)> on_membership);
  ~AgentLink();

  AgentLink(const AgentLink&) = delete;
  AgentLink& operator=(const AgentLink&) = delete;

  /// Sends a line as soon as the agent listens. Of more than a few unsent ones the oldest go:
  /// what is late is not worth much.
  void say(std::string line);

  /// The newest membership heard.
  std::optional<MembershipSaid> membership() const;

  /// Waits until everything said has been handed to the system, at most so long.
  void flush(Milliseconds time);

 private:
  void run();
  void converse(int socket);
  bool read_some(int socket, std::string& unread);
  bool write_some(int socket);
  void hear(std::string_view line);

  const std::string socket_;
  const std::string worker_;
  const std::string token_;
  const std::function<void(const MembershipSaid&)> on_membership_;

  mutable std::mutex mutex_;
  std::condition_variable flushed_;
  std::deque<std::string> unsent_;
  std::optional<MembershipSaid> heard_;

  std::string writing_;  ///< What is left of lines on their way; the thread's own.
  bool write_under_way_ = false;
  Descriptor said_;  ///< Readable when there is something to send.
  Cancel end_;
  std::thread thread_;
};

}  // namespace orrery::worker
