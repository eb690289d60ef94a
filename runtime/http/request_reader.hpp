// From bytes to requests: the boundary at which nothing is trusted.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/http/request.hpp"

namespace orrery::http {

/// Reads the requests of one connection. `connection` and the other parts that are not in the bytes
/// are left to the caller.
class RequestReader {
 public:
  enum class Found {
    Nothing,  ///< More bytes are needed.
    Request,  ///< `take` it.
    Refused,  ///< `refusal` says why; nothing can be read from this connection any more.
  };

  struct Refusal {
    int status = 400;
    std::string message;
  };

  explicit RequestReader(const RequestLimits& limits);
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  /// Bytes that came in.
  void feed(std::string_view bytes);

  /// Looks for the next request in what was fed.
  Found look();

  /// After `Found::Request`.
  Request take();

  const Refusal& refusal() const;

  /// Whether a part of the next request is there.
  bool has_begun() const;

  /// Whether its header is complete, and its body is awaited.
  bool in_body() const;

  /// True once for each request that wants to be told to go on before it sends its body.
  bool take_continue();

  /// Bytes that were fed and are in no request yet.
  std::size_t waiting_bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace orrery::http
