#include "core/base/bytes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/base/random.hpp"

namespace orrery {
namespace {

std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

/// One value of each kind; `reader` must read them in this order.
void write_all(ByteWriter& writer) {
  writer.u8(0xab);
  writer.boolean(true);
  writer.u16(0x1234);
  writer.u32(0x12345678);
  writer.u64(0x123456789abcdef0);
  writer.i64(-2);
  writer.f64(-0.5);
  writer.varint(300);
  writer.signed_varint(-65);
  writer.string("name");
}

void read_all(ByteReader& reader) {
  reader.u8();
  reader.boolean();
  reader.u16();
  reader.u32();
  reader.u64();
  reader.i64();
  reader.f64();
  reader.varint();
  reader.signed_varint();
  reader.string();
}

TEST(Bytes, EncodingIsLittleEndianAndPinned) {
  ByteWriter writer;
  write_all(writer);
  EXPECT_EQ(hex(writer.text()),
            "ab"
            "01"
            "3412"
            "78563412"
            "f0debc9a78563412"
            "feffffffffffffff"
            "000000000000e0bf"
            "ac02"
            "8101"
            "046e616d65");
}

TEST(Bytes, ValuesReadBack) {
  ByteWriter writer;
  write_all(writer);
  ByteReader reader(writer.bytes());
  EXPECT_EQ(reader.u8(), 0xab);
  EXPECT_TRUE(reader.boolean());
  EXPECT_EQ(reader.u16(), 0x1234);
  EXPECT_EQ(reader.u32(), 0x12345678U);
  EXPECT_EQ(reader.u64(), 0x123456789abcdef0U);
  EXPECT_EQ(reader.i64(), -2);
  EXPECT_EQ(reader.f64(), -0.5);
  EXPECT_EQ(reader.varint(), 300U);
  EXPECT_EQ(reader.signed_varint(), -65);
  EXPECT_EQ(reader.string(), "name");
  EXPECT_TRUE(reader.finished());
}

TEST(Bytes, InputCutAtAnyByteFailsForGood) {
  ByteWriter writer;
  write_all(writer);
  for (std::size_t length = 0; length < writer.size(); ++length) {
    ByteReader reader(writer.text().substr(0, length));
    read_all(reader);
    EXPECT_FALSE(reader.ok()) << length;
    EXPECT_FALSE(reader.finished()) << length;
    EXPECT_EQ(reader.remaining(), 0U) << length;
    EXPECT_EQ(reader.u8(), 0) << length;
  }
}

TEST(Bytes, RandomNumbersOfEverySizeReadBack) {
  Random random(1);
  std::vector<std::uint64_t> values{0, 127, 128, std::numeric_limits<std::uint64_t>::max()};
  for (int i = 0; i < 5'000; ++i) values.push_back(random.bits() >> random.below(64));
  ByteWriter writer;
  for (const std::uint64_t value : values) {
    writer.varint(value);
    writer.signed_varint(static_cast<std::int64_t>(value));
    writer.signed_varint(-static_cast<std::int64_t>(value >> 1));
  }
  ByteReader reader(writer.bytes());
  for (const std::uint64_t value : values) {
    ASSERT_EQ(reader.varint(), value) << "seed 1";
    ASSERT_EQ(reader.signed_varint(), static_cast<std::int64_t>(value)) << "seed 1";
    ASSERT_EQ(reader.signed_varint(), -static_cast<std::int64_t>(value >> 1)) << "seed 1";
  }
  EXPECT_TRUE(reader.finished());
}

TEST(Bytes, NumbersOfEveryLengthEndWhereTheBytesEnd) {
  for (unsigned length = 1; length <= 10; ++length) {
    SCOPED_TRACE(length);
    const std::uint64_t value =
        std::numeric_limits<std::uint64_t>::max() >> (64 - std::min(length * 7, 64U));
    ByteWriter writer;
    writer.varint(value);
    ASSERT_EQ(writer.size(), length);
    ByteReader whole(writer.bytes());
    EXPECT_EQ(whole.varint(), value);
    EXPECT_TRUE(whole.finished());
    ByteReader cut(writer.bytes().first(length - 1));
    EXPECT_EQ(cut.varint(), 0U);
    EXPECT_FALSE(cut.ok());
    // What comes behind is not touched.
    writer.u64(0xffffffffffffffff);
    ByteReader more(writer.bytes());
    EXPECT_EQ(more.varint(), value);
    EXPECT_EQ(more.remaining(), 8U);
  }
}

TEST(Bytes, RoomThatIsReservedChangesNothing) {
  ByteWriter plain;
  ByteWriter roomy;
  roomy.reserve(1 << 12);
  for (std::uint64_t value = 0; value < 3000; ++value) {
    plain.varint(value);
    roomy.varint(value);
  }
  EXPECT_EQ(roomy.text(), plain.text());
}

TEST(Bytes, SmallNegativeNumbersAreShort) {
  ByteWriter writer;
  writer.signed_varint(-1);
  EXPECT_EQ(writer.size(), 1U);
  EXPECT_EQ(unzigzag(zigzag(std::numeric_limits<std::int64_t>::min())),
            std::numeric_limits<std::int64_t>::min());
}

TEST(Bytes, NotANumberKeepsItsBits) {
  ByteWriter writer;
  writer.f64(std::numeric_limits<double>::quiet_NaN());
  writer.f64(-0.0);
  ByteReader reader(writer.bytes());
  EXPECT_TRUE(std::isnan(reader.f64()));
  EXPECT_TRUE(std::signbit(reader.f64()));
}

TEST(Bytes, ARowOfNumbersIsWrittenAsEachOfThem) {
  ByteWriter row;
  row.f64s(std::vector<double>{1.5, -0.0, 1e300});
  row.f64s({});
  ByteWriter each;
  for (const double value : {1.5, -0.0, 1e300}) each.f64(value);
  EXPECT_EQ(row.text(), each.text());
}

TEST(Bytes, MalformedValuesFail) {
  using namespace std::string_literals;
  const auto varint_fails = [](const std::string& text) {
    ByteReader reader(text);
    reader.varint();
    return !reader.ok();
  };
  EXPECT_TRUE(varint_fails(std::string(11, '\xff'))) << "more than ten bytes";
  EXPECT_TRUE(varint_fails(std::string(9, '\xff') + "\x02")) << "above 64 bits";
  EXPECT_FALSE(varint_fails(std::string(9, '\xff') + "\x01"));
  EXPECT_TRUE(varint_fails("\x81\x00"s)) << "longer than needed";
  ByteReader truth("\x02");
  truth.boolean();
  EXPECT_FALSE(truth.ok());
  const std::string huge_length = std::string(9, '\xff') + "\x01";
  ByteReader text(huge_length);
  EXPECT_EQ(text.string(), "");
  EXPECT_FALSE(text.ok());
}

TEST(Bytes, AClearedWriterStartsAnewAndLengthsCanBePatched) {
  ByteWriter writer;
  writer.string(std::string(1'000, 'x'));
  writer.clear();
  EXPECT_EQ(writer.size(), 0U);
  writer.u32(0);
  writer.u8(1);
  writer.patch_u32(0, 77);
  ByteReader reader(writer.bytes());
  EXPECT_EQ(reader.u32(), 77U);
  EXPECT_EQ(reader.u8(), 1);
}

}  // namespace
}  // namespace orrery
