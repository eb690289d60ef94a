// Certificates for tests, made in a temporary folder.
#pragma once

#include <string>

#include "runtime/config/config.hpp"
#include "tests/runtime/link/listening.hpp"
#include "tests/support/temporary_folder.hpp"

namespace orrery::runtime {

/// A certificate authority that lives as long as the test, and what it has issued.
class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name);
  TestAuthority(const TestAuthority&) = delete;
  TestAuthority& operator=(const TestAuthority&) = delete;
  ~TestAuthority();

  /// Files of a new certificate for `name` in the role `unit`; `ip` is where it serves, or empty.
  TlsFiles issue(const std::string& name, const std::string& unit, const std::string& ip = {});

  std::string ca_file() const { return folder_.file("ca.pem"); }

 private:
  struct Secret;

  TemporaryFolder folder_;
  Secret* secret_;
};

}  // namespace orrery::runtime
