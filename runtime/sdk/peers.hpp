// All workers of a job as one caller reaches them: the directory, and a connection to each.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/sdk/peer_link.hpp"

namespace orrery::sdk::detail {

class Peers : public std::enable_shared_from_this<Peers> {
 public:
  explicit Peers(DirectoryAccess access) : access_(std::move(access)), asked_(access_) {}

  // --- any thread ---

  /// As it was at the start.
  const DirectoryAccess& access() const { return access_; }

  /// Begins a call; it ends by its deadline whatever happens.
  void submit(const CallPtr& call);

  /// Asks the directory, at most so long, also where no controller answers for a while. Throws a
  /// CallError.
  std::shared_ptr<const PeerList> refresh(Milliseconds limit);

  /// Ends all connections; calls that are open or come later end as Cancelled.
  void close();

 private:
  using Listed = std::function<void(const DirectoryAnswer&)>;

  void route(const CallPtr& call);
  void route_by_new_list(const CallPtr& call);
  void try_later(const CallPtr& call);
  void ask(Milliseconds limit, Listed listed);
  void ask_until(SteadyTime until, Milliseconds pause, Listed listed);
  void on_listed(DirectoryAnswer answer);
  void on_broken(const PeerLink::Broken& broken);
  std::shared_ptr<PeerLink> link_to(const Peer& peer);

  const DirectoryAccess access_;
  // The rest on the I/O thread.
  DirectoryAccess asked_;  ///< The same, with the controller first that is asked next.
  std::size_t unfit_ = 0;  ///< Addresses in a row that can never be asked.
  std::shared_ptr<const PeerList> list_;
  std::vector<Listed> asking_;
  SteadyTime listed_at_{};
  std::optional<SteadyTime> unknown_since_;  ///< The directory does not know this worker's token.
  std::map<std::string, std::shared_ptr<PeerLink>> links_;
  std::vector<std::shared_ptr<PeerLink>> replaced_;
  bool closed_ = false;
};

/// Begins a call. Throws BadArguments for options that do not travel.
CallPtr begin_call(const std::shared_ptr<Peers>& peers, CallRequest request);

/// Closed when the last copy of what is returned goes.
std::shared_ptr<Peers> open_peers(DirectoryAccess access);

}  // namespace orrery::sdk::detail
