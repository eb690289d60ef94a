#include "runtime/link/messages.hpp"

#include <cstddef>
#include <span>

#include "core/base/bytes.hpp"
#include "core/record/codec.hpp"

namespace orrery::runtime {
namespace {

template <class Message>
std::string encode_any(const Message& message) {
  ByteWriter bytes;
  Encoder(bytes).put(message);
  const std::span<const std::byte> all = bytes.bytes();
  return {reinterpret_cast<const char*>(all.data()), all.size()};
}

template <class Message>
bool decode_any(std::string_view text, Message& message) {
  ByteReader in({reinterpret_cast<const std::byte*>(text.data()), text.size()});
  Decoder decoder(in);
  decoder.get(message);
  return decoder.ok() && in.finished();
}

}  // namespace

Heartbeat heartbeat_of(const Beat& beat) {
  Heartbeat out;
  out.node = beat.node;
  out.epoch = beat.epoch;
  out.session = beat.session;
  out.number = beat.number;
  out.sent_at = beat.sent_at;
  out.registers = beat.registers;
  out.seen = beat.seen;
  if (!beat.workers.empty()) out.workers = WorkerList(beat.workers);
  return out;
}

Beat beat_of(const Heartbeat& heartbeat) {
  Beat out;
  out.node = heartbeat.node;
  out.epoch = heartbeat.epoch;
  out.session = heartbeat.session;
  out.number = heartbeat.number;
  out.sent_at = heartbeat.sent_at;
  out.registers = heartbeat.registers;
  out.seen = heartbeat.seen;
  out.workers = heartbeat.workers.get();
  return out;
}

std::string encode(const AgentMessage& message) { return encode_any(message); }

std::string encode(const ControllerMessage& message) { return encode_any(message); }

bool decode(std::string_view bytes, AgentMessage& message) { return decode_any(bytes, message); }

bool decode(std::string_view bytes, ControllerMessage& message) {
  return decode_any(bytes, message);
}

}  // namespace orrery::runtime
