// A list that many hold and few change.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace orrery {

/// A vector whose copies share their elements until one of them is changed: of a million jobs of a
/// trace, nearly all have the roles of some other one. Access through a list that is not constant
/// counts as a change. A list and its copies may be read by several threads at once; one that is
/// changed is used by one thread alone, as a vector is.
template <class T>
class SharedList {
 public:
  using value_type = T;

  SharedList() = default;

  SharedList(std::initializer_list<T> items) : SharedList(std::vector<T>(items)) {}

  explicit SharedList(std::vector<T> items)
      : items_(std::make_shared<std::vector<T>>(std::move(items))) {}

  std::size_t size() const { return items_ == nullptr ? 0 : items_->size(); }

  bool empty() const { return size() == 0; }

  /// The elements as a vector, for what works on vectors.
  const std::vector<T>& items() const {
    static const std::vector<T> kNone;
    return items_ == nullptr ? kNone : *items_;
  }

  /// The elements of this list alone, to be changed.
  std::vector<T>& items() {
    if (items_ == nullptr)
      items_ = std::make_shared<std::vector<T>>();
    else if (items_.use_count() > 1)
      items_ = std::make_shared<std::vector<T>>(*items_);
    return *items_;
  }

  const T& operator[](std::size_t i) const { return (*items_)[i]; }

  T& operator[](std::size_t i) { return items()[i]; }

  const T& at(std::size_t i) const { return items().at(i); }

  T& at(std::size_t i) { return items().at(i); }

  const T& front() const { return items_->front(); }

  T& front() { return items().front(); }

  const T& back() const { return items_->back(); }

  T& back() { return items().back(); }

  auto begin() const { return items().begin(); }

  auto begin() { return items().begin(); }

  auto end() const { return items().end(); }

  auto end() { return items().end(); }

  const T* data() const { return items().data(); }

  void push_back(T item) { items().push_back(std::move(item)); }

  template <class... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    return items().emplace_back(std::forward<Arguments>(arguments)...);
  }

  void clear() { items_.reset(); }

  friend bool operator==(const SharedList& a, const SharedList& b) {
    return a.items_ == b.items_ || a.items() == b.items();
  }

 private:
  std::shared_ptr<std::vector<T>> items_;  // Null: none.
};

}  // namespace orrery
