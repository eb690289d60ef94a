// One controller as a client sees it: requests answered, streams followed, failures in words.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "tools/client/event_stream.hpp"
#include "tools/client/server_address.hpp"
#include "tools/client/stream.hpp"

namespace orrery::cli {

/// The controllers to ask, and the identity to show.
struct ClientOptions {
  ServerAddress server;
  std::vector<ServerAddress> others;  ///< Asked in turn where `server` cannot be reached.
  TlsIdentity tls;
  std::string token;                          ///< Bearer token; empty: none.
  std::string user;                           ///< The user that runs this; empty: not known.
  std::chrono::milliseconds timeout{10'000};  ///< Of a whole request.
  bool timeout_is_wished = false;             ///< Then no request takes longer.
  /// A stream that says nothing so long is lost: a controller sends a comment every 15 s.
  std::chrono::milliseconds stream_silence{40'000};
};

struct HttpRequest {
  std::string method = "GET";
  std::string target;  ///< "/api/v1/jobs?..."; already escaped.
  std::string body;
  std::string content_type = "application/json";
  std::string accept = "application/json";
  std::chrono::milliseconds patience{0};  ///< That its answer may take beyond the timeout.
  bool asks_again = true;                 ///< After 503, until the time is over.

  /// Whether it may be sent a second time where it is not known if it was received.
  bool is_repeatable() const { return method == "GET"; }
};

struct HttpReply {
  int status = 0;
  std::string content_type;
  std::string location;
  std::string body;

  bool is_good() const { return status >= 200 && status < 300; }
};

/// Every request is a connection of its own. Another controller that leads is followed; one that
/// does not take requests yet, or follows a leader that it does not know, is asked again, in turn
/// with the others, until the time is over. Where several are named, a request that only reads
/// leaves a controller that takes its share of the time, as one that is frozen or cut off does, and
/// goes to the next one. The one that was reached last is asked first.
class Client {
 public:
  explicit Client(ClientOptions options) : options_(std::move(options)) {}

  const ClientOptions& options() const { return options_; }

  /// How long the whole of it may take.
  std::chrono::milliseconds time_for(const HttpRequest& request) const {
    return options_.timeout +
           (options_.timeout_is_wished ? std::chrono::milliseconds(0) : request.patience);
  }

  /// The reply, good or not; at most 64 MiB of it. Errors: Unavailable where no controller
  /// answers, or none in time, with what to do; InvalidInput where an option is unfit.
  Result<HttpReply> send(const HttpRequest& request);

  /// Follows a reply as it comes: `on_text` takes pieces of a good one's body, and ends the stream
  /// by returning false. A reply that is not good is returned whole; a good one without its body.
  /// After a stream that broke off, or on which nothing came for `stream_silence`, the next
  /// controller is the first to be asked.
  Result<HttpReply> follow(const HttpRequest& request,
                           const std::function<bool(std::string_view)>& on_text);

 private:
  Result<HttpReply> once(const HttpRequest& request,
                         const std::function<bool(std::string_view)>* on_text,
                         Deadline reached_until,
                         Deadline deadline);
  Result<HttpReply> led(const HttpRequest& request,
                        const std::function<bool(std::string_view)>* on_text);
  std::optional<ServerAddress> leader_in(const HttpReply& reply) const;
  bool is_silent(const ServerAddress& server, std::size_t silent) const;
  void turn_to_next(std::size_t silent);
  void turn_to(const ServerAddress& leader, std::size_t silent);
  Errors in_words(const Errors& errors, bool late) const;

  ClientOptions options_;
  std::size_t unreached_ = 0;  ///< Addresses in a row that could not be reached.
  bool has_streamed_ = false;  ///< A good reply to `follow` has begun.
};

/// `text` for use inside a path or a query.
std::string url_escaped(std::string_view text);

}  // namespace orrery::cli
