#include "tools/orrery/simgrid_parts.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "tools/console/version.hpp"
#include "tools/orrery/simgrid_module.hpp"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;

Error refusal(const scenarios::Scenario& scenario, const std::string& what) {
  return Error{.code = ErrorCode::Unavailable,
               .file = scenario.file,
               .subject = "fidelity",
               .message = std::string(orrery::to_string(scenario.fidelity)) + " was asked for, " +
                          what + ", or use --fidelity L0 or L1"};
}

/// The module, which stays until the program ends, as SimGrid's engine does.
Result<const SimGridModule*> load(const scenarios::Scenario& scenario) {
  const std::string path = simgrid_module_path();
  if (path.empty())
    return refusal(scenario,
                   "and there is no " + std::string(kSimGridModuleFile) +
                       ", which brings SimGrid, with this program; install libsimgrid-dev and "
                       "build again");
  void* const module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr)
    return refusal(scenario,
                   "and " + path + " cannot be loaded: " + ::dlerror() +
                       "; install libsimgrid-dev and build again");
  const auto* entry = static_cast<const SimGridModule*>(::dlsym(module, kSimGridModuleEntry));
  if (entry == nullptr || entry->revision != this_version().revision)
    return refusal(scenario,
                   "and " + path + " is of another build than this program; build or install both");
  return entry;
}

}  // namespace

std::string simgrid_module_path() {
  std::error_code code;
  const fs::path folder = fs::read_symlink("/proc/self/exe", code).parent_path();
  if (code) return {};
  // Where it is built, and where it is installed.
  for (const fs::path& path : {folder / kSimGridModuleFile,
                               folder.parent_path() / ORRERY_MODULE_FOLDER / kSimGridModuleFile})
    if (fs::exists(path, code)) return path.string();
  return {};
}

Result<SimGridParts> simgrid_parts(const scenarios::Scenario& scenario) {
  const auto module = load(scenario);
  if (!module) return module.errors();
  return (*module)->make(scenario);
}

}  // namespace orrery::cli
