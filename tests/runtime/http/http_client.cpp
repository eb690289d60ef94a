#include "tests/runtime/http/http_client.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace orrery::tests {
namespace {

constexpr int kWaitMilliseconds = 60'000;

int connect_to(const std::string& address) {
  if (address.starts_with("unix:")) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::strncpy(name.sun_path, address.c_str() + 5, sizeof name.sun_path - 1);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&name), sizeof name), 0) << address;
    return fd;
  }
  sockaddr_in name{};
  name.sin_family = AF_INET;
  const std::size_t colon = address.rfind(':');
  inet_pton(AF_INET, address.substr(0, colon).c_str(), &name.sin_addr);
  name.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&name), sizeof name), 0) << address;
  return fd;
}

bool same_word(std::string_view one, std::string_view other) {
  return one.size() == other.size() && strncasecmp(one.data(), other.data(), one.size()) == 0;
}

}  // namespace

std::string Answer::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (same_word(key, name)) return value;
  return {};
}

HttpClient::HttpClient(const std::string& address) : fd_(connect_to(address)) {}

HttpClient::~HttpClient() {
  if (fd_ >= 0) ::close(fd_);
}

HttpClient::HttpClient(HttpClient&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), in_(std::move(other.in_)) {}

bool HttpClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool HttpClient::fill() {
  pollfd ready{fd_, POLLIN, 0};
  if (::poll(&ready, 1, kWaitMilliseconds) != 1) {
    ADD_FAILURE() << "nothing came in a minute; so far: " << in_;
    return false;
  }
  std::array<char, 65536> bytes;
  const ssize_t got = ::recv(fd_, bytes.data(), bytes.size(), 0);
  if (got <= 0) return false;
  in_.append(bytes.data(), static_cast<std::size_t>(got));
  return true;
}

Answer HttpClient::receive_head() {
  Answer out;
  std::size_t end = 0;
  while ((end = in_.find("\r\n\r\n")) == std::string::npos)
    if (!fill()) return out;
  const std::string head = in_.substr(0, end + 2);
  in_.erase(0, end + 4);
  std::size_t line_end = head.find("\r\n");
  out.status = std::stoi(head.substr(9, 3));
  for (std::size_t at = line_end + 2; at < head.size(); at = line_end + 2) {
    line_end = head.find("\r\n", at);
    const std::string line = head.substr(at, line_end - at);
    const std::size_t colon = line.find(": ");
    out.headers.emplace_back(line.substr(0, colon), line.substr(colon + 2));
  }
  return out;
}

Answer HttpClient::receive(bool head) {
  Answer out = receive_head();
  if (out.status == 0 || head || out.status == 204 || out.status == 100) return out;
  if (!out.header("Content-Length").empty()) {
    const std::size_t size = std::stoul(out.header("Content-Length"));
    while (in_.size() < size)
      if (!fill()) break;
    out.body = in_.substr(0, size);
    in_.erase(0, size);
  } else if (same_word(out.header("Transfer-Encoding"), "chunked")) {
    for (;;) {
      std::size_t line = 0;
      while ((line = in_.find("\r\n")) == std::string::npos)
        if (!fill()) return out;
      const std::size_t size = std::stoul(in_.substr(0, line), nullptr, 16);
      while (in_.size() < line + 2 + size + 2)
        if (!fill()) return out;
      out.body += in_.substr(line + 2, size);
      in_.erase(0, line + 2 + size + 2);
      if (size == 0) break;
    }
  } else {
    while (fill()) continue;
    out.body = std::exchange(in_, {});
  }
  return out;
}

std::string HttpClient::receive_some() {
  if (in_.empty() && !fill()) return {};
  return std::exchange(in_, {});
}

std::string HttpClient::receive_until(std::string_view text) {
  while (in_.find(text) == std::string::npos)
    if (!fill()) {
      ADD_FAILURE() << "the connection ended before '" << text << "' came; so far: " << in_;
      break;
    }
  return in_;
}

bool HttpClient::is_closed_by_peer() {
  while (fill()) continue;
  return !testing::Test::HasFailure();
}

void HttpClient::end_sending() { ::shutdown(fd_, SHUT_WR); }

Answer HttpClient::request(std::string_view method,
                           std::string_view target,
                           std::string_view body,
                           std::string_view headers) {
  std::string out = std::string(method) + " " + std::string(target) + " HTTP/1.1\r\n";
  out += "Host: localhost\r\n" + std::string(headers);
  if (!body.empty()) out += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  send(out + "\r\n" + std::string(body));
  return receive(method == "HEAD");
}

Answer request(const std::string& address,
               std::string_view method,
               std::string_view target,
               std::string_view body,
               std::string_view headers) {
  return HttpClient(address).request(method, target, body, headers);
}

}  // namespace orrery::tests
