// Writes messages in protobuf's wire format, as far as traces need it. Reads nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace orrery::sim {

/// One message under construction. Fields are written in the order of the calls; field numbers are
/// from 1. Encoding: https://protobuf.dev/programming-guides/encoding/
class ProtoMessage {
 public:
  /// uint32, uint64, bool and enumerations; int32 and int64 from 0.
  ProtoMessage& varint(std::uint32_t field, std::uint64_t value);

  ProtoMessage& fixed64(std::uint32_t field, std::uint64_t value);

  /// `double`.
  ProtoMessage& number(std::uint32_t field, double value);

  /// string, bytes, or a message that is complete.
  ProtoMessage& bytes(std::uint32_t field, std::string_view value);

  ProtoMessage& message(std::uint32_t field, const ProtoMessage& value) {
    return bytes(field, value.text_);
  }

  /// The fields of another message, after those that are there.
  ProtoMessage& append(const ProtoMessage& fields) {
    text_ += fields.text_;
    return *this;
  }

  const std::string& text() const { return text_; }

  /// Empties it and keeps the memory.
  void clear() { text_.clear(); }

 private:
  void raw_varint(std::uint64_t value);
  void tag(std::uint32_t field, std::uint32_t wire_type);

  std::string text_;
};

}  // namespace orrery::sim
