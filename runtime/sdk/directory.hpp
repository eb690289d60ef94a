// The controller's list of a job's workers, as one caller sees it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/sdk/errors.hpp"
#include "runtime/sdk/http_client.hpp"

namespace orrery::sdk {

/// One worker of the job.
struct Peer {
  std::string worker;
  std::string role;
  std::int64_t rank = -1;
  std::int64_t role_rank = -1;
  std::string node;
  std::string address;
  std::uint16_t port = 0;   ///< 0: it does not listen yet.
  std::string certificate;  ///< SHA-256 in hexadecimal digits; empty: plain.
  std::string key;          ///< As its 32 bytes; empty: none yet.

  bool listens() const { return port != 0 && key.size() == 32; }
};

/// All of them, as of one answer.
struct PeerList {
  std::string job;
  std::uint64_t generation = 0;
  std::string phase;
  std::string caller;
  std::vector<Peer> peers;

  const Peer* find(std::string_view worker) const;
  const Peer* find(std::string_view role, std::int64_t role_rank) const;

  /// The workers of a role by role_rank.
  std::vector<Peer> of_role(std::string_view role) const;

  /// Whether the job may still get workers that are not listed.
  bool may_grow() const;
};

/// Reads an answer of the directory; nothing, and what is wrong, where it is none.
std::optional<PeerList> read_peers(const std::string& body, std::string& why);

/// Who asks the directory about which job.
struct DirectoryAccess {
  ControllerAccess controller;
  std::string job;
  std::string caller;  ///< Of a driver; empty: the token's worker.
};

/// What the directory answered: a list, or an error.
struct DirectoryAnswer {
  std::optional<PeerList> list;
  ErrorFields error;
  bool may_try_again = false;  ///< The error may pass: no controller answers now.
  /// It does not know the worker whose token was shown. After a change of controllers that passes
  /// once the worker's node has registered.
  bool is_unknown = false;
  bool is_unfit = false;  ///< It cannot be asked at this address, now or later.
};

/// Asks once. I/O thread; `done` is called there within `limit`.
void ask_directory(const DirectoryAccess& access,
                   Milliseconds limit,
                   std::function<void(DirectoryAnswer)> done);

}  // namespace orrery::sdk
