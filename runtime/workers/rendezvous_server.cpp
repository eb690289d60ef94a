#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <list>
#include <map>
#include <thread>
#include <vector>

#include "core/base/bytes.hpp"
#include "runtime/workers/rendezvous.hpp"

namespace orrery::worker {
namespace {

constexpr std::size_t kRequestFrameMax = 64 * 1024 + 512;
constexpr std::size_t kVisitorsMax = 8192;
constexpr std::size_t kValuesMax = 65536;
// A visitor that does not read what it asked for is dropped beyond this.
constexpr std::size_t kUnreadMax = 1024 * 1024;

/// One connection and what is under way on it.
struct Visitor {
  Descriptor socket;
  std::string in;
  std::string out;
  std::string awaited;  ///< The key that it asked for and that is not set yet; empty: none.
  bool joined = false;
  bool leaving = false;  ///< Closed as soon as `out` is sent.
};

class Server final : public RendezvousServer {
 public:
  Server(const Meeting& meeting, Descriptor listener, Endpoint place)
      : meeting_(meeting), listener_(std::move(listener)), place_(std::move(place)) {
    thread_ = std::thread([this] { run(); });
  }

  ~Server() override {
    end_.set();
    thread_.join();
  }

  Endpoint place() const override { return place_; }

 private:
  void run() {
    std::vector<pollfd> set;
    while (!end_.is_set() && !over_) {
      set.clear();
      set.push_back({end_.descriptor(), POLLIN, 0});
      const bool full = visitors_.size() >= kVisitorsMax;
      set.push_back({full ? -1 : listener_.number(), POLLIN, 0});
      for (const Visitor& visitor : visitors_)
        set.push_back({visitor.socket.number(),
                       static_cast<short>(visitor.out.empty() ? POLLIN : POLLIN | POLLOUT),
                       0});
      if (::poll(set.data(), set.size(), -1) < 0 && errno != EINTR) return;
      serve(set);
      if (set[1].revents != 0) admit();
    }
    visitors_.clear();
  }

  void serve(const std::vector<pollfd>& set) {
    std::size_t at = 2;
    for (auto visitor = visitors_.begin(); visitor != visitors_.end();) {
      const bool stays = set[at++].revents == 0 || serve(*visitor);
      visitor = stays ? std::next(visitor) : dismiss(visitor);
    }
    // What one worker has just set may be what others wait for.
    for (auto visitor = visitors_.begin(); visitor != visitors_.end();)
      visitor = answer(*visitor) ? std::next(visitor) : dismiss(visitor);
  }

  /// Without one of its members the meeting is over.
  std::list<Visitor>::iterator dismiss(std::list<Visitor>::iterator visitor) {
    over_ = over_ || visitor->joined;
    return visitors_.erase(visitor);
  }

  void admit() {
    Descriptor socket(
        ::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.is_open()) visitors_.emplace_back().socket = std::move(socket);
  }

  /// False: the visitor is gone, or broke the rules.
  bool serve(Visitor& visitor) {
    char bytes[16 * 1024];
    const ssize_t got = ::recv(visitor.socket.number(), bytes, sizeof bytes, 0);
    if (got == 0) return false;
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    visitor.in.append(bytes, static_cast<std::size_t>(got));
    while (visitor.in.size() >= 4) {
      const auto size = load_little_endian<std::uint32_t>(visitor.in.data());
      if (size == 0 || size > kRequestFrameMax) return false;
      if (visitor.in.size() < 4 + size) return true;
      const std::string body = visitor.in.substr(4, size);
      visitor.in.erase(0, 4 + size);
      if (!take(visitor, body)) return false;
    }
    return true;
  }

  bool take(Visitor& visitor, const std::string& body) {
    const std::string rest = body.substr(1);
    if (!visitor.joined) return body[0] == 'H' && !visitor.leaving && welcome(visitor, rest);
    if (body[0] == 'G') {
      if (rest.empty() || !visitor.awaited.empty()) return false;
      visitor.awaited = rest;
      return true;
    }
    const std::size_t end = rest.find('\0');
    if (body[0] != 'S' || end == std::string::npos || values_.size() >= kValuesMax) return false;
    return values_.emplace(rest.substr(0, end), rest.substr(end + 1)).second;
  }

  bool welcome(Visitor& visitor, const std::string& hello) {
    const std::string own =
        meeting_.job + std::string(1, '\0') + std::to_string(meeting_.generation);
    visitor.joined = hello == own;
    visitor.leaving = !visitor.joined;
    say(visitor,
        visitor.joined ? "Y"
                       : "Nhere meets generation " + std::to_string(meeting_.generation) +
                             " of job " + meeting_.job);
    return true;
  }

  static void say(Visitor& visitor, std::string_view body) {
    std::string head(4, '\0');
    store_little_endian(head.data(), static_cast<std::uint32_t>(body.size()));
    visitor.out.append(head).append(body);
  }

  /// Gives the value that it waits for, and sends what the system takes. False: it is gone.
  bool answer(Visitor& visitor) {
    const auto value = visitor.awaited.empty() ? values_.end() : values_.find(visitor.awaited);
    if (value != values_.end()) {
      say(visitor, "V" + value->second);
      visitor.awaited.clear();
    }
    if (visitor.out.size() > kUnreadMax) return false;
    if (!visitor.out.empty()) {
      const ssize_t sent =
          ::send(visitor.socket.number(), visitor.out.data(), visitor.out.size(), MSG_NOSIGNAL);
      if (sent < 0) return errno == EAGAIN || errno == EINTR;
      visitor.out.erase(0, static_cast<std::size_t>(sent));
    }
    return !visitor.out.empty() || !visitor.leaving;
  }

  const Meeting meeting_;
  Descriptor listener_;
  Endpoint place_;
  Cancel end_;
  std::list<Visitor> visitors_;
  bool over_ = false;
  std::map<std::string, std::string, std::less<>> values_;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<RendezvousServer>> RendezvousServer::start(const Meeting& meeting) {
  Result<Descriptor> listener = listen_at(meeting.place);
  if (!listener) return listener.errors();
  Result<Endpoint> place = local_end(*listener);
  if (!place) return place.errors();
  return std::unique_ptr<RendezvousServer>(
      std::make_unique<Server>(meeting, std::move(listener).value(), std::move(place).value()));
}

}  // namespace orrery::worker
