// Where the workers of one generation tell each other how to be reached: rank 0 keeps a few short
// values for all, at MASTER_ADDR:MASTER_PORT.
//
// One connection a worker. A frame is a length (4 bytes, little-endian) and so many bytes; the
// first byte says what it is:
//
//   worker: H job \0 generation    rank 0: Y, or N reason where it is of another job or generation
//   worker: S key \0 value         (no answer)
//   worker: G key                  rank 0: V value, once a worker has set it
//
// Frames, values and connections are bounded; a peer that breaks the rules is dropped. The
// connections stay for as long as the generation works together: with one of them, all of them end,
// so that every rank hears at once that one left, whatever else it waits for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/workers/socket.hpp"

namespace orrery::worker {

/// Which workers meet.
struct Meeting {
  std::string job;
  std::uint64_t generation = 0;
  Endpoint place;  ///< Where rank 0 listens.
};

/// Rank 0's side, on a thread of its own until it is destroyed.
class RendezvousServer {
 public:
  /// Listens at `meeting.place`; port 0 lets the system choose. Error: the place cannot be had.
  static Result<std::unique_ptr<RendezvousServer>> start(const Meeting& meeting);

  virtual ~RendezvousServer() = default;

  /// Where it listens.
  virtual Endpoint place() const = 0;
};

/// A worker's side; used by one thread at a time.
class Rendezvous {
 public:
  /// Joins the meeting, waiting within `limits` until rank 0 is there for this generation.
  /// `limits` also hold for each later call, so they outlive this object.
  static Outcome join(const Meeting& meeting,
                      const Limits& limits,
                      std::unique_ptr<Rendezvous>& out);

  /// Tells a value to everybody. At most 64 KiB; a key is set once.
  Outcome set(std::string_view key, std::string_view value);

  /// Waits until a worker has set the key.
  Outcome get(std::string_view key, std::string& out);

  /// This worker's address as the others reach it: its end of the connection to rank 0.
  const std::string& own_address() const { return own_address_; }

  /// The connection, to be watched as a lifeline.
  int lifeline() const { return socket_.number(); }

 private:
  Rendezvous(Descriptor socket, std::string own_address, const Limits& limits)
      : socket_(std::move(socket)), own_address_(std::move(own_address)), limits_(limits) {}

  Descriptor socket_;
  std::string own_address_;
  Limits limits_;
};

}  // namespace orrery::worker
