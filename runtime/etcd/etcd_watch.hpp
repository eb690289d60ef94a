// Follows keys through lost connections and compactions.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <thread>
#include <vector>

#include "runtime/etcd/etcd_client.hpp"

namespace orrery::runtime {

/// Calls `all` with everything in the range, then `changed` with each change that follows, without
/// a gap and without a repetition: a lost connection is resumed at another member after the last
/// change seen. Where the members have forgotten what came next (a compaction), or have older data
/// than what was seen (it was replaced by a copy), `all` is called anew. Both are called on the
/// watch's own thread.
class EtcdWatch {
 public:
  struct Handler {
    std::function<void(std::vector<EtcdPair>)> all;
    std::function<void(std::vector<EtcdChange>)> changed;
  };

  /// `client` outlives the watch. `from` above 0: begins with the changes from that revision on,
  /// as if all before had been seen.
  EtcdWatch(EtcdClient& client, EtcdRange range, Handler handler, std::int64_t from = 0);

  EtcdWatch(const EtcdWatch&) = delete;
  EtcdWatch& operator=(const EtcdWatch&) = delete;

  /// No handler runs afterwards.
  ~EtcdWatch() = default;

 private:
  void follow(const std::stop_token& stop);
  bool is_replaced();

  EtcdClient& client_;
  EtcdRange range_;
  Handler handler_;
  std::int64_t next_;  ///< Revision to go on with; 0: everything is read first.
  std::jthread thread_;
};

}  // namespace orrery::runtime
