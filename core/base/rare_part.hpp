// A part of a record that has its usual value nearly always, and takes a pointer's room then.
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace orrery {

/// A value of `T` in memory of its own from the first `edit` on; until then it reads as `T{}`. Of
/// hundreds of thousands of jobs that wait, hardly one has had a failure to remember. Copies are
/// copies of the value, and values are what is compared: whether there is memory behind one makes
/// no difference but to its cost.
template <class T>
class RarePart {
 public:
  RarePart() = default;

  template <class U>

  requires(std::convertible_to<U, T> && !std::same_as<std::remove_cvref_t<U>, RarePart>)
      RarePart(U&& value)
      : own_(std::make_unique<T>(std::forward<U>(value))) {
    tidy();
  }

  RarePart(const RarePart& other) : own_(other.copy()) {}

  RarePart(RarePart&&) noexcept = default;

  RarePart& operator=(const RarePart& other) {
    own_ = other.copy();
    return *this;
  }

  RarePart& operator=(RarePart&&) noexcept = default;

  ~RarePart() = default;

  const T& operator*() const {
    static const T kUsual{};
    return own_ == nullptr ? kUsual : *own_;
  }

  const T* operator->() const { return &**this; }

  /// The value to be changed. The reference is good until the part is assigned to or moved.
  T& edit() {
    if (own_ == nullptr) own_ = std::make_unique<T>();
    return *own_;
  }

  /// Back to `T{}`, without memory.
  void clear() { own_.reset(); }

  /// Gives the memory back where the value is the usual one again.
  void tidy() {
    if (own_ != nullptr && *own_ == T{}) own_.reset();
  }

  friend bool operator==(const RarePart& a, const RarePart& b) {
    return (a.own_ == nullptr && b.own_ == nullptr) || *a == *b;
  }

 private:
  std::unique_ptr<T> copy() const { return own_ == nullptr ? nullptr : std::make_unique<T>(*own_); }

  std::unique_ptr<T> own_;  // Null: the usual value.
};

}  // namespace orrery
