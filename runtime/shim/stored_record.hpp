// Records of the core's field lists as whole files: the version first, then the fields.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/bytes.hpp"
#include "core/record/codec.hpp"

namespace orrery::runtime {

/// The bytes of a file that holds one record.
template <class T>
std::string stored(const T& record) {
  ByteWriter bytes;
  bytes.u16(kRecordVersion);
  Encoder(bytes).put(record);
  return std::string(bytes.text());
}

/// The record in such bytes, of this or an earlier version; nothing where they are damaged.
template <class T>
std::optional<T> restored(std::string_view bytes) {
  ByteReader in(bytes);
  const std::uint16_t version = in.u16();
  if (!in.ok() || version == 0 || version > kRecordVersion) return std::nullopt;
  std::optional<T> record(std::in_place);
  Decoder decoder(in, version);
  decoder.get(*record);
  if (!decoder.ok() || !in.finished()) return std::nullopt;
  return record;
}

}  // namespace orrery::runtime
