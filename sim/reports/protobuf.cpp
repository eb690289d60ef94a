#include "sim/reports/protobuf.hpp"

#include <bit>

namespace orrery::sim {
namespace {

constexpr std::uint32_t kVarint = 0;
constexpr std::uint32_t kFixed64 = 1;
constexpr std::uint32_t kLengthDelimited = 2;

}  // namespace

void ProtoMessage::raw_varint(std::uint64_t value) {
  while (value >= 0x80) {
    text_ += static_cast<char>((value & 0x7f) | 0x80);
    value >>= 7;
  }
  text_ += static_cast<char>(value);
}

void ProtoMessage::tag(std::uint32_t field, std::uint32_t wire_type) {
  raw_varint((static_cast<std::uint64_t>(field) << 3) | wire_type);
}

ProtoMessage& ProtoMessage::varint(std::uint32_t field, std::uint64_t value) {
  tag(field, kVarint);
  raw_varint(value);
  return *this;
}

ProtoMessage& ProtoMessage::fixed64(std::uint32_t field, std::uint64_t value) {
  tag(field, kFixed64);
  for (int i = 0; i < 8; ++i) text_ += static_cast<char>((value >> (8 * i)) & 0xff);
  return *this;
}

ProtoMessage& ProtoMessage::number(std::uint32_t field, double value) {
  return fixed64(field, std::bit_cast<std::uint64_t>(value));
}

ProtoMessage& ProtoMessage::bytes(std::uint32_t field, std::string_view value) {
  tag(field, kLengthDelimited);
  raw_varint(value.size());
  text_ += value;
  return *this;
}

}  // namespace orrery::sim
