#include "runtime/workers/agent_link.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>

namespace orrery::worker {
namespace {

constexpr std::size_t kUnsentMax = 16;
constexpr int kReconnect_ms = 200;

Descriptor connect_to_unix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return {};
  std::memcpy(address.sun_path, path.data(), path.size());
  Descriptor out(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (::connect(out.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return {};
  return out;
}

}  // namespace

AgentLink::AgentLink(std::string socket,
                     std::string worker,
                     std::string token,
                     std::function<void(const MembershipSaid&)> on_membership)
    : socket_(std::move(socket)),
      worker_(std::move(worker)),
      token_(std::move(token)),
      on_membership_(std::move(on_membership)),
      said_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  thread_ = std::thread([this] { run(); });
}

AgentLink::~AgentLink() {
  end_.set();
  thread_.join();
}

void AgentLink::say(std::string line) {
  {
    const std::scoped_lock lock(mutex_);
    if (unsent_.size() >= kUnsentMax) unsent_.pop_front();
    unsent_.push_back(std::move(line));
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(said_.number(), &one, sizeof one);
}

std::optional<MembershipSaid> AgentLink::membership() const {
  const std::scoped_lock lock(mutex_);
  return heard_;
}

void AgentLink::flush(Milliseconds time) {
  std::unique_lock lock(mutex_);
  flushed_.wait_for(lock, time, [this] { return unsent_.empty() && !write_under_way_; });
}

void AgentLink::run() {
  while (!end_.is_set()) {
    const Descriptor socket = connect_to_unix(socket_);
    if (socket.is_open()) converse(socket.number());
    pollfd ended{end_.descriptor(), POLLIN, 0};
    ::poll(&ended, 1, kReconnect_ms);
  }
}

void AgentLink::converse(int socket) {
  // A line cut short by the last connection's end is not sent again.
  writing_ = hello_line(worker_, token_) + "\n";
  std::string unread;
  while (!end_.is_set()) {
    pollfd set[] = {
        {socket, static_cast<short>(writing_.empty() ? POLLIN : POLLIN | POLLOUT), 0},
        {said_.number(), POLLIN, 0},
        {end_.descriptor(), POLLIN, 0},
    };
    if (::poll(set, 3, -1) < 0 && errno != EINTR) return;
    if ((set[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !read_some(socket, unread)) return;
    if (!write_some(socket)) return;
  }
}

bool AgentLink::read_some(int socket, std::string& unread) {
  char bytes[16 * 1024];
  const ssize_t got = ::recv(socket, bytes, sizeof bytes, 0);
  if (got == 0) return false;
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  unread.append(bytes, static_cast<std::size_t>(got));
  std::size_t begin = 0;
  for (std::size_t end = unread.find('\n'); end != std::string::npos;
       end = unread.find('\n', begin)) {
    hear(std::string_view(unread).substr(begin, end - begin));
    begin = end + 1;
  }
  unread.erase(0, begin);
  return unread.size() <= kLineMax;
}

bool AgentLink::write_some(int socket) {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto read = ::read(said_.number(), &count, sizeof count);
  {
    const std::scoped_lock lock(mutex_);
    if (writing_.empty())
      for (; !unsent_.empty(); unsent_.pop_front())
        writing_.append(unsent_.front()).append(1, '\n');
    write_under_way_ = !writing_.empty();
  }
  if (!writing_.empty()) {
    const ssize_t sent = ::send(socket, writing_.data(), writing_.size(), MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    writing_.erase(0, static_cast<std::size_t>(sent));
  }
  const std::scoped_lock lock(mutex_);
  write_under_way_ = !writing_.empty();
  if (!unsent_.empty() && writing_.empty()) {
    const std::uint64_t one = 1;  // More was said while the line was on its way.
    [[maybe_unused]] const auto again = ::write(said_.number(), &one, sizeof one);
  }
  if (unsent_.empty() && !write_under_way_) flushed_.notify_all();
  return true;
}

void AgentLink::hear(std::string_view line) {
  if (line.empty()) return;
  const Result<std::optional<MembershipSaid>> said = membership_in(line);
  if (!said) {
    for (const Error& error : said.errors()) std::cerr << error.text() << std::endl;
    return;
  }
  if (!*said) {
    // The agent did not understand a word of this worker.
    if (line.starts_with(R"({"error":)")) std::cerr << "the agent says " << line << std::endl;
    return;
  }
  const MembershipSaid& membership = **said;
  {
    const std::scoped_lock lock(mutex_);
    if (heard_ && heard_->generation > membership.generation) return;
    heard_ = membership;
  }
  on_membership_(membership);
}

}  // namespace orrery::worker
