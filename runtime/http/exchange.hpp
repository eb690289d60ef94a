// How a handler answers: at once or later, whole or in pieces, from any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/base/units.hpp"
#include "runtime/http/request.hpp"

namespace orrery::http {

/// The thread on which all of HTTP runs.
class Executor {
 public:
  virtual ~Executor() = default;

  /// Any thread. Runs `task` there soon; never after the server has stopped.
  virtual void post(std::function<void()> task) = 0;

  /// Any thread. Runs `task` there after `delay`, unless what is returned has been destroyed
  /// before.
  [[nodiscard]] virtual std::shared_ptr<void> after(Duration delay, std::function<void()> task) = 0;
};

/// One request that waits for its answer. Any thread; calls after the end of the answer, or of the
/// connection, do nothing. Destroyed without an answer, it answers 503.
class Exchange {
 public:
  virtual ~Exchange() = default;

  /// The whole answer.
  virtual void respond(Response response) = 0;

  /// The head of an answer that comes in pieces; its `body` is the first piece, if not empty.
  virtual void begin(Response head) = 0;

  /// The next piece. Where the client reads too slowly for what is queued, the connection is cut.
  virtual void write(std::string piece) = 0;

  /// No piece follows.
  virtual void finish() = 0;

  /// Breaks the connection: what was sent is not all there was.
  virtual void abort() = 0;

  /// Whether the client is still there, as far as is known.
  virtual bool is_open() const = 0;

  /// Keeps `something` alive until the answer is complete or the client has gone.
  virtual void keep(std::shared_ptr<void> something) = 0;
};

/// Takes a request on the I/O thread; must not block.
using Handler = std::function<void(Request request, std::shared_ptr<Exchange> exchange)>;

}  // namespace orrery::http
