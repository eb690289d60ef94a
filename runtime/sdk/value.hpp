// What travels in a call: JSON, in which binary values are buffers that travel beside the text.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace orrery::sdk {

/// A JSON value. One that `is_binary()` is a buffer: it is sent from where it lies and received
/// into its own memory, without copies. Keys that begin with `$` and numbers that are not finite
/// are refused when a value is sent.
using Value = nlohmann::json;

namespace detail {

/// Smaller memory is left to the allocator.
inline constexpr std::size_t kKeptMin = std::size_t{1} << 20;

/// The memory of bytes that are done with, for buffers to come. Any thread.
void give_memory(std::vector<std::uint8_t>&& bytes);

}  // namespace detail

/// Bytes that travel as a buffer. A plain vector of bytes would be a list of numbers. The memory of
/// large ones is used again for others that are received, or made by `of_size`.
struct Buffer {
  Buffer() = default;

  explicit Buffer(std::vector<std::uint8_t> from) : bytes(std::move(from)) {}

  Buffer(const Buffer&) = default;
  Buffer& operator=(const Buffer&) = default;
  Buffer(Buffer&&) noexcept = default;
  Buffer& operator=(Buffer&&) noexcept = default;

  ~Buffer() {
    if (bytes.capacity() >= detail::kKeptMin) detail::give_memory(std::move(bytes));
  }

  /// So many bytes of any content, to be filled. Where large buffers were sent or received
  /// before, it is much quicker than fresh memory.
  static Buffer of_size(std::size_t size);

  std::vector<std::uint8_t> bytes;

  friend bool operator==(const Buffer&, const Buffer&) = default;
};

inline void to_json(Value& out, const Buffer& buffer) { out = Value::binary(buffer.bytes); }

inline void to_json(Value& out, Buffer&& buffer) { out = Value::binary(std::move(buffer.bytes)); }

inline void from_json(const Value& value, Buffer& out) { out.bytes = value.get_binary(); }

namespace detail {

template <class T>
struct IsOptional : std::false_type {};

template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

}  // namespace detail

/// A `T` out of `value`, by its conversion from JSON; buffers and values are moved, null is an
/// empty optional. Throws nlohmann::json::exception where it does not fit.
template <class T>
T value_as(Value&& value) {
  if constexpr (std::is_same_v<T, Value>) {
    return std::move(value);
  } else if constexpr (std::is_same_v<T, Buffer>) {
    return Buffer{std::move(value.get_binary())};
  } else if constexpr (detail::IsOptional<T>::value) {
    if (value.is_null()) return std::nullopt;
    return value_as<typename T::value_type>(std::move(value));
  } else {
    // Unlike get<T>() of some versions, never from another kind of JSON for the basic types.
    if constexpr (std::is_same_v<T, bool>) {
      return value.get_ref<const bool&>();
    } else if constexpr (std::is_integral_v<T>) {
      if (!value.is_number_integer())
        throw nlohmann::json::type_error::create(
            302, std::string("type must be integer, but is ") + value.type_name(), nullptr);
      const bool fits = value.is_number_unsigned()
                            ? std::in_range<T>(value.get_ref<const std::uint64_t&>())
                            : std::in_range<T>(value.get_ref<const std::int64_t&>());
      if (!fits)
        throw nlohmann::json::type_error::create(
            302, "integer " + value.dump() + " does not fit the type", nullptr);
      return value.get<T>();
    } else {
      return value.get<T>();
    }
  }
}

/// JSON of a `T`; buffers are moved out of rvalues.
template <class T>
Value value_of(T&& from) {
  using Plain = std::remove_cvref_t<T>;
  if constexpr (std::is_same_v<Plain, Value>) {
    return std::forward<T>(from);
  } else if constexpr (detail::IsOptional<Plain>::value) {
    return from ? value_of(*std::forward<T>(from)) : Value(nullptr);
  } else {
    return Value(std::forward<T>(from));
  }
}

}  // namespace orrery::sdk
