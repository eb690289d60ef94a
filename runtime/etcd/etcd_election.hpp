// The election of one leader among controllers that share an etcd.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "runtime/election/election.hpp"
#include "runtime/etcd/etcd_client.hpp"
#include "runtime/etcd/etcd_watch.hpp"

namespace orrery::runtime {

struct EtcdElectionOptions {
  /// All keys of this cluster of controllers begin so; the leader's key is PREFIX/leader.
  std::string prefix = "/orrery/default";

  /// How long a leader that says nothing stays in office. The members of etcd grant no less than
  /// one and a half of their own election time, rounded up.
  std::chrono::seconds lease{3};
};

/// The candidate that creates the leader's key leads for as long as the key is there. The key goes
/// with a lease that a thread of the leader renews; so a leader that is dead, stopped or cut off is
/// succeeded within the lease and half a second. `Leadership::fence` is the revision that created
/// the key: EtcdStore has every write compared with it.
///
/// Time: a renewal counts from the moment before it was sent, and a tenth of the lease is kept back
/// for clocks that run at different speeds.
class EtcdElection final : public Election {
 public:
  /// `client` outlives the election. `lost` may be empty.
  EtcdElection(EtcdClient& client,
               Candidate self,
               EtcdElectionOptions options = {},
               Lost lost = {});

  EtcdElection(const EtcdElection&) = delete;
  EtcdElection& operator=(const EtcdElection&) = delete;

  /// Does not resign: as where the process ends, the leadership ends with its lease.
  ~EtcdElection() override;

  Result<std::optional<Leadership>> campaign(std::stop_token cancel) override;

  Clock::time_point until() const override { return Clock::time_point(Clock::duration(until_)); }

  Status resign() override;
  std::optional<Candidate> leader() const override;

  /// Where the leader's key lies.
  const std::string& leader_key() const { return key_; }

 private:
  struct Won {
    std::int64_t lease = 0;
    Leadership leadership;
  };

  Result<bool> has_leader();
  Result<std::optional<Won>> try_to_win();
  void wait_for_change(const std::stop_token& cancel);
  void observe(const std::string* value);
  void renew(const std::stop_token& stop, std::int64_t lease);
  void extend(Clock::time_point sent, std::chrono::seconds ttl);
  void end_term();

  EtcdClient& client_;
  Candidate self_;
  EtcdElectionOptions options_;
  Lost lost_;
  std::string key_;
  std::atomic<Clock::rep> until_;
  std::int64_t lease_ = 0;  ///< Of the present leadership; 0: none. The campaigner's thread only.
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::uint64_t changes_ = 0;        ///< Of the leader's key, as watched.
  std::optional<Candidate> leader_;  ///< As watched.
  std::jthread renewing_;
  EtcdWatch watch_;  ///< The last member: its thread uses the others.
};

}  // namespace orrery::runtime
