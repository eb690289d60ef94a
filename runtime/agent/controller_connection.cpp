#include "runtime/agent/controller_connection.hpp"

#include <algorithm>
#include <utility>

#include "core/base/invariant.hpp"

namespace orrery::runtime {
namespace {

// So many tries in vain, and the one that fell silent has its turn again.
constexpr int kPassedOver = 8;

}  // namespace

ControllerConnection::ControllerConnection(LinkDialer& dialer,
                                           std::vector<std::string> addresses,
                                           std::uint64_t seed,
                                           const ConnectionTimes& times)
    : dialer_(dialer),
      addresses_(std::move(addresses)),
      times_(times),
      longest_wait_(times.longest_wait),
      random_(Random::stream(seed, "reconnect")) {
  invariant(!addresses_.empty(), "an agent has a controller to look for");
}

ControllerConnection::~ControllerConnection() { close(); }

void ControllerConnection::close() {
  // First the stream, so that nothing calls the session any more.
  client_.reset();
  listener_.reset();
  works_ = false;
  welcome_by_ = Instant::never();
  word_by_ = Instant::never();
}

// Where nobody answers a try must not take what is left of the lease: another one may lead by now.
// Least of all where nobody is known to.
Duration ControllerConnection::timeout_of_try(Instant now) const {
  constexpr Duration kLeast = Duration::milliseconds(250);
  if (now >= lease_until_) return times_.timeout;
  const std::int64_t part = address_ == silent_ ? 10 : 5;
  return std::min(times_.timeout, std::max(kLeast, Duration{lease_.ns / part}));
}

// Who fell silent is not asked again at once.
bool ControllerConnection::is_passed_over(const std::string& address) const {
  return address == silent_ && failures_ < kPassedOver;
}

// The leader that was named, else each in turn.
std::string ControllerConnection::next_address() {
  if (!leader_.empty()) return std::exchange(leader_, {});
  const auto next = [&] {
    const std::string& address = addresses_[next_address_];
    next_address_ = (next_address_ + 1) % addresses_.size();
    return address;
  };
  std::string address = next();
  if (is_passed_over(address)) address = next();
  return address;
}

void ControllerConnection::keep(Instant now) {
  if (client_ || now < try_at_) return;
  address_ = next_address();
  listener_ = std::make_unique<Listener>(inbox_, ++stream_);
  client_ = dialer_.open(address_, timeout_of_try(now), *listener_);
  if (!client_) lost(now, longest_wait_);
}

std::vector<ConnectionEvent> ControllerConnection::take(Instant now) {
  std::vector<ConnectionEvent> out;
  for (Arrival& arrival : inbox_.take()) {
    if (arrival.stream != stream_ || !client_) continue;
    const bool closed = std::holds_alternative<ConnectionClosed>(arrival.event);
    if (std::holds_alternative<ConnectionOpened>(arrival.event)) welcome_by_ = now + times_.welcome;
    if (works_ && !closed) heard(now);
    out.push_back(std::move(arrival.event));
    if (closed) lost(now, longest_wait_);
  }
  // What came in time counts, though it was not read yet: the next call decides then.
  if (client_ && out.empty() && now >= welcome_by_) {
    out.push_back(ConnectionClosed{"it has not welcomed this node in time"});
    lost(now, longest_wait_);
  }
  if (client_ && out.empty() && now >= word_by_) {
    out.push_back(ConnectionClosed{"it has said nothing for two beats"});
    silent_ = address_;
    lost(now, longest_wait_);
    try_at_ = now;
  }
  return out;
}

void ControllerConnection::send(const AgentMessage& message) {
  if (client_) client_->send(message);
}

void ControllerConnection::refused(const Refusal& refusal, Instant now) {
  // Whoever follows may take the one that fell silent for the leader still.
  leader_ = is_passed_over(refusal.leader) ? std::string() : refusal.leader;
  lost(now, refusal.again ? longest_wait_ : times_.hopeless_wait);
  if (!refusal.again) try_at_ = now + times_.hopeless_wait;
  // The leader is known: no reason to wait longer than it takes to spread the others.
  if (!leader_.empty())
    try_at_ = now + Duration{static_cast<std::int64_t>(
                        random_.below(static_cast<std::uint64_t>(times_.first_wait.ns) + 1))};
}

void ControllerConnection::restart(Instant now) {
  close();
  try_at_ = now;
}

void ControllerConnection::lost(Instant now, Duration longest) {
  close();
  // A round tries all controllers one after the other, since one of them may lead by now; from
  // round to round the wait doubles.
  const auto count = static_cast<int>(addresses_.size());
  ++failures_;
  const bool round_is_over = failures_ % count == 0;
  const int doublings = round_is_over ? std::min(failures_ / count - 1, 20) : 0;
  const Duration wait = std::min(times_.first_wait * (std::int64_t{1} << doublings), longest);
  const auto half = static_cast<std::uint64_t>(wait.ns / 2);
  try_at_ = now + Duration{wait.ns - static_cast<std::int64_t>(random_.below(half + 1))};
}

}  // namespace orrery::runtime
