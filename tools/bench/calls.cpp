// What calls between workers cost, beside a bare socket, a bare queue in a third process, and gRPC
// in the same run.
//
//   bench_calls [PART ...]      floor, grpc, latency, burst, large, channel, items (of 10 MB),
//   group1, group16, group64;
//                               all of them unless named
//
// Workers are processes of this program, started by it, with a directory and an agent of its own.
// Microseconds and rates are of wall time.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/sdk/hashes.hpp"
#include "runtime/sdk/sdk.hpp"
#include "tools/bench/calls_grpc.hpp"

extern char** environ;

namespace {

namespace sdk = orrery::sdk;
using Clock = std::chrono::steady_clock;

constexpr int kCalls = 30'000;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

int worker() {
  sdk::Worker worker = sdk::Worker::join();
  worker.method("nothing", [] {});
  worker.method("size", [](const sdk::Buffer& buffer) { return buffer.bytes.size(); });
  return worker.serve();
}

int listen_at_loopback(int& port) {
  const int out = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* at = reinterpret_cast<sockaddr*>(&address);
  if (::bind(out, at, size) != 0 || ::listen(out, 64) != 0 || ::getsockname(out, at, &size) != 0)
    std::exit(1);
  port = ntohs(address.sin_port);
  return out;
}

void tune(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

bool send_all(int socket, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t sent = ::send(socket, bytes, size, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool receive_all(int socket, char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t got = ::recv(socket, bytes, size, 0);
    if (got <= 0) return false;
    bytes += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

int connect_to_loopback(int port) {
  const int out = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(out, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    std::exit(1);
  tune(out);
  return out;
}

/// The directory and the agent of this program's workers.
class Cluster {
 public:
  explicit Cluster(int workers) {
    path_ = "/dev/shm/bench_calls." + std::to_string(::getpid());
    ::unlink(path_.c_str());
    agent_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
    if (::bind(agent_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(agent_, 256) != 0)
      std::exit(1);
    int port = 0;
    http_ = listen_at_loopback(port);
    url_ = "http://127.0.0.1:" + std::to_string(port);
    thread_ = std::thread([this] { serve(); });
    for (int rank = 0; rank < workers; ++rank) start(rank, workers);
  }

  ~Cluster() {
    for (const pid_t pid : pids_) ::kill(pid, SIGTERM);
    for (const pid_t pid : pids_) ::waitpid(pid, nullptr, 0);
    ended_ = true;
    ::shutdown(http_, SHUT_RDWR);
    thread_.join();
    ::close(agent_);
    ::close(http_);
    ::unlink(path_.c_str());
  }

  sdk::Driver driver() const { return sdk::Driver({url_, "default.bench", "", "", "bench"}); }

 private:
  void start(int rank, int workers) {
    std::vector<std::string> texts{"ORRERY_WORKER=1-1-" + std::to_string(rank),
                                   "ORRERY_TOKEN=token",
                                   "ORRERY_JOB=default.bench",
                                   "ORRERY_ROLE=worker",
                                   "ORRERY_RANK=" + std::to_string(rank),
                                   "ORRERY_LOCAL_RANK=" + std::to_string(rank),
                                   "ORRERY_WORLD_SIZE=" + std::to_string(workers),
                                   "ORRERY_GENERATION=1",
                                   "ORRERY_SOCKET=" + path_};
    std::vector<char*> environment;
    for (std::string& text : texts) environment.push_back(text.data());
    environment.push_back(nullptr);
    std::string program = "bench_calls";
    std::string argument = "worker";
    char* arguments[] = {program.data(), argument.data(), nullptr};
    pid_t pid = -1;
    if (::posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, arguments, environment.data()) == 0)
      pids_.push_back(pid);
    const std::scoped_lock lock(mutex_);
    ports_.emplace(rank, 0);
  }

  void serve() {
    std::vector<pollfd> set{{agent_, POLLIN, 0}, {http_, POLLIN, 0}};
    std::map<int, std::string> unread;
    while (!ended_) {
      ::poll(set.data(), set.size(), -1);
      for (std::size_t i = set.size(); i-- > 2;)
        if (set[i].revents != 0 && !take(set[i].fd, unread[set[i].fd])) {
          ::close(set[i].fd);
          unread.erase(set[i].fd);
          set.erase(set.begin() + static_cast<std::ptrdiff_t>(i));
        }
      for (std::size_t i = 0; i < 2; ++i)
        if (set[i].revents != 0 && !ended_)
          set.push_back({::accept4(set[i].fd, nullptr, nullptr, SOCK_CLOEXEC), POLLIN, 0});
    }
    for (std::size_t i = 2; i < set.size(); ++i) ::close(set[i].fd);
  }

  bool take(int socket, std::string& unread) {
    char bytes[4096];
    const ssize_t got = ::recv(socket, bytes, sizeof bytes, 0);
    if (got <= 0) return false;
    unread.append(bytes, static_cast<std::size_t>(got));
    if (unread.starts_with("GET ")) {
      if (unread.find("\r\n\r\n") == std::string::npos) return true;
      const std::string body = peers();
      const std::string text =
          "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
      [[maybe_unused]] const ssize_t sent = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
      return false;
    }
    // {"hello":{"token":...,"worker":"1-1-RANK"}} and then {"endpoint":{...}}.
    const std::size_t first = unread.find('\n');
    const std::size_t second = first == std::string::npos ? first : unread.find('\n', first + 1);
    if (second == std::string::npos) return true;
    const auto hello = sdk::Value::parse(unread.substr(0, first));
    const auto endpoint = sdk::Value::parse(unread.substr(first + 1, second - first - 1));
    const std::string name = hello["hello"]["worker"];
    const std::scoped_lock lock(mutex_);
    ports_[std::stoi(name.substr(4))] = endpoint["endpoint"]["port"].get<int>();
    unread.clear();
    return true;
  }

  std::string peers() {
    sdk::Value out = {{"job", "default.bench"},
                      {"generation", 1},
                      {"phase", "Running"},
                      {"caller", "driver:bench"},
                      {"peers", sdk::Value::array()}};
    const std::scoped_lock lock(mutex_);
    for (const auto& [rank, port] : ports_)
      out["peers"].push_back({{"worker", "1-1-" + std::to_string(rank)},
                              {"role", "worker"},
                              {"rank", rank},
                              {"role_rank", rank},
                              {"address", "127.0.0.1"},
                              {"port", port},
                              {"certificate", ""},
                              {"key", sdk::to_hex(sdk::call_key("token", "driver:bench"))}});
    return out.dump();
  }

  std::string path_;
  std::string url_;
  int agent_ = -1;
  int http_ = -1;
  std::atomic<bool> ended_{false};
  std::mutex mutex_;
  std::map<int, int> ports_;
  std::vector<pid_t> pids_;
  std::thread thread_;
};

/// A child process that echoes on a socket, and this end of it.
class Echo {
 public:
  /// With `fresh` the other end receives into memory that it has not used yet.
  explicit Echo(bool fresh) {
    int port = 0;
    const int listener = listen_at_loopback(port);
    pid_ = ::fork();
    if (pid_ == 0) {
      echo(::accept(listener, nullptr, nullptr), fresh);
      ::_exit(0);
    }
    socket_ = connect_to_loopback(port);
    ::close(listener);
  }

  ~Echo() {
    ::close(socket_);
    ::waitpid(pid_, nullptr, 0);
  }

  /// Sends so many bytes; the other end answers with one once it has them all.
  double round(std::size_t bytes, std::vector<char>& buffer) const {
    const Clock::time_point begin = Clock::now();
    std::uint64_t size = bytes;
    send_all(socket_, reinterpret_cast<const char*>(&size), sizeof size);
    send_all(socket_, buffer.data(), bytes);
    char answer = 0;
    receive_all(socket_, &answer, 1);
    return seconds_since(begin);
  }

 private:
  static void echo(int socket, bool fresh) {
    tune(socket);
    std::vector<char> buffer;
    std::uint64_t size = 0;
    while (receive_all(socket, reinterpret_cast<char*>(&size), sizeof size)) {
      if (fresh) std::vector<char>().swap(buffer);
      buffer.resize(size);
      if (!receive_all(socket, buffer.data(), size) || !send_all(socket, "x", 1)) return;
    }
  }

  pid_t pid_ = -1;
  int socket_ = -1;
};

void report_items(const char* what, std::size_t bytes, int items, double took) {
  std::printf("%-44s %8.0f items/s   %6.0f MB/s\n",
              what,
              items / took,
              static_cast<double>(bytes) * items / took / 1e6);
}

/// A bounded queue in a process of its own: each item is answered with a byte, and each byte of the
/// consumer with up to 16 items, which are counted first. Memory of items is used again.
class BareQueue {
 public:
  explicit BareQueue(std::size_t bytes) : bytes_(bytes) {
    int port = 0;
    const int listener = listen_at_loopback(port);
    pid_ = ::fork();
    if (pid_ == 0) {
      const int producer = ::accept(listener, nullptr, nullptr);  // Which connects first.
      serve(producer, ::accept(listener, nullptr, nullptr));
      ::_exit(0);
    }
    producer_ = connect_to_loopback(port);
    consumer_ = connect_to_loopback(port);
    ::close(listener);
  }

  ~BareQueue() {
    ::close(producer_);
    ::close(consumer_);
    ::waitpid(pid_, nullptr, 0);
  }

  double seconds_for(int items) const {
    const Clock::time_point begin = Clock::now();
    std::thread producer([&] {
      std::vector<char> item(bytes_, 1);
      char answer = 0;
      for (int i = 0; i < items; ++i)
        if (!send_all(producer_, item.data(), bytes_) || !receive_all(producer_, &answer, 1))
          return;
    });
    std::vector<char> item(bytes_);
    char count = 0;
    for (int got = 0; got < items; got += count) {
      if (!send_all(consumer_, "x", 1) || !receive_all(consumer_, &count, 1)) break;
      for (int i = 0; i < count; ++i)
        if (!receive_all(consumer_, item.data(), bytes_)) break;
    }
    producer.join();
    return seconds_since(begin);
  }

 private:
  void serve(int producer, int consumer) const {
    tune(producer);
    tune(consumer);
    std::deque<std::vector<char>> queued;
    std::vector<std::vector<char>> unused;
    bool is_asked = false;
    std::array<pollfd, 2> set{{{producer, POLLIN, 0}, {consumer, POLLIN, 0}}};
    while (true) {
      set[0].events = queued.size() < 64 ? POLLIN : 0;
      ::poll(set.data(), set.size(), -1);
      if ((set[0].revents & POLLIN) != 0) {
        if (unused.empty()) unused.emplace_back(bytes_);
        if (receive_all(producer, unused.back().data(), bytes_)) {
          send_all(producer, "x", 1);
          queued.push_back(std::move(unused.back()));
          unused.pop_back();
        } else {
          set[0].fd = -1;
        }
      }
      char asked = 0;
      if (set[1].revents != 0 && !receive_all(consumer, &asked, 1)) return;
      is_asked = is_asked || set[1].revents != 0;
      if (!is_asked || queued.empty()) continue;
      is_asked = false;
      const char count = static_cast<char>(std::min<std::size_t>(16, queued.size()));
      send_all(consumer, &count, 1);
      for (int i = 0; i < count; ++i) {
        send_all(consumer, queued.front().data(), bytes_);
        unused.push_back(std::move(queued.front()));
        queued.pop_front();
      }
    }
  }

  std::size_t bytes_;
  pid_t pid_ = -1;
  int producer_ = -1;
  int consumer_ = -1;
};

void report_latency(const char* what, std::vector<double> times) {
  std::sort(times.begin(), times.end());
  std::printf("%-44s p50 %8.1f us   p99 %8.1f us\n",
              what,
              1e6 * times[times.size() / 2],
              1e6 * times[times.size() * 99 / 100]);
}

void floors() {
  std::vector<double> times;
  std::vector<char> small(100);
  const Echo echo(false);
  for (int i = 0; i < 5000; ++i) times.push_back(echo.round(small.size(), small));
  report_latency("bare socket, 100 bytes there, 1 back", times);
  std::vector<char> large(100'000'000, 1);
  for (const bool fresh : {false, true}) {
    const Echo other(fresh);
    double best = 1e9;
    for (int i = 0; i < 5; ++i) best = std::min(best, other.round(large.size(), large));
    std::printf("%-44s %8.1f ms   %8.0f MB/s\n",
                fresh ? "bare socket, 100 MB into fresh memory" : "bare socket, 100 MB",
                1e3 * best,
                100 / best);
  }
  report_items("bare queue, items of 1 KB", 1000, 20'000, BareQueue(1000).seconds_for(20'000));
  report_items(
      "bare queue, items of 10 MB", 10'000'000, 100, BareQueue(10'000'000).seconds_for(100));
}

void grpc_floor() {
  GrpcPeer peer;
  std::vector<double> times;
  for (int i = 0; i < 3000; ++i) times.push_back(peer.call(0));
  report_latency("gRPC unary call, one at a time", times);
  std::printf(
      "%-44s %8.0f calls/s\n", "gRPC unary calls, 30,000 at once", kCalls / peer.burst(kCalls));
  double best = 1e9;
  for (int i = 0; i < 5; ++i) best = std::min(best, peer.call(100'000'000));
  std::printf(
      "%-44s %8.1f ms   %8.0f MB/s\n", "gRPC unary call with 100 MB", 1e3 * best, 100 / best);
}

void latency(const sdk::RemoteWorker& to) {
  std::vector<double> times;
  for (int i = 0; i < 10'000; ++i) {
    const Clock::time_point begin = Clock::now();
    to.call("nothing");
    times.push_back(seconds_since(begin));
  }
  report_latency("call, one at a time", times);
}

void burst(const sdk::RemoteWorker& to) {
  const Clock::time_point begin = Clock::now();
  std::vector<sdk::Future<>> futures;
  for (int i = 0; i < kCalls; ++i) futures.push_back(to.submit("nothing"));
  for (sdk::Future<>& future : futures) future.get();
  std::printf(
      "%-44s %8.0f calls/s\n", "calls, 30,000 begun at once", kCalls / seconds_since(begin));
}

void large(const sdk::RemoteWorker& to) {
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    sdk::Buffer buffer;
    buffer.bytes.assign(100'000'000, 1);
    const Clock::time_point sent = Clock::now();
    to.call<std::size_t>("size", std::move(buffer));
    best = std::min(best, seconds_since(sent));
  }
  std::printf("%-44s %8.1f ms   %8.0f MB/s\n", "call with 100 MB", 1e3 * best, 100 / best);
}

struct Puts {
  int together = 1;   ///< Items of one put.
  int under_way = 1;  ///< Puts that are not answered.
};

void channel(const sdk::RemoteWorker& owner,
             const char* what,
             std::size_t bytes,
             int items,
             Puts puts = {}) {
  sdk::Channel of = sdk::Channel::create(owner, what, {.capacity = 64});
  const Clock::time_point begin = Clock::now();
  std::thread producer([&] {
    std::deque<sdk::Future<std::uint64_t>> unanswered;
    for (int i = 0; i < items; i += puts.together) {
      std::vector<sdk::ChannelItem> put;
      for (int k = 0; k < puts.together; ++k) {
        sdk::Buffer buffer = sdk::Buffer::of_size(bytes);
        std::ranges::fill(buffer.bytes, 1);
        put.push_back({sdk::Value(std::move(buffer))});
      }
      if (static_cast<int>(unanswered.size()) == puts.under_way) {
        unanswered.front().get();
        unanswered.pop_front();
      }
      unanswered.push_back(of.submit_put_all(std::move(put)));
      if (puts.under_way == 1) unanswered.front().wait();
    }
    for (sdk::Future<std::uint64_t>& each : unanswered) each.get();
  });
  sdk::ChannelBatch batch = of.get({.count = 16});
  int got = static_cast<int>(batch.items.size());
  while (got < items) {
    batch = of.next(std::move(batch), {.count = 16});
    got += static_cast<int>(batch.items.size());
  }
  batch.acknowledge();
  producer.join();
  report_items(what, bytes, items, seconds_since(begin));
}

void group(int workers) {
  const Cluster cluster(workers);
  sdk::WorkerGroup all(cluster.driver(), "worker");
  std::vector<double> times;
  const int rounds = 20'000 / workers;
  all.call("nothing").result();
  const Clock::time_point begin = Clock::now();
  for (int i = 0; i < rounds; ++i) {
    const Clock::time_point one = Clock::now();
    all.call("nothing").result();
    times.push_back(seconds_since(one));
  }
  const double took = seconds_since(begin);
  const std::string what = "call of a group of " + std::to_string(workers);
  report_latency(what.c_str(), times);
  std::printf("%-44s %8.0f calls/s\n", "", rounds * workers / took);
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  if (count > 1 && words[0] == "worker") return worker();
  if (count > 1 && words[0] == "grpc_server") return serve_grpc();
  const auto is_wanted = [&](const char* part) {
    return words.empty() || std::ranges::find(words, part) != words.end();
  };
  if (is_wanted("floor")) floors();  // Forks, so before there are threads.
  if (is_wanted("grpc")) grpc_floor();
  {
    const Cluster cluster(1);
    const sdk::Driver driver = cluster.driver();
    const sdk::RemoteWorker one = driver.worker("worker", 0);
    one.call("nothing");
    if (is_wanted("latency")) latency(one);
    if (is_wanted("burst")) burst(one);
    if (is_wanted("large")) large(one);
    if (is_wanted("channel")) {
      channel(one, "channel, items of 1 KB", 1000, 20'000);
      channel(one, "channel, items of 1 KB, 16 puts under way", 1000, 64'000, {.under_way = 16});
      channel(one, "channel, items of 1 KB, put by 16", 1000, 64'000, {.together = 16});
    }
    if (is_wanted("channel") || is_wanted("items")) {
      channel(one, "channel, items of 10 MB", 10'000'000, 100);
    }
  }
  for (const int workers : {1, 16, 64})
    if (is_wanted(("group" + std::to_string(workers)).c_str())) group(workers);
  return 0;
}
