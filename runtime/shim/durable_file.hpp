// Small files that are read whole and replaced in one step.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace orrery::runtime {

/// What a replaced file survives.
enum class Survives {
  Kill,       ///< The end of any process, at any instant.
  PowerLoss,  ///< The end of the machine too: costs a flush of the disk.
};

/// All bytes of a file; nothing where it is absent, cannot be read or is longer than `bytes_max`.
std::optional<std::string> read_file(const std::string& path, std::size_t bytes_max = 64 << 20);

/// Gives `path` these bytes: a reader sees the old or the new ones, whole. False, with
/// errno set, where the disk refuses; the old file stands then.
bool replace_file(const std::string& path,
                  std::string_view bytes,
                  Survives survives,
                  mode_t mode = 0600);

/// Makes the folder of a worker where it is gone: a program may remove what is around its own. What
/// was in it is not there any more.
void remake_folder(const std::string& folder);

/// Sets room aside on the disk for the next replace_file(PATH) of so many bytes at most, which a
/// full disk does not refuse then. Not so where a file system writes each block anew (btrfs, ZFS).
bool reserve_file(const std::string& path, std::size_t bytes);

/// Closes the descriptor that it holds.
class Descriptor {
 public:
  Descriptor() = default;

  explicit Descriptor(int number) : number_(number) {}

  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}

  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }

  ~Descriptor() { reset(); }

  int get() const { return number_; }

  bool is_open() const { return number_ >= 0; }

  int release() {
    const int number = number_;
    number_ = -1;
    return number;
  }

  void reset(int number = -1);

 private:
  int number_ = -1;
};

}  // namespace orrery::runtime
