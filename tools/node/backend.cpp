#include "tools/node/backend.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/config/key_rights.hpp"
#include "runtime/election/sole_election.hpp"
#include "runtime/etcd/etcd_election.hpp"
#include "runtime/etcd/etcd_store.hpp"
#include "runtime/store/sqlite_store.hpp"

namespace orrery::cli {
namespace {

runtime::EtcdSettings settings_of(const runtime::StoreConfig& store) {
  runtime::EtcdSettings settings;
  settings.endpoints = store.etcd_endpoints;
  settings.ca_file = store.etcd_tls.ca;
  settings.certificate_file = store.etcd_tls.certificate;
  settings.key_file = store.etcd_tls.key;
  return settings;
}

// A store's own pointer as one to its interface.
template <class Store>
Result<std::unique_ptr<StateStore>> as_store(Result<std::unique_ptr<Store>> opened) {
  if (!opened) return opened.errors();
  return std::unique_ptr<StateStore>(std::move(opened).value());
}

}  // namespace

Result<std::unique_ptr<Backend>> Backend::make(const runtime::ControllerConfig& config,
                                               std::string url) {
  if (std::optional<Error> open = runtime::check_kept_secret(config.store.etcd_tls.key))
    return *open;
  std::unique_ptr<Backend> backend(new Backend(config, std::move(url)));
  if (config.store.etcd_endpoints.empty()) return backend;
  for (auto* client : {&backend->etcd_, &backend->votes_}) {
    auto made = runtime::EtcdClient::make(settings_of(config.store));
    if (!made) return made.errors();
    *client = std::move(made).value();
  }
  return backend;
}

void Backend::install(runtime::ControllerParts& parts) {
  parts.election = [this](runtime::Election::Lost lost) { return election(std::move(lost)); };
  parts.open_store = [this](const runtime::Leadership& leadership) { return open(leadership); };
}

Result<std::unique_ptr<StateStore>> Backend::open(const runtime::Leadership& leadership) {
  if (!etcd_)
    return as_store(runtime::SqliteStore::open(
        config_.store.sqlite, runtime::SqliteStore::Access::Append, runtime::Pruning::Archive));
  runtime::EtcdStoreOptions options;
  options.prefix = config_.store.etcd_prefix;
  return as_store(runtime::EtcdStore::open(*etcd_, leadership, options));
}

std::unique_ptr<runtime::Election> Backend::election(runtime::Election::Lost lost) {
  const runtime::Candidate self{config_.name, url_};
  if (!etcd_) return std::make_unique<runtime::SoleElection>(self);
  runtime::EtcdElectionOptions options;
  options.prefix = config_.store.etcd_prefix;
  const std::chrono::nanoseconds lease(config_.store.leader_lease.ns);
  options.lease = std::max(std::chrono::ceil<std::chrono::seconds>(lease), std::chrono::seconds(1));
  return std::make_unique<runtime::EtcdElection>(*votes_, self, options, std::move(lost));
}

}  // namespace orrery::cli
