#include "tools/cluster_world/run_certificates.hpp"

#include <chrono>
#include <filesystem>
#include <utility>
#include <vector>

#include "runtime/security/authority.hpp"
#include "runtime/security/secret_files.hpp"
#include "tools/cluster_world/settings_files.hpp"

namespace orrery::cli {

using runtime::Role;

Status make_run_certificates(const std::string& folder,
                             const std::string& host,
                             std::uint32_t nodes) {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  const runtime::Validity validity{
      Instant{std::chrono::duration_cast<std::chrono::nanoseconds>(since_epoch).count()},
      Duration::seconds(86'400)};
  const auto authority = runtime::make_authority(validity);
  if (!authority) return authority.errors();
  std::vector<std::pair<std::string, runtime::CertificateRequest>> wanted{
      {"controller", {{Role::Controller, "controller"}, {host, "127.0.0.1"}}},
      {"admin-scenario", {{Role::Admin, "scenario"}, {}}}};
  for (std::uint32_t n = 0; n < nodes; ++n) {
    const std::string name = node_name(NodeId{n});
    wanted.push_back({"agent-" + name, {{Role::Agent, name}, {}}});
  }
  std::vector<runtime::NewFile> files{{folder + "/ca.pem", authority->certificate, false}};
  for (const auto& [stem, request] : wanted) {
    auto pair = runtime::issue(*authority, request, validity);
    if (!pair) return pair.errors();
    files.push_back({folder + "/" + stem + ".key", std::move(pair->key), true});
    files.push_back({folder + "/" + stem + ".pem", std::move(pair->certificate), false});
  }
  std::error_code code;  // What fails is told by what follows.
  std::filesystem::create_directories(folder, code);
  return runtime::write_files(files, runtime::Existing::Refuse);
}

}  // namespace orrery::cli
