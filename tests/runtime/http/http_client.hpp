// A small client on raw sockets: what goes out is exactly what a test writes.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace orrery::tests {

/// One answer, chunks put together.
struct Answer {
  int status = 0;  ///< 0: none came.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;

  std::string header(std::string_view name) const;

  nlohmann::json json() const { return nlohmann::json::parse(body, nullptr, false); }
};

/// One connection. Reads wait up to a generous limit, then fail the test.
class HttpClient {
 public:
  /// `address`: "127.0.0.1:80" or "unix:/path".
  explicit HttpClient(const std::string& address);
  ~HttpClient();
  HttpClient(HttpClient&& other) noexcept;
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// False where the other end has closed.
  bool send(std::string_view bytes);

  /// The next answer; `head`: of a HEAD request, without body.
  Answer receive(bool head = false);

  /// Only the head of the next answer.
  Answer receive_head();

  /// The next bytes of the body that follows, as they came (with the sizes of chunks); empty at
  /// the end.
  std::string receive_some();

  /// Reads on until `text` has come in; everything since the head.
  std::string receive_until(std::string_view text);

  /// Whether the other end closes the connection.
  bool is_closed_by_peer();

  /// Nothing more will be sent.
  void end_sending();

  /// Sends a request and receives its answer.
  Answer request(std::string_view method,
                 std::string_view target,
                 std::string_view body = {},
                 std::string_view headers = {});

  int descriptor() const { return fd_; }

 private:
  bool fill();

  int fd_ = -1;
  std::string in_;
};

/// A request on a connection of its own.
Answer request(const std::string& address,
               std::string_view method,
               std::string_view target,
               std::string_view body = {},
               std::string_view headers = {});

}  // namespace orrery::tests
