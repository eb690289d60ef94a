// A worker's connection to the agent of its node, as lines of JSON (docs/workers.md). It says hello
// and where calls are answered, again whenever the agent restarts.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/sdk/io.hpp"
#include "runtime/sdk/membership.hpp"

namespace orrery::sdk::detail {

class Turns;

/// What is said again after each connect, in this order.
enum class Kept : std::uint8_t { Endpoint, Diagnosis, Checkpoint, Progress };
inline constexpr std::size_t kKept = 4;

class AgentConnection : public std::enable_shared_from_this<AgentConnection> {
 public:
  /// `greeting`: the lines after each connect, each with its newline; those of `turns` follow.
  /// `on_membership` is called on the I/O thread.
  AgentConnection(std::string socket,
                  std::string greeting,
                  std::function<void(const Membership&)> on_membership,
                  std::shared_ptr<Turns> turns);

  // --- any thread ---

  void start();

  /// Sends a line as soon as the agent listens. Of more than a few unsent ones the oldest go.
  void say(std::string line);

  /// As `say`, and again after each connect; in place of the one before.
  void keep_saying(Kept what, std::string line);

  /// It is not said again after the next connect.
  void stop_saying(Kept what);

  /// Waits until what was said has left, at most so long.
  void flush(Milliseconds time);

  void close();

  // --- the I/O thread ---

  /// Sends a line over the connection that there is; it is lost with that one. False: there is
  /// none.
  bool say_now(std::string line);

 private:
  void connect();
  void on_connected(Connected connected);
  void read();
  void write();
  void hear(std::string_view line);
  void lose();

  const std::string socket_;
  const std::string greeting_;
  std::function<void(const Membership&)> on_membership_;
  const std::shared_ptr<Turns> turns_;
  std::mutex mutex_;
  std::condition_variable flushed_;
  std::deque<std::string> unsent_;
  std::array<std::string, kKept> kept_;  ///< Said after each greeting, with newlines; may be empty.
  bool writing_ = false;
  // The I/O thread's.
  std::shared_ptr<Link> link_;
  std::string out_;  ///< What is written next, before the unsent lines.
  std::string unread_;
  std::array<std::uint8_t, 16 << 10> in_;
  Io::Timer retry_;
  bool closed_ = false;
};

}  // namespace orrery::sdk::detail
