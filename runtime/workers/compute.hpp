// The work of a step: real matrix products, on whatever device there is.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/workers/outcome.hpp"

namespace orrery::worker {

/// The queue of a device on which its operations run in order, for libraries that add their own.
class DeviceStream {
 public:
  enum class State : std::uint8_t { Busy, Idle, Failed };

  virtual ~DeviceStream() = default;

  /// The device's own handle, such as a cudaStream_t.
  virtual void* handle() const = 0;

  /// One float in the memory of the device, for collectives that need something to send.
  virtual float* scratch() const = 0;

  /// Whether everything queued has ended. `reason` is set where it failed.
  virtual State state(std::string& reason) = 0;
};

/// A worker's matrices, of `size` times `size` floats each. Its *own* one differs between ranks,
/// has no negative entries, and rows that sum up to 1. A step multiplies the *shared* one by it,
/// all ranks sum up their products, and the mean is the next shared one: all entries stay from 0 to
/// 1, and all ranks hold the same bits. An outcome that is not Done is Fatal.
class Compute {
 public:
  virtual ~Compute() = default;

  /// What computes: `cpu`, `cuda: NVIDIA H200`.
  virtual std::string name() const = 0;

  virtual std::int32_t size() const = 0;

  /// product = own times shared; returns when it is done.
  virtual Outcome multiply() = 0;

  /// Where the product lies: memory of the device where there is a stream, else of the host.
  virtual std::span<float> product() = 0;

  /// The device's queue; null: the host computes.
  virtual DeviceStream* stream() { return nullptr; }

  /// Copies the first floats of the product to host memory, and from there.
  virtual Outcome read_product(std::span<float> out) = 0;
  virtual Outcome write_product(std::span<const float> in) = 0;

  /// shared = product / ranks.
  virtual Outcome share(std::int32_t ranks) = 0;

  /// Copies the shared matrix to host memory.
  virtual Outcome read_shared(std::span<float> out) = 0;
};

/// The own matrix of a rank, and the shared one that all start with, row by row.
std::vector<float> own_matrix(std::int32_t size, std::int32_t rank);
std::vector<float> shared_matrix(std::int32_t size);

/// Fatal where an entry of a shared matrix is not from 0 to 1: some rank computed wrongly.
Outcome check_entries(std::span<const float> shared);

/// What two devices that computed the same must agree on, up to rounding.
struct Digest {
  double mean = 0;
  double low = 0;
  double high = 0;
};

Digest digest_of(std::span<const float> shared);

}  // namespace orrery::worker
