#include "runtime/config/address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/number_text.hpp"

namespace orrery::runtime {
namespace {

constexpr std::string_view kUnix = "unix:";
/// What the system has room for, with the closing zero.
constexpr std::size_t kSocketPathMax = 107;

/// The four numbers of "127.0.0.1".
std::optional<std::array<std::uint8_t, 4>> octets(std::string_view host) {
  std::array<std::uint8_t, 4> out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t dot = host.find('.');
    if ((dot == std::string_view::npos) != (i + 1 == out.size())) return std::nullopt;
    const auto value = parsed_number<std::uint8_t>(host.substr(0, dot));
    if (!value) return std::nullopt;
    out[i] = *value;
    if (dot != std::string_view::npos) host.remove_prefix(dot + 1);
  }
  return out;
}

/// The number that "::1" stands for; no zone ("%eth0").
std::optional<in6_addr> version_six(const std::string& host) {
  in6_addr number{};
  if (inet_pton(AF_INET6, host.c_str(), &number) != 1) return std::nullopt;
  return number;
}

bool is_host_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
         c == '.';
}

/// A name, or four numbers: digits and dots alone are no name.
bool is_sound_host(std::string_view host) {
  if (host.empty() || host.size() > 253 || host.front() == '.' || host.front() == '-') return false;
  if (!std::all_of(host.begin(), host.end(), is_host_character)) return false;
  const bool numeric = host.find_first_not_of("0123456789.") == std::string_view::npos;
  return !numeric || octets(host).has_value();
}

std::optional<Address> parse_bracketed(std::string_view text) {
  const std::size_t close = text.find("]:");
  if (close == std::string_view::npos) return std::nullopt;
  std::string host(text.substr(1, close - 1));
  const auto port = parsed_number<std::uint16_t>(text.substr(close + 2));
  if (!port || host.find('\0') != std::string::npos || !version_six(host)) return std::nullopt;
  return Address{std::move(host), *port, {}};
}

}  // namespace

std::optional<Address> parse_address(std::string_view text) {
  if (text.starts_with(kUnix)) {
    const std::string_view path = text.substr(kUnix.size());
    if (!path.starts_with('/') || path.size() > kSocketPathMax ||
        path.find('\0') != std::string_view::npos)
      return std::nullopt;
    return Address{{}, 0, std::string(path)};
  }
  if (text.starts_with('[')) return parse_bracketed(text);
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || !is_sound_host(text.substr(0, colon))) return std::nullopt;
  const auto port = parsed_number<std::uint16_t>(text.substr(colon + 1));
  if (!port) return std::nullopt;
  return Address{std::string(text.substr(0, colon)), *port, {}};
}

std::string to_text(const Address& address) {
  if (address.is_unix()) return std::string(kUnix) + address.path;
  const bool bracketed = address.host.find(':') != std::string::npos;
  return (bracketed ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

bool is_local(const Address& address) {
  if (address.is_unix() || address.host == "localhost") return true;
  if (const auto six = version_six(address.host)) return IN6_IS_ADDR_LOOPBACK(&*six) != 0;
  const auto numbers = octets(address.host);
  return numbers && (*numbers)[0] == 127;
}

Errors check_exposure(std::string_view address, const TlsFiles& tls, const std::string& subject) {
  const auto error = [&](const std::string& about, std::string message) {
    return Error{ErrorCode::InvalidInput, {}, 0, about, std::move(message)};
  };
  Errors errors;
  const auto parsed = parse_address(address);
  if (!parsed) {
    errors.push_back(
        error(subject,
              "is '" + std::string(address) +
                  "', HOST:PORT or unix:/PATH is needed; write for example 127.0.0.1:22100, "
                  "[::1]:22100 or unix:/run/orrery.sock"));
    return errors;
  }
  if (!is_local(*parsed) && !tls.is_set())
    errors.push_back(error(
        subject,
        "is " + to_text(*parsed) +
            ", which other machines reach, and there are no certificates, mutual TLS is needed "
            "there; make them with `orrery certs init` and name them under tls, or use 127.0.0.1 "
            "or unix:/PATH"));
  return errors;
}

}  // namespace orrery::runtime
