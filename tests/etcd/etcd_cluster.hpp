// Three members of etcd on loopback, shared by all tests of a program.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/etcd/etcd_client.hpp"

namespace orrery::runtime {

/// Members on free ports with data in a folder of their own; ended with the program, whatever ends
/// it. A test that stops members starts them again.
class EtcdCluster {
 public:
  static constexpr std::size_t kMembers = 3;

  /// Null where there is no etcd to start, or it does not start; `why_not` says so. Started with
  /// the first call.
  static EtcdCluster* get();
  static const std::string& why_not();

  EtcdCluster(const EtcdCluster&) = delete;
  EtcdCluster& operator=(const EtcdCluster&) = delete;
  ~EtcdCluster();

  EtcdSettings settings() const;

  /// The member that leads, by its place among the endpoints; waits until there is one.
  std::size_t leader() const;

  void kill(std::size_t member);
  void start(std::size_t member);

  /// Starts whoever is not running, and waits until all three have one leader.
  void heal();

 private:
  EtcdCluster();

  static std::unique_ptr<EtcdCluster>& held();

  /// False also where a member ended by itself.
  bool is_up(std::chrono::seconds within) const;
  std::string last_words() const;

  std::filesystem::path folder_;
  std::array<int, kMembers> client_ports_{};
  std::array<int, kMembers> peer_ports_{};
  std::array<int, kMembers> processes_{};  ///< 0: not running.
  std::unique_ptr<EtcdClient> client_;
};

/// Skips where there is no etcd; gives each test keys of its own.
class EtcdTest : public ::testing::Test {
 protected:
  void SetUp() override;

  EtcdCluster& cluster() { return *EtcdCluster::get(); }

  /// Waits for a state of things that must come, at most a time that no machine needs.
  template <class Condition>
  static bool comes_true(const Condition& condition) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < limit) {
      if (condition()) return true;
      nap();
    }
    return condition();
  }

  std::string prefix_;
  std::unique_ptr<EtcdClient> client_;

 private:
  static void nap();
};

}  // namespace orrery::runtime
