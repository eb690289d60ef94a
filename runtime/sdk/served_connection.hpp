// A worker's side of one connection: who calls, and the calls that are open. On the I/O thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "runtime/sdk/served_call.hpp"
#include "runtime/sdk/wire.hpp"

namespace orrery::sdk::detail {

/// What a worker says of itself; outlives its connections.
struct CalleeIdentity {
  std::string worker;
  std::string role;
  std::string token;
  std::string certificate;  ///< As in the directory.
  std::uint64_t message_max = kMessageMax;
};

/// What a worker does with its connections.
class ConnectionHost {
 public:
  virtual ~ConnectionHost() = default;

  virtual const CalleeIdentity& identity() const = 0;

  /// Rank, role_rank and generation of now, for the welcome.
  virtual Value present() const = 0;

  virtual void on_call(const ServedCallPtr& call) = 0;

  /// A caller that gave up a call which was answered already.
  virtual void on_late_cancel(ServedConnection& connection, std::uint64_t id) = 0;

  virtual void on_end(ServedConnection& connection) = 0;
};

class ServedConnection : public std::enable_shared_from_this<ServedConnection> {
 public:
  /// `host` outlives it, or `close` is called before.
  ServedConnection(std::shared_ptr<Link> link, ConnectionHost& host);

  void start();

  /// Empty until it has proven who it is.
  const std::string& caller() const { return caller_; }

  bool is_known() const { return stage_ == Stage::Known; }

  /// An answer to an open call; nothing where it is not open.
  void answer(std::uint64_t id, const Outcome& outcome);

  void item(std::uint64_t id, const std::shared_ptr<const WrittenValues>& values);

  void close();

  /// Lets what was sent leave first; `token` is kept until it has.
  void close_gently(std::shared_ptr<void> token);

 private:
  enum class Stage : std::uint8_t { Hello, Proof, Known, Closed };

  void on_frame(Frame frame);
  void on_hello(const HelloMessage& message);
  void on_proof(const ProofMessage& message);
  void on_call(CallMessage message);
  void on_cancel(std::uint64_t id);
  void refuse(const ErrorFields& error);
  void break_rule(const std::string& why);
  void forget();

  ConnectionHost* host_;
  std::shared_ptr<Wire> wire_;
  Stage stage_ = Stage::Hello;
  std::string claimed_;  ///< The caller's name before it is proven.
  std::string caller_;
  std::string caller_nonce_;
  std::string nonce_;
  Io::Timer handshake_timer_;
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, ServedCallPtr> open_;
};

}  // namespace orrery::sdk::detail
