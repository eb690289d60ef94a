#include "runtime/http/access.hpp"

#include <algorithm>

#include "runtime/link/messages.hpp"

namespace orrery::http {
namespace {

bool is_port_or_nothing(std::string_view text) {
  return text.empty() ||
         (text.front() == ':' && text.find_first_not_of("0123456789", 1) == text.npos);
}

// "127.0.0.1" of "127.0.0.1:22100" and "::1" of "[::1]:22100"; all of it where it is neither.
std::string_view host_of(std::string_view authority) {
  std::size_t end = authority.find(':');
  std::string_view host = authority.substr(0, end);
  if (authority.starts_with('[')) {
    end = authority.find(']');
    if (end == authority.npos) return authority;
    host = authority.substr(1, end - 1);
    ++end;
  }
  const std::string_view rest = end < authority.size() ? authority.substr(end) : std::string_view();
  return is_port_or_nothing(rest) ? host : authority;
}

std::size_t count_of(const Request& request, std::string_view name) {
  return static_cast<std::size_t>(
      std::count_if(request.headers.begin(), request.headers.end(), [&](const Header& header) {
        return same_name(header.name, name);
      }));
}

bool is_this_machine(std::string_view host) {
  return same_name(host, "localhost") || host == "::1" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == host.npos);
}

}  // namespace

Denial identify(const Request& request, Authenticator* tokens, Identity& identity) {
  const std::string_view authorization = request.header("Authorization");
  if (!authorization.empty()) {
    constexpr std::string_view kBearer = "Bearer ";
    if (authorization.size() <= kBearer.size() ||
        !same_name(authorization.substr(0, kBearer.size()), kBearer))
      return {401, "the Authorization header is of another kind; send 'Bearer TOKEN'"};
    const std::string_view token = authorization.substr(kBearer.size());
    if (token.starts_with(runtime::kWorkerTokenPrefix)) {
      identity = {Role::Worker, "worker", std::string(token)};
      return {};
    }
    std::optional<Identity> known;
    if (tokens != nullptr) known = tokens->identify(token);
    if (!known && tokens != nullptr && !tokens->is_sound())
      return {503,
              "no token can be judged now: the controller's file of tokens is not sound, and its "
              "log says why; mend that file"};
    if (!known)
      return {401, "the token is not known here; have one made with 'orrery certs token'"};
    identity = *known;
    return {};
  }
  const Connection& connection = request.connection;
  if (!connection.encrypted) {
    identity = {Role::Admin, std::string(kLocalName)};
    return {};
  }
  if (!connection.has_certificate) {
    identity = {};
    return {};
  }
  identity.name = connection.certificate_name;
  identity.role = enum_from<Role>(connection.certificate_role).value_or(Role::None);
  if (identity.role == Role::Worker) identity.role = Role::None;  // Workers have tokens alone.
  if (identity.role == Role::None)
    return {403,
            "the certificate of " + identity.name + " has the unit '" +
                connection.certificate_role +
                "', which is no role (agent, user, admin); have one made with 'orrery certs'"};
  return {};
}

Denial check_origin(const Request& request) {
  const Connection& connection = request.connection;
  const std::size_t hosts = count_of(request, "Host");
  if (hosts > 1 || (hosts == 0 && !request.http_1_0))
    return {400,
            std::to_string(hosts) + " Host headers found, one is needed in HTTP/1.1; send one"};
  if (connection.encrypted) return {};
  const std::string_view host = request.header("Host");
  if (!connection.unix_socket && !host.empty() && !is_this_machine(host_of(host)))
    return {403,
            "the request is for host " + std::string(host) +
                ", without TLS only requests for this machine are answered; ask 127.0.0.1"};
  const std::string_view origin = request.header("Origin");
  if (!origin.empty() && origin != "http://" + std::string(host))
    return {403, "a page of " + std::string(origin) + " asks; pages of others are not answered"};
  return {};
}

Denial check_role(const Identity& identity, Role needed, bool for_workers) {
  if (identity.role == Role::Worker) {
    if (for_workers) return {};
    return {403,
            "a worker may ask for members, replicas and profilings of its own job; for this, ask "
            "with a user's token or certificate"};
  }
  if (identity.role >= needed) return {};
  if (identity.role == Role::None)
    return {401,
            "this needs a client certificate or a bearer token; send 'Authorization: Bearer TOKEN' "
            "or connect with a certificate of this cluster's authority"};
  return {403,
          std::string(to_string(identity.role)) + " " + identity.name + " may not do this, role " +
              std::string(to_string(needed)) + " may"};
}

}  // namespace orrery::http
