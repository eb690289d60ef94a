#include "runtime/http/server.hpp"

#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "runtime/config/address.hpp"
#include "runtime/config/key_rights.hpp"
#include "runtime/http/session.hpp"

namespace orrery::http {
namespace asio = boost::asio;

namespace {

using boost::system::error_code;
using Generic = asio::generic::stream_protocol;
using Acceptor = asio::basic_socket_acceptor<Generic>;

std::chrono::nanoseconds to_chrono(Duration d) { return std::chrono::nanoseconds(d.ns); }

/// The I/O thread's loop.
class Loop final : public Executor {
 public:
  asio::io_context io{1};

  void post(std::function<void()> task) override {
    if (!closed_) asio::post(io, std::move(task));
  }

  std::shared_ptr<void> after(Duration delay, std::function<void()> task) override {
    auto owned = std::make_shared<std::function<void()>>(std::move(task));
    const std::weak_ptr<std::function<void()>> seen = owned;
    post([this, delay, seen] {
      const auto timer = std::make_shared<asio::steady_timer>(io, to_chrono(delay));
      timer->async_wait([timer, seen](const error_code& why) {
        if (why) return;
        if (const auto alive = seen.lock()) (*alive)();
      });
    });
    return owned;
  }

  /// Nothing is taken any more.
  void close() { closed_ = true; }

 private:
  std::atomic<bool> closed_ = false;
};

class TcpOrUnixServer final : public Server {
 public:
  TcpOrUnixServer(std::shared_ptr<Loop> loop,
                  Acceptor acceptor,
                  std::unique_ptr<asio::ssl::context> tls,
                  std::string address,
                  std::string unix_path,
                  const ServerLimits& limits)
      : loop_(std::move(loop)),
        acceptor_(std::move(acceptor)),
        tls_(std::move(tls)),
        address_(std::move(address)),
        unix_path_(std::move(unix_path)),
        retry_(loop_->io),
        sweep_(loop_->io),
        shared_(std::make_shared<SharedParts>()) {
    shared_->limits = limits;
    shared_->executor = loop_;
    shared_->figures = std::make_shared<Figures>();
  }

  ~TcpOrUnixServer() override {
    stop();
    if (!unix_path_.empty()) ::unlink(unix_path_.c_str());
  }

  TcpOrUnixServer(const TcpOrUnixServer&) = delete;
  TcpOrUnixServer& operator=(const TcpOrUnixServer&) = delete;

  void serve(Handler handler) override {
    shared_->handler = std::move(handler);
    sweep_every_ = sweep_period();
    asio::post(loop_->io, [this] {
      accept();
      sweep();
    });
    thread_ = std::thread([this] {
      // Signals are for the thread that waits for them.
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_BLOCK, &all, nullptr);
      loop_->io.run();
    });
  }

  void stop() override {
    if (!thread_.joinable()) return;
    asio::post(loop_->io, [this] { begin_stop(); });
    thread_.join();
    loop_->close();
    // What is still queued holds on to connections; it finds them closed.
    loop_->io.restart();
    loop_->io.poll();
    shared_->handler = nullptr;
  }

  std::shared_ptr<Executor> executor() override { return loop_; }

  const std::string& address() const override { return address_; }

  std::shared_ptr<Figures> figures() override { return shared_->figures; }

 private:
  void accept() {
    if (!acceptor_.is_open()) return;
    acceptor_.async_accept([this](const error_code& why, Socket socket) {
      if (!acceptor_.is_open()) return;
      if (!why) {
        welcome(std::move(socket));
        return accept();
      }
      // Most likely there are no file descriptors left: others will be given back.
      retry_.expires_after(std::chrono::milliseconds(100));
      retry_.async_wait([this](const error_code&) { accept(); });
    });
  }

  void welcome(Socket socket) {
    error_code ignored;
    Connection connection;
    connection.unix_socket = !unix_path_.empty();
    if (!connection.unix_socket) {
      const int on = 1;
      ::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      const Generic::endpoint peer = socket.remote_endpoint(ignored);
      asio::ip::tcp::endpoint tcp;
      if (!ignored && peer.size() <= tcp.capacity()) {
        std::memcpy(tcp.data(), peer.data(), peer.size());
        tcp.resize(peer.size());
        connection.peer = tcp.address().to_string();
      }
    }
    if (shared_->sessions.size() >= shared_->limits.connections_max) make_room();
    if (shared_->sessions.size() >= shared_->limits.connections_max) {
      ++shared_->figures->connections_refused;
      return turn_away(std::move(socket));
    }
    auto link = tls_ ? tls_link(std::move(socket), *tls_) : plain_link(std::move(socket));
    const auto session = std::make_shared<Session>(shared_, std::move(link), std::move(connection));
    shared_->sessions.insert(session);
    session->start();
  }

  // Idle connections must not keep away active clients: of the connections that wait for a
  // request, the one that has waited longest is closed.
  void make_room() {
    std::shared_ptr<Session> oldest;
    for (const auto& session : shared_->sessions)
      if (session->may_be_replaced() &&
          (!oldest || session->waiting_since() < oldest->waiting_since()))
        oldest = session;
    if (!oldest) return;
    ++shared_->figures->cut_off;
    oldest->close();
  }

  void turn_away(Socket socket) const {
    if (tls_) return;
    constexpr std::string_view kBody =
        "{\"error\":{\"message\":\"too many connections at once; ask again later\"}}";
    const std::string full =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
        "Connection: close\r\nContent-Length: " +
        std::to_string(kBody.size()) + "\r\n\r\n" + std::string(kBody);
    error_code ignored;
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(full), ignored);
  }

  std::chrono::nanoseconds sweep_period() const {
    const ServerLimits& l = shared_->limits;
    const Duration least = std::min({l.handshake, l.idle, l.header, l.body, l.write});
    return std::clamp<std::chrono::nanoseconds>(
        to_chrono(least) / 4, std::chrono::milliseconds(5), std::chrono::milliseconds(250));
  }

  void sweep() {
    sweep_.expires_after(sweep_every_);
    sweep_.async_wait([this](const error_code& why) {
      if (why) return;
      const auto now = std::chrono::steady_clock::now();
      for (const auto& session : each_session()) session->check_deadline(now);
      if (shared_->stopping) check_stopped();
      sweep();
    });
  }

  std::vector<std::shared_ptr<Session>> each_session() const {
    return {shared_->sessions.begin(), shared_->sessions.end()};
  }

  void begin_stop() {
    shared_->stopping = true;
    error_code ignored;
    acceptor_.close(ignored);
    for (const auto& session : each_session()) session->begin_stop();
    stop_at_ = std::chrono::steady_clock::now() + to_chrono(shared_->limits.stop);
    check_stopped();
  }

  void check_stopped() {
    const auto now = std::chrono::steady_clock::now();
    if (now >= stop_at_)
      for (const auto& session : each_session()) session->refuse_late();
    if (now >= stop_at_ + std::chrono::milliseconds(100))
      for (const auto& session : each_session()) session->close();
    if (!shared_->sessions.empty()) {
      stop_check_.emplace(loop_->io, std::chrono::milliseconds(5));
      stop_check_->async_wait([this](const error_code& why) {
        if (!why) check_stopped();
      });
      return;
    }
    sweep_.cancel();
    loop_->io.stop();
  }

  std::shared_ptr<Loop> loop_;
  Acceptor acceptor_;
  std::unique_ptr<asio::ssl::context> tls_;
  std::string address_;
  std::string unix_path_;
  asio::steady_timer retry_;
  asio::steady_timer sweep_;
  std::optional<asio::steady_timer> stop_check_;
  std::chrono::nanoseconds sweep_every_{};
  SteadyTime stop_at_;
  std::shared_ptr<SharedParts> shared_;
  std::thread thread_;
};

Error cannot(const std::string& subject, const std::string& message, ErrorCode code) {
  return {code, {}, 0, subject, message};
}

// A socket file without a listener is in the way after a crash.
Status clear_stale_socket(const std::string& path) {
  struct stat about {};

  if (::lstat(path.c_str(), &about) != 0) return Done{};
  if (!S_ISSOCK(about.st_mode))
    return cannot("unix:" + path,
                  "a file of this name is there and is no socket; move it away",
                  ErrorCode::Conflict);
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, path.c_str(), std::min(path.size() + 1, sizeof name.sun_path - 1));
  const bool answered =
      probe >= 0 && ::connect(probe, reinterpret_cast<sockaddr*>(&name), sizeof name) == 0;
  if (probe >= 0) ::close(probe);
  if (answered)
    return cannot("unix:" + path,
                  "another process listens there; end it, or choose another path",
                  ErrorCode::Conflict);
  ::unlink(path.c_str());
  return Done{};
}

Result<std::unique_ptr<asio::ssl::context>> tls_context(const runtime::TlsFiles& files) {
  auto context = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_server);
  SSL_CTX* raw = context->native_handle();
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  // Without resumed sessions every connection shows its certificate anew.
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(raw, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  Errors errors;
  if (std::optional<Error> open = runtime::check_kept_secret(files.key)) errors.push_back(*open);
  const auto note = [&](const std::string& file, const char* what, const error_code& why) {
    if (why)
      errors.push_back(
          {ErrorCode::InvalidInput, file, 0, what, why.message() + "; give a PEM file"});
  };
  error_code why;
  context->use_certificate_chain_file(files.certificate, why);
  note(files.certificate, "tls.certificate", why);
  context->use_private_key_file(files.key, asio::ssl::context::pem, why);
  note(files.key, "tls.key", why);
  context->load_verify_file(files.ca, why);
  note(files.ca, "tls.ca", why);
  if (!errors.empty()) return errors;
  // A client without a certificate may have a token; one that has neither gets an error that says
  // so.
  context->set_verify_mode(asio::ssl::verify_peer, why);
  return context;
}

struct Opened {
  Acceptor acceptor;
  std::string address;
};

Result<Opened> open_unix(Loop& loop, const std::string& path) {
  if (Status clear = clear_stale_socket(path); !clear) return clear.errors();
  const asio::local::stream_protocol::endpoint endpoint(path);
  Acceptor acceptor(loop.io);
  error_code why;
  acceptor.open(Generic(endpoint.protocol()), why);
  // Any process that can connect is an administrator: the socket's rights keep other users out.
  if (!why) {
    const mode_t before = ::umask(0177);
    acceptor.bind(endpoint, why);
    ::umask(before);
  }
  if (!why) acceptor.listen(asio::socket_base::max_listen_connections, why);
  if (why)
    return cannot("unix:" + path,
                  why.message() + "; choose a path in a folder that exists",
                  ErrorCode::Unavailable);
  return Opened{std::move(acceptor), "unix:" + path};
}

std::string with_port(const asio::ip::tcp::endpoint& endpoint) {
  const std::string host = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + host + "]" : host) + ":" +
         std::to_string(endpoint.port());
}

Result<Opened> open_tcp(Loop& loop, const runtime::Address& where) {
  const std::string subject = "address " + to_text(where);
  error_code why;
  const asio::ip::address host =
      asio::ip::make_address(where.host == "localhost" ? "127.0.0.1" : where.host, why);
  if (why)
    return cannot(subject,
                  "host names are not looked up; write a numeric address such as 127.0.0.1",
                  ErrorCode::InvalidInput);
  asio::ip::tcp::endpoint endpoint(host, where.port);
  Acceptor acceptor(loop.io);
  acceptor.open(Generic(endpoint.protocol()), why);
  if (!why) acceptor.set_option(asio::socket_base::reuse_address(true), why);
  if (!why) acceptor.bind(endpoint, why);
  if (!why) acceptor.listen(asio::socket_base::max_listen_connections, why);
  if (why)
    return cannot(
        subject, why.message() + "; choose another port or address", ErrorCode::Unavailable);
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  ::getsockname(acceptor.native_handle(), reinterpret_cast<sockaddr*>(&bound), &size);
  std::memcpy(endpoint.data(), &bound, size);
  endpoint.resize(size);
  return Opened{std::move(acceptor), with_port(endpoint)};
}

}  // namespace

Result<std::unique_ptr<Server>> listen(const std::string& address,
                                       const runtime::TlsFiles& tls,
                                       const ServerLimits& limits) {
  if (Errors errors = runtime::check_exposure(address, tls, "address"); !errors.empty())
    return errors;
  const runtime::Address where = *runtime::parse_address(address);
  std::unique_ptr<asio::ssl::context> context;
  if (tls.is_set()) {
    Result<std::unique_ptr<asio::ssl::context>> made = tls_context(tls);
    if (!made) return made.errors();
    context = std::move(*made);
  }
  const auto loop = std::make_shared<Loop>();
  Result<Opened> opened = where.is_unix() ? open_unix(*loop, where.path) : open_tcp(*loop, where);
  if (!opened) return opened.errors();
  return std::unique_ptr<Server>(std::make_unique<TcpOrUnixServer>(
      loop, std::move(opened->acceptor), std::move(context), opened->address, where.path, limits));
}

}  // namespace orrery::http
