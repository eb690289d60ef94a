#include "sim/explore/explored_parts.hpp"

#include "core/record/codec.hpp"

namespace orrery::sim {
namespace {

void save_message(const Message& message, ByteWriter& out) {
  Encoder encoder(out);
  encoder.put(message.kind);
  encoder.put(message.sent_at);
  switch (message.kind) {
    case MessageKind::Order:
      return encoder.put(*message.order);
    case MessageKind::Renewal:
      encoder.put(message.heard_of);
      return encoder.put(message.epoch);
    case MessageKind::Announcement:
      return encoder.put(message.epoch);
    case MessageKind::Beat: {
      const Heartbeat& beat = message.beat;
      encoder.put(beat.epoch);
      encoder.put(beat.session);
      encoder.put(beat.number);
      encoder.put(beat.sent_at);
      encoder.put(beat.registers);
      encoder.put(beat.seen);
      return encoder.put(beat.workers.get());
    }
    case MessageKind::Reports:
      return encoder.put(message.reports);
    case MessageKind::Fact:
      return encoder.put(message.fact);
  }
}

void save_stream(const std::deque<InFlight>& stream, ByteWriter& out) {
  out.varint(stream.size());
  for (const InFlight& message : stream) save_message(*message, out);
}

}  // namespace

void ExploredNode::save(ByteWriter& out) const {
  Encoder encoder(out);
  host.save(out);
  out.varint(unseen.size());
  for (const UnseenEnd& end : unseen) {
    encoder.put(end.worker);
    encoder.put(end.exit_code);
  }
  out.varint(asked.size());
  for (const WorkerName& name : asked) encoder.put(name);
  encoder.put(following);
  encoder.put(late);
}

void ExploredLink::save(ByteWriter& out) const {
  Encoder encoder(out);
  encoder.put(leader);
  encoder.put(broken);
  encoder.put(node_end);
  save_stream(to_node, out);
  save_stream(to_leader, out);
}

void ExploredRest::save(ByteWriter& out) const {
  Encoder encoder(out);
  encoder.put(now);
  encoder.put(started);
  for (const std::uint32_t used : {losses, crashes, exits, stops, late, resends, delays})
    encoder.put(used);
  for (const ExploredClient& client : clients) {
    encoder.put(client.asked);
    encoder.put(client.accepted);
    encoder.put(client.stopped);
  }
  out.varint(held.size());
  for (const Choice& choice : held) {
    encoder.put(choice.kind);
    out.u8(choice.a);
    out.u8(choice.b);
  }
}

}  // namespace orrery::sim
