#include "tools/cluster_world/emulated_workers.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

namespace orrery::cli {
namespace {

/// "JOB-INCARNATION-RANK".
std::optional<WorkerName> name_in(std::string_view text) {
  std::uint32_t parts[3]{};
  const char* at = text.data();
  const char* end = at + text.size();
  for (std::size_t i = 0; i < 3; ++i) {
    if (i > 0 && (at == end || *at++ != '-')) return std::nullopt;
    const auto [next, error] = std::from_chars(at, end, parts[i]);
    if (error != std::errc()) return std::nullopt;
    at = next;
  }
  if (at != end) return std::nullopt;
  return WorkerName{JobId{parts[0]}, Incarnation{parts[1]}, Rank{parts[2]}};
}

}  // namespace

Result<EmulatedWorkers> EmulatedWorkers::open(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return Error{.file = path, .message = "is too long for a socket; set TMPDIR to a shorter one"};
  std::memcpy(address.sun_path, path.data(), path.size());
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0 ||
      ::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener, SOMAXCONN) != 0) {
    const int code = errno;
    if (listener >= 0) ::close(listener);
    return Error{.file = path, .message = std::strerror(code)};
  }
  return EmulatedWorkers(listener);
}

EmulatedWorkers::~EmulatedWorkers() {
  if (connections_.empty() && listener_ < 0) return;
  for (const Connection& connection : connections_) ::close(connection.descriptor);
  ::close(listener_);
}

void EmulatedWorkers::append_descriptors(std::vector<pollfd>& polled) const {
  polled.push_back({listener_, POLLIN, 0});
  for (const Connection& connection : connections_)
    polled.push_back({connection.descriptor, POLLIN, 0});
}

std::vector<WorkerNews> EmulatedWorkers::take() {
  std::vector<WorkerNews> news;
  accept_all();
  for (Connection& connection : connections_) read_from(connection, news);
  for (auto it = connections_.begin(); it != connections_.end();) {
    if (!it->over) {
      ++it;
      continue;
    }
    if (it->introduced) news.push_back({WorkerNews::Kind::Gone, it->worker.name, {}});
    ::close(it->descriptor);
    it = connections_.erase(it);
  }
  return news;
}

void EmulatedWorkers::accept_all() {
  while (true) {
    const int descriptor = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (descriptor < 0) return;
    connections_.push_back({descriptor, {}, {}, false, false});
  }
}

void EmulatedWorkers::read_from(Connection& connection, std::vector<WorkerNews>& news) {
  char bytes[16384];
  while (true) {
    const ssize_t got = ::read(connection.descriptor, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got == 0 || (got < 0 && errno != EAGAIN)) connection.over = true;
    if (got <= 0) break;
    connection.in.append(bytes, static_cast<std::size_t>(got));
  }
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = connection.in.find('\n', begin)) != std::string::npos;
       begin = end + 1)
    take_line(connection, std::string_view(connection.in).substr(begin, end - begin), news);
  connection.in.erase(0, begin);
}

void EmulatedWorkers::take_line(Connection& connection,
                                std::string_view line,
                                std::vector<WorkerNews>& news) {
  EmulatedWorker& worker = connection.worker;
  if (connection.introduced) {
    if (line == "asked")
      news.push_back({WorkerNews::Kind::Asked, worker.name, {}});
    else if (line.starts_with("heard "))
      news.push_back({WorkerNews::Kind::Heard, worker.name, std::string(line.substr(6))});
    return;
  }
  if (line.starts_with("hello ")) {
    const char* at = line.data() + 6;
    const char* end = line.data() + line.size();
    const auto shim = std::from_chars(at, end, worker.pid).ptr;
    if (shim < end) std::from_chars(shim + 1, end, worker.shim);
  } else if (line == "end") {
    const auto name = name_in(worker.variables["ORRERY_WORKER"]);
    connection.over = !name.has_value();
    connection.introduced = name.has_value();
    if (!name) return;
    worker.name = *name;
    news.push_back({WorkerNews::Kind::Came, *name, {}});
  } else if (const std::size_t equals = line.find('='); equals != line.npos) {
    worker.variables[std::string(line.substr(0, equals))] = std::string(line.substr(equals + 1));
  }
}

const EmulatedWorker* EmulatedWorkers::find(const WorkerName& name) const {
  for (const Connection& connection : connections_)
    if (connection.introduced && !connection.over && connection.worker.name == name)
      return &connection.worker;
  return nullptr;
}

void EmulatedWorkers::send(const WorkerName& name, std::string line) {
  line += '\n';
  for (Connection& connection : connections_) {
    if (!connection.introduced || connection.over || connection.worker.name != name) continue;
    // A process that reads nothing for so long that its buffer is full is stopped, or gone.
    (void)::send(connection.descriptor, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return;
  }
}

}  // namespace orrery::cli
