#include "runtime/sdk/http_client.hpp"

#include <algorithm>
#include <array>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <fstream>
#include <future>
#include <memory>
#include <optional>

#include "core/base/number_text.hpp"

namespace orrery::sdk {
namespace {

namespace http = boost::beast::http;

constexpr std::size_t kBodyMax = 64U << 20U;
constexpr int kRedirectsMax = 4;
constexpr std::uint16_t kDefaultPort = 22100;

/// The address in a URL; nothing where it is none.
std::optional<ConnectTo> address_in(std::string_view rest, const std::string& ca) {
  ConnectTo out;
  if (rest.starts_with("unix:")) {
    out.unix_path = rest.substr(5);
    out.host = "localhost";
    if (!out.unix_path.starts_with('/')) return std::nullopt;
    return out;
  }
  if (rest.starts_with("https://")) {
    out.security = ConnectTo::Security::Verified;
    out.ca = ca;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    return std::nullopt;
  }
  rest = rest.substr(0, rest.find('/'));
  const bool is_bracketed = rest.starts_with('[');
  const std::size_t host_end = is_bracketed ? rest.find(']') : rest.rfind(':');
  if (is_bracketed && host_end == rest.npos) return std::nullopt;
  out.host = is_bracketed ? rest.substr(1, host_end - 1) : rest.substr(0, host_end);
  std::string_view port =
      host_end == rest.npos ? "" : rest.substr(host_end + (is_bracketed ? 1 : 0));
  out.port = kDefaultPort;
  if (!port.empty()) {
    if (!port.starts_with(':')) return std::nullopt;
    out.port = parsed_number<std::uint16_t>(port.substr(1)).value_or(0);
  }
  if (out.host.empty() || out.port == 0) return std::nullopt;
  return out;
}

std::string host_header(const ConnectTo& to) {
  if (!to.unix_path.empty()) return "localhost";
  const bool is_bracketed = to.host.find(':') != std::string::npos;
  return (is_bracketed ? "[" + to.host + "]" : to.host) + ":" + std::to_string(to.port);
}

/// One request and its answer; alive through the callbacks that wait.
class HttpExchange : public std::enable_shared_from_this<HttpExchange> {
 public:
  HttpExchange(ControllerAccess access, HttpAsk ask, std::function<void(HttpAnswer)> done)
      : access_(std::move(access)),
        ask_(std::move(ask)),
        done_(std::move(done)),
        until_(from_now(ask_.limit)) {}

  void start() {
    // Each time anew: the agent replaces the file when another controller leads.
    if (std::string now; !access_.url_file.empty() && std::ifstream(access_.url_file) >> now)
      access_.url = std::move(now);
    access_.url = addresses_of(access_).front();
    timer_ = Io::instance().after(ask_.limit, [self = shared_from_this()] {
      self->fail("no answer within " + std::to_string(self->ask_.limit.count()) + " ms");
    });
    if (const std::string why = unfit_access(access_); !why.empty())
      return fail(why, "BadArguments");
    connect();
  }

 private:
  Milliseconds left() const {
    return std::max(Milliseconds(1),
                    std::chrono::ceil<Milliseconds>(until_ - std::chrono::steady_clock::now()));
  }

  void connect() {
    std::optional<ConnectTo> to = address_in(access_.url, access_.ca);
    if (!to) return fail("found " + access_.url + ", needed http://, https:// or unix:");
    to->limit = left();
    head_ = ask_.method + " " + ask_.target + " HTTP/1.1\r\nHost: " + host_header(*to) +
            "\r\nConnection: close\r\nAccept: application/json\r\n";
    if (!access_.token.empty()) head_ += "Authorization: Bearer " + access_.token + "\r\n";
    if (!ask_.idempotency_key.empty()) head_ += "Idempotency-Key: " + ask_.idempotency_key + "\r\n";
    if (!ask_.body.empty() || ask_.method != "GET")
      head_ += "Content-Type: " + ask_.content_type +
               "\r\nContent-Length: " + std::to_string(ask_.body.size()) + "\r\n";
    head_ += "\r\n" + ask_.body;
    parser_.emplace();
    parser_->body_limit(kBodyMax);
    parser_->eager(true);
    unread_.clear();
    Io::instance().connect(*to, [self = shared_from_this()](Connected connected) {
      if (!connected.link)
        return self->fail(connected.failure,
                          connected.refused_identity ? "NotAuthorised"
                          : connected.is_unfit       ? "BadArguments"
                                                     : "");
      self->send(std::move(connected.link));
    });
  }

  void send(std::shared_ptr<Link> link) {
    if (!done_) return link->close();
    link_ = std::move(link);
    const ByteView bytes(reinterpret_cast<const std::uint8_t*>(head_.data()), head_.size());
    link_->write_all({bytes}, [self = shared_from_this(), link = link_](const IoResult& result) {
      if (!result.failure.empty()) return self->fail_unless_tls(result.failure);
      self->read();
    });
  }

  void read() {
    if (!done_) return;
    link_->read_some(std::span<std::uint8_t>(in_),
                     [self = shared_from_this(), link = link_](const IoResult& result) {
                       if (!result.failure.empty()) return self->fail_unless_tls(result.failure);
                       self->take(result.size);
                     });
  }

  void take(std::size_t size) {
    if (!done_) return;
    boost::system::error_code why;
    if (size == 0) {
      if (!parser_->got_some()) return fail_unless_tls("it closed the connection unanswered");
      parser_->put_eof(why);
      if (why || !parser_->is_done())
        return fail_unless_tls("it closed the connection within its answer");
      return on_answer();
    }
    unread_.append(reinterpret_cast<const char*>(in_.data()), size);
    const std::size_t used = parser_->put(boost::asio::buffer(unread_), why);
    unread_.erase(0, used);
    if (why && why != http::error::need_more) return fail_unless_tls("it does not speak HTTP");
    if (parser_->is_done()) return on_answer();
    read();
  }

  void on_answer() {
    const http::response<http::string_body>& answer = parser_->get();
    link_->close();
    const int status = static_cast<int>(answer.result_int());
    if (status == 307 && redirects_++ < kRedirectsMax) {
      const auto location = answer[http::field::location];
      const std::size_t scheme = location.find("://");
      const std::size_t path =
          scheme == location.npos ? location.npos : location.find('/', scheme + 3);
      if (path != location.npos) {
        access_.url = std::string(location.substr(0, path));
        ask_.target = std::string(location.substr(path));
        if (const std::string why = unfit_access(access_); !why.empty())
          return fail(why, "BadArguments");
        return connect();
      }
    }
    finish({status, answer.body(), {}, {}});
  }

  /// A controller that serves TLS ends a connection that begins otherwise; so does one that dies.
  /// It is asked once more, with the beginning of TLS: whatever certificate it shows is another
  /// one.
  void fail_unless_tls(const std::string& why) {
    if (!done_) return;
    std::optional<ConnectTo> to = address_in(access_.url, access_.ca);
    if (!to || to->security != ConnectTo::Security::Plain || !to->unix_path.empty())
      return fail(why);
    to->security = ConnectTo::Security::Pinned;
    to->limit = left();
    Io::instance().connect(*to, [self = shared_from_this(), why](const Connected& connected) {
      if (!connected.refused_identity) return self->fail(why);
      self->fail(
          "TLS is spoken there, needed https://; write it so, and name the file of the cluster's "
          "authority (ORRERY_CA)",
          "BadArguments");
    });
  }

  void fail(const std::string& why, std::string for_good = {}) {
    finish({0, {}, access_.url + ": " + why, std::move(for_good)});
  }

  void finish(HttpAnswer answer) {
    timer_.reset();
    if (link_) link_->close();
    if (done_) std::exchange(done_, nullptr)(std::move(answer));
  }

  ControllerAccess access_;
  HttpAsk ask_;
  std::function<void(HttpAnswer)> done_;
  SteadyTime until_;
  Io::Timer timer_;
  std::shared_ptr<Link> link_;
  std::string head_;
  std::array<std::uint8_t, 16 << 10> in_;
  std::string unread_;
  std::optional<http::response_parser<http::string_body>> parser_;
  int redirects_ = 0;
};

}  // namespace

std::string unfit_access(const ControllerAccess& access) {
  for (const std::string& url : addresses_of(access)) {
    const std::optional<ConnectTo> to = address_in(url, access.ca);
    if (!to)
      return "the controller's address: found \"" + url +
             "\", needed http://host:port, https://host:port or unix:/path; correct it";
    const bool is_local =
        !to->unix_path.empty() || to->host == "localhost" || is_loopback(to->host);
    if (!access.token.empty() && to->security == ConnectTo::Security::Plain && !is_local)
      return "the controller's address: found " + url +
             ", where the token would travel in clear, needed https://; let the controller serve "
             "TLS";
  }
  return {};
}

std::vector<std::string> addresses_of(const ControllerAccess& access) {
  std::vector<std::string> out;
  for (std::string_view rest = access.url;;) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    std::string_view each = rest.substr(0, end);
    while (each.starts_with(' ')) each.remove_prefix(1);
    while (each.ends_with(' ')) each.remove_suffix(1);
    out.emplace_back(each);
    if (end == rest.size()) return out;
    rest.remove_prefix(end + 1);
  }
}

void turn_to_next(ControllerAccess& access) {
  const std::size_t end = access.url.find(',');
  if (end == std::string::npos) return;
  access.url = access.url.substr(end + 1) + "," + access.url.substr(0, end);
}

void ask_controller(const ControllerAccess& access,
                    HttpAsk ask,
                    std::function<void(HttpAnswer)> done) {
  std::make_shared<HttpExchange>(access, std::move(ask), std::move(done))->start();
}

HttpAnswer ask_controller_now(const ControllerAccess& access, HttpAsk ask) {
  const auto answer = std::make_shared<std::promise<HttpAnswer>>();
  std::future<HttpAnswer> out = answer->get_future();
  Io::instance().post([access, ask = std::move(ask), answer] {
    ask_controller(access, ask, [answer](HttpAnswer got) { answer->set_value(std::move(got)); });
  });
  return out.get();
}

std::string url_part(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                          (c >= 'A' && c <= 'Z') || c == '-' || c == '.' || c == '_' || c == '~';
    if (is_plain) {
      out += c;
    } else {
      out += '%';
      out += kDigits[byte >> 4U];
      out += kDigits[byte & 15U];
    }
  }
  return out;
}

}  // namespace orrery::sdk
