#include "sim/reports/perfetto_packets.hpp"

#include <cstddef>
#include <ostream>

namespace orrery::sim {
namespace {

constexpr std::size_t kFlushBytes = 1 << 20;

// message Trace
constexpr std::uint32_t kTracePacket = 1;

// message TracePacket
constexpr std::uint32_t kTimestamp = 8;
constexpr std::uint32_t kSequenceId = 10;
constexpr std::uint32_t kTrackEvent = 11;
constexpr std::uint32_t kSequenceFlags = 13;
constexpr std::uint32_t kTrackDescriptor = 60;
constexpr std::uint64_t kStateCleared = 1;

// message TrackDescriptor
constexpr std::uint32_t kUuid = 1;
constexpr std::uint32_t kTrackName = 2;
constexpr std::uint32_t kProcess = 3;
constexpr std::uint32_t kThread = 4;
constexpr std::uint32_t kParentUuid = 5;
constexpr std::uint32_t kCounter = 8;

// messages ProcessDescriptor, ThreadDescriptor, CounterDescriptor
constexpr std::uint32_t kPid = 1;
constexpr std::uint32_t kTid = 2;
constexpr std::uint32_t kThreadName = 5;
constexpr std::uint32_t kProcessName = 6;
constexpr std::uint32_t kUnitName = 6;

// message TrackEvent
constexpr std::uint32_t kDebugAnnotation = 4;
constexpr std::uint32_t kType = 9;
constexpr std::uint32_t kTrackUuid = 11;
constexpr std::uint32_t kCategory = 22;
constexpr std::uint32_t kEventName = 23;
constexpr std::uint32_t kDoubleCounterValue = 44;
constexpr std::uint32_t kFlowIds = 47;
constexpr std::uint32_t kTerminatingFlowIds = 48;
constexpr std::uint64_t kSliceBegin = 1;
constexpr std::uint64_t kSliceEnd = 2;
constexpr std::uint64_t kInstant = 3;
constexpr std::uint64_t kCounterValue = 4;

// message DebugAnnotation
constexpr std::uint32_t kAnnotationUint = 3;
constexpr std::uint32_t kAnnotationDouble = 5;
constexpr std::uint32_t kAnnotationString = 6;
constexpr std::uint32_t kAnnotationName = 10;

constexpr std::uint64_t kOnlySequence = 1;

}  // namespace

void Annotations::put(std::string_view name, ProtoMessage& value) {
  value.bytes(kAnnotationName, name);
  fields_.message(kDebugAnnotation, value);
}

Annotations& Annotations::add(std::string_view name, std::string_view text) {
  ProtoMessage value;
  put(name, value.bytes(kAnnotationString, text));
  return *this;
}

Annotations& Annotations::add(std::string_view name, double number) {
  ProtoMessage value;
  put(name, value.number(kAnnotationDouble, number));
  return *this;
}

Annotations& Annotations::add(std::string_view name, std::uint64_t number) {
  ProtoMessage value;
  put(name, value.varint(kAnnotationUint, number));
  return *this;
}

Annotations& Annotations::flow_begins(std::uint64_t flow) {
  fields_.fixed64(kFlowIds, flow);
  return *this;
}

Annotations& Annotations::flow_ends(std::uint64_t flow) {
  fields_.fixed64(kTerminatingFlowIds, flow);
  return *this;
}

void PerfettoPackets::process(TrackId id, std::uint32_t pid, std::string_view name) {
  ProtoMessage process;
  process.varint(kPid, pid).bytes(kProcessName, name);
  ProtoMessage descriptor;
  descriptor.varint(kUuid, id).bytes(kTrackName, name).message(kProcess, process);
  describe(descriptor);
}

void PerfettoPackets::thread(TrackId id,
                             std::uint32_t pid,
                             std::uint32_t tid,
                             std::string_view name) {
  ProtoMessage thread;
  thread.varint(kPid, pid).varint(kTid, tid).bytes(kThreadName, name);
  ProtoMessage descriptor;
  descriptor.varint(kUuid, id).bytes(kTrackName, name).message(kThread, thread);
  describe(descriptor);
}

void PerfettoPackets::track(TrackId id, TrackId parent, std::string_view name) {
  ProtoMessage descriptor;
  descriptor.varint(kUuid, id).bytes(kTrackName, name).varint(kParentUuid, parent);
  describe(descriptor);
}

void PerfettoPackets::counter(TrackId id,
                              TrackId parent,
                              std::string_view name,
                              std::string_view unit) {
  ProtoMessage counter;
  if (!unit.empty()) counter.bytes(kUnitName, unit);
  ProtoMessage descriptor;
  descriptor.varint(kUuid, id).bytes(kTrackName, name).varint(kParentUuid, parent);
  descriptor.message(kCounter, counter);
  describe(descriptor);
}

void PerfettoPackets::begin(Instant at,
                            TrackId track,
                            std::string_view category,
                            std::string_view name,
                            const Annotations& annotations) {
  named(at, kSliceBegin, track, category, name, annotations);
}

void PerfettoPackets::end(Instant at, TrackId track) {
  event_.clear();
  event(at, event_.varint(kType, kSliceEnd).varint(kTrackUuid, track));
}

void PerfettoPackets::instant(Instant at,
                              TrackId track,
                              std::string_view category,
                              std::string_view name,
                              const Annotations& annotations) {
  named(at, kInstant, track, category, name, annotations);
}

void PerfettoPackets::value(Instant at, TrackId track, double value) {
  event_.clear();
  event_.varint(kType, kCounterValue).varint(kTrackUuid, track);
  event(at, event_.number(kDoubleCounterValue, value));
}

void PerfettoPackets::named(Instant at,
                            std::uint32_t type,
                            TrackId track,
                            std::string_view category,
                            std::string_view name,
                            const Annotations& annotations) {
  event_.clear();
  event_.append(annotations.fields());
  event_.varint(kType, type).varint(kTrackUuid, track);
  event(at, event_.bytes(kCategory, category).bytes(kEventName, name));
}

void PerfettoPackets::describe(const ProtoMessage& descriptor) {
  packet_.clear();
  packet_.message(kTrackDescriptor, descriptor);
  packet();
}

void PerfettoPackets::event(Instant at, const ProtoMessage& event) {
  packet_.clear();
  packet_.varint(kTimestamp, static_cast<std::uint64_t>(at.ns));
  packet_.message(kTrackEvent, event);
  packet();
}

void PerfettoPackets::packet() {
  packet_.varint(kSequenceId, kOnlySequence);
  // Readers drop events of a sequence whose state was never said to be new.
  if (first_) packet_.varint(kSequenceFlags, kStateCleared);
  first_ = false;
  trace_.message(kTracePacket, packet_);
  if (trace_.text().size() >= kFlushBytes) flush();
}

void PerfettoPackets::flush() {
  out_ << trace_.text();
  trace_.clear();
}

}  // namespace orrery::sim
