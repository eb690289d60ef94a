// A caller's connection to one worker: the handshake, then calls. On the I/O thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/sdk/call_state.hpp"
#include "runtime/sdk/directory.hpp"
#include "runtime/sdk/wire.hpp"

namespace orrery::sdk::detail {

using CallPtr = std::shared_ptr<CallState>;

class PeerLink : public std::enable_shared_from_this<PeerLink> {
 public:
  /// A call that was not, or not completely, carried out.
  struct Broken {
    CallPtr call;
    ErrorFields error;
    bool was_sent = false;  ///< The worker may have run it.
    const Peer* peer = nullptr;
  };

  /// `on_broken` is called for each open call when the connection ends, or when there never was
  /// one.
  PeerLink(Peer peer,
           std::string caller,
           std::uint64_t generation,
           std::function<void(const Broken&)> on_broken);

  void open();

  void submit(const CallPtr& call);

  bool is_usable() const { return stage_ != Stage::Closed; }

  const Peer& peer() const { return peer_; }

  /// Ends it; open calls end as Cancelled.
  void close();

 private:
  enum class Stage : std::uint8_t { Connecting, Challenged, Proven, Open, Closed };
  enum class Claim : std::uint8_t { Asked, Held };

  void on_connected(Connected connected);
  void on_frame(Frame frame);
  void on_challenge(const ChallengeMessage& message);
  void on_welcome(const WelcomeMessage& message);
  void on_answer(FromCallee message);
  void on_item(ItemMessage message);
  void send_waiting();
  bool is_claimed(const CallPtr& call);
  void ask_claim(const std::string& group);
  void send(const CallPtr& call);
  void abandon(std::uint64_t id);
  void end(ErrorFields error);
  ErrorFields lost(const std::string& why) const;

  const Peer peer_;
  const std::string caller_;
  std::uint64_t generation_;
  std::function<void(const Broken&)> on_broken_;
  Stage stage_ = Stage::Connecting;
  std::string nonce_;
  std::shared_ptr<Wire> wire_;
  Io::Timer handshake_timer_;
  std::uint64_t message_max_ = kMessageMax;
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, CallPtr> sent_;
  std::deque<CallPtr> waiting_;  ///< For the welcome, a claim, or room.
  std::map<std::string, Claim> claims_;
};

}  // namespace orrery::sdk::detail
