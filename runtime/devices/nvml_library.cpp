#include "runtime/devices/nvml_library.hpp"

#include <dlfcn.h>
#include <sys/auxv.h>

#include <array>
#include <utility>

namespace orrery::runtime::nvml {
namespace {

constexpr std::array kUsualNames{"libnvidia-ml.so.1",
                                 "libnvidia-ml.so",
                                 "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
                                 "/usr/lib64/libnvidia-ml.so.1",
                                 "/usr/local/nvidia/lib64/libnvidia-ml.so.1",
                                 "/run/nvidia/driver/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
                                 "/usr/lib/wsl/lib/libnvidia-ml.so.1"};

Error error(ErrorCode code, std::string message) {
  return {code, {}, 0, "NVML", std::move(message)};
}

std::string last_dl_error() {
  const char* words = ::dlerror();
  return words == nullptr ? "no reason is known" : words;
}

void* open_usual() {
  for (const char* name : kUsualNames)
    if (void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  return nullptr;
}

template <class Function>
void find(void* library, const char* name, Function& to) {
  to = reinterpret_cast<Function>(::dlsym(library, name));
}

/// The newest form of a function that the library has.
template <class Function>
void find_newest(void* library, const char* newer, const char* older, Function& to) {
  find(library, newer, to);
  if (to == nullptr) find(library, older, to);
}

Functions find_all(void* library) {
  Functions found;
  find_newest(library, "nvmlInit_v2", "nvmlInit", found.init);
  find(library, "nvmlShutdown", found.shutdown);
  find(library, "nvmlErrorString", found.error_string);
  find_newest(library, "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount", found.count);
  find_newest(library, "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex", found.handle);
  find(library, "nvmlDeviceGetName", found.name);
  find(library, "nvmlDeviceGetUUID", found.uuid);
  find(library, "nvmlDeviceGetMemoryInfo", found.memory);
  find(library, "nvmlDeviceGetPciInfo_v3", found.pci_info);
  find(library, "nvmlDeviceGetTotalEccErrors", found.ecc_errors);
  find_newest(library,
              "nvmlDeviceGetCurrentClocksEventReasons",
              "nvmlDeviceGetCurrentClocksThrottleReasons",
              found.throttle_reasons);
  find(library, "nvmlEventSetCreate", found.event_set_create);
  find(library, "nvmlEventSetFree", found.event_set_free);
  find(library, "nvmlDeviceRegisterEvents", found.register_events);
  find(library, "nvmlEventSetWait_v2", found.event_set_wait);
  return found;
}

bool has_what_is_needed(const Functions& found) {
  return found.init != nullptr && found.shutdown != nullptr && found.count != nullptr &&
         found.handle != nullptr && found.name != nullptr && found.uuid != nullptr &&
         found.memory != nullptr && found.pci_info != nullptr;
}

}  // namespace

Result<std::unique_ptr<Library>> Library::open(const std::string& path) {
  // A static program has no dynamic linker; its dlopen would bring in a second C library.
  if (::getauxval(AT_BASE) == 0)
    return error(ErrorCode::InvalidInput,
                 "is not opened by a static program, a dynamic one is needed; run the agent of a "
                 "machine with GPUs from the dynamic program, or name its devices in its settings");
  void* library = path.empty() ? open_usual() : ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return error(ErrorCode::NotFound,
                 path.empty() ? "there is no libnvidia-ml.so.1, the driver brings it; install the "
                                "driver, or name the library in the settings"
                              : "cannot be opened (" + last_dl_error() +
                                    "), a library is needed; "
                                    "correct inventory.nvml_library");
  const Functions found = find_all(library);
  if (!has_what_is_needed(found)) {
    ::dlclose(library);
    return error(
        ErrorCode::Unavailable,
        "the library lacks functions that are needed; install a driver from 2018 or later");
  }
  std::unique_ptr<Library> opened(new Library(library, found));
  const int code = found.init();
  if (code == kSuccess) return opened;
  // What was never initialised must not be shut down.
  opened->functions_.shutdown = nullptr;
  return error(code == kDriverNotLoaded ? ErrorCode::NotFound : ErrorCode::Unavailable,
               "cannot be initialised (" + opened->words(code) +
                   "), a loaded driver of the same version is needed; load it, or reboot");
}

Library::~Library() {
  if (functions_.shutdown != nullptr) functions_.shutdown();
  ::dlclose(library_);
}

std::string Library::words(int code) const {
  const char* text = functions_.error_string == nullptr ? nullptr : functions_.error_string(code);
  return text == nullptr ? "code " + std::to_string(code) : text;
}

}  // namespace orrery::runtime::nvml
