#include "tools/client/server_address.hpp"

#include "core/base/number_text.hpp"

namespace orrery::cli {
namespace {

Error no_address(std::string_view text, const std::string& found) {
  return Error{.subject = "server",
               .message = "\"" + std::string(text) + "\": " + found +
                          ", needed http://host:port, https://host:port or unix:/path; correct "
                          "--server or ORRERY_SERVER"};
}

/// 127.0.0.0/8.
bool is_loopback_number(const std::string& host) {
  return host.starts_with("127.") && host.find_first_not_of("0123456789.") == host.npos;
}

}  // namespace

std::string ServerAddress::host_header() const {
  if (kind == Kind::Unix) return "localhost";
  const bool bracketed = host.find(':') != host.npos;
  return (bracketed ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::string ServerAddress::text() const {
  if (kind == Kind::Unix) return "unix:" + path;
  return (kind == Kind::Https ? "https://" : "http://") + host_header();
}

bool ServerAddress::is_local() const {
  return kind == Kind::Unix || host == "localhost" || host == "::1" || is_loopback_number(host);
}

Result<ServerAddress> server_address(std::string_view text) {
  ServerAddress out;
  std::string_view rest = text;
  if (rest.starts_with("unix:")) {
    out.kind = ServerAddress::Kind::Unix;
    out.path = rest.substr(5);
    if (out.path.size() < 2 || out.path[0] != '/')
      return no_address(text, "no absolute path found after unix:");
    return out;
  }
  if (rest.starts_with("https://")) {
    out.kind = ServerAddress::Kind::Https;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else if (rest.find("://") != rest.npos) {
    return no_address(text, "an unknown scheme found");
  }
  while (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.find('/') != rest.npos) return no_address(text, "a path found");
  std::string_view port;
  if (rest.starts_with('[')) {
    const std::size_t close = rest.find(']');
    if (close == rest.npos) return no_address(text, "an open bracket found");
    out.host = rest.substr(1, close - 1);
    port = rest.substr(close + 1);
  } else {
    const std::size_t colon = rest.find(':');
    out.host = rest.substr(0, colon);
    port = colon == rest.npos ? "" : rest.substr(colon);
  }
  if (out.host.empty()) return no_address(text, "no host found");
  if (port.empty()) return out;
  port.remove_prefix(1);
  out.port = parsed_number<std::uint16_t>(port).value_or(0);
  if (out.port == 0) return no_address(text, "no port from 1 to 65535 found");
  return out;
}

}  // namespace orrery::cli
