#include "tests/runtime/sdk/fake_cluster.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/base/invariant.hpp"
#include "runtime/sdk/hashes.hpp"

namespace orrery::sdk {
namespace {

constexpr std::chrono::milliseconds kPatience{worker::kPatience_ms};
constexpr std::string_view kUserToken = "orrery_user_token";

worker::Descriptor unix_listener(const std::string& path) {
  worker::Descriptor out(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  invariant(
      ::bind(out.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
          ::listen(out.number(), 64) == 0,
      "the agent's socket");
  return out;
}

worker::Descriptor tcp_listener(int& port) {
  worker::Descriptor out(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* at = reinterpret_cast<sockaddr*>(&address);
  invariant(::bind(out.number(), at, size) == 0 && ::listen(out.number(), 64) == 0 &&
                ::getsockname(out.number(), at, &size) == 0,
            "the directory's port");
  port = ntohs(address.sin_port);
  return out;
}

std::string header_of(const std::string& request, const std::string& name) {
  const std::size_t at = request.find("\r\n" + name + ": ");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + name.size() + 4;
  return request.substr(begin, request.find("\r\n", begin) - begin);
}

std::string http_text(int status, const std::string& body) {
  return "HTTP/1.1 " + std::to_string(status) + " Said\r\nContent-Type: application/json\r\n" +
         "Content-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body;
}

}  // namespace

FakeCluster::FakeCluster() : agent_(unix_listener(folder_.file("agent"))) {
  int port = 0;
  http_ = tcp_listener(port);
  url_ = "http://127.0.0.1:" + std::to_string(port);
  thread_ = std::thread([this] { run(); });
}

FakeCluster::~FakeCluster() {
  children_.clear();
  end_.set();
  thread_.join();
}

worker::Child& FakeCluster::start(const std::string& program, const FakeWorker& begun) {
  std::vector<std::string> environment = begun.environment;
  std::string name;
  {
    const std::scoped_lock lock(mutex_);
    Entry& entry = entries_.emplace_back();
    name = "7-" + std::to_string(++begun_) + "-" + std::to_string(entries_.size() - 1);
    entry.token = "orrery_worker_" + random_hex(16);
    entry.peer.worker = name;
    entry.peer.role = begun.role;
    entry.peer.role_rank = begun.role_rank;
    entry.peer.rank = static_cast<std::int64_t>(entries_.size()) - 1;
    entry.peer.address = "127.0.0.1";
    for (const std::string& variable : {"ORRERY_WORKER=" + name,
                                        std::string("ORRERY_JOB=default.train"),
                                        "ORRERY_ROLE=" + begun.role,
                                        "ORRERY_TOKEN=" + entry.token,
                                        "ORRERY_RANK=" + std::to_string(entry.peer.rank),
                                        "ORRERY_LOCAL_RANK=" + std::to_string(begun.role_rank),
                                        "ORRERY_WORLD_SIZE=" + std::to_string(entries_.size()),
                                        "ORRERY_GENERATION=" + std::to_string(generation_),
                                        "ORRERY_SOCKET=" + folder_.file("agent"),
                                        "ORRERY_SERVER_URL=" + url_,
                                        std::string("ORRERY_CALL_ADDRESS=127.0.0.1"),
                                        "ORRERY_CALL_CERTIFICATE=" + begun.certificate})
      environment.push_back(variable);
  }
  children_.push_back(
      std::make_unique<worker::Child>(std::vector<std::string>{program}, environment));
  if (begun.listens) {
    EXPECT_TRUE(listens(name)) << children_.back()->heard();
  }
  return *children_.back();
}

FakeCluster::Entry* FakeCluster::find(const std::string& worker) {
  const auto at = std::ranges::find_if(
      entries_, [&](const Entry& entry) { return entry.peer.worker == worker; });
  return at == entries_.end() ? nullptr : &*at;
}

std::string FakeCluster::name_of(const std::string& role, std::int64_t role_rank) const {
  const std::scoped_lock lock(mutex_);
  for (const Entry& entry : entries_)
    if (entry.peer.role == role && entry.peer.role_rank == role_rank) return entry.peer.worker;
  return {};
}

std::string FakeCluster::token_of(const std::string& worker) const {
  const std::scoped_lock lock(mutex_);
  for (const Entry& entry : entries_)
    if (entry.peer.worker == worker) return entry.token;
  return {};
}

DriverOptions FakeCluster::driver_options(const std::string& name) const {
  return {url_, "default.train", std::string(kUserToken), {}, name};
}

Peer FakeCluster::peer(const std::string& worker, const std::string& caller) const {
  const std::scoped_lock lock(mutex_);
  for (const Entry& entry : entries_) {
    if (entry.peer.worker != worker) continue;
    Peer out = entry.peer;
    out.key = call_key(entry.token, caller);
    return out;
  }
  return {};
}

void FakeCluster::form(std::uint64_t generation) {
  const std::scoped_lock lock(mutex_);
  generation_ = generation;
  for (const auto& connection : connections_) tell(*connection);
}

void FakeCluster::set_phase(const std::string& phase) {
  const std::scoped_lock lock(mutex_);
  phase_ = phase;
}

void FakeCluster::know_tokens(bool known) {
  const std::scoped_lock lock(mutex_);
  knows_tokens_ = known;
}

bool FakeCluster::refused(int times) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kPatience, [&] { return refused_ >= times; });
}

void FakeCluster::forget(const std::string& worker) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(entries_, [&](const Entry& entry) { return entry.peer.worker == worker; });
}

void FakeCluster::change(const std::string& worker, const Peer& to, const std::string& token) {
  const std::scoped_lock lock(mutex_);
  Entry* entry = find(worker);
  entry->peer = to;
  if (!token.empty()) entry->token = token;
}

bool FakeCluster::heard(const std::string& worker, const std::string& text, int times) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kPatience, [&] {
    const Entry* entry = find(worker);
    return entry != nullptr && std::ranges::count_if(entry->said, [&](const std::string& line) {
                                 return line.find(text) != std::string::npos;
                               }) >= times;
  });
}

std::vector<std::string> FakeCluster::said(const std::string& worker) const {
  const std::scoped_lock lock(mutex_);
  for (const Entry& entry : entries_)
    if (entry.peer.worker == worker) return entry.said;
  return {};
}

void FakeCluster::tell(const std::string& worker, const std::string& line) const {
  const std::scoped_lock lock(mutex_);
  for (const auto& connection : connections_)
    if (connection->worker == worker)
      ::send(connection->socket.number(), (line + "\n").data(), line.size() + 1, MSG_NOSIGNAL);
}

void FakeCluster::restart_agent() {
  const std::scoped_lock lock(mutex_);
  // The thread that reads them sees their end.
  for (const auto& connection : connections_)
    if (!connection->is_http) ::shutdown(connection->socket.number(), SHUT_RDWR);
}

bool FakeCluster::listens(const std::string& worker) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kPatience, [&] {
    const Entry* entry = find(worker);
    return entry != nullptr && entry->peer.port != 0;
  });
}

std::vector<std::string> FakeCluster::posted() const {
  const std::scoped_lock lock(mutex_);
  return posted_;
}

void FakeCluster::run() {
  while (!end_.is_set()) {
    std::vector<pollfd> set{
        {end_.descriptor(), POLLIN, 0}, {agent_.number(), POLLIN, 0}, {http_.number(), POLLIN, 0}};
    for (const auto& connection : connections_)
      set.push_back({connection->socket.number(), POLLIN, 0});
    ::poll(set.data(), set.size(), -1);
    const std::scoped_lock lock(mutex_);
    for (std::size_t i = set.size(); i-- > 3;)
      if (set[i].revents != 0 && !take(*connections_[i - 3]))
        connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(i - 3));
    for (std::size_t i = 1; i < 3; ++i) {
      if (set[i].revents == 0) continue;
      auto connection = std::make_unique<Connection>();
      connection->socket = worker::Descriptor(::accept4(set[i].fd, nullptr, nullptr, SOCK_CLOEXEC));
      connection->is_http = i == 2;
      connections_.push_back(std::move(connection));
    }
    changed_.notify_all();
  }
}

bool FakeCluster::take(Connection& connection) {
  char bytes[16384];
  const ssize_t got = ::recv(connection.socket.number(), bytes, sizeof bytes, 0);
  if (got <= 0) return false;
  connection.unread.append(bytes, static_cast<std::size_t>(got));
  if (!connection.is_http) {
    for (std::size_t end; (end = connection.unread.find('\n')) != std::string::npos;) {
      take_line(connection, connection.unread.substr(0, end));
      connection.unread.erase(0, end + 1);
    }
    return true;
  }
  if (constexpr char kTls = 0x16; connection.unread.front() == kTls) {
    const std::string text = http_text(400, "{}");
    ::send(connection.socket.number(), text.data(), text.size(), MSG_NOSIGNAL);
    return false;
  }
  const std::size_t head = connection.unread.find("\r\n\r\n");
  if (head == std::string::npos) return true;
  const std::string length = header_of(connection.unread, "Content-Length");
  const std::size_t size = length.empty() ? 0 : std::stoul(length);
  if (connection.unread.size() < head + 4 + size) return true;
  const std::string text = answer(connection.unread);
  ::send(connection.socket.number(), text.data(), text.size(), MSG_NOSIGNAL);
  return false;
}

void FakeCluster::take_line(Connection& connection, const std::string& line) {
  const Value said = Value::parse(line, nullptr, false);
  if (said.is_object() && said.contains("hello")) {
    connection.worker = said["hello"].value("worker", "");
    const Entry* entry = find(connection.worker);
    if (entry == nullptr || entry->token != said["hello"].value("token", ""))
      connection.worker.clear();
    tell(connection);
  }
  Entry* entry = find(connection.worker);
  if (entry == nullptr) return;
  entry->said.push_back(line);
  if (!said.is_object() || !said.contains("endpoint")) return;
  entry->peer.port = said["endpoint"]["port"].get<std::uint16_t>();
  entry->peer.certificate = said["endpoint"]["certificate"].get<std::string>();
}

void FakeCluster::tell(const Connection& connection) const {
  if (connection.worker.empty()) return;
  Value membership = {{"generation", generation_},
                      {"world_size", entries_.size()},
                      {"master", {{"address", "127.0.0.1"}, {"port", 22270}}},
                      {"members", Value::array()}};
  std::int64_t rank = 0;
  for (const Entry& entry : entries_) {
    if (entry.peer.worker == connection.worker) membership["rank"] = rank;
    membership["members"].push_back({{"rank", rank++},
                                     {"role", entry.peer.role},
                                     {"local_rank", entry.peer.role_rank},
                                     {"node", "n0"},
                                     {"address", "127.0.0.1"},
                                     {"first_port", 22270}});
  }
  const std::string line = Value{{"membership", membership}}.dump() + "\n";
  ::send(connection.socket.number(), line.data(), line.size(), MSG_NOSIGNAL);
}

std::string FakeCluster::answer(const std::string& request) {
  const std::string target = request.substr(request.find(' ') + 1);
  if (request.starts_with("POST ")) {
    posted_.push_back(request.substr(request.find("\r\n\r\n") + 4));
    return http_text(200, R"({"jobs":[{"name":"default.train"}],"warnings":[]})");
  }
  if (!target.starts_with("/api/v1/jobs/default.train/peers"))
    return http_text(404, R"({"error":{"message":"found no such job, needed default.train"}})");
  const std::string token = header_of(request, "Authorization");
  std::string caller;
  if (token == "Bearer " + std::string(kUserToken)) {
    const std::size_t at = target.find("?caller=");
    if (at != std::string::npos)
      caller = "driver:" + target.substr(at + 8, target.find(' ') - at - 8);
  }
  for (const Entry& entry : entries_)
    if (knows_tokens_ && token == "Bearer " + entry.token) caller = entry.peer.worker;
  if (caller.empty()) {
    ++refused_;
    return http_text(401, R"({"error":{"message":"found no token that is known"}})");
  }
  return http_text(200, peers_for(caller));
}

std::string FakeCluster::peers_for(const std::string& caller) const {
  Value out = {{"job", "default.train"},
               {"generation", generation_},
               {"phase", phase_},
               {"caller", caller},
               {"peers", Value::array()}};
  for (const Entry& entry : entries_)
    out["peers"].push_back(
        {{"worker", entry.peer.worker},
         {"role", entry.peer.role},
         {"rank", entry.peer.rank},
         {"role_rank", entry.peer.role_rank},
         {"node", "n0"},
         {"address", entry.peer.address},
         {"port", entry.peer.port},
         {"certificate", entry.peer.certificate},
         {"key", entry.peer.port == 0 ? "" : to_hex(call_key(entry.token, caller))}});
  return out.dump();
}

}  // namespace orrery::sdk
