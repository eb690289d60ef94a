// Collectives over plain TCP, each rank connected to the next: needs no library, links statically.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/workers/collective.hpp"

namespace orrery::worker {

/// All-reduce in two rounds of the ring: each rank sums up one part of the floats, then the sums go
/// round. Every rank sends and receives 2 (n - 1) / n of the floats, whatever n is.
class RingCollective final : public Collective {
 public:
  using Collective::Collective;

  std::string_view name() const override { return "ring"; }

 protected:
  Outcome build(Rendezvous* meeting, const Limits& limits) override;
  Outcome do_all_reduce(std::span<float> floats, const Limits& limits) override;
  Outcome do_barrier(const Limits& limits) override;
  void close() override;

 private:
  Outcome meet_neighbours(Rendezvous& meeting, const Limits& limits);
  Outcome agree_on_operation(std::uint64_t floats, const Limits& limits);
  Outcome pass_on(std::span<float> floats, const Limits& limits);

  Descriptor left_;   ///< From rank - 1.
  Descriptor right_;  ///< To rank + 1.
  std::string left_name_;
  std::string right_name_;
  std::uint64_t operations_ = 0;
  std::vector<float> received_;
};

}  // namespace orrery::worker
