#include <cuda_runtime.h>

#include <string>
#include <utility>

#include "runtime/workers/cuda/cuda_compute.hpp"

namespace orrery::worker {
namespace {

// A block of threads makes a tile of the product of kTile times kTile; each thread kRows of its
// rows.
constexpr int kTile = 32;
constexpr int kRows = 4;
constexpr int kScaleThreads = 256;

__global__ void multiply_tiles(const float* __restrict__ own,
                               const float* __restrict__ shared,
                               float* __restrict__ product,
                               int n) {
  __shared__ float left[kTile][kTile];
  __shared__ float right[kTile][kTile];
  const int column = blockIdx.x * kTile + threadIdx.x;
  const int first_row = blockIdx.y * kTile + threadIdx.y * kRows;
  float sums[kRows] = {};
  for (int tile = 0; tile < n; tile += kTile) {
    for (int i = 0; i < kRows; ++i) {
      const int local = threadIdx.y * kRows + i;
      const int k = tile + threadIdx.x;
      left[local][threadIdx.x] =
          first_row + i < n && k < n ? own[static_cast<size_t>(first_row + i) * n + k] : 0.0F;
      right[local][threadIdx.x] = tile + local < n && column < n
                                      ? shared[static_cast<size_t>(tile + local) * n + column]
                                      : 0.0F;
    }
    __syncthreads();
    for (int k = 0; k < kTile; ++k) {
      const float factor = right[k][threadIdx.x];
      for (int i = 0; i < kRows; ++i) sums[i] += left[threadIdx.y * kRows + i][k] * factor;
    }
    __syncthreads();
  }
  for (int i = 0; i < kRows; ++i)
    if (first_row + i < n && column < n)
      product[static_cast<size_t>(first_row + i) * n + column] = sums[i];
}

__global__ void scale(const float* __restrict__ from, float* __restrict__ to, float by, size_t n) {
  const size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) to[i] = from[i] * by;
}

/// A CUDA error stays with the process: a worker that sees one exits.
Outcome outcome_of(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return Outcome::done();
  return Outcome::fatal(std::string("cuda: ") + what + ": " + cudaGetErrorString(error));
}

/// Memory of the device.
class DeviceFloats {
 public:
  DeviceFloats() = default;

  DeviceFloats(const DeviceFloats&) = delete;
  DeviceFloats& operator=(const DeviceFloats&) = delete;

  ~DeviceFloats() { cudaFree(data_); }

  Outcome allocate(size_t count) {
    return outcome_of(cudaMalloc(&data_, count * sizeof(float)), "memory for a matrix");
  }

  float* get() const { return data_; }

 private:
  float* data_ = nullptr;
};

class CudaStream final : public DeviceStream {
 public:
  ~CudaStream() override {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  Outcome create() {
    Outcome made =
        outcome_of(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream");
    return made.ok() ? scratch_.allocate(1) : made;
  }

  cudaStream_t get() const { return stream_; }

  void* handle() const override { return stream_; }

  float* scratch() const override { return scratch_.get(); }

  State state(std::string& reason) override {
    const cudaError_t error = cudaStreamQuery(stream_);
    if (error == cudaSuccess) return State::Idle;
    if (error == cudaErrorNotReady) return State::Busy;
    reason = std::string("cuda: ") + cudaGetErrorString(error);
    return State::Failed;
  }

 private:
  cudaStream_t stream_ = nullptr;
  DeviceFloats scratch_;
};

class CudaCompute final : public Compute {
 public:
  CudaCompute(std::string name, std::int32_t size) : name_(std::move(name)), size_(size) {}

  /// Takes the device's memory and copies the first matrices there.
  Outcome prepare(std::int32_t rank) {
    Outcome made = stream_.create();
    if (!made.ok()) return made;
    for (DeviceFloats* matrix : {&own_, &shared_, &product_}) {
      Outcome taken = matrix->allocate(entries());
      if (!taken.ok()) return taken;
    }
    Outcome copied = copy_in(own_.get(), own_matrix(size_, rank));
    return copied.ok() ? copy_in(shared_.get(), shared_matrix(size_)) : copied;
  }

  std::string name() const override { return name_; }

  std::int32_t size() const override { return size_; }

  DeviceStream* stream() override { return &stream_; }

  std::span<float> product() override { return {product_.get(), entries()}; }

  Outcome multiply() override {
    const auto tiles = static_cast<unsigned>((size_ + kTile - 1) / kTile);
    multiply_tiles<<<dim3(tiles, tiles), dim3(kTile, kTile / kRows), 0, stream_.get()>>>(
        own_.get(), shared_.get(), product_.get(), size_);
    return finish("the matrix product");
  }

  Outcome share(std::int32_t ranks) override {
    const auto blocks = static_cast<unsigned>((entries() + kScaleThreads - 1) / kScaleThreads);
    scale<<<blocks, kScaleThreads, 0, stream_.get()>>>(
        product_.get(), shared_.get(), 1.0F / static_cast<float>(ranks), entries());
    return finish("the mean");
  }

  Outcome read_product(std::span<float> out) override { return copy_out(product_.get(), out); }

  Outcome write_product(std::span<const float> in) override { return copy_in(product_.get(), in); }

  Outcome read_shared(std::span<float> out) override { return copy_out(shared_.get(), out); }

 private:
  size_t entries() const { return static_cast<size_t>(size_) * static_cast<size_t>(size_); }

  Outcome finish(const char* what) {
    Outcome begun = outcome_of(cudaGetLastError(), what);
    return begun.ok() ? outcome_of(cudaStreamSynchronize(stream_.get()), what) : begun;
  }

  Outcome copy_in(float* to, std::span<const float> from) {
    const cudaError_t error =
        cudaMemcpyAsync(to, from.data(), from.size_bytes(), cudaMemcpyHostToDevice, stream_.get());
    return error == cudaSuccess ? finish("a copy to the device")
                                : outcome_of(error, "a copy to the device");
  }

  Outcome copy_out(const float* from, std::span<float> to) {
    const cudaError_t error =
        cudaMemcpyAsync(to.data(), from, to.size_bytes(), cudaMemcpyDeviceToHost, stream_.get());
    return error == cudaSuccess ? finish("a copy from the device")
                                : outcome_of(error, "a copy from the device");
  }

  const std::string name_;
  const std::int32_t size_;
  CudaStream stream_;
  DeviceFloats own_;
  DeviceFloats shared_;
  DeviceFloats product_;
};

Error no_device(std::string message) {
  return {ErrorCode::Unavailable, {}, 0, "GPU", std::move(message)};
}

}  // namespace

Result<std::unique_ptr<Compute>> make_cuda_compute(std::int32_t size,
                                                   std::int32_t rank,
                                                   std::int32_t device) {
  int devices = 0;
  const cudaError_t counted = cudaGetDeviceCount(&devices);
  if (counted != cudaSuccess)
    return no_device(std::string(cudaGetErrorString(counted)) +
                     "; run orrery-worker where there is no GPU");
  if (device >= devices)
    return no_device("LOCAL_RANK is " + std::to_string(device) + ", this process sees " +
                     std::to_string(devices) + "; mend CUDA_VISIBLE_DEVICES or LOCAL_RANK");
  cudaDeviceProp properties{};
  const cudaError_t chosen = cudaSetDevice(device);
  if (chosen != cudaSuccess || cudaGetDeviceProperties(&properties, device) != cudaSuccess)
    return no_device("device " + std::to_string(device) + ": " +
                     cudaGetErrorString(cudaGetLastError()));
  auto compute = std::make_unique<CudaCompute>(std::string("cuda: ") + properties.name, size);
  const Outcome prepared = compute->prepare(rank);
  if (!prepared.ok()) return no_device(prepared.reason);
  return std::unique_ptr<Compute>(std::move(compute));
}

}  // namespace orrery::worker
