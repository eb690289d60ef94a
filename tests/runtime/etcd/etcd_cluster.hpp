// Three members of etcd on loopback, shared by all tests of a program.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/etcd/etcd_client.hpp"

namespace orrery::runtime {

struct EtcdClusterOptions {
  std::size_t members = 3;
  std::vector<std::string> arguments;  ///< Of each member, beside the usual ones.

  /// Files of TLS of the members, which ask clients for certificates; and of the clients.
  struct Tls {
    std::string ca;
    std::string certificate;
    std::string key;
  };

  std::optional<Tls> tls;
};

/// Members on free ports with data in a folder of their own; ended with the program, whatever ends
/// it. A test that stops members starts them again.
class EtcdCluster {
 public:
  /// Null where there is no etcd to start, or it does not start; `why_not` says so. Started with
  /// the first call.
  static EtcdCluster* get();
  static const std::string& why_not();

  /// One of the test's own; null as above.
  static std::unique_ptr<EtcdCluster> make(const EtcdClusterOptions& options);

  EtcdCluster(const EtcdCluster&) = delete;
  EtcdCluster& operator=(const EtcdCluster&) = delete;
  ~EtcdCluster();

  EtcdSettings settings() const;

  /// The member that leads, by its place among the endpoints; waits until there is one.
  std::size_t leader() const;

  void kill(std::size_t member);
  void start(std::size_t member);

  /// Starts the members that do not run, and waits until all have one leader.
  void heal();

 private:
  explicit EtcdCluster(EtcdClusterOptions options);

  static std::unique_ptr<EtcdCluster>& held();

  /// False also where a member ended by itself.
  bool is_up(std::chrono::seconds within) const;
  std::string last_words() const;

  std::filesystem::path folder_;
  EtcdClusterOptions options_;
  std::vector<int> client_ports_;
  std::vector<int> peer_ports_;
  std::vector<int> processes_;  ///< 0: not running.
  std::unique_ptr<EtcdClient> client_;
};

/// Skips where there is no etcd; gives each test keys of its own.
class EtcdTest : public ::testing::Test {
 protected:
  void SetUp() override;

  EtcdCluster& cluster() { return *EtcdCluster::get(); }

  /// Waits for a state of things that must come, at most a time that no machine needs. What takes
  /// long is looked at less and less often.
  template <class Condition>
  static bool comes_true(const Condition& condition) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (int look = 0; std::chrono::steady_clock::now() < limit; ++look) {
      if (condition()) return true;
      nap(look);
    }
    return condition();
  }

  std::string prefix_;
  std::unique_ptr<EtcdClient> client_;

 private:
  static void nap(int look);
};

}  // namespace orrery::runtime
