// The client of a request, and what it may do.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/enum_names.hpp"
#include "runtime/http/request.hpp"

namespace orrery::http {

/// Each may what those before it may.
enum class Role : std::uint8_t {
  None,
  Worker,  ///< A worker: on the routes for workers, about its own job.
  Agent,   ///< Nodes and their workers: memberships and profilings.
  User,    ///< Jobs.
  Admin,   ///< Nodes too.
};

/// The name of clients that are not asked for one.
inline constexpr std::string_view kLocalName = "local";

struct Identity {
  Role role = Role::None;
  std::string name;
  std::string token;  ///< Of a worker: still to be looked up in the controller's state.
};

/// Knows bearer tokens. Called on the I/O thread; must not block.
class Authenticator {
 public:
  virtual ~Authenticator() = default;

  /// The client that holds this token; nothing where it is unknown.
  virtual std::optional<Identity> identify(std::string_view token) = 0;

  /// False while no token can be judged: what knows them is out of order.
  virtual bool is_sound() { return true; }
};

/// Why a request goes no further.
struct Denial {
  int status = 0;  ///< 0: it may go on.
  std::string message;
};

/// The client: by the token of the request (a worker's, told by its beginning, is only taken down),
/// else by the client's certificate (unit: role, common name: name), else, where nothing is
/// encrypted, any process that can connect is an administrator. `tokens` may be null. An unknown
/// token is a denial, whatever else the client shows.
Denial identify(const Request& request, Authenticator* tokens, Identity& identity);

/// Pages of the web that a browser on this machine shows must not reach a controller that trusts
/// everybody on this machine: requests with a foreign Host or Origin are denied.
Denial check_origin(const Request& request);

/// Whether `identity` may do what `needed` may; a worker, where the route is `for_workers`.
Denial check_role(const Identity& identity, Role needed, bool for_workers = false);

}  // namespace orrery::http

template <>
struct orrery::EnumNames<orrery::http::Role> {
  static constexpr std::array kNames{"nobody", "worker", "agent", "user", "admin"};
};
