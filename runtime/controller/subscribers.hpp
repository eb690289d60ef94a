// Subscribers of something, from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "runtime/controller/control_api.hpp"

namespace orrery::runtime {

/// Hands what happens to all subscribers. Any thread; no call follows the end of a
/// subscription, which may outlive this, and none may end a subscription from inside a call.
template <class What>
class Subscribers {
 public:
  using Told = std::function<void(const What&)>;

  /// `before` is carried out first, while no subscriber is called or added.
  template <class Before>
  void tell(const What& what, Before before) {
    const std::lock_guard lock(table_->mutex);
    before();
    for (const auto& [number, told] : table_->followers) told(what);
  }

  void tell(const What& what) {
    tell(what, [] {});
  }

  /// `first` is called with `told` before anything new is told.
  template <class First>
  std::unique_ptr<Subscription> add(Told told, First first) {
    const std::lock_guard lock(table_->mutex);
    first(told);
    const std::uint64_t number = ++table_->next;
    table_->followers.emplace(number, std::move(told));
    return std::make_unique<Following>(table_, number);
  }

  std::unique_ptr<Subscription> add(Told told) {
    return add(std::move(told), [](const Told&) {});
  }

 private:
  struct Table {
    std::mutex mutex;
    std::uint64_t next = 0;
    std::map<std::uint64_t, Told> followers;
  };

  class Following final : public Subscription {
   public:
    Following(std::shared_ptr<Table> table, std::uint64_t number)
        : table_(std::move(table)), number_(number) {}

    ~Following() override {
      const std::lock_guard lock(table_->mutex);
      table_->followers.erase(number_);
    }

   private:
    std::shared_ptr<Table> table_;
    std::uint64_t number_;
  };

  std::shared_ptr<Table> table_ = std::make_shared<Table>();
};

}  // namespace orrery::runtime
