// What a request and its answer are, without saying how they travel.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::http {

struct Header {
  std::string name;  ///< As it was sent; compared without regard to case.
  std::string value;
};

/// The connection that a request came on.
struct Connection {
  std::string peer;              ///< Address of the other end; empty on a Unix socket.
  bool encrypted = false;        ///< TLS.
  bool unix_socket = false;      ///< Else TCP.
  std::string certificate_role;  ///< Organisational unit of the client's certificate;
  std::string certificate_name;  ///< and its common name. Empty without a sound certificate.
  bool has_certificate = false;  ///< It gave one that our authority has signed.
};

/// One whole request.
struct Request {
  std::string method;
  std::string target;  ///< Path and query, as sent.
  std::vector<Header> headers;
  std::string body;
  Connection connection;
  bool http_1_0 = false;
  bool keep_alive = true;

  /// The first value of a header; empty where there is none.
  std::string_view header(std::string_view name) const;
};

/// One answer, or the head of one whose body follows in pieces.
struct Response {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  std::vector<Header> headers;  ///< Besides length, type and connection.
};

/// Bounds of one request.
struct RequestLimits {
  std::size_t header_bytes_max = 16 << 10;
  std::size_t body_bytes_max = 4 << 20;
};

/// Whether two header names are the same.
bool same_name(std::string_view one, std::string_view other);

/// {"error":{"message":...}}, as all of /api/v1 tells errors.
std::string error_body(const std::string& message);

/// "Not Found" of 404.
std::string_view reason_phrase(int status);

}  // namespace orrery::http
