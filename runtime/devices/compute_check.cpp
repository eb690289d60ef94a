#include "runtime/devices/compute_check.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/devices/host.hpp"

namespace orrery::runtime {
namespace {

using Clock = std::chrono::steady_clock;

Duration since(Clock::time_point begin) {
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count()};
}

Error failed(std::string subject, std::string message) {
  return {ErrorCode::Unavailable, {}, 0, std::move(subject), std::move(message)};
}

/// What one thread found.
struct ThreadResult {
  bool right = true;
  bool in_time = true;
};

/// A[i][k] = i + 1 and B[k][j] = j + 1 give C[i][j] = n (i + 1)(j + 1), which doubles hold exactly;
/// processors that make mistakes make them here.
class Product {
 public:
  explicit Product(std::size_t order)
      : order_(order), a_(order * order), b_(order * order), c_(order * order) {
    for (std::size_t i = 0; i < order; ++i)
      for (std::size_t j = 0; j < order; ++j) {
        a_[i * order + j] = static_cast<double>(i + 1);
        b_[i * order + j] = static_cast<double>(j + 1);
      }
  }

  bool multiply() {
    std::fill(c_.begin(), c_.end(), 0.0);
    for (std::size_t i = 0; i < order_; ++i)
      for (std::size_t k = 0; k < order_; ++k) {
        const double a = a_[i * order_ + k];
        for (std::size_t j = 0; j < order_; ++j) c_[i * order_ + j] += a * b_[k * order_ + j];
      }
    return is_right();
  }

 private:
  bool is_right() const {
    const auto n = static_cast<double>(order_);
    for (std::size_t i = 0; i < order_; ++i)
      for (std::size_t j = 0; j < order_; ++j)
        if (c_[i * order_ + j] != n * static_cast<double>((i + 1) * (j + 1))) return false;
    return true;
  }

  std::size_t order_;
  std::vector<double> a_;
  std::vector<double> b_;
  std::vector<double> c_;
};

void work_on_one(const ComputeWork& work,
                 Clock::time_point begin,
                 Duration deadline,
                 ThreadResult& result) {
  Product product(static_cast<std::size_t>(std::clamp(work.order, 1, 4096)));
  for (std::int32_t i = 0; i < std::max(1, work.products) && result.right; ++i) {
    result.right = product.multiply();
    if (since(begin) > deadline) {
      result.in_time = false;
      return;
    }
  }
}

Result<Duration> check_devices(const NodeCheckParts& parts, Duration deadline) {
  Duration slowest;
  if (!parts.device) return slowest;
  for (std::size_t i = 0; i < parts.devices; ++i) {
    const auto took = parts.device(i, deadline);
    if (!took) return took.errors();
    slowest = std::max(slowest, *took);
  }
  return slowest;
}

/// How long compute takes: processors, then devices, whose times add up.
Result<Duration> compute(const CheckRequest& request, const NodeCheckParts& parts) {
  const auto processors = check_processors(parts.processors, request.deadline);
  if (!processors) return processors.errors();
  const auto devices = check_devices(parts, request.deadline);
  if (!devices) return devices.errors();
  return *processors + *devices;
}

}  // namespace

Result<Duration> check_processors(const ComputeWork& work, Duration deadline) {
  const std::int32_t threads =
      work.threads > 0 ? work.threads : std::max(1, read_topology().processors);
  std::vector<ThreadResult> results(static_cast<std::size_t>(threads));
  const Clock::time_point begin = Clock::now();
  {
    std::vector<std::jthread> running;
    running.reserve(results.size());
    for (ThreadResult& result : results)
      running.emplace_back([&] { work_on_one(work, begin, deadline, result); });
  }
  const Duration took = since(begin);
  if (std::any_of(results.begin(), results.end(), [](const auto& each) { return !each.right; }))
    return failed("processors", "a product of matrices is wrong; take the node out of use");
  if (std::any_of(results.begin(), results.end(), [](const auto& each) { return !each.in_time; }))
    return failed("processors",
                  "the matrix work was not done within " +
                      std::to_string(std::lround(deadline.in_seconds())) +
                      " s; look for what else runs there");
  return took;
}

CheckResult run_node_check(const CheckRequest& request, const NodeCheckParts& parts) {
  CheckResult result;
  result.request = request.request;
  const auto computed = compute(request, parts);
  if (!computed) {
    result.error = computed.errors().front().text();
    return result;
  }
  result.compute = *computed;
  if (request.peers.size() < 2) return result;
  if (!parts.all_reduce) {
    result.error = "all-reduce: this agent has no means for it; run one that has";
    return result;
  }
  const auto reduced = parts.all_reduce(request);
  if (reduced)
    result.all_reduce = *reduced;
  else
    result.error = reduced.errors().front().text();
  return result;
}

}  // namespace orrery::runtime
