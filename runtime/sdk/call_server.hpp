// A worker as it is called: its connections, the order of its calls, and their answers.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/sdk/channel_store.hpp"
#include "runtime/sdk/io_role.hpp"
#include "runtime/sdk/membership.hpp"
#include "runtime/sdk/once_answers.hpp"
#include "runtime/sdk/served_connection.hpp"
#include "runtime/sdk/thread_pool.hpp"

namespace orrery::sdk::detail {

class CallServer final : public ConnectionHost {
 public:
  /// Listens at once; throws BadSettings. Calls wait until they are taken by `next`.
  CallServer(CalleeIdentity identity,
             const std::string& address,
             const std::string& pem_file,
             const Membership& membership);
  ~CallServer() override;

  std::uint16_t port() const { return listening_->port(); }

  // --- any thread ---

  /// Throws BadSettings: a name that is taken or reserved, parameters that do not fit.
  void add_method(MethodEntry entry);

  /// What the welcome says, and what calls are made for.
  void set_membership(const Membership& membership);

  /// The next call of those that run in their order; null once it was ended.
  ServedCallPtr next();

  /// Whether `next` would return a call at once.
  bool has_next();

  /// Runs a call of `next` on this thread and sends its answer. What is too late, cancelled or made
  /// for another membership is answered without running.
  void run(const ServedCallPtr& call);

  /// No more calls: those that wait and come are answered Cancelled, those that run are told.
  void end();

  bool is_ended();

  // --- the I/O thread ---

  /// Makes `next` look whether something else is to be done: null then, too, once.
  void nudge();

  const CalleeIdentity& identity() const override { return identity_; }

  Value present() const override;
  void on_call(const ServedCallPtr& call) override;
  void on_late_cancel(ServedConnection& connection, std::uint64_t id) override;
  void on_end(ServedConnection& connection) override;

 private:
  struct Claim {
    std::string driver;
    const ServedConnection* connection = nullptr;
  };

  void on_link(std::shared_ptr<Link> link);
  void accept(const ServedCallPtr& call);
  void accept_own(const ServedCallPtr& call);
  void claim(const ServedCallPtr& call);
  void queue(const ServedCallPtr& call);
  void drop_queued(const ServedCallPtr& call, const std::optional<ErrorFields>& error);
  void finish(const ServedCallPtr& call, const Outcome& outcome);
  void reply(const ServedCallPtr& call, const Outcome& outcome);
  Outcome outcome_of(const ServedCall& call, Context& context);
  std::optional<ErrorFields> why_not_run(const ServedCall& call) const;
  const MethodEntry* find_method(const std::string& name, ErrorFields& error);
  Value methods();

  const CalleeIdentity identity_;
  mutable std::mutex mutex_;  ///< Of what follows, up to the I/O thread's.
  std::map<std::string, MethodEntry> methods_;
  Membership membership_;
  IoCondition changed_;
  std::deque<ServedCallPtr> queue_;
  bool nudged_ = false;
  bool ended_ = false;
  std::set<ServedCallPtr> begun_;
  // The I/O thread's.
  std::set<std::shared_ptr<ServedConnection>> connections_;
  std::map<std::string, Claim> claims_;
  OnceAnswers once_;
  ChannelStore channels_;
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<Listening> listening_;
};

}  // namespace orrery::sdk::detail
