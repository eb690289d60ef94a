// A transport without a network, and nodes without processes: the real agent's state machine at the
// other end of a controller's streams.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/agent/agent.hpp"
#include "core/agent/worker_reports.hpp"
#include "runtime/controller/journal_clock.hpp"
#include "runtime/link/link.hpp"

namespace orrery::runtime::tests {

using namespace std::chrono_literals;

/// How long a test waits for what must come some time.
inline constexpr auto kPatience = 30s;

/// Hands messages over by calls. Outlives the daemons that "listen" on it one after the other.
class FakeTransport {
 public:
  using Receive = std::function<void(const ControllerMessage&)>;
  using Broken = std::function<void(const std::string&)>;

  /// What a ControllerParts::listen returns.
  std::unique_ptr<LinkServer> listen(LinkListener& listener) {
    const std::lock_guard lock(mutex_);
    listener_ = &listener;
    return std::make_unique<Server>(*this);
  }

  /// Opens a stream; nothing (0) while no controller listens. `receive` and `broken` come on the
  /// controller's thread. `peer`: the node at this end, by its certificate where it has one.
  LinkId open(Receive receive, Broken broken, const Peer& peer = Peer{"fake"}) {
    const std::lock_guard lock(mutex_);
    if (listener_ == nullptr) return {};
    const LinkId link{++last_};
    streams_[link.value] = {std::move(receive), std::move(broken)};
    listener_->on_open(link, peer);
    return link;
  }

  void say(LinkId link, AgentMessage message) {
    const std::lock_guard lock(mutex_);
    if (listener_ == nullptr || !streams_.contains(link.value)) return;
    std::vector<AgentMessage> messages;
    messages.push_back(std::move(message));
    listener_->on_messages(link, std::move(messages));
  }

  /// The node's end of a stream goes away.
  void drop(LinkId link) {
    const std::lock_guard lock(mutex_);
    if (streams_.erase(link.value) > 0 && listener_ != nullptr)
      listener_->on_closed(link, "dropped by the node");
  }

 private:
  struct Stream {
    Receive receive;
    Broken broken;
  };

  class Server final : public LinkServer {
   public:
    explicit Server(FakeTransport& transport) : transport_(transport) {}

    // Calls of a node are made under the lock, so that none comes after it has dropped its stream.
    ~Server() override {
      const std::lock_guard lock(transport_.mutex_);
      transport_.listener_ = nullptr;
      for (auto& [link, stream] : transport_.streams_) stream.broken("the controller ends");
      transport_.streams_.clear();
    }

    void send(LinkId link, const ControllerMessage& message) override {
      const std::lock_guard lock(transport_.mutex_);
      const auto found = transport_.streams_.find(link.value);
      if (found != transport_.streams_.end()) found->second.receive(message);
    }

    void close(LinkId link, const std::string& why) override {
      const std::lock_guard lock(transport_.mutex_);
      const auto found = transport_.streams_.find(link.value);
      if (found == transport_.streams_.end()) return;
      found->second.broken(why);
      transport_.streams_.erase(found);
      if (transport_.listener_ != nullptr) transport_.listener_->on_closed(link, why);
    }

    std::string address() const override { return "fake"; }

   private:
    FakeTransport& transport_;
  };

  std::mutex mutex_;
  LinkListener* listener_ = nullptr;
  std::map<std::uint64_t, Stream> streams_;
  std::uint64_t last_ = 0;
};

/// One node: a thread that keeps an agent, whose processes are entries of a table. A worker ends
/// with 0 as soon as it is told to stop, or when the test says so.
class FakeNode {
 public:
  FakeNode(FakeTransport& transport, std::string name, int devices)
      : transport_(transport),
        name_(std::move(name)),
        devices_(devices),
        thread_([this] { live(); }) {}

  FakeNode(const FakeNode&) = delete;
  FakeNode& operator=(const FakeNode&) = delete;

  ~FakeNode() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  /// Ends all workers of one role of all jobs with an exit code.
  void end_role(std::uint16_t role, std::int32_t exit_code) {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, slot] : processes_)
      if (slot.role.value == role) events_.emplace_back(WorkerExited{name, exit_code});
    changed_.notify_all();
  }

  /// Every start of a process so far.
  std::size_t starts() const {
    const std::lock_guard lock(mutex_);
    return starts_;
  }

  std::size_t running() const {
    const std::lock_guard lock(mutex_);
    return processes_.size();
  }

  /// Renewals of the lease so far.
  std::size_t renewals() const {
    const std::lock_guard lock(mutex_);
    return renewals_;
  }

  bool holds_lease() const {
    const std::lock_guard lock(mutex_);
    return agent_ != nullptr && agent_->holds_lease();
  }

  std::size_t refusals() const {
    const std::lock_guard lock(mutex_);
    return refusals_;
  }

  std::string last_refusal() const {
    const std::lock_guard lock(mutex_);
    return refusal_;
  }

  /// How it answers node checks from now on.
  void check_as(bool slow, bool broken) {
    const std::lock_guard lock(mutex_);
    slow_ = slow;
    broken_ = broken;
  }

  /// Most nodes that it was ever checked together with, itself included.
  std::size_t checked_with() const {
    const std::lock_guard lock(mutex_);
    return peers_;
  }

  /// Jobs whose specification came before their first order, and memberships by size.
  std::map<JobId, std::size_t> members() const {
    const std::lock_guard lock(mutex_);
    return members_;
  }

 private:
  void live() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      if (link_.value == 0) connect(lock);
      std::vector<ControllerMessage> inbox = std::exchange(inbox_, {});
      for (const ControllerMessage& message : inbox) hear(message);
      std::vector<AgentEvent> events = std::exchange(events_, {});
      for (const AgentEvent& event : events) step(event);
      if (agent_ != nullptr && agent_->next_deadline() <= clock_.now()) step(TimePassed{});
      say(lock);
      if (!inbox_.empty() || !events_.empty()) continue;
      changed_.wait_for(lock, 20ms);
    }
    const LinkId link = link_;
    lock.unlock();
    transport_.drop(link);
  }

  void connect(std::unique_lock<std::mutex>& lock) {
    // The controller may end a stream before its number is known here.
    const auto broken = std::make_shared<bool>(false);
    lock.unlock();
    const LinkId link = transport_.open(
        [this](const ControllerMessage& message) {
          const std::lock_guard guard(mutex_);
          inbox_.push_back(message);
          changed_.notify_all();
        },
        [this, broken](const std::string&) {
          const std::lock_guard guard(mutex_);
          *broken = true;
          link_ = {};
          inbox_.clear();
        });
    lock.lock();
    if (link.value == 0 || *broken) return;
    link_ = link;
    Hello hello;
    hello.node = name_;
    hello.session = 1;
    hello.address = "127.0.0.1";
    hello.inventory.cpu = MilliCpu{64'000};
    hello.inventory.memory = Bytes{std::int64_t{64} << 30};
    for (int i = 0; i < devices_; ++i) hello.inventory.devices.push_back({"fake"});
    out_.emplace_back(std::move(hello));
  }

  void hear(const ControllerMessage& message) {
    if (const auto* welcome = std::get_if<Welcome>(&message)) {
      if (agent_ == nullptr)
        agent_ = std::make_unique<Agent>(AgentSettings::of(welcome->node, 1, welcome->settings));
      step(Connected{});
    } else if (const auto* refused = std::get_if<Refusal>(&message)) {
      refusal_ = refused->reason;
      ++refusals_;
    } else if (const auto* order = std::get_if<Order>(&message)) {
      step(CommandReceived{{order->sequence, order->index, order->epoch, order->body}});
    } else if (const auto* renewal = std::get_if<Renewal>(&message)) {
      ++renewals_;
      step(LeaseRenewed{renewal->epoch, renewal->sent_at});
    } else if (const auto* announced = std::get_if<Announcement>(&message)) {
      step(EpochAnnounced{announced->epoch});
    } else if (const auto* check = std::get_if<CheckRequest>(&message)) {
      peers_ = std::max(peers_, check->peers.size());
      const Duration took = Duration::milliseconds(slow_ ? 900 : 100);
      out_.emplace_back(CheckResult{check->request, took, took, broken_ ? "wrong product" : ""});
    } else if (const auto* all = std::get_if<Members>(&message)) {
      members_[all->job] = all->workers.size();
    }
  }

  void step(const AgentEvent& event) {
    if (agent_ == nullptr) return;
    AgentOutput out;
    agent_->step(event, clock_.now(), out);
    while (!out.actions.empty()) {
      const std::vector<AgentAction> actions = std::exchange(out.actions, {});
      for (const AgentAction& action : actions) {
        if (const auto* spawn = std::get_if<SpawnWorker>(&action)) {
          ++starts_;
          processes_[spawn->worker] = spawn->slot;
          agent_->step(WorkerReady{spawn->worker}, clock_.now(), out);
        } else if (const auto* signal = std::get_if<SignalWorker>(&action)) {
          agent_->step(WorkerExited{signal->worker, 143}, clock_.now(), out);
          processes_.erase(signal->worker);
        }
      }
    }
    if (const auto* exited = std::get_if<WorkerExited>(&event)) processes_.erase(exited->worker);
    pack_reports(out.reports);
    if (!out.reports.empty()) out_.emplace_back(Reports{out.reports});
    if (out.heartbeat) out_.emplace_back(beat_of(*out.heartbeat));
  }

  void say(std::unique_lock<std::mutex>& lock) {
    std::vector<AgentMessage> out = std::exchange(out_, {});
    const LinkId link = link_;
    lock.unlock();
    for (AgentMessage& message : out) transport_.say(link, std::move(message));
    lock.lock();
  }

  FakeTransport& transport_;
  const std::string name_;
  const int devices_;
  JournalClock clock_{Instant::zero()};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  LinkId link_;
  std::unique_ptr<Agent> agent_;
  std::vector<ControllerMessage> inbox_;
  std::vector<AgentEvent> events_;
  std::vector<AgentMessage> out_;
  std::map<WorkerName, WorkerSlot> processes_;
  std::map<JobId, std::size_t> members_;
  std::size_t starts_ = 0;
  std::size_t renewals_ = 0;
  std::string refusal_;
  std::size_t refusals_ = 0;
  bool slow_ = false;
  bool broken_ = false;
  std::size_t peers_ = 0;
  std::thread thread_;
};

}  // namespace orrery::runtime::tests
