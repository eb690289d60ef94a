#include "tools/client/client.hpp"

#include <poll.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/client/http_response.hpp"
#include "tools/client/json_reading.hpp"
#include "tools/client/socket_stream.hpp"
#include "tools/console/interrupt.hpp"

namespace orrery::cli {
namespace {

constexpr std::size_t kBodyMax = 64 << 20;
constexpr int kLeadersMax = 5;  // Followed one after the other.
constexpr int kAgainAfterMs = 100;

std::string request_text(const HttpRequest& request, const ClientOptions& options) {
  std::string out =
      request.method + " " + request.target + " HTTP/1.1\r\nHost: " + options.server.host_header() +
      "\r\nAccept: " + request.accept + "\r\nUser-Agent: orrery\r\nConnection: close\r\n";
  if (!options.token.empty()) out += "Authorization: Bearer " + options.token + "\r\n";
  if (!options.user.empty()) out += "Orrery-User: " + options.user + "\r\n";
  if (!request.body.empty()) out += "Content-Type: " + request.content_type + "\r\n";
  if (!request.body.empty() || request.method != "GET")
    out += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  return out + "\r\n" + request.body;
}

/// Where the controller that leads is, as a follower says it.
std::string leader_of(const HttpReply& reply) {
  const auto document = nlohmann::json::parse(reply.body, nullptr, false);
  if (document.is_object() && document.contains("error") && document["error"].is_object())
    if (const auto& error = document["error"];
        error.contains("leader") && error["leader"].is_string())
      return error["leader"].get<std::string>();
  return reply.location;
}

// An address that swallows what is sent to it must not take the time of the `left` that are left.
Deadline share(Deadline deadline, std::size_t left) {
  const auto now = std::chrono::steady_clock::now();
  return left <= 1 ? deadline : now + (deadline - now) / static_cast<int>(left);
}

}  // namespace

std::string url_escaped(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    const auto byte = static_cast<unsigned char>(c);
    if (plain) {
      out += c;
    } else {
      out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return out;
}

Result<HttpReply> Client::once(const HttpRequest& request,
                               const std::function<bool(std::string_view)>* on_text,
                               Deadline reached_until,
                               Deadline deadline) {
  const auto stream =
      open_stream(options_.server,
                  options_.tls,
                  share(reached_until,
                        options_.others.size() + 1 - std::min(unreached_, options_.others.size())));
  if (!stream) {
    if (stream.errors().front().code == ErrorCode::Unavailable) ++unreached_;
    return stream.errors();
  }
  unreached_ = 0;
  const Status sent = (*stream)->write(request_text(request, options_), deadline);
  if (!sent) return sent.errors();
  ResponseReader reader(**stream);
  Result<ResponseHead> head = reader.head(deadline);
  if (!head) return head.errors();
  HttpReply reply{head->status, std::move(head->content_type), std::move(head->location), {}};
  const bool streamed = on_text != nullptr && reply.is_good();
  has_streamed_ = streamed;
  while (true) {
    const Deadline until =
        streamed ? std::chrono::steady_clock::now() + options_.stream_silence : deadline;
    const Result<std::string> piece = reader.body(until);
    if (!piece) return piece.errors();
    if (piece->empty()) return reply;
    if (streamed) {
      if (!(*on_text)(*piece)) return reply;
      continue;
    }
    if (reply.body.size() + piece->size() > kBodyMax)
      return unavailable("its answer has more than 64 MiB");
    reply.body += *piece;
  }
}

// The last `silent` of the others are not asked again.
void Client::turn_to_next(std::size_t silent) {
  if (options_.others.size() <= silent) return;
  options_.others.insert(options_.others.end() - static_cast<std::ptrdiff_t>(silent),
                         options_.server);
  options_.server = options_.others.front();
  options_.others.erase(options_.others.begin());
}

// The one that named it stays among the others, behind those that were not asked yet: it also knows
// who leads after that one.
void Client::turn_to(const ServerAddress& leader, std::size_t silent) {
  std::erase_if(options_.others,
                [&](const ServerAddress& other) { return other.text() == leader.text(); });
  options_.others.insert(options_.others.end() - static_cast<std::ptrdiff_t>(silent),
                         options_.server);
  options_.server = leader;
}

bool Client::is_silent(const ServerAddress& server, std::size_t silent) const {
  const auto& others = options_.others;
  return std::any_of(others.end() - static_cast<std::ptrdiff_t>(silent),
                     others.end(),
                     [&](const ServerAddress& other) { return other.text() == server.text(); });
}

// The controller that a reply refers to, if what is sent to this one may be sent to that one.
std::optional<ServerAddress> Client::leader_in(const HttpReply& reply) const {
  if (reply.status != 503 && reply.status != 307 && reply.status != 308) return std::nullopt;
  const std::string leader = leader_of(reply);
  const std::size_t path = leader.find('/', leader.find("://") + 3);
  const Result<ServerAddress> address = server_address(std::string_view(leader).substr(0, path));
  if (leader.empty() || !address || address->text() == options_.server.text()) return std::nullopt;
  // What was sent under TLS, or stayed on this machine, goes on doing so.
  const bool weaker = options_.server.kind == ServerAddress::Kind::Https
                          ? address->kind != ServerAddress::Kind::Https
                          : address->kind == ServerAddress::Kind::Http && !address->is_local() &&
                                !options_.token.empty();
  if (weaker) return std::nullopt;
  return *address;
}

Errors Client::in_words(const Errors& errors, bool late) const {
  Errors out = errors;
  for (Error& error : out) {
    if (error.code != ErrorCode::Unavailable) continue;
    error.subject = options_.server.text();
    if (late) {
      error.message =
          "has not answered in time; what it was asked for may be done all the same; "
          "give it longer with --timeout";
      continue;
    }
    for (const ServerAddress& other : options_.others) error.subject += ", " + other.text();
    // A server that was reached may have a remedy of its own.
    const bool has_remedy = error.message.find("; ") != std::string::npos;
    error.message = "no controller answers: " + error.message;
    if (!has_remedy)
      error.message += "; start one with orrery up, or name another with --server or ORRERY_SERVER";
  }
  return out;
}

namespace {

// Of a submission of several jobs that could not be carried through: those that are in.
bool names_jobs(const HttpReply& reply) {
  const auto document = nlohmann::json::parse(reply.body, nullptr, false);
  return !list_of(document, "jobs").empty();
}

}  // namespace

Result<HttpReply> Client::led(const HttpRequest& request,
                              const std::function<bool(std::string_view)>* on_text) {
  const Deadline begun = std::chrono::steady_clock::now();
  const Deadline reached_until = begun + options_.timeout;
  const Deadline deadline = begun + time_for(request);
  std::optional<HttpReply> in_part;  // Whose jobs are in, whatever later tries come to.
  int leaders = 0;
  std::size_t silent = 0;  // The last so many of the others were asked, and did not answer.
  while (true) {
    const std::size_t unreached = unreached_;
    has_streamed_ = false;
    const std::size_t left =
        request.is_repeatable() ? options_.others.size() + 1 - silent : std::size_t{1};
    Result<HttpReply> reply = once(request, on_text, reached_until, share(deadline, left));
    if (!reply) {
      // Only a controller that was not reached has certainly not received the request.
      const bool unheard = unreached_ > unreached;
      const bool is_absent = reply.errors().front().code == ErrorCode::Unavailable;
      const bool again =
          unheard ? unreached_ <= options_.others.size() : is_absent && left > 1 && !has_streamed_;
      if (again && !interrupted()) {
        turn_to_next(unheard ? silent : 0);
        if (!unheard) ++silent;
        continue;
      }
      if (has_streamed_ && is_absent) turn_to_next(0);
      const bool late = !has_streamed_ && !unheard && std::chrono::steady_clock::now() >= deadline;
      unreached_ = 0;
      return in_words(reply.errors(), late);
    }
    const std::optional<ServerAddress> leader = leader_in(*reply);
    if (leader && !is_silent(*leader, silent) && leaders < kLeadersMax) {
      ++leaders;
      turn_to(*leader, silent);
      continue;
    }
    if (reply->status == 503 && !leader && !request.asks_again) {
      turn_to_next(silent);
      return reply;
    }
    const bool is_early = reply->status == 503 || leader;
    if (is_early && names_jobs(*reply)) in_part = *reply;
    const bool is_over =
        interrupted() ||
        std::chrono::steady_clock::now() + std::chrono::milliseconds(kAgainAfterMs) > reached_until;
    if (is_early && !is_over) {
      leaders = 0;
      turn_to_next(silent);
      ::poll(nullptr, 0, kAgainAfterMs);
      continue;
    }
    if (leader && reply->status != 503)
      return in_words({unavailable(leader->text() + ", which is said to lead, does not")}, false);
    if (reply->status == 503 && in_part) return *in_part;
    return reply;
  }
}

Result<HttpReply> Client::send(const HttpRequest& request) { return led(request, nullptr); }

Result<HttpReply> Client::follow(const HttpRequest& request,
                                 const std::function<bool(std::string_view)>& on_text) {
  return led(request, &on_text);
}

}  // namespace orrery::cli
