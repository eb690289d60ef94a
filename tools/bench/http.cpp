// Requests per second of the HTTP server, against a bare loop that answers the same bytes.
//
//   bench_http [--seconds S] [--connections N]
//
// Both ends share the machine, and the client takes its part: read the ratio, and the latencies.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "runtime/http/server.hpp"

namespace {

namespace http = orrery::http;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kBody = R"({"name":"default.train","phase":"Running","ready":8})";
constexpr std::string_view kRequest =
    "GET /api/v1/jobs/train HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\n\r\n";

sockaddr_in loopback(int port) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  name.sin_port = htons(static_cast<std::uint16_t>(port));
  return name;
}

/// Answers each piece of bytes that comes with the same answer, in one thread: what sockets alone
/// cost.
class BareLoop {
 public:
  BareLoop() {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in name = loopback(0);
    socklen_t size = sizeof name;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&name), size) != 0 ||
        ::listen(listener_, 128) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&name), &size) != 0)
      std::abort();
    port = ntohs(name.sin_port);
    thread_ = std::thread([this] { run(); });
  }

  ~BareLoop() {
    stopping_ = true;
    thread_.join();
  }

  BareLoop(const BareLoop&) = delete;
  BareLoop& operator=(const BareLoop&) = delete;

  int port = 0;

 private:
  void run() {
    const std::string answer =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
        std::to_string(kBody.size()) + "\r\n\r\n" + std::string(kBody);
    std::vector<pollfd> all{{listener_, POLLIN, 0}};
    std::array<char, 4096> bytes;
    while (!stopping_) {
      if (::poll(all.data(), all.size(), 50) <= 0) continue;
      for (std::size_t i = 1; i < all.size(); ++i)
        if (all[i].revents != 0 && ::recv(all[i].fd, bytes.data(), bytes.size(), 0) > 0)
          (void)::send(all[i].fd, answer.data(), answer.size(), MSG_NOSIGNAL);
      if (all[0].revents != 0) all.push_back({::accept(listener_, nullptr, nullptr), POLLIN, 0});
    }
    for (const pollfd& each : all) ::close(each.fd);
  }

  int listener_ = -1;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

struct Figures {
  double per_second = 0;
  double p50_us = 0;
  double p99_us = 0;
};

/// One request under way on each connection, for so long.
Figures measure(int port, int connections, double seconds) {
  std::vector<pollfd> all;
  std::vector<Clock::time_point> sent(static_cast<std::size_t>(connections));
  const auto send_one = [&](std::size_t i) {
    sent[i] = Clock::now();
    (void)::send(all[i].fd, kRequest.data(), kRequest.size(), MSG_NOSIGNAL);
  };
  for (int i = 0; i < connections; ++i) {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in name = loopback(port);
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0) std::abort();
    all.push_back({fd, POLLIN, 0});
    send_one(all.size() - 1);
  }
  std::vector<float> latencies;
  std::array<char, 4096> bytes;
  const Clock::time_point begin = Clock::now();
  const Clock::time_point end = begin + std::chrono::nanoseconds(static_cast<long>(seconds * 1e9));
  while (Clock::now() < end) {
    ::poll(all.data(), all.size(), 100);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].revents == 0) continue;
      if (::recv(all[i].fd, bytes.data(), bytes.size(), 0) <= 0) std::abort();
      latencies.push_back(std::chrono::duration<float, std::micro>(Clock::now() - sent[i]).count());
      send_one(i);
    }
  }
  const double took = std::chrono::duration<double>(Clock::now() - begin).count();
  for (const pollfd& each : all) ::close(each.fd);
  if (latencies.empty()) return {};
  std::sort(latencies.begin(), latencies.end());
  return {static_cast<double>(latencies.size()) / took,
          latencies[latencies.size() / 2],
          latencies[latencies.size() * 99 / 100]};
}

void print(const char* what, int connections, const Figures& figures) {
  std::printf("%-22s %4d connections %9.0f requests/s   p50 %7.0f us   p99 %7.0f us\n",
              what,
              connections,
              figures.per_second,
              figures.p50_us,
              figures.p99_us);
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 3;
  std::vector<int> connections{8, 64};
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--seconds") == 0) seconds = std::atof(argv[i + 1]);
    if (std::strcmp(argv[i], "--connections") == 0) connections = {std::atoi(argv[i + 1])};
  }
  orrery::Result<std::unique_ptr<http::Server>> server = http::listen("127.0.0.1:0", {});
  if (!server) {
    std::fprintf(stderr, "%s\n", server.errors().front().text().c_str());
    return 1;
  }
  (*server)->serve([](const http::Request&, const std::shared_ptr<http::Exchange>& exchange) {
    http::Response response;
    response.body = kBody;
    exchange->respond(std::move(response));
  });
  const std::string address = (*server)->address();
  const int port = std::atoi(address.substr(address.rfind(':') + 1).c_str());
  const BareLoop bare;
  for (const int count : connections) {
    const Figures least = measure(bare.port, count, seconds);
    const Figures ours = measure(port, count, seconds);
    print("bare loop", count, least);
    print("HTTP server", count, ours);
    std::printf("%-22s %4d connections %9.2f of the bare loop\n",
                "",
                count,
                least.per_second > 0 ? ours.per_second / least.per_second : 0);
  }
  return 0;
}
