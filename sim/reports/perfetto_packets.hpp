// Packets of a Perfetto trace: tracks, slices on them, instants and counters.
//
// Field numbers: protos/perfetto/trace/trace_packet.proto and track_event/*.proto of Perfetto
// (Apache-2.0); what is used is part of its stable interface, TrackEvent.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

#include "core/base/units.hpp"
#include "sim/reports/protobuf.hpp"

namespace orrery::sim {

/// Names a track in one trace; above 0.
using TrackId = std::uint64_t;

/// What an event says beside its name.
class Annotations {
 public:
  Annotations& add(std::string_view name, std::string_view text);
  Annotations& add(std::string_view name, double value);
  Annotations& add(std::string_view name, std::uint64_t value);

  /// The event is part of arrow `flow`, which begins here or ends here.
  Annotations& flow_begins(std::uint64_t flow);
  Annotations& flow_ends(std::uint64_t flow);

  const ProtoMessage& fields() const { return fields_; }

  void clear() { fields_.clear(); }

 private:
  void put(std::string_view name, ProtoMessage& value);

  ProtoMessage fields_;  // Of the TrackEvent.
};

/// Writes packet after packet. Tracks are declared before the first event on them; events come in
/// order of time.
class PerfettoPackets {
 public:
  explicit PerfettoPackets(std::ostream& out) : out_(out) {}

  PerfettoPackets(const PerfettoPackets&) = delete;
  PerfettoPackets& operator=(const PerfettoPackets&) = delete;

  ~PerfettoPackets() { flush(); }

  /// A process, which tracks and threads stand below. `pid` is above 0.
  void process(TrackId id, std::uint32_t pid, std::string_view name);

  /// A thread of a declared process; `tid` is unlike every other tid and pid.
  void thread(TrackId id, std::uint32_t pid, std::uint32_t tid, std::string_view name);

  /// A track of its own below another.
  void track(TrackId id, TrackId parent, std::string_view name);

  /// A track of numbers below another; `unit` may be empty.
  void counter(TrackId id, TrackId parent, std::string_view name, std::string_view unit);

  void begin(Instant at,
             TrackId track,
             std::string_view category,
             std::string_view name,
             const Annotations& annotations);
  void end(Instant at, TrackId track);
  void instant(Instant at,
               TrackId track,
               std::string_view category,
               std::string_view name,
               const Annotations& annotations);
  void value(Instant at, TrackId track, double value);

  /// Hands on what is buffered; the destructor does so too.
  void flush();

 private:
  void describe(const ProtoMessage& descriptor);
  void event(Instant at, const ProtoMessage& event);
  void named(Instant at,
             std::uint32_t type,
             TrackId track,
             std::string_view category,
             std::string_view name,
             const Annotations& annotations);
  void packet();

  std::ostream& out_;
  bool first_ = true;
  ProtoMessage trace_;
  ProtoMessage packet_;
  ProtoMessage event_;
};

}  // namespace orrery::sim
