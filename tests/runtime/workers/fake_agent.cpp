#include "tests/runtime/workers/fake_agent.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/base/invariant.hpp"
#include "tests/runtime/workers/child.hpp"

namespace orrery::worker {

using Json = nlohmann::json;

FakeAgent::FakeAgent(std::string path) : path_(std::move(path)) { live(); }

FakeAgent::~FakeAgent() { die(); }

void FakeAgent::live() {
  Descriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
  ::unlink(path_.c_str());
  invariant(
      ::bind(listener.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
          ::listen(listener.number(), 16) == 0,
      "the socket of a fake agent");
  end_ = std::make_unique<Cancel>();
  thread_ = std::thread([this, owned = std::move(listener)] { run(owned.number()); });
}

void FakeAgent::die() {
  if (!end_) return;
  end_->set();
  thread_.join();
  end_.reset();
  connections_.clear();
  ::unlink(path_.c_str());
}

void FakeAgent::form(std::uint64_t generation, std::vector<std::string> workers, int master_port) {
  const std::scoped_lock lock(mutex_);
  generation_ = generation;
  workers_ = std::move(workers);
  master_port_ = master_port;
  for (const auto& connection : connections_) tell(*connection);
}

bool FakeAgent::heard(const std::string& worker, const std::string& text) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatience_ms);
  while (std::chrono::steady_clock::now() < until) {
    {
      const std::scoped_lock lock(mutex_);
      const std::vector<std::string>& lines = said_[worker];
      if (std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
            return line.find(text) != std::string::npos;
          }))
        return true;
    }
    ::poll(nullptr, 0, 2);
  }
  return false;
}

void FakeAgent::run(int listener) {
  while (!end_->is_set()) {
    std::vector<pollfd> set{{end_->descriptor(), POLLIN, 0}, {listener, POLLIN, 0}};
    for (const auto& connection : connections_)
      set.push_back({connection->socket.number(), POLLIN, 0});
    ::poll(set.data(), set.size(), -1);
    const std::scoped_lock lock(mutex_);
    for (std::size_t i = set.size(); i-- > 2;) {
      if (set[i].revents == 0) continue;
      Connection& connection = *connections_[i - 2];
      char bytes[4096];
      const ssize_t got = ::recv(connection.socket.number(), bytes, sizeof bytes, 0);
      if (got <= 0) {
        connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(i - 2));
        continue;
      }
      connection.unread.append(bytes, static_cast<std::size_t>(got));
      for (std::size_t end; (end = connection.unread.find('\n')) != std::string::npos;) {
        take(connection, connection.unread.substr(0, end));
        connection.unread.erase(0, end + 1);
      }
    }
    if (set[1].revents != 0) {
      connections_.push_back(std::make_unique<Connection>());
      connections_.back()->socket = Descriptor(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    }
  }
}

void FakeAgent::take(Connection& connection, const std::string& line) {
  const Json said = Json::parse(line, nullptr, false);
  if (said.is_object() && said.contains("hello")) {
    connection.worker = said["hello"].value("worker", "");
    tell(connection);
  }
  said_[connection.worker].push_back(line);
}

void FakeAgent::tell(const Connection& connection) const {
  if (connection.worker.empty() || workers_.empty()) return;
  Json members = Json::array();
  for (std::size_t rank = 0; rank < workers_.size(); ++rank)
    members.push_back({{"rank", rank},
                       {"role", "trainer"},
                       {"local_rank", rank},
                       {"node", "n0"},
                       {"address", "127.0.0.1"},
                       {"first_port", rank == 0 ? master_port_ : 0}});
  Json membership = {
      {"generation", generation_}, {"world_size", workers_.size()}, {"members", members}};
  const auto at = std::find(workers_.begin(), workers_.end(), connection.worker);
  if (at != workers_.end()) membership["rank"] = at - workers_.begin();
  const std::string line = Json{{"membership", membership}}.dump() + "\n";
  ::send(connection.socket.number(), line.data(), line.size(), MSG_NOSIGNAL);
}

}  // namespace orrery::worker
