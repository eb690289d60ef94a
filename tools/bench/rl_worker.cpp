// A loop of reinforcement learning whose workers compute nothing and take their time: what
// tools/bench/place_search.py measures.
//
//   bench_rl_worker work          generates sequences, or works on batches, as the driver calls it
//   bench_rl_worker drive PLAN    drives the turns of PLAN (JSON), prints their seconds into
//   PLAN.out
//
// Workers wait until instants, so that what a call costs shows in the turn and not in its parts.
// Devices that change hands do so by the agent's turns.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <string>
#include <thread>
#include <vector>

#include "runtime/sdk/sdk.hpp"

namespace {

namespace sdk = orrery::sdk;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

Clock::time_point after(Clock::time_point begin, double seconds) {
  return begin + std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
}

/// A worker's devices, which it may have to wait for.
class Devices {
 public:
  explicit Devices(sdk::Worker& worker) : worker_(worker) {}

  /// Waits for the turn on them, then as long as loading takes.
  void take(double load_s) {
    turn_.emplace(worker_.turn());
    std::this_thread::sleep_until(after(Clock::now(), load_s));
  }

  void give_back() { turn_.reset(); }

 private:
  sdk::Worker& worker_;
  std::optional<sdk::Turn> turn_;
};

/// Generates groups of sequences, so many sequences at once, and puts a group's number into the
/// channel when its last sequence has ended.
void generate(const sdk::Worker& worker, const sdk::Value& groups, int concurrent) {
  const Clock::time_point begin = Clock::now();
  sdk::Channel out = sdk::Channel::open(worker.driver().worker("driver", 0), "part0");
  std::priority_queue<double, std::vector<double>, std::greater<>> busy_until;
  std::vector<std::pair<double, int>> ends;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    double last = 0;
    for (const double length : groups[group]) {
      double end = length;
      if (static_cast<int>(busy_until.size()) == concurrent) {
        end += busy_until.top();
        busy_until.pop();
      }
      busy_until.push(end);
      last = std::max(last, end);
    }
    ends.emplace_back(last, static_cast<int>(group));
  }
  std::sort(ends.begin(), ends.end());
  for (const auto& [end, group] : ends) {
    std::this_thread::sleep_until(after(begin, end));
    out.put(group);
  }
}

int work() {
  sdk::Worker worker = sdk::Worker::join();
  Devices devices(worker);
  worker.method("take", [&](double load_s) { devices.take(load_s); });
  worker.method("give_back", [&] { devices.give_back(); });
  worker.method("generate", [&](const sdk::Value& groups, int concurrent) {
    generate(worker, groups, concurrent);
  });
  worker.method("compute", [](double seconds) {
    std::this_thread::sleep_until(after(Clock::now(), seconds));
  });
  // A part of the weights travels; the rest of the time stands for the link.
  worker.method("load", [](const sdk::Buffer& weights, double seconds) {
    std::this_thread::sleep_until(after(Clock::now(), seconds));
    return weights.bytes.size();
  });
  worker.method("send", [&](const std::string& role, int replicas, double seconds) {
    const sdk::Driver driver = worker.driver();
    std::vector<sdk::Future<std::size_t>> sent;
    for (int i = 0; i < replicas; ++i)
      sent.push_back(driver.worker(role, i).submit<std::size_t>(
          "load", sdk::Buffer::of_size(std::size_t{1} << 16), seconds));
    for (auto& one : sent) one.get();
  });
  return worker.serve();
}

/// The turns of a plan, each part on a thread of its own.
class Loop {
 public:
  Loop(const sdk::Worker& worker, const sdk::Value& plan)
      : plan_(plan),
        parts_(plan.at("parts")),
        batches_(plan.at("micro_batches")),
        driver_(worker.driver()) {
    for (const sdk::Value& part : parts_) {
      const std::string role = part.at("role");
      if (!groups_.contains(role))
        groups_.emplace(role, std::make_unique<sdk::WorkerGroup>(driver_, role));
      const std::size_t number = channels_.size();
      channels_.push_back(sdk::Channel::create(driver_.worker_named(worker.name()),
                                               "part" + std::to_string(number)));
    }
  }

  /// Seconds of the turn with these sequences, by group.
  double run(const sdk::Value& groups) {
    const Clock::time_point begin = Clock::now();
    done_.assign(parts_.size(), false);
    std::vector<std::thread> threads;
    for (std::size_t part = 0; part < parts_.size(); ++part)
      threads.emplace_back([this, part, &groups] { run_part(part, groups); });
    for (std::thread& thread : threads) thread.join();
    if (const double weights_s = plan_.at("weights_s"); weights_s > 0) {
      const std::string role = parts_.front().at("role");
      const int replicas = parts_.front().at("replicas");
      const std::string trains = parts_.back().at("role");
      driver_.worker(trains, 0).call<sdk::Value>("send", role, replicas, weights_s);
    }
    return Seconds(Clock::now() - begin).count();
  }

 private:
  sdk::WorkerGroup& group_of(std::size_t part) {
    return *groups_.at(parts_[part].at("role").get<std::string>());
  }

  void wait_for_devices(std::size_t part) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
      for (const std::size_t other : parts_[part].at("after"))
        if (!done_[other]) return false;
      return true;
    });
  }

  void run_part(std::size_t part, const sdk::Value& groups) {
    wait_for_devices(part);
    if (parts_[part].at("takes").get<bool>())
      group_of(part).call("take", plan_.at("switch_s").get<double>()).result();
    if (part == 0)
      generate_all(groups);
    else
      pass_batches(part, groups.size());
    if (parts_[part].at("gives_back").get<bool>()) group_of(part).call("give_back").result();
    const std::scoped_lock lock(mutex_);
    done_[part] = true;
    changed_.notify_all();
  }

  // Group j is of worker j modulo their number.
  void generate_all(const sdk::Value& groups) {
    const int replicas = parts_.front().at("replicas");
    std::vector<sdk::Value> of(static_cast<std::size_t>(replicas), sdk::Value::array());
    for (std::size_t j = 0; j < groups.size(); ++j) of[j % of.size()].push_back(groups[j]);
    const std::string role = parts_.front().at("role");
    std::vector<sdk::Future<sdk::Value>> under_way;
    for (int i = 0; i < replicas; ++i)
      under_way.push_back(driver_.worker(role, i).submit<sdk::Value>(
          "generate", of[static_cast<std::size_t>(i)], plan_.at("concurrent").get<int>()));
    for (auto& one : under_way) one.get();
  }

  void pass_batches(std::size_t part, std::size_t groups) {
    const double seconds = parts_[part].at("seconds");
    for (std::size_t batch = 0; batch < batches_; ++batch) {
      const std::size_t of_groups = (batch + 1) * groups / batches_ - batch * groups / batches_;
      for (std::size_t left = part == 1 ? of_groups : 1; left > 0;) {
        sdk::ChannelBatch got = channels_[part - 1].get({left});
        got.acknowledge();
        left -= got.items.size();
      }
      group_of(part)
          .call("compute", seconds * static_cast<double>(of_groups) / static_cast<double>(groups))
          .result();
      if (part + 1 < parts_.size()) channels_[part].put(batch);
    }
  }

  const sdk::Value& plan_;
  const sdk::Value& parts_;
  std::size_t batches_;
  sdk::Driver driver_;
  std::map<std::string, std::unique_ptr<sdk::WorkerGroup>> groups_;
  std::vector<sdk::Channel> channels_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> done_;  // By part.
};

int drive(const std::string& path) {
  sdk::Value plan;
  std::ifstream(path) >> plan;
  sdk::Worker worker = sdk::Worker::join();
  worker.start();
  Loop loop(worker, plan);
  sdk::Value seconds = sdk::Value::array();
  for (const sdk::Value& groups : plan.at("turns")) seconds.push_back(loop.run(groups));
  std::ofstream(path + ".out.part") << seconds << "\n";
  std::rename((path + ".out.part").c_str(), (path + ".out").c_str());
  worker.stop();
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    if (count == 2 && std::string(words[1]) == "work") return work();
    if (count == 3 && std::string(words[1]) == "drive") return drive(words[2]);
    std::fputs("usage: bench_rl_worker work | drive PLAN\n", stderr);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
