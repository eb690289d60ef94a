// A journal record is read from any bytes or refused, and what was read has one encoding.
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/base/invariant.hpp"
#include "core/record/codec.hpp"
#include "core/record/event.hpp"
#include "core/record/record_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  ByteReader in(std::as_bytes(std::span(data, size)));
  Event event;
  if (!decode(in, kRecordVersion, event)) return 0;
  ByteWriter first;
  encode(event, first);
  ByteReader again(first.bytes());
  Event same;
  invariant(decode(again, kRecordVersion, same) && again.finished(),
            "what was read can be written and read again");
  ByteWriter second;
  encode(same, second);
  invariant(first.text() == second.text(), "a record has one encoding");
  (void)event_json(1, event);
  return 0;
}
