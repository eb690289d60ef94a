#include "runtime/workers/ring_collective.hpp"

#include <array>

#include "core/base/bytes.hpp"

namespace orrery::worker {
namespace {

// "ORRING" and a version; the first bytes on each connection of a ring.
constexpr std::uint64_t kMagic = 0x4f5252494e470001;

/// Rank and generation of a peer that connects.
using Introduction = std::array<std::byte, 24>;

/// Number of the operation and of its floats, so that ranks that do different things find out.
using Heading = std::array<std::byte, 16>;

Introduction introduction(std::uint64_t generation, std::int32_t rank) {
  Introduction out{};
  store_little_endian(out.data(), kMagic);
  store_little_endian(out.data() + 8, generation);
  store_little_endian(out.data() + 16, static_cast<std::uint64_t>(rank));
  return out;
}

Heading heading(std::uint64_t operation, std::uint64_t floats) {
  Heading out{};
  store_little_endian(out.data(), operation);
  store_little_endian(out.data() + 8, floats);
  return out;
}

/// The part of the floats that is summed up at one place of the ring.
std::span<float> part(std::span<float> floats, std::int32_t index, std::int32_t parts) {
  const auto wrapped = static_cast<std::size_t>(((index % parts) + parts) % parts);
  const auto n = static_cast<std::size_t>(parts);
  const std::size_t begin = floats.size() * wrapped / n;
  const std::size_t end = floats.size() * (wrapped + 1) / n;
  return floats.subspan(begin, end - begin);
}

}  // namespace

Outcome RingCollective::build(Rendezvous* meeting, const Limits& limits) {
  operations_ = 0;
  if (meeting == nullptr) return Outcome::done();
  return meet_neighbours(*meeting, limits);
}

Outcome RingCollective::meet_neighbours(Rendezvous& meeting, const Limits& limits) {
  const std::int32_t size = group().world_size;
  const std::int32_t rank = group().rank;
  const std::int32_t right = (rank + 1) % size;
  const std::int32_t left = (rank + size - 1) % size;
  left_name_ = "rank " + std::to_string(left);
  right_name_ = "rank " + std::to_string(right);
  Result<Descriptor> listener = listen_at({meeting.own_address(), 0});
  if (!listener) return Outcome::fatal(listener.errors().front().text());
  Result<Endpoint> own = local_end(*listener);
  if (!own) return Outcome::fatal(own.errors().front().text());
  Outcome step = meeting.set("ring/" + std::to_string(rank), own->text());
  std::string text;
  if (step.ok()) step = meeting.get("ring/" + std::to_string(right), text);
  if (!step.ok()) return step;
  const Result<Endpoint> there = endpoint_of(text);
  if (!there) return Outcome::peer_lost(right_name_ + ": " + there.errors().front().text());
  step = connect_to(*there, limits, right_);
  const std::uint64_t generation = group().meeting.generation;
  if (step.ok()) step = send_all(right_, introduction(generation, rank), limits, right_name_);
  // Strangers may connect; the left neighbour identifies itself.
  Introduction said{};
  while (step.ok() && said != introduction(generation, left)) {
    step = accept_from(*listener, limits, "waiting for " + left_name_, left_);
    if (!step.ok()) return step;
    step = receive_all(left_, said, limits, left_name_);
    if (step.kind == OutcomeKind::PeerLost) step = Outcome::done();
  }
  return step;
}

Outcome RingCollective::agree_on_operation(std::uint64_t floats, const Limits& limits) {
  const Heading own = heading(++operations_, floats);
  Heading left{};
  Outcome step = exchange({right_, right_name_}, own, {left_, left_name_}, left, limits);
  if (!step.ok() || left == own) return step;
  const auto operation = load_little_endian<std::uint64_t>(left.data());
  const auto count = load_little_endian<std::uint64_t>(left.data() + 8);
  return Outcome::fatal(left_name_ + " is at operation " + std::to_string(operation) + " with " +
                        std::to_string(count) + " floats, this rank at " +
                        std::to_string(operations_) + " with " + std::to_string(floats) +
                        "; give all ranks the same options");
}

Outcome RingCollective::pass_on(std::span<float> floats, const Limits& limits) {
  const std::int32_t size = group().world_size;
  const std::int32_t rank = group().rank;
  received_.resize(floats.size() / static_cast<std::size_t>(size) + 1);
  for (std::int32_t step = 0; step < size - 1; ++step) {
    const std::span<float> out = part(floats, rank - step, size);
    const std::span<float> sum = part(floats, rank - step - 1, size);
    const std::span<float> in = std::span(received_).first(sum.size());
    Outcome passed = exchange({right_, right_name_},
                              std::as_bytes(out),
                              {left_, left_name_},
                              std::as_writable_bytes(in),
                              limits);
    if (!passed.ok()) return passed;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += in[i];
  }
  for (std::int32_t step = 0; step < size - 1; ++step) {
    Outcome passed = exchange({right_, right_name_},
                              std::as_bytes(part(floats, rank + 1 - step, size)),
                              {left_, left_name_},
                              std::as_writable_bytes(part(floats, rank - step, size)),
                              limits);
    if (!passed.ok()) return passed;
  }
  return Outcome::done();
}

Outcome RingCollective::do_all_reduce(std::span<float> floats, const Limits& limits) {
  if (group().world_size == 1) return Outcome::done();
  Outcome step = agree_on_operation(floats.size(), limits);
  return step.ok() ? pass_on(floats, limits) : step;
}

Outcome RingCollective::do_barrier(const Limits& limits) {
  if (group().world_size == 1) return Outcome::done();
  float nothing = 0;
  return do_all_reduce(std::span(&nothing, 1), limits);
}

void RingCollective::close() {
  left_.close();
  right_.close();
}

}  // namespace orrery::worker
