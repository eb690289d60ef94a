// A file descriptor that closes itself.
#pragma once

#include <unistd.h>

#include <utility>

namespace orrery::worker {

class Descriptor {
 public:
  Descriptor() = default;

  explicit Descriptor(int number) : number_(number) {}

  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}

  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      close();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }

  ~Descriptor() { close(); }

  int number() const { return number_; }

  bool is_open() const { return number_ >= 0; }

  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_ = -1;
};

}  // namespace orrery::worker
