// Both ends of streams that write down what they hear, and wait until it is what a test needs.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/link/link.hpp"

namespace orrery::runtime {

/// Much longer than anything takes, even where the machine is busy.
inline constexpr std::chrono::seconds kPatience{60};

/// What one stream has heard.
template <class Message>
struct Heard {
  bool open = false;
  Peer peer;  ///< Of the server's side.
  std::vector<Message> messages;
  bool closed = false;
  std::string why;
  int calls_at_once = 0;
  bool overlapped = false;  ///< Two calls at once: never allowed.
};

/// A place to wait at.
class Watched {
 public:
  /// Waits until `holds`, which is called under the mutex; false if patience ended.
  bool wait(const std::function<bool()>& holds) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, holds);
  }

 protected:
  void change(const std::function<void()>& by) {
    const std::lock_guard lock(mutex_);
    by();
    changed_.notify_all();
  }

  template <class T>
  T copy_of(const T& shared) {
    const std::lock_guard lock(mutex_);
    return shared;
  }

 private:
  std::recursive_mutex mutex_;  // What is waited for may ask for the last stream.
  std::condition_variable_any changed_;
};

/// The controller's side.
class ServerSide final : public LinkListener, public Watched {
 public:
  void on_open(LinkId link, const Peer& peer) override {
    change([&] {
      last_ = link;
      heard[link].open = true;
      heard[link].peer = peer;
    });
    if (const auto call = copy_of(when_open_)) call(link);
  }

  void on_messages(LinkId link, std::vector<AgentMessage> messages) override {
    if (const auto call = copy_of(answer_)) call(link, messages);
    change([&] {
      auto& to = heard[link].messages;
      for (AgentMessage& message : messages) to.push_back(std::move(message));
    });
  }

  void on_closed(LinkId link, const std::string& why) override {
    change([&] {
      heard[link].closed = true;
      heard[link].why = why;
    });
  }

  using WhenOpen = std::function<void(LinkId)>;
  using Answer = std::function<void(LinkId, const std::vector<AgentMessage>&)>;

  /// Called for each stream that opens from now on, on the transport's threads.
  void when_open(WhenOpen call) {
    change([&] { when_open_ = std::move(call); });
  }

  /// Called with what arrives from now on, before it is kept.
  void answer(Answer call) {
    change([&] { answer_ = std::move(call); });
  }

  /// The stream that was opened last.
  LinkId last() { return copy_of(last_); }

  std::map<LinkId, Heard<AgentMessage>> heard;

 private:
  LinkId last_;
  WhenOpen when_open_;
  Answer answer_;
};

/// The agent's side of one stream.
class ClientSide final : public LinkClientListener, public Watched {
 public:
  void on_open() override {
    change([&] { heard.open = true; });
  }

  void on_messages(std::vector<ControllerMessage> messages) override {
    change([&] {
      for (ControllerMessage& message : messages) heard.messages.push_back(std::move(message));
    });
  }

  void on_closed(const std::string& why) override {
    change([&] {
      heard.closed = true;
      heard.why = why;
    });
  }

  bool wait_open() {
    return wait([this] { return heard.open || heard.closed; }) && heard.open;
  }

  bool wait_closed() {
    return wait([this] { return heard.closed; });
  }

  Heard<ControllerMessage> heard;
};

}  // namespace orrery::runtime
