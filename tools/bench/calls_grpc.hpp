// The same calls through gRPC, which a program would use otherwise: unary, bytes as they are.
#pragma once

#include <cstddef>
#include <memory>

/// A server in a process of its own, and one connection to it.
class GrpcPeer {
 public:
  /// Starts this program again as the server.
  GrpcPeer();
  ~GrpcPeer();

  /// Seconds of one call with so many bytes, answered with none. Waits for the answer.
  double call(std::size_t bytes);

  /// Seconds until so many calls without bytes, all begun at once, have been answered.
  double burst(int calls);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The server: prints its port, ends with its standard input.
int serve_grpc();
