// From the one field list of each record type to JSON, for people and for `journal dump`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/base/enum_names.hpp"
#include "core/base/ids.hpp"
#include "core/base/json_text.hpp"
#include "core/base/rare_part.hpp"
#include "core/base/shared_list.hpp"
#include "core/base/units.hpp"
#include "core/base/utc_text.hpp"

namespace orrery {

/// How a field that is an instant is written.
enum class TimesAs : std::uint8_t {
  Nanoseconds,  ///< One number.
  /// That number, which is more than a double holds exactly, and beside it "NAME_utc" as text, for
  /// readers whose numbers are doubles. Both are null where there is no time.
  WithUtc,
};

/// Writes records as JSON objects with the names of their field list. Times are in nanoseconds,
/// absent ids are null.
class JsonFields {
 public:
  explicit JsonFields(JsonText& out, TimesAs times = TimesAs::Nanoseconds)
      : out_(out), times_(times) {}

  template <class T>
  void field(std::string_view name, const T& value) {
    out_.key(name);
    put(value);
    if constexpr (std::is_same_v<T, Instant>)
      if (times_ == TimesAs::WithUtc) put_utc(name, value);
  }

  template <class T>
  void field_since(std::uint16_t, std::string_view name, const T& value) {
    field(name, value);
  }

  template <class T>
  void field_since(std::uint16_t, std::string_view name, const T& value, const T& /*older*/) {
    field(name, value);
  }

  template <class T>

  requires(std::is_arithmetic_v<T>) void put(T v) { out_.value(v); }

  template <class T>
  requires std::is_enum_v<T>

  void put(T v) { out_.value(to_string(v)); }

  void put(const std::string& v) { out_.value(v); }

  template <class Tag, class Rep>
  void put(Id<Tag, Rep> v) {
    if (v.is_none()) {
      out_.null();
    } else {
      out_.value(v.value);
    }
  }

  template <class Tag, class Rep>
  void put(Ordinal<Tag, Rep> v) {
    out_.value(v.value);
  }

  void put(Duration v) {
    if (v.is_forever()) {
      out_.null();
    } else {
      out_.value(v.ns);
    }
  }

  void put(Instant v) {
    if (v.is_never()) {
      out_.null();
    } else {
      out_.value(v.ns);
    }
  }

  void put(Bytes v) { out_.value(v.count); }

  void put(MilliCpu v) { out_.value(v.count); }

  void put(Share v) { out_.value(v.thousandths); }

  template <class T>
  void put(const std::vector<T>& v) {
    out_.begin_array();
    for (const T& each : v) put(each);
    out_.end_array();
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

  template <class T>

  requires requires(T& t, JsonFields& f) { T::fields(t, f); }

  void put(const T& v) {
    out_.begin_object();
    T::fields(v, *this);
    out_.end_object();
  }

 private:
  // Zero is the default of instants that have not come.
  void put_utc(std::string_view name, Instant at) {
    out_.key(std::string(name) + "_utc");
    if (at.is_never() || at == Instant::zero()) {
      out_.null();
    } else {
      out_.value(utc_text(at));
    }
  }

  JsonText& out_;
  TimesAs times_;
};

struct Event;

/// One event as a JSON object on one line: sequence, at, occurred_at, origin, kind, then its
/// fields.
std::string event_json(std::uint64_t sequence, const Event& event);

}  // namespace orrery
