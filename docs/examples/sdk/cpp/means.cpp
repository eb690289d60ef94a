// Means of batches of numbers: `means` is a worker of role `trainer`, `means drive` calls them all.
#include <iostream>
#include <memory>
#include <numeric>
#include <orrery/sdk.hpp>
#include <string>
#include <vector>

namespace sdk = orrery::sdk;

/// A worker that keeps what it has seen.
class Mean {
 public:
  static void methods(sdk::Methods<Mean>& methods) {
    methods.add("add", &Mean::add, {.parameters = {"numbers"}})
        .add("mean", &Mean::mean, {.concurrent = false, .idempotent = true});
  }

  std::size_t add(const std::vector<double>& numbers) {
    sum_ = std::accumulate(numbers.begin(), numbers.end(), sum_);
    return count_ += numbers.size();
  }

  double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

 private:
  double sum_ = 0;
  std::size_t count_ = 0;
};

int work() {
  sdk::Worker worker = sdk::Worker::join();
  worker.expose(std::make_shared<Mean>());
  return worker.serve();
}

int drive() {
  const sdk::Driver driver;  // ORRERY_SERVER_URL, ORRERY_JOB, ORRERY_TOKEN.
  sdk::WorkerGroup group(driver, "trainer");
  std::vector<double> numbers(1000);
  std::iota(numbers.begin(), numbers.end(), 1);
  group.call_batch("add", numbers.size(), numbers).result();
  for (const double mean : group.call<double>("mean").result()) std::cout << mean << "\n";
  return 0;
}

int main(int count, char** arguments) {
  try {
    return count > 1 && std::string(arguments[1]) == "drive" ? drive() : work();
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
