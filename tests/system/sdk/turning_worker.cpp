// A worker that takes turns on its devices with others, for tests: turning_worker.py in C++.
//
//   turning_worker FOLDER
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "runtime/sdk/sdk.hpp"

namespace {

namespace sdk = orrery::sdk;
using namespace std::chrono_literals;

constexpr int kTurns = 12;

class Turning {
 public:
  Turning(sdk::Worker& worker, std::string witness)
      : worker_(worker), witness_(std::move(witness)) {}

  static void methods(sdk::Methods<Turning>& methods) { methods.add("hold", &Turning::hold); }

  void take_turns() {
    for (int i = 0; i < kTurns; ++i) {
      const sdk::Turn turn = worker_.turn(60s);
      note("begin");
      note("end");
    }
  }

  /// Has the turn until its caller is gone.
  void hold(sdk::Context& context) {
    const sdk::Turn turn = worker_.turn(5s);
    note("begin");
    while (!context.cancelled()) std::this_thread::sleep_for(20ms);
    note("end");
  }

 private:
  /// One write for a line, so that lines of several processes do not mix.
  void note(const char* word) {
    const std::string line =
        std::to_string(std::chrono::steady_clock::now().time_since_epoch() / 1ns) + " " + word +
        " " + std::getenv("ORRERY_ROLE") + " " + std::to_string(::getpid()) + "\n";
    std::ofstream out(witness_, std::ios::app);
    out << line << std::flush;
  }

  sdk::Worker& worker_;
  const std::string witness_;
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "usage: turning_worker FOLDER" << std::endl;
    return 2;
  }
  const std::filesystem::path folder = arguments[1];
  sdk::Worker worker = sdk::Worker::join();
  const auto turning = std::make_shared<Turning>(worker, folder / "witness");
  worker.expose(turning);
  const char* incarnation = std::getenv("ORRERY_INCARNATION");
  if (incarnation == std::string_view("1") && !std::filesystem::exists(folder / "hold")) {
    turning->take_turns();
    return 0;
  }
  return worker.serve();
}
