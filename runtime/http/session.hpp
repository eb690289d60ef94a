// One connection of the server: requests in, one after the other, and their answers out. Only
// server files include this.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/http/byte_link.hpp"
#include "runtime/http/exchange.hpp"
#include "runtime/http/figures.hpp"
#include "runtime/http/request_reader.hpp"
#include "runtime/http/server.hpp"

namespace orrery::http {

class Session;

using SteadyTime = std::chrono::steady_clock::time_point;

/// What all connections share. On the I/O thread only, but for `executor` and `figures`.
struct SharedParts {
  ServerLimits limits;
  std::shared_ptr<Executor> executor;
  std::shared_ptr<Figures> figures;
  Handler handler;
  std::set<std::shared_ptr<Session>> sessions;
  std::size_t queued_bytes = 0;  ///< Waiting for slow clients.
  bool stopping = false;
};

/// All on the I/O thread, unless told otherwise.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(std::shared_ptr<SharedParts> shared,
          std::shared_ptr<ByteLink> link,
          Connection connection);

  void start();

  /// Called now and then: closes connections that are too slow.
  void check_deadline(SteadyTime now);

  /// Whether it waits for a request, of which the head at most is there: others may be served in
  /// its place.
  bool may_be_replaced() const;

  /// Since when it waits for a request.
  SteadyTime waiting_since() const { return waiting_since_; }

  /// The server stops: what is idle ends now, streams end as if they were over.
  void begin_stop();

  /// The server waits no longer for requests under way.
  void refuse_late();

  void close();

  // --- what an Exchange does, with the number of its request ---

  void respond(std::uint64_t request, Response response);
  void begin(std::uint64_t request, Response head);
  void write(std::uint64_t request, std::string piece);
  void finish(std::uint64_t request);
  void abort(std::uint64_t request);
  void keep(std::uint64_t request, std::shared_ptr<void> something);

  /// Any thread.
  bool awaits(std::uint64_t request) const { return request_ == request; }

  SharedParts& shared() { return *shared_; }

 private:
  enum class Phase : std::uint8_t {
    Handshake,
    Reading,    ///< A request, or waiting for one.
    Handling,   ///< The handler has it.
    Answering,  ///< What is queued is all there is of the answer.
    Streaming,  ///< More of the answer may come.
    Lingering,  ///< Refused; what still comes in is thrown away, so that the client reads why.
    Closed,
  };

  bool is_current(std::uint64_t request) const;
  void proceed();
  void read_some();
  void on_read(const boost::system::error_code& why, std::size_t size);
  void on_end_of_input(const boost::system::error_code& why);
  void handle(Request request);
  void refuse(int status, const std::string& message);
  std::string head_of(const Response& response, bool in_pieces) const;
  void queue(std::string bytes);
  void queue_piece(const std::string& piece);
  void flush();
  void on_written(const boost::system::error_code& why, std::size_t size);
  void end_answer();
  void linger();
  void expect_within(Duration limit);

  void expect_nothing() { deadline_ = SteadyTime::max(); }

  std::shared_ptr<SharedParts> shared_;
  std::shared_ptr<ByteLink> link_;
  Connection connection_;
  RequestReader reader_;
  Phase phase_ = Phase::Handshake;
  SteadyTime deadline_ = SteadyTime::max();
  SteadyTime waiting_since_ = std::chrono::steady_clock::now();
  std::array<char, 16 << 10> in_;
  bool reading_ = false;
  bool writing_ = false;
  bool begun_ = false;    ///< Some of the next request is there; its header's time runs.
  bool in_body_ = false;  ///< As above, its body's.
  bool input_ended_ = false;
  bool in_pieces_ = false;  ///< Chunks of HTTP/1.1.
  bool head_only_ = false;  ///< HEAD: bodies are left out.
  bool http_1_0_ = false;
  bool close_after_ = false;  ///< The answer at hand is the last one.
  bool linger_after_ = false;
  std::size_t lingered_ = 0;
  std::atomic<std::uint64_t> request_{0};  ///< Number of the one that is handled; 0: none.
  std::uint64_t requests_ = 0;
  std::deque<std::string> out_;
  std::size_t out_sent_ = 0;  ///< Of the front.
  std::size_t out_bytes_ = 0;
  std::vector<std::shared_ptr<void>> kept_;
};

/// The exchange of a session's request.
std::shared_ptr<Exchange> make_exchange(const std::shared_ptr<Session>& session,
                                        std::uint64_t request);

}  // namespace orrery::http
