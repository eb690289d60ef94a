// The one I/O thread of the process: timers, signals, byte streams. Sockets and TLS are behind it.
// "The I/O thread" is the one that has the I/O role just then (io_role.hpp): one at a time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/sdk/value_text.hpp"

namespace orrery::sdk {

using SteadyTime = std::chrono::steady_clock::time_point;
using Milliseconds = std::chrono::milliseconds;

/// So long from now; what ends beyond the clock's range, as with a deadline that is to mean
/// "never", ends in 34 years.
inline SteadyTime from_now(Milliseconds time) {
  constexpr Milliseconds kLongest{std::int64_t{1} << 40};
  return std::chrono::steady_clock::now() + std::clamp(time, Milliseconds(0), kLongest);
}

/// How an operation ended: so many bytes, or a reason why not.
struct IoResult {
  std::size_t size = 0;
  std::string failure;  ///< Empty: it went well.
};

using IoDone = std::function<void(const IoResult&)>;

/// A connection as bytes, plain or through TLS. On the I/O thread only. At most one read and one
/// write at a time; what is read into and written lives until they are done, and so must the link,
/// which their callbacks hold.
class Link {
 public:
  virtual ~Link() = default;

  /// Reads at least one byte; 0 bytes is the orderly end.
  virtual void read_some(std::span<std::uint8_t> into, IoDone done) = 0;

  /// Writes what the system takes without waiting; the number of bytes, which may be 0. Not while a
  /// write is under way.
  virtual std::size_t write_now(const std::vector<ByteView>&) { return 0; }

  /// Writes all of the pieces.
  virtual void write_all(std::vector<ByteView> pieces, IoDone done) = 0;

  /// Nothing more will be written; the other end is told.
  virtual void end_writing() = 0;

  /// Operations under way end with a failure.
  virtual void close() = 0;
};

/// How a connection is made.
struct ConnectTo {
  enum class Security : std::uint8_t {
    Plain,
    Pinned,    ///< TLS; the certificate's SHA-256 must be `certificate`.
    Verified,  ///< TLS; the certificate is of an authority in `ca`, for `host`.
  };

  std::string unix_path;  ///< Not empty: a Unix socket instead of host and port.
  std::string host;
  std::uint16_t port = 0;
  Security security = Security::Plain;
  std::string certificate;
  std::string ca;  ///< A PEM file; empty: the system's authorities.
  Milliseconds limit{10'000};
};

/// Either a link, or why there is none.
struct Connected {
  std::shared_ptr<Link> link;
  std::string failure;
  bool refused_identity = false;  ///< The certificate is another than it must be.
  /// No other try can help: no TLS is spoken there, or the authorities cannot be read.
  bool is_unfit = false;
};

/// A port that is listened at, until it is destroyed (on any thread).
class Listening {
 public:
  virtual ~Listening() = default;
  virtual std::uint16_t port() const = 0;
};

class Parker;

class Io {
 public:
  /// The process's, started at the first call. It lives until the process ends.
  static Io& instance();

  /// Runs `task` on the I/O thread, after those posted before. Any thread.
  virtual void post(std::function<void()> task) = 0;

  /// As post; where no thread has the I/O role this one takes it, runs `task`, and leaves it. Any
  /// thread, without locks that tasks take.
  virtual void perform(std::function<void()> task) = 0;

  /// Waits until `parker` is notified, at most until then; whether it was. Does the I/O meanwhile
  /// where no other thread does. Not on the I/O thread.
  virtual bool wait(Parker& parker, SteadyTime until) = 0;

  virtual bool is_io_thread() const = 0;

  /// Whether posted tasks wait for the I/O thread. What is written in many of them is better
  /// written at once.
  virtual bool is_busy() const = 0;

  using Timer = std::shared_ptr<void>;

  /// Runs `task` on the I/O thread after `time`, unless the timer is destroyed before. I/O thread.
  virtual Timer after(Milliseconds time, std::function<void()> task) = 0;

  /// I/O thread.
  virtual void connect(ConnectTo to, std::function<void(Connected)> done) = 0;

  /// Listens at a numeric address and a port of the system's choice. `pem_file`: certificate and
  /// key, empty: plain. `on_link` gets each connection once its TLS handshake is over; those that
  /// take longer than `handshake_limit` are dropped. Any thread; throws BadSettings.
  virtual std::unique_ptr<Listening> listen(const std::string& address,
                                            const std::string& pem_file,
                                            Milliseconds handshake_limit,
                                            std::function<void(std::shared_ptr<Link>)> on_link) = 0;

  /// Calls `task` on the I/O thread at each of this signal, instead of what it did, until the
  /// handle is destroyed. Any thread.
  virtual std::shared_ptr<void> on_signal(int number, std::function<void()> task) = 0;

 protected:
  ~Io() = default;
};

/// Whether a numeric address is of this machine only.
bool is_loopback(const std::string& address);

/// Runs `task` on the I/O thread and waits for it; at once where this is that thread.
void run_on_io(const std::function<void()>& task);

}  // namespace orrery::sdk
