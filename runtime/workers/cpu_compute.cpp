#include "runtime/workers/cpu_compute.hpp"

#include <algorithm>
#include <cstddef>

namespace orrery::worker {
namespace {

// A block of the shared matrix's rows that stays in the second-level cache while it is used.
constexpr std::size_t kBlock = 64;

class CpuCompute final : public Compute {
 public:
  CpuCompute(std::int32_t size, std::int32_t rank)
      : size_(size),
        own_(own_matrix(size, rank)),
        shared_(shared_matrix(size)),
        product_(own_.size()) {}

  std::string name() const override { return "cpu"; }

  std::int32_t size() const override { return size_; }

  Outcome multiply() override {
    const auto n = static_cast<std::size_t>(size_);
    std::fill(product_.begin(), product_.end(), 0.0F);
    for (std::size_t block = 0; block < n; block += kBlock)
      for (std::size_t row = 0; row < n; ++row)
        for (std::size_t k = block; k < std::min(block + kBlock, n); ++k)
          add_row(own_[row * n + k], &shared_[k * n], &product_[row * n], n);
    return Outcome::done();
  }

  std::span<float> product() override { return product_; }

  Outcome read_product(std::span<float> out) override {
    std::copy_n(product_.begin(), out.size(), out.begin());
    return Outcome::done();
  }

  Outcome write_product(std::span<const float> in) override {
    std::copy(in.begin(), in.end(), product_.begin());
    return Outcome::done();
  }

  Outcome share(std::int32_t ranks) override {
    const float part = 1.0F / static_cast<float>(ranks);
    for (std::size_t i = 0; i < shared_.size(); ++i) shared_[i] = product_[i] * part;
    return Outcome::done();
  }

  Outcome read_shared(std::span<float> out) override {
    std::copy_n(shared_.begin(), out.size(), out.begin());
    return Outcome::done();
  }

 private:
  static void add_row(float factor,
                      const float* __restrict from,
                      float* __restrict to,
                      std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) to[i] += factor * from[i];
  }

  std::int32_t size_;
  std::vector<float> own_;
  std::vector<float> shared_;
  std::vector<float> product_;
};

}  // namespace

std::unique_ptr<Compute> make_cpu_compute(std::int32_t size, std::int32_t rank) {
  return std::make_unique<CpuCompute>(size, rank);
}

}  // namespace orrery::worker
