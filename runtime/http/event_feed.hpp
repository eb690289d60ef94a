// The latest event lines, and their followers.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/controller/control_api.hpp"
#include "runtime/http/exchange.hpp"

namespace orrery::http {

/// Which lines a client wants.
struct EventFilter {
  std::string job;          ///< Full name; empty: all.
  std::uint64_t since = 0;  ///< Only later ones than this.
};

/// Subscribes once, however many follow. Lines are numbered within one life of the process; an id
/// "LIFE.NUMBER" says which life is meant.
class EventFeed : public std::enable_shared_from_this<EventFeed> {
 public:
  static constexpr std::size_t kLinesMax = 4096;  ///< Kept.

  /// `life` differs from one life of the process to the next.
  EventFeed(std::shared_ptr<Executor> executor, std::uint64_t life)
      : executor_(std::move(executor)), life_(life) {}

  /// Begins to listen; once.
  void start(runtime::ControlApi& control);

  /// Listens no longer.
  void stop();

  /// The latest lines, at most `limit`, as JSON objects, oldest first. Any thread.
  std::vector<std::string> latest(const EventFilter& filter, std::size_t limit) const;

  /// The number to go on after, of an id that this feed gave or of a number alone; 0 where it is of
  /// another life, as a number is that was not given yet in this one; nothing where it is neither.
  std::optional<std::uint64_t> number_of(std::string_view id) const;

  /// Sends the latest `backlog` lines and all later ones as server-sent events until the client
  /// goes or another controller leads. On the I/O thread.
  void follow(std::shared_ptr<Exchange> exchange, EventFilter filter, std::size_t backlog);

 private:
  struct Line {
    std::uint64_t number = 0;
    std::string job;
    std::string json;
  };

  struct Follower {
    std::shared_ptr<Exchange> exchange;
    EventFilter filter;
  };

  static bool fits(const Line& line, const EventFilter& filter);
  void add(const runtime::EventLine& line);
  void deliver();
  void send_new(Follower& follower);
  void keep_alive();
  void look_who_leads(runtime::ControlApi& control);
  void end_all();
  std::string framed(const Line& line) const;

  std::shared_ptr<Executor> executor_;
  std::uint64_t life_;
  mutable std::mutex mutex_;  ///< Of what follows up to `changes_`.
  std::deque<Line> lines_;
  bool delivery_due_ = false;
  std::unique_ptr<runtime::Subscription> subscription_;
  std::unique_ptr<runtime::Subscription> changes_;
  std::vector<Follower> followers_;  ///< I/O thread only, as is the timer.
  std::shared_ptr<void> timer_;
};

/// One line of this life as a JSON object.
std::string event_line_json(const runtime::EventLine& line, std::uint64_t life);

}  // namespace orrery::http
