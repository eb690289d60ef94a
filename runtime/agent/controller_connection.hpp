// The agent's line to whichever controller leads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/base/random.hpp"
#include "core/base/units.hpp"
#include "runtime/agent/inbox.hpp"
#include "runtime/link/link.hpp"

namespace orrery::runtime {

/// Waits between two tries to reach a controller.
struct ConnectionTimes {
  Duration first_wait = Duration::milliseconds(50);  ///< Doubled each time,
  Duration longest_wait = Duration::seconds(2);    ///< up to here; a random half of it is left out.
  Duration hopeless_wait = Duration::seconds(30);  ///< After a refusal that will not change.
  Duration timeout = Duration::seconds(5);         ///< Of one try, at most.
  Duration welcome = Duration::seconds(10);  ///< From an open stream to the word that we are known.
};

/// What has become of the line.
struct ConnectionOpened {};

struct ConnectionClosed {
  std::string why;
};

using ConnectionEvent = std::variant<ConnectionOpened, ConnectionClosed, ControllerMessage>;

/// Keeps one stream to one of several controllers: opens it, and after its loss opens it anew, to
/// each controller in turn, the one that was named as leader first. Used by one thread.
class ControllerConnection {
 public:
  /// `dialer` outlives this. `addresses`: at least one.
  ControllerConnection(LinkDialer& dialer,
                       std::vector<std::string> addresses,
                       std::uint64_t seed,
                       const ConnectionTimes& times = {});
  ~ControllerConnection();

  /// Opens a stream where it is time to.
  void keep(Instant now);

  /// When `keep` or `take` must be called at the latest.
  Instant next_try() const { return client_ ? std::min(welcome_by_, word_by_) : try_at_; }

  /// What has happened since the last call, in its order; of the present stream only. A stream on
  /// which no welcome came in time counts as lost: the controller may have forgotten it. So does,
  /// where there are other controllers, one on which nothing came for two beats: a controller that
  /// is frozen or cut off says nothing, and another one may lead long before the transport notices.
  std::vector<ConnectionEvent> take(Instant now);

  /// Readable when `take` has something to give.
  int descriptor() const { return inbox_.descriptor(); }

  /// Dropped where there is no stream.
  void send(const AgentMessage& message);

  /// What was sent and has not begun to leave.
  std::size_t bytes_waiting() const { return client_ ? client_->bytes_waiting() : 0; }

  /// The controller will not serve us. Ends the stream.
  void refused(const Refusal& refusal, Instant now);

  /// The stream serves its purpose: the next loss starts with the shortest wait. `node_lease`: what
  /// the node has under this controller, above 0. Waits are a tenth of it at most from now on, and
  /// tries a fifth as long as it lasts, so that a controller that comes back, or takes over, within
  /// a short lease is found within it.
  void works(Duration node_lease, Instant now) {
    failures_ = 0;
    welcome_by_ = Instant::never();
    longest_wait_ = std::min(times_.longest_wait, Duration{node_lease.ns / 10});
    silence_ = Duration{node_lease.ns * 2 / 5};  // A beat is a fifth of a lease, and is answered.
    lease_ = node_lease;
    silent_.clear();
    works_ = true;
    heard(now);
  }

  /// Ends the stream and opens another one at once.
  void restart(Instant now);

 private:
  struct Arrival {
    std::uint64_t stream = 0;
    ConnectionEvent event;
  };

  class Listener final : public LinkClientListener {
   public:
    Listener(Inbox<Arrival>& inbox, std::uint64_t stream) : inbox_(inbox), stream_(stream) {}

    void on_open() override { inbox_.push({stream_, ConnectionOpened{}}); }

    void on_messages(std::vector<ControllerMessage> messages) override {
      for (ControllerMessage& message : messages) inbox_.push({stream_, std::move(message)});
    }

    void on_closed(const std::string& why) override {
      inbox_.push({stream_, ConnectionClosed{why}});
    }

   private:
    Inbox<Arrival>& inbox_;
    std::uint64_t stream_;
  };

  void lost(Instant now, Duration longest);
  void close();

  void heard(Instant now) {
    lease_until_ = now + lease_;
    word_by_ =
        addresses_.size() > 1 && silence_ > Duration::zero() ? now + silence_ : Instant::never();
  }

  Duration timeout_of_try(Instant now) const;
  bool is_passed_over(const std::string& address) const;
  std::string next_address();

  LinkDialer& dialer_;
  std::vector<std::string> addresses_;
  ConnectionTimes times_;
  Duration longest_wait_;              ///< Of `times_`, or less.
  Duration lease_ = Duration::zero();  ///< Of the last controller that welcomed us.
  Instant lease_until_ = Instant::zero();
  Duration silence_ = Duration::zero();  ///< That counts as a loss; zero: none does.
  Random random_;
  Inbox<Arrival> inbox_;
  std::string leader_;   ///< Named by a refusal; tried first, once.
  std::string address_;  ///< Of the present stream, or the last one.
  std::string silent_;   ///< The one that fell silent, until one works; perhaps empty.
  std::size_t next_address_ = 0;
  int failures_ = 0;
  bool works_ = false;  ///< The present stream.
  Instant try_at_;
  Instant welcome_by_ = Instant::never();  ///< Of the present stream, once it is open.
  Instant word_by_ = Instant::never();     ///< The same, once it works.
  std::uint64_t stream_ = 0;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<LinkClient> client_;  ///< Destroyed before its listener.
};

}  // namespace orrery::runtime
