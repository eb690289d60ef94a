// The network between controllers and the agents of nodes: how long a message takes, and whether it
// arrives at all.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/enum_names.hpp"
#include "core/base/ids.hpp"
#include "core/base/random.hpp"
#include "core/base/units.hpp"
#include "scenarios/language/spec/faults.hpp"

namespace orrery::sim {

/// Which way a message goes.
enum class Way : std::uint8_t { ToNode, FromNode };

/// A sound network.
struct NetworkSettings {
  Duration latency = Duration{200'000};  ///< Least time of a message.
  Duration jitter = Duration{200'000};   ///< Added at random, up to this.
  double bytes_per_second = 125e6;       ///< Of one node's link, above 0.
};

/// What becomes of one message.
struct MessageFate {
  Instant arrives = Instant::never();        ///< Never: it is lost.
  Instant arrives_again = Instant::never();  ///< Never: it does not come twice.
};

/// One direction of one connection. Messages arrive in the order in which they were sent, except
/// where a fault lets them overtake each other.
struct MessageStream {
  Instant last_arrival;
};

/// Times and faults of all links, one per node. Its draws come from a stream of their own, so that
/// nothing else changes with them.
class Network {
 public:
  Network(std::uint64_t seed, std::size_t nodes, const NetworkSettings& settings);

  /// Hands one message of `bytes` over at `now`. As part of a stream it comes once and in its
  /// order, or is lost.
  MessageFate send(NodeId node,
                   Way way,
                   std::size_t bytes,
                   Instant now,
                   MessageStream& stream,
                   bool as_stream = false);

  /// A random time for a short message and its answer.
  Duration round_trip(NodeId node) {
    return (settings_.latency + links_[node.index()].added) * 2 + draw(settings_.jitter);
  }

  /// Whether messages come through.
  bool is_cut(NodeId node, Way way) const {
    return links_[node.index()].cut[static_cast<std::size_t>(way)];
  }

  /// A fault of the network begins; an empty list of nodes means all. Where several of one kind act
  /// on a link, the worst counts. Returns what `end` takes.
  std::size_t begin(const scenarios::Fault& fault);
  void end(std::size_t fault);

  /// Whether a fault of this kind is one of the network's.
  static bool is_of_network(scenarios::FaultKind kind);

  /// A random time up to `longest`, from the network's stream.
  Duration draw(Duration longest) { return Duration{random_.between(0, longest.ns)}; }

  /// Messages handed over so far, and those of them that were lost.
  std::uint64_t sent() const { return sent_; }

  std::uint64_t lost() const { return lost_; }

 private:
  struct Link {
    std::array<bool, 2> cut{};
    double bandwidth = 1;
    Duration added;
    double loss = 0;
    double duplication = 0;
    Duration window;
  };

  struct Active {
    scenarios::Fault fault;
    bool over = false;
  };

  bool acts_on(const Active& active, NodeId node) const;
  void judge(NodeId node);
  void judge_all(const scenarios::Fault& fault);
  Instant arrival(const Link& link, std::size_t bytes, Instant now, MessageStream& stream);

  NetworkSettings settings_;
  Random random_;
  std::vector<Link> links_;
  std::vector<Active> active_;
  std::uint64_t sent_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace orrery::sim

template <>
struct orrery::EnumNames<orrery::sim::Way> {
  static constexpr std::array kNames{"to_node", "from_node"};
};
