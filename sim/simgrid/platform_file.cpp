#include "sim/simgrid/platform_file.hpp"

#include <exception>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

namespace orrery::sim {
namespace {

namespace s4u = simgrid::s4u;

// Hosts as they are made, which is the order of the file. SimGrid cannot forget a callback.
std::vector<s4u::Host*>* made = nullptr;

// What the host, or else its zone, says about `key`; empty where neither does.
std::string_view property(const s4u::Host& host, const std::string& key) {
  if (const char* own = host.get_property(key)) return own;
  const s4u::NetZone* zone = host.get_englobing_zone();
  const char* of_zone = zone == nullptr ? nullptr : zone->get_property(key);
  return of_zone == nullptr ? std::string_view() : of_zone;
}

bool says(const s4u::Host& host, const std::string& key) {
  const std::string_view value = property(host, key);
  return value == "true" || value == "1" || value == "yes";
}

bool is_storage(const s4u::Host& host) {
  return property(host, "role") == "storage" || says(host, "pfs_host");
}

bool is_master(const s4u::Host& host) {
  return property(host, "role") == "master" || says(host, "master") || says(host, "batch_system");
}

PlatformHosts sort_out(const std::vector<s4u::Host*>& hosts) {
  bool roles = false;
  for (const s4u::Host* host : hosts) roles |= is_storage(*host) || is_master(*host);
  PlatformHosts out;
  for (s4u::Host* host : hosts) {
    if (is_storage(*host) && out.storage == nullptr)
      out.storage = host;
    else if (is_storage(*host) || is_master(*host) || host->get_speed() <= 0 ||
             (!roles && host->get_name() == "master_host"))
      out.left_over.push_back(host);
    else
      out.nodes.push_back(host);
  }
  return out;
}

Error unreadable(const std::string& file, const std::string& why) {
  return {ErrorCode::InvalidInput,
          file,
          0,
          "platform",
          why +
              ", needed is a SimGrid platform file of version 4 or later; mend it, or bring it up "
              "to date with simgrid_update_xml"};
}

}  // namespace

Result<PlatformHosts> load_platform_file(SimGridEngine& engine, const std::string& file) {
  // SimGrid ends the process where it cannot open the file.
  std::error_code code;
  if (std::filesystem::is_directory(file, code)) return unreadable(file, "is a folder");
  if (!std::ifstream(file).good()) return unreadable(file, "the file cannot be opened");
  std::vector<s4u::Host*> hosts;
  made = &hosts;
  s4u::Host::on_creation_cb([](s4u::Host& host) {
    // Told twice of each host; the data tell which are known.
    if (made == nullptr || host.get_data<void>() != nullptr) return;
    host.set_data(made);
    made->push_back(&host);
  });
  try {
    engine.simgrid().load_platform(file);
    engine.simgrid().seal_platform();
  } catch (const std::exception& broken) {
    made = nullptr;
    return unreadable(file, std::string("SimGrid refuses it: ") + broken.what());
  }
  made = nullptr;
  PlatformHosts out = sort_out(hosts);
  if (out.nodes.empty())
    return unreadable(file, "none of its " + std::to_string(hosts.size()) + " hosts is a node");
  return out;
}

}  // namespace orrery::sim
