#include "tools/bench/hollow/fleet.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/agent/worker_reports.hpp"
#include "core/base/invariant.hpp"

namespace orrery::bench {
namespace {

constexpr Duration kOpenTimeout = Duration::seconds(30);
// As the agent's daemon waits before it tries again.
constexpr Duration kRetryFirst = Duration::milliseconds(50);
constexpr Duration kRetryMost = Duration::seconds(2);
constexpr std::int32_t kAsked = 128 + 15;
constexpr std::int32_t kKilled = 128 + 9;

runtime::Inventory inventory_of(int devices) {
  runtime::Inventory inventory{.cpu = MilliCpu{64'000}, .memory = Bytes{std::int64_t{512} << 30}};
  for (int i = 0; i < devices; ++i)
    inventory.devices.push_back({.model = "h200", .memory = Bytes{std::int64_t{141} << 30}});
  return inventory;
}

}  // namespace

/// One agent. Its stream's listener is called on the transport's threads and only passes on.
struct Fleet::Node {
  class Listener final : public runtime::LinkClientListener {
   public:
    Listener(Fleet& fleet, std::size_t node, std::uint64_t stream)
        : fleet_(fleet), node_(node), stream_(stream) {}

    void on_open() override { fleet_.post({.node = node_, .stream = stream_, .open = true}); }

    void on_messages(std::vector<runtime::ControllerMessage> messages) override {
      fleet_.post({.node = node_, .stream = stream_, .messages = std::move(messages)});
    }

    void on_closed(const std::string& /*why*/) override {
      fleet_.post({.node = node_, .stream = stream_, .closed = true});
    }

   private:
    Fleet& fleet_;
    std::size_t node_;
    std::uint64_t stream_;
  };

  std::size_t index = 0;
  std::string name;
  std::uint64_t streams = 0;  ///< Tried so far.
  std::unique_ptr<Listener> listener;
  std::unique_ptr<runtime::LinkClient> client;
  bool open = false;
  bool registered = false;  ///< On its present stream.
  bool leased = false;
  Duration retry = kRetryFirst;
  Instant connect_at = Instant::never();
  Instant due = Instant::never();  ///< Where it stands in the queue.
  std::optional<Agent> agent;
  AgentOutput out;
};

Fleet::Fleet(const FleetOptions& options, FleetCounters& counters)
    : options_(options),
      counters_(counters),
      random_(static_cast<std::uint64_t>(options.first) + 1) {
  auto dialer = runtime::dial_links({}, options.connections);
  invariant(dialer.has_value(), "a dialer without TLS has no files to read");
  dialer_ = std::move(*dialer);
  for (int i = 0; i < options.count; ++i) {
    auto node = std::make_unique<Node>();
    node->index = nodes_.size();
    node->name = "hollow-" + std::to_string(options.first + i);
    node->connect_at =
        now() + Duration::from_seconds(random_.uniform() * options.ramp.in_seconds());
    nodes_.push_back(std::move(node));
    schedule(*nodes_.back());
  }
}

Fleet::~Fleet() {
  for (const auto& node : nodes_) node->client.reset();
}

Instant Fleet::now() const {
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(
              std::chrono::steady_clock::now().time_since_epoch())
              .count()};
}

void Fleet::post(Heard heard) {
  const std::lock_guard lock(mutex_);
  heard_.push_back(std::move(heard));
  if (heard_.size() == 1) told_.notify_one();
}

void Fleet::run(const std::function<bool()>& stop) {
  std::vector<Heard> heard;
  Instant asked = now();
  while (true) {
    const Instant next = due_.empty() ? Instant::never() : due_.top().first;
    const Duration wait = std::clamp(next - now(), Duration::zero(), Duration::milliseconds(100));
    heard.clear();
    {
      std::unique_lock lock(mutex_);
      told_.wait_for(lock, std::chrono::nanoseconds(wait.ns), [this] { return !heard_.empty(); });
      heard.swap(heard_);
    }
    for (Heard& each : heard) take(each);
    while (!due_.empty() && due_.top().first <= now()) {
      const auto [at, index] = due_.top();
      due_.pop();
      if (nodes_[index]->due == at) act_on_time(index);
    }
    if (now() - asked < Duration::milliseconds(100)) continue;
    asked = now();
    if (stop()) return;
  }
}

void Fleet::act_on_time(std::size_t index) {
  Node& node = *nodes_[index];
  node.due = Instant::never();
  if (node.connect_at <= now()) connect(node);
  if (node.agent) step(node, TimePassed{});
  schedule(node);
}

void Fleet::schedule(Node& node) {
  Instant next = node.connect_at;
  if (node.agent) next = std::min(next, node.agent->next_deadline());
  if (next == node.due || next.is_never()) return;
  node.due = next;
  due_.push({next, node.index});
}

void Fleet::connect(Node& node) {
  node.connect_at = Instant::never();
  node.client.reset();
  node.listener = std::make_unique<Node::Listener>(*this, node.index, ++node.streams);
  node.client = dialer_->open(options_.controller, kOpenTimeout, *node.listener);
}

void Fleet::lost(Node& node) {
  ++counters_.closed;
  if (node.open) --counters_.connected;
  node.open = false;
  node.registered = false;
  node.client.reset();
  // A random half of it is left out, so that a storm of agents spreads.
  node.connect_at =
      now() + Duration::from_seconds(node.retry.in_seconds() * random_.uniform(0.5, 1.0));
  node.retry = std::min(node.retry * 2, kRetryMost);
}

void Fleet::take(Heard& heard) {
  Node& node = *nodes_[heard.node];
  if (heard.stream != node.streams) return;
  if (heard.open) {
    node.open = true;
    ++counters_.connected;
    node.client->send(runtime::Hello{.program = "hollow",
                                     .node = node.name,
                                     .address = "127.0.0.1",
                                     .session = 1,
                                     .inventory = inventory_of(options_.devices)});
  }
  for (const runtime::ControllerMessage& message : heard.messages) hear(node, message);
  if (heard.closed) lost(node);
  schedule(node);
}

void Fleet::hear(Node& node, const runtime::ControllerMessage& message) {
  if (const auto* renewal = std::get_if<runtime::Renewal>(&message)) {
    ++counters_.renewals;
    counters_.renewal_after.add((now() - renewal->sent_at).ns);
    if (!std::exchange(node.registered, true)) {
      ++counters_.registered;
      node.retry = kRetryFirst;
    }
    if (node.agent) step(node, LeaseRenewed{renewal->epoch, renewal->sent_at});
  } else if (const auto* order = std::get_if<runtime::Order>(&message)) {
    ++counters_.orders;
    if (node.agent)
      step(node,
           CommandReceived{Command{order->sequence, order->index, order->epoch, order->body}});
  } else if (const auto* announced = std::get_if<runtime::Announcement>(&message)) {
    if (node.agent) step(node, EpochAnnounced{announced->epoch});
  } else if (const auto* welcome = std::get_if<runtime::Welcome>(&message)) {
    if (!node.agent) node.agent.emplace(AgentSettings::of(welcome->node, 1, welcome->settings));
    step(node, Connected{});
    step(node, EpochAnnounced{welcome->epoch});
  } else if (std::get_if<runtime::Refusal>(&message) != nullptr) {
    ++counters_.refused;
  }
}

void Fleet::step(Node& node, const AgentEvent& event) {
  node.agent->step(event, now(), node.out);
  carry_out(node);
}

void Fleet::carry_out(Node& node) {
  // Each worker is ready at once and ends at once; that may ask for further actions.
  for (std::size_t i = 0; i < node.out.actions.size(); ++i) {
    const AgentAction action = node.out.actions[i];
    if (const auto* spawn = std::get_if<SpawnWorker>(&action)) {
      ++counters_.spawned;
      node.agent->step(WorkerReady{spawn->worker}, now(), node.out);
    } else if (const auto* signal = std::get_if<SignalWorker>(&action)) {
      ++counters_.signalled;
      const std::int32_t code = signal->signal == WorkerSignal::Ask ? kAsked : kKilled;
      node.agent->step(WorkerExited{signal->worker, code}, now(), node.out);
    }
  }
  const bool leased = node.agent->holds_lease();
  if (leased != node.leased) {
    counters_.leased += leased ? 1 : -1;
    if (!leased) ++counters_.leases_lost;
    node.leased = leased;
  }
  if (node.open) {
    pack_reports(node.out.reports);
    if (!node.out.reports.empty()) node.client->send(runtime::Reports{node.out.reports});
    if (node.out.heartbeat) {
      ++counters_.beats;
      node.client->send(runtime::beat_of(*node.out.heartbeat));
    }
  }
  node.out.clear();
}

}  // namespace orrery::bench
