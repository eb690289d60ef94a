// A client of etcd: the few calls that elections and the store need. gRPC stays inside.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/result.hpp"

namespace orrery::runtime {

struct EtcdSettings {
  /// "HOST:PORT" of the members, at least one; numeric hosts need no name service.
  std::vector<std::string> endpoints;

  /// Files of TLS, all empty for plain text: the authority that signed the members' certificates,
  /// and, both or none, our own certificate and its key.
  std::string ca_file;
  std::string certificate_file;
  std::string key_file;

  /// What one member is given to answer; more in later rounds, for members that are merely slow.
  std::chrono::milliseconds call_deadline{500};

  /// How long a call goes on from member to member before it fails.
  std::chrono::milliseconds patience{10'000};
};

/// One key with its value.
struct EtcdPair {
  std::string key;
  std::string value;
  std::int64_t create_revision = 0;  ///< Of the cluster when the key came to be.
  std::int64_t mod_revision = 0;     ///< When the value was put last.
  std::int64_t lease = 0;            ///< The key goes with it; 0: none.
};

/// All keys from `begin` up to, not including, `end`; `begin` alone where `end` is empty.
struct EtcdRange {
  std::string begin;
  std::string end;

  static EtcdRange key(std::string name) { return {std::move(name), {}}; }

  /// All keys that begin so.
  static EtcdRange prefix(std::string_view beginning);
};

struct EtcdPut {
  std::string key;
  std::string value;
  std::int64_t lease = 0;
};

struct EtcdDelete {
  EtcdRange range;
};

struct EtcdGet {
  EtcdRange range;
};

using EtcdOperation = std::variant<EtcdPut, EtcdDelete, EtcdGet>;

/// That the last change, or the creation, of a key is of a revision; 0: there is no such key.
struct EtcdCompare {
  enum class Target : std::uint8_t { Created, Modified };

  std::string key;
  Target target = Target::Created;
  std::int64_t revision = 0;
};

/// Where all comparisons hold `then` is done, else `otherwise`; all at once.
struct EtcdTransaction {
  std::vector<EtcdCompare> compares;
  std::vector<EtcdOperation> then;
  std::vector<EtcdOperation> otherwise;
};

/// What a transaction or a read found.
struct EtcdAnswer {
  bool succeeded = true;        ///< All comparisons held.
  std::int64_t revision = 0;    ///< Of the cluster after it.
  std::vector<EtcdPair> pairs;  ///< What its gets found, in order.
  bool more = false;            ///< A read stopped at its limit.
};

struct EtcdReading {
  std::int64_t limit = 0;                 ///< Pairs at most; 0: all.
  std::int64_t revision = 0;              ///< As of then; 0: the newest.
  bool keys_only = false;                 ///< Leaves the values empty.
  std::chrono::milliseconds patience{0};  ///< 0: that of the settings.
};

struct EtcdLease {
  std::int64_t id = 0;
  std::chrono::seconds ttl{0};
};

/// What a member says of itself.
struct EtcdMemberStatus {
  std::uint64_t member = 0;
  std::uint64_t leader = 0;   ///< 0: it knows of none.
  std::int64_t db_bytes = 0;  ///< Of its database, free pages included; its quota bounds them.
  std::string version;
};

/// One change of a watched key.
struct EtcdChange {
  EtcdPair pair;  ///< Without a value where it was deleted.
  bool deleted = false;
};

/// How a watch ended.
struct EtcdWatchEnd {
  /// Above 0: the revision asked for is gone, the history begins here.
  std::int64_t compacted = 0;
  /// The member's revision is before the one asked for: it lags, or the cluster's data was replaced
  /// by older data.
  bool is_behind = false;
};

/// Goes from member to member until one answers. Shared between threads. Reads see every write that
/// was acknowledged before them.
///
/// Errors: Unavailable where no member answered within the patience, or all space is used up;
/// NotFound for a lease that has ended; InvalidInput for what etcd will never take. A write that
/// failed with Unavailable may still have been done, and one that succeeded may have been done
/// twice: so writes carry comparisons that tell.
class EtcdClient {
 public:
  using Milliseconds = std::chrono::milliseconds;

  /// Reads the files of TLS; connects with the first call.
  static Result<std::unique_ptr<EtcdClient>> make(const EtcdSettings& settings);

  EtcdClient(const EtcdClient&) = delete;
  EtcdClient& operator=(const EtcdClient&) = delete;
  ~EtcdClient();

  const EtcdSettings& settings() const { return settings_; }

  /// "etcd HOST:PORT,...": names the cluster in errors.
  const std::string& name() const { return name_; }

  Result<EtcdAnswer> commit(const EtcdTransaction& transaction);

  Result<EtcdAnswer> read(const EtcdRange& range, const EtcdReading& how = {});

  Result<EtcdAnswer> put(const EtcdPut& put);

  /// etcd may grant more than what is asked for, never less.
  Result<EtcdLease> grant(std::chrono::seconds ttl);

  /// One beat, that fails after `patience`; NotFound where the lease has ended.
  Result<EtcdLease> keep_alive(std::int64_t lease, Milliseconds patience);

  /// Done also where the lease has ended before; fails after `patience`.
  Status revoke(std::int64_t lease, Milliseconds patience);

  /// Forgets what was before `revision`, but for the values that are current then.
  Status compact(std::int64_t revision);

  /// Hands out each batch of changes since `from`, in order, with the revision that it leads to,
  /// until the connection ends or `cancel` is requested. An error where no member could be reached.
  Result<EtcdWatchEnd> watch(
      const EtcdRange& range,
      std::int64_t from,
      const std::stop_token& cancel,
      const std::function<void(std::vector<EtcdChange>, std::int64_t revision)>& changed);

  /// Asks one member, by its place among the endpoints.
  Result<EtcdMemberStatus> status_of(std::size_t member);

 private:
  struct Members;

  EtcdClient(EtcdSettings settings, std::unique_ptr<Members> members);

  EtcdSettings settings_;
  std::string name_;
  std::unique_ptr<Members> members_;
};

}  // namespace orrery::runtime
