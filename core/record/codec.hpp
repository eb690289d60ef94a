// From the one field list of each record type to bytes and back.
//
// A type is a record when it has `template <class Self, class V> static void fields(Self&, V&)`.
// Its fields are written in that order, without names. What a newer version adds:
//
//   v.field("name", self.name);                       // Since version 1.
//   v.field_since(2, "drain_limit", self.drain_limit);  // New in version 2; default where older.
//
//   v.field_until(4, "deadline", deadline);             // Not written since version 5.
//
// A new field raises `kRecordVersion` (once for each release) and has a line with `field_since`; it
// may stand anywhere in the list. What older records mean by its absence is the type's default, or
// a fourth argument where a new value shall be something else. A field that is not needed any more
// is read for ever with `field_until`, into a value that the list makes something of. Fields never
// change their type or their place, and alternatives of a variant and words of an enum are only
// ever appended. A kept journal of each released version in tests/system/journals holds all this to
// be true.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/base/digest.hpp"
#include "core/base/enum_names.hpp"
#include "core/base/ids.hpp"
#include "core/base/rare_part.hpp"
#include "core/base/shared_list.hpp"
#include "core/base/units.hpp"
#include "core/record/version.hpp"

namespace orrery {

/// Writes values and records to a ByteWriter.
class Encoder {
 public:
  explicit Encoder(ByteWriter& out) : out_(out) {}

  template <class T>
  void field(std::string_view, const T& value) {
    put(value);
  }

  /// Only the newest version is written, so every field is.
  template <class T>
  void field_since(std::uint16_t, std::string_view, const T& value) {
    put(value);
  }

  template <class T>
  void field_since(std::uint16_t, std::string_view, const T& value, const T& /*older*/) {
    put(value);
  }

  /// Only the newest version is written, so no such field is.
  template <class T>
  void field_until(std::uint16_t, std::string_view, const T& /*value*/) {}

  void put(bool v) { out_.boolean(v); }

  template <std::unsigned_integral T>
  void put(T v) {
    out_.varint(v);
  }

  template <std::signed_integral T>
  void put(T v) {
    out_.signed_varint(v);
  }

  template <class T>
  requires std::is_enum_v<T>

  void put(T v) { out_.u8(static_cast<std::uint8_t>(v)); }

  void put(double v) { out_.f64(v); }

  void put(const std::string& v) { out_.string(v); }

  /// An absent id is 0, id n is n + 1.
  template <class Tag, class Rep>
  void put(Id<Tag, Rep> v) {
    out_.varint(static_cast<Rep>(v.value + 1));
  }

  template <class Tag, class Rep>
  void put(Ordinal<Tag, Rep> v) {
    out_.varint(v.value);
  }

  void put(Duration v) { out_.signed_varint(v.ns); }

  void put(Instant v) { out_.signed_varint(v.ns); }

  void put(Bytes v) { out_.signed_varint(v.count); }

  void put(MilliCpu v) { out_.signed_varint(v.count); }

  void put(Share v) { out_.signed_varint(v.thousandths); }

  void put(Digest v) {
    out_.u64(v.high);
    out_.u64(v.low);
  }

  template <class T>
  void put(const std::vector<T>& v) {
    out_.varint(v.size());
    for (const T& each : v) put(each);
  }

  template <class T>
  void put(const std::shared_ptr<const T>& v) {
    put(*v);
  }

  template <class T>
  void put(const SharedList<T>& v) {
    put(v.items());
  }

  template <class T>
  void put(const RarePart<T>& v) {
    put(*v);
  }

  template <class... T>
  void put(const std::variant<T...>& v) {
    out_.u8(static_cast<std::uint8_t>(v.index()));
    std::visit([this](const auto& each) { put(each); }, v);
  }

  template <class T>

  requires requires(T& t, Encoder& e) { T::fields(t, e); }

  void put(const T& v) { T::fields(v, *this); }

 private:
  ByteWriter& out_;
};

/// Reads what Encoder wrote. Never trusts the input: `ok()` turns false and values become defaults.
class Decoder {
 public:
  explicit Decoder(ByteReader& in, std::uint16_t version = kRecordVersion)
      : in_(in), version_(version) {}

  bool ok() const { return in_.ok() && good_; }

  template <class T>
  void field(std::string_view, T& value) {
    get(value);
  }

  /// A field that records before version `since` do not have; it keeps its default there.
  template <class T>
  void field_since(std::uint16_t since, std::string_view, T& value) {
    if (version_ >= since) get(value);
  }

  /// As above, for a field that says `older` in records before version `since`.
  template <class T>
  void field_since(std::uint16_t since, std::string_view, T& value, const T& older) {
    if (version_ >= since) {
      get(value);
    } else {
      value = older;
    }
  }

  /// A field that records after version `until` do not have; `value` keeps its default there.
  template <class T>
  void field_until(std::uint16_t until, std::string_view, T& value) {
    if (version_ <= until) get(value);
  }

  void get(bool& v) { v = in_.boolean(); }

  template <std::unsigned_integral T>
  void get(T& v) {
    v = static_cast<T>(in_.varint());
  }

  template <std::signed_integral T>
  void get(T& v) {
    v = static_cast<T>(in_.signed_varint());
  }

  template <class T>
  requires std::is_enum_v<T>

  void get(T& v) {
    const std::uint8_t raw = in_.u8();
    if (raw >= EnumNames<T>::kNames.size()) {
      good_ = false;
    } else {
      v = static_cast<T>(raw);
    }
  }

  void get(double& v) { v = in_.f64(); }

  void get(std::string& v) { v.assign(in_.string()); }

  template <class Tag, class Rep>
  void get(Id<Tag, Rep>& v) {
    v.value = static_cast<Rep>(static_cast<Rep>(in_.varint()) - 1);
  }

  template <class Tag, class Rep>
  void get(Ordinal<Tag, Rep>& v) {
    v.value = static_cast<Rep>(in_.varint());
  }

  void get(Duration& v) { v.ns = in_.signed_varint(); }

  void get(Instant& v) { v.ns = in_.signed_varint(); }

  void get(Bytes& v) { v.count = in_.signed_varint(); }

  void get(MilliCpu& v) { v.count = in_.signed_varint(); }

  void get(Share& v) { v.thousandths = static_cast<std::int32_t>(in_.signed_varint()); }

  void get(Digest& v) {
    v.high = in_.u64();
    v.low = in_.u64();
  }

  template <class T>
  void get(std::vector<T>& v) {
    const std::uint64_t size = in_.varint();
    // Each element takes at least a byte, so a larger count is a lie and must not be reserved.
    if (!in_.ok() || size > in_.remaining()) {
      good_ = false;
      return;
    }
    v.resize(size);
    for (T& each : v) {
      if (!ok()) return;
      get(each);
    }
  }

  template <class T>
  void get(std::shared_ptr<const T>& v) {
    auto fresh = std::make_shared<T>();
    get(*fresh);
    v = std::move(fresh);
  }

  /// An empty one takes no memory.
  template <class T>
  void get(SharedList<T>& v) {
    std::vector<T> items;
    get(items);
    v = items.empty() ? SharedList<T>{} : SharedList<T>{std::move(items)};
  }

  /// The usual value takes no memory.
  template <class T>
  void get(RarePart<T>& v) {
    T value{};
    get(value);
    if (value == *RarePart<T>{})
      v.clear();
    else
      v.edit() = std::move(value);
  }

  template <class... T>
  void get(std::variant<T...>& v) {
    const std::uint8_t index = in_.u8();
    if (!in_.ok() || index >= sizeof...(T)) {
      good_ = false;
      return;
    }
    get_alternative(v, index, std::index_sequence_for<T...>{});
  }

  template <class T>

  requires requires(T& t, Decoder& d) { T::fields(t, d); }

  void get(T& v) { T::fields(v, *this); }

 private:
  template <class V, std::size_t... I>
  void get_alternative(V& v, std::size_t index, std::index_sequence<I...>) {
    ((I == index ? get(v.template emplace<I>()) : void()), ...);
  }

  ByteReader& in_;
  std::uint16_t version_;
  bool good_ = true;
};

struct Event;
struct Command;

/// Appends the bytes of one event.
void encode(const Event& event, ByteWriter& out);

/// Reads one event written with `version`; false where the bytes are not one.
bool decode(ByteReader& in, std::uint16_t version, Event& event);

}  // namespace orrery
