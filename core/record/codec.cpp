#include "core/record/codec.hpp"

#include "core/record/event.hpp"

namespace orrery {

void encode(const Event& event, ByteWriter& out) {
  out.u8(static_cast<std::uint8_t>(event.body.index()));
  out.u8(static_cast<std::uint8_t>(event.origin));
  out.signed_varint(event.at.ns);
  // Most facts are observed when they happen: the lag is a small number.
  out.signed_varint(static_cast<std::int64_t>(static_cast<std::uint64_t>(event.at.ns) -
                                              static_cast<std::uint64_t>(event.occurred_at.ns)));
  Encoder encoder(out);
  std::visit([&](const auto& body) { encoder.put(body); }, event.body);
}

namespace {

template <std::size_t... I>
void decode_body(Decoder& decoder, EventBody& body, std::size_t tag, std::index_sequence<I...>) {
  ((I == tag ? decoder.get(body.emplace<I>()) : void()), ...);
}

}  // namespace

bool decode(ByteReader& in, std::uint16_t version, Event& event) {
  const std::uint8_t tag = in.u8();
  const std::uint8_t origin = in.u8();
  if (!in.ok() || tag >= std::variant_size_v<EventKinds> ||
      origin > static_cast<std::uint8_t>(Origin::Reaction))
    return false;
  event.origin = static_cast<Origin>(origin);
  event.at.ns = in.signed_varint();
  // Any two numbers may stand here: the difference wraps as the one that was written did.
  const auto lag = static_cast<std::uint64_t>(in.signed_varint());
  event.occurred_at.ns = static_cast<std::int64_t>(static_cast<std::uint64_t>(event.at.ns) - lag);
  Decoder decoder(in, version);
  decode_body(
      decoder, event.body, tag, std::make_index_sequence<std::variant_size_v<EventKinds>>{});
  return decoder.ok();
}

}  // namespace orrery
