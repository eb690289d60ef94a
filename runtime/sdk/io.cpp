#include "runtime/sdk/io.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "runtime/sdk/errors.hpp"
#include "runtime/sdk/io_link.hpp"
#include "runtime/sdk/io_role.hpp"
#include "runtime/sdk/io_timers.hpp"

namespace orrery::sdk {
namespace asio = boost::asio;

namespace {

using asio::ip::tcp;
using boost::system::error_code;

/// Small messages leave at once; a peer whose machine is gone is noticed.
void tune(tcp::socket& socket) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  const auto set = [&](int option, int value) {
    ::setsockopt(socket.native_handle(), IPPROTO_TCP, option, &value, sizeof value);
  };
  set(TCP_KEEPIDLE, 10);
  set(TCP_KEEPINTVL, 5);
  set(TCP_KEEPCNT, 4);
}

/// One connection that is being made: resolved, connected, and over when its time is.
class Connecting : public std::enable_shared_from_this<Connecting> {
 public:
  Connecting(asio::io_context& context, ConnectTo to, std::function<void(Connected)> done)
      : to_(std::move(to)),
        done_(std::move(done)),
        until_(from_now(to_.limit)),
        timer_(context, to_.limit),
        resolver_(context),
        tcp_(context),
        local_(context) {}

  void start() {
    timer_.async_wait([self = shared_from_this()](const error_code& why) {
      if (!why) self->finish({nullptr, "no connection in time"});
    });
    if (!to_.unix_path.empty()) {
      local_.async_connect(asio::local::stream_protocol::endpoint(to_.unix_path),
                           [self = shared_from_this()](const error_code& why) {
                             if (why) return self->finish({nullptr, why.message()});
                             self->secure(Socket(std::move(self->local_)));
                           });
      return;
    }
    resolver_.async_resolve(
        to_.host,
        std::to_string(to_.port),
        [self = shared_from_this()](const error_code& why, const tcp::resolver::results_type& all) {
          if (why) return self->finish({nullptr, to_name(self->to_) + why.message()});
          self->connect(all);
        });
  }

 private:
  static std::string to_name(const ConnectTo& to) { return to.host + ": "; }

  void connect(const tcp::resolver::results_type& all) {
    if (!done_) return;
    asio::async_connect(
        tcp_, all, [self = shared_from_this()](const error_code& why, const tcp::endpoint&) {
          if (why) return self->finish({nullptr, why.message()});
          tune(self->tcp_);
          self->secure(Socket(std::move(self->tcp_)));
        });
  }

  void secure(Socket socket) {
    if (!done_) return;
    if (to_.security == ConnectTo::Security::Plain)
      return finish({plain_link(std::move(socket)), {}});
    const auto left = std::chrono::ceil<Milliseconds>(until_ - std::chrono::steady_clock::now());
    connect_tls(std::move(socket), to_, left, [self = shared_from_this()](Connected connected) {
      self->finish(std::move(connected));
    });
  }

  void finish(Connected connected) {
    if (!done_) {
      if (connected.link) connected.link->close();
      return;
    }
    error_code ignored;
    timer_.cancel();
    resolver_.cancel();
    tcp_.close(ignored);
    local_.close(ignored);
    std::exchange(done_, nullptr)(std::move(connected));
  }

  ConnectTo to_;
  std::function<void(Connected)> done_;
  SteadyTime until_;
  asio::steady_timer timer_;
  tcp::resolver resolver_;
  tcp::socket tcp_;
  asio::local::stream_protocol::socket local_;
};

/// Accepts until it is closed; on the I/O thread.
class Acceptor : public std::enable_shared_from_this<Acceptor> {
 public:
  Acceptor(asio::io_context& context,
           TlsContext tls,
           Milliseconds handshake_limit,
           std::function<void(std::shared_ptr<Link>)> on_link)
      : tls_(std::move(tls)),
        handshake_limit_(handshake_limit),
        on_link_(std::move(on_link)),
        acceptor_(context),
        pause_(context) {}

  void open(const tcp::endpoint& at) {
    acceptor_.open(at.protocol());
    acceptor_.set_option(tcp::acceptor::reuse_address(true));
    acceptor_.bind(at);
    acceptor_.listen();
  }

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

  void accept() {
    acceptor_.async_accept([self = shared_from_this()](const error_code& why, tcp::socket socket) {
      if (!self->acceptor_.is_open()) return;
      if (why) return self->accept_later();
      tune(socket);
      if (self->tls_) {
        accept_tls(Socket(std::move(socket)),
                   self->tls_,
                   self->handshake_limit_,
                   [self](std::shared_ptr<Link> link) {
                     if (link && self->on_link_) self->on_link_(std::move(link));
                   });
      } else {
        self->on_link_(plain_link(Socket(std::move(socket))));
      }
      self->accept();
    });
  }

  void close() {
    error_code ignored;
    acceptor_.close(ignored);
    pause_.cancel();
    on_link_ = nullptr;
  }

 private:
  // Without descriptors the next accept fails at once too.
  void accept_later() {
    pause_.expires_after(Milliseconds(100));
    pause_.async_wait([self = shared_from_this()](const error_code& why) {
      if (!why && self->acceptor_.is_open()) self->accept();
    });
  }

  TlsContext tls_;
  Milliseconds handshake_limit_;
  std::function<void(std::shared_ptr<Link>)> on_link_;
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
};

class AsioListening final : public Listening {
 public:
  explicit AsioListening(std::shared_ptr<Acceptor> acceptor)
      : acceptor_(std::move(acceptor)), port_(acceptor_->port()) {}

  ~AsioListening() override {
    run_on_io([this] { acceptor_->close(); });
  }

  std::uint16_t port() const override { return port_; }

 private:
  std::shared_ptr<Acceptor> acceptor_;
  std::uint16_t port_;
};

/// A signal that is waited for again and again.
class SignalWait : public std::enable_shared_from_this<SignalWait> {
 public:
  SignalWait(asio::io_context& context, int number, std::function<void()> task)
      : signals_(context, number), task_(std::move(task)) {}

  void wait() {
    signals_.async_wait([self = shared_from_this()](const error_code& why, int) {
      if (why || !self->task_) return;
      self->task_();
      self->wait();
    });
  }

  void end() {
    task_ = nullptr;
    error_code ignored;
    signals_.cancel(ignored);
    signals_.clear(ignored);
  }

 private:
  asio::signal_set signals_;
  std::function<void()> task_;
};

class AsioIo final : public Io {
 public:
  AsioIo() : work_(context_.get_executor()), timer_(context_) {
    std::thread([this] { role_.serve([this] { context_.run_one(); }); }).detach();
  }

  void post(std::function<void()> task) override {
    role_.posting();
    asio::post(context_, [this, task = std::move(task)] {
      role_.begun();
      task();
    });
    role_.posted();
  }

  void perform(std::function<void()> task) override {
    if (IoRole::is_mine() || !role_.try_enter()) return post(std::move(task));
    const Leaving leaving(role_);
    if (!role_.is_busy()) return task();
    bool is_done = false;
    asio::post(context_, [&is_done, task = std::move(task)] {
      is_done = true;
      task();
    });
    while (!is_done) context_.poll_one();
    follow_up();  // What it has written is over then, mostly.
  }

  bool wait(Parker& parker, SteadyTime until) override {
    if (!role_.enter(parker)) {
      if (role_.is_in_background()) asio::post(context_, [] {});
      const bool is_notified = parker.wait_until(until);
      role_.withdraw(parker);
      return is_notified;
    }
    const Leaving leaving(role_);
    while (!parker.is_notified()) {
      if (until == SteadyTime::max()) {
        context_.run_one();
      } else if (context_.run_one_until(until) == 0 && std::chrono::steady_clock::now() >= until) {
        // One that only looks, again and again, gets on as well.
        follow_up();
        return parker.is_notified();
      }
    }
    return true;
  }

  bool is_io_thread() const override { return IoRole::is_mine(); }

  bool is_busy() const override { return role_.is_busy(); }

  Timer after(Milliseconds time, std::function<void()> task) override {
    Timer out = timers_.add(from_now(time), std::move(task));
    arm_timer();
    return out;
  }

  void connect(ConnectTo to, std::function<void(Connected)> done) override {
    std::make_shared<Connecting>(context_, std::move(to), std::move(done))->start();
  }

  std::unique_ptr<Listening> listen(const std::string& address,
                                    const std::string& pem_file,
                                    Milliseconds handshake_limit,
                                    std::function<void(std::shared_ptr<Link>)> on_link) override {
    error_code why;
    const auto numeric = asio::ip::make_address(address, why);
    if (why)
      throw BadSettings({"ORRERY_CALL_ADDRESS: found \"" + address +
                         "\", needed a numeric address of this machine; start the worker by its "
                         "agent, which sets it"});
    TlsContext tls = pem_file.empty() ? nullptr : server_context(pem_file);
    const auto acceptor =
        std::make_shared<Acceptor>(context_, std::move(tls), handshake_limit, std::move(on_link));
    try {
      acceptor->open(tcp::endpoint(numeric, 0));
    } catch (const boost::system::system_error& error) {
      throw BadSettings({"ORRERY_CALL_ADDRESS: found " + address +
                         ", where this process cannot listen (" + error.code().message() +
                         "), needed an address of this machine; correct it"});
    }
    post([acceptor] { acceptor->accept(); });
    return std::make_unique<AsioListening>(acceptor);
  }

  std::shared_ptr<void> on_signal(int number, std::function<void()> task) override {
    const auto wait = std::make_shared<SignalWait>(context_, number, std::move(task));
    wait->wait();
    return {static_cast<void*>(wait.get()), [wait](void*) { run_on_io([&] { wait->end(); }); }};
  }

 private:
  struct Leaving {
    explicit Leaving(IoRole& left) : role(left) {}

    Leaving(const Leaving&) = delete;
    Leaving& operator=(const Leaving&) = delete;

    ~Leaving() { role.leave(); }

    IoRole& role;
  };

  /// Handles what has come, but not all that ever comes.
  void follow_up() {
    constexpr int kFollowUps = 4;
    for (int i = 0; i < kFollowUps && context_.poll_one() > 0; ++i) {
    }
  }

  // One timer of the system for all of ours. Where the first of them is cancelled it stays: to set
  // it costs more than to look once too often.
  void arm_timer() {
    const SteadyTime next = timers_.next();
    if (next >= armed_) return;
    armed_ = next;
    timer_.expires_at(next);
    timer_.async_wait([this](const error_code& why) {
      if (why) return;
      armed_ = SteadyTime::max();
      timers_.run_due(std::chrono::steady_clock::now());
      arm_timer();
    });
  }

  IoRole& role_ = IoRole::instance();
  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  asio::steady_timer timer_;
  SteadyTime armed_ = SteadyTime::max();
  IoTimers timers_;
};

}  // namespace

Io& Io::instance() {
  // Never destroyed: its thread may run until the process ends.
  static AsioIo* const io = new AsioIo;
  return *io;
}

bool is_loopback(const std::string& address) {
  error_code why;
  const auto numeric = asio::ip::make_address(address, why);
  return !why && numeric.is_loopback();
}

void run_on_io(const std::function<void()>& task) {
  Io& io = Io::instance();
  if (io.is_io_thread()) return task();
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  io.perform([&] {
    task();
    const std::scoped_lock lock(mutex);
    done = true;
    changed.notify_one();
  });
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return done; });
}

}  // namespace orrery::sdk
