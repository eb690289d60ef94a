// Writes JSON text, fields in the order of the calls. No parser: pure code only writes.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

/// Builds one JSON document.
///
///     JsonText json;
///     json.begin_object().field("job", 3).key("nodes").begin_array().value(1).end_array();
///     json.end_object();
///     json.text();  // {"job":3,"nodes":[1]}
///
/// Numbers are written shortest such that reading them back gives the same number; NaN and the
/// infinities, which JSON lacks, become null. Strings are expected in UTF-8; a byte that is none
/// becomes U+FFFD, so the text is valid whatever came in. A call at the wrong place (a value
/// without a key inside an object) is a broken invariant.
class JsonText {
 public:
  enum class Layout {
    Compact,  ///< No spaces, one line.
    Indented  ///< Two spaces a level, one field a line; for people.
  };

  explicit JsonText(Layout layout = Layout::Compact) : layout_(layout) {}

  JsonText& begin_object();
  JsonText& end_object();
  JsonText& begin_array();
  JsonText& end_array();

  /// The name of the next value, inside an object.
  JsonText& key(std::string_view name);

  JsonText& value(std::string_view text);

  JsonText& value(const char* text) { return value(std::string_view(text)); }

  JsonText& value(const std::string& text) { return value(std::string_view(text)); }

  JsonText& value(bool truth);
  JsonText& value(double number);

  template <std::integral T>
  JsonText& value(T number) {
    if constexpr (std::signed_integral<T>)
      return signed_number(static_cast<std::int64_t>(number));
    else
      return unsigned_number(static_cast<std::uint64_t>(number));
  }

  JsonText& null();

  /// A value that is JSON text already; it is not checked.
  JsonText& raw(std::string_view json);

  /// key(name) and value(v).
  template <class T>
  JsonText& field(std::string_view name, const T& v) {
    return key(name).value(v);
  }

  /// The document so far.
  const std::string& text() const { return out_; }

  /// Moves the document out and starts anew.
  std::string take();

 private:
  struct Level {
    bool object;
    bool empty;
  };

  JsonText& signed_number(std::int64_t number);
  JsonText& unsigned_number(std::uint64_t number);
  void before_value();
  void new_line();
  void quoted(std::string_view text);
  void close(bool object, char bracket);

  Layout layout_;
  std::string out_;
  std::vector<Level> levels_;
  bool key_written_ = false;
};

}  // namespace orrery
