#include "sim/simgrid/actor_transport.hpp"

#include <limits>
#include <string>

#include "core/base/invariant.hpp"

namespace orrery::sim {
namespace {

namespace s4u = simgrid::s4u;

// Payloads are numbers of messages; 0 would be no payload.
void* payload_of(std::uint32_t number) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(number) + 1);
}

std::uint32_t number_of(const void* payload) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(payload) - 1);
}

}  // namespace

ActorTransport::ActorTransport(MessageClock& clock, const Platform& platform)
    : clock_(clock), platform_(platform) {
  const auto nodes = static_cast<std::uint32_t>(platform.node_count());
  invariant(nodes <= kNodesMax, "an actor for each agent needs a stack");
  s4u::Host* seat =
      platform.has_storage() ? platform.host(NodeId::none()) : platform.host(NodeId{0});
  seat_ = seat;
  controllers_ = s4u::Mailbox::by_name("controllers");
  make_receiver(*seat, *controllers_);
  make_sender(*seat, "controllers", from_controllers_);
  for (std::uint32_t n = 0; n < nodes; ++n) {
    s4u::Host* host = platform.host(NodeId{n});
    const std::string name = "agent-" + std::to_string(n);
    agents_.push_back(s4u::Mailbox::by_name(name));
    make_receiver(*host, *agents_.back());
    from_agents_.push_back(std::make_unique<Outbox>());
    make_sender(*host, name, *from_agents_.back());
  }
  clock_.add(*this);
  // They go to where they wait.
  clock_.engine().step(clock_.now_s());
}

ActorTransport::~ActorTransport() {
  clock_.remove(*this);
  for (const s4u::ActorPtr& actor : actors_) actor->kill();
  clock_.engine().step(clock_.now_s());
}

// Messages are detached: the sender does not wait for them to arrive.
void ActorTransport::make_sender(s4u::Host& host, const std::string& name, Outbox& outbox) {
  outbox.wake = s4u::Semaphore::create(0);
  actors_.push_back(shim::add_actor(host, name + "-sends", [&outbox] {
    while (true) {
      outbox.wake->acquire();
      while (!outbox.letters.empty()) {
        const Letter letter = outbox.letters.front();
        outbox.letters.pop_front();
        letter.to->put_init(payload_of(letter.number), letter.bytes)->detach();
      }
    }
  }));
}

// A mailbox with a receiver lets messages travel at once, and not one after the other.
void ActorTransport::make_receiver(s4u::Host& host, s4u::Mailbox& mailbox) {
  actors_.push_back(shim::add_actor(host, mailbox.get_name() + "-hears", [this, &mailbox] {
    mailbox.set_receiver(s4u::Actor::self());
    while (true) {
      arrived_.push_back(number_of(mailbox.get<char>()));
      --under_way_;
    }
  }));
}

void ActorTransport::send(
    std::uint32_t number, NodeId node, Way way, std::size_t bytes, Instant now) {
  if (platform_.host(node) == seat_) return arrived_.push_back(number);
  clock_.catch_up(now);
  Outbox& outbox = way == Way::ToNode ? from_controllers_ : *from_agents_[node.index()];
  s4u::Mailbox* to = way == Way::ToNode ? agents_[node.index()] : controllers_;
  outbox.letters.push_back({number, bytes, to});
  ++under_way_;
  outbox.wake->release();
}

double ActorTransport::wake_s() const { return std::numeric_limits<double>::infinity(); }

Instant ActorTransport::next(Instant limit) {
  if (arrived_.empty() && under_way_ == 0) return Instant::never();
  const Instant at = clock_.run(limit);
  return arrived_.empty() && at == limit ? Instant::never() : at;
}

void ActorTransport::take_arrived(Instant, std::vector<std::uint32_t>& numbers) {
  numbers.insert(numbers.end(), arrived_.begin(), arrived_.end());
  arrived_.clear();
}

}  // namespace orrery::sim
