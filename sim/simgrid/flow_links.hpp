// What flows ask of links, and so which links are contended: where all that is asked of a link
// fits, every flow over it gets what it asks for, and no shares need to be computed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace orrery::sim {

/// Flows are named by numbers of the caller. Demands are bytes per second.
class FlowLinks {
 public:
  enum class Sharing : std::uint8_t {
    Shared,  ///< Flows share the bandwidth.
    Each,    ///< Each flow may use all of it (SimGrid's fat pipe).
    Odd,     ///< Anything else, such as wireless: contended as soon as it is used.
  };

  /// Appends a link; its number is how many there were before.
  void add(double bandwidth, double latency_s, Sharing sharing);

  std::size_t size() const { return links_.size(); }

  /// Bytes per second that are left of the link at present.
  double bandwidth(std::uint32_t link) const { return links_[link].bandwidth; }

  double latency_s(std::uint32_t link) const { return links_[link].latency_s; }

  bool shared(std::uint32_t link) const { return links_[link].sharing != Sharing::Each; }

  /// From now on `share` (above 0, at most 1) of what the link had at first is left of it.
  void set_share(std::uint32_t link, double share) {
    links_[link].bandwidth = links_[link].whole * share;
  }

  /// A flow that asks for so much enters all of the links. Whether one of them is contended now.
  bool enter(std::uint32_t flow, std::span<const std::uint32_t> links, double demand);

  /// The same flow with the same demand leaves them.
  void leave(std::uint32_t flow, std::span<const std::uint32_t> links, double demand);

  /// Whether more is asked of the link than it has.
  bool contended(std::uint32_t link) const {
    const Link& it = links_[link];
    // What sums of doubles lose is far below a billionth.
    if (it.sharing == Sharing::Shared) return it.demand > it.bandwidth * (1 + 1e-9);
    return it.sharing == Sharing::Odd && !it.flows.empty();
  }

  /// Whether it was contended at some time since it was last unused.
  bool was_contended(std::uint32_t link) const { return links_[link].was_contended; }

  /// Those that are in it, in no order that means anything, though the same in equal runs.
  std::span<const std::uint32_t> flows(std::uint32_t link) const { return links_[link].flows; }

 private:
  struct Link {
    double bandwidth = 0;
    double whole = 0;
    double latency_s = 0;
    double demand = 0;
    Sharing sharing = Sharing::Shared;
    bool was_contended = false;
    std::vector<std::uint32_t> flows;
  };

  std::vector<Link> links_;
};

}  // namespace orrery::sim
