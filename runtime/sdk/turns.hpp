// Turns as a worker asks its agent for them (docs/workers.md), one at a time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "runtime/sdk/io.hpp"

namespace orrery::sdk::detail {

class AgentConnection;

/// One turn that is wanted, or had.
struct Wish {
  Milliseconds lease{};
  bool is_granted = false;
  std::string refusal;  ///< Why the agent gives none; empty: it has not refused.
};

/// Asks for the turn, keeps it alive while it is held, and asks again after the agent restarted.
class Turns : public std::enable_shared_from_this<Turns> {
 public:
  // --- any thread but that of I/O ---

  /// Waits until the turn is granted. Throws BadArguments where another one is had or waited for,
  /// or the agent refuses, and Timeout after `deadline`.
  std::shared_ptr<Wish> take(Milliseconds lease, Milliseconds deadline);

  /// Any thread.
  void release(const std::shared_ptr<Wish>& wish);

  // --- the I/O thread ---

  /// What is said through it.
  void speak_by(std::weak_ptr<AgentConnection> agent) { agent_ = std::move(agent); }

  /// Lines to say after each hello, each with its newline.
  std::string greeting();

  void granted();

  void refused(std::string_view why);

 private:
  void ask(const std::shared_ptr<Wish>& wish);
  void give_back(const std::shared_ptr<Wish>& wish);
  void renew();
  bool say(const std::string& word);

  std::mutex mutex_;  ///< Of the wishes' state, and of is_taken_.
  std::condition_variable changed_;
  bool is_taken_ = false;
  // The I/O thread's.
  std::weak_ptr<AgentConnection> agent_;
  std::shared_ptr<Wish> wish_;
  bool has_asked_ = false;  ///< Ever: an agent that restarted may believe that it has the turn.
  int unanswered_ = 0;      ///< Asks of this connection.
  int fences_ = 0;          ///< Answers of this connection before which a grant is of an older ask.
  Io::Timer renewal_;
};

}  // namespace orrery::sdk::detail
