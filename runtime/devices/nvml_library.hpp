// NVML opened at run time: its functions, found by name.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "core/base/result.hpp"
#include "runtime/devices/nvml_abi.hpp"

namespace orrery::runtime::nvml {

/// The functions of an open library. Those that old drivers lack may be null, as marked.
struct Functions {
  Init init = nullptr;
  Shutdown shutdown = nullptr;
  ErrorString error_string = nullptr;
  GetCount count = nullptr;
  GetHandle handle = nullptr;
  GetText name = nullptr;
  GetText uuid = nullptr;
  GetMemory memory = nullptr;
  GetPciInfo pci_info = nullptr;
  GetEccErrors ecc_errors = nullptr;          ///< May be null.
  GetReasons throttle_reasons = nullptr;      ///< May be null.
  EventSetCreate event_set_create = nullptr;  ///< May be null, as the three below.
  EventSetFree event_set_free = nullptr;
  RegisterEvents register_events = nullptr;
  EventSetWait event_set_wait = nullptr;

  bool has_events() const {
    return event_set_create != nullptr && event_set_free != nullptr && register_events != nullptr &&
           event_set_wait != nullptr;
  }
};

/// A library that is open and initialised as long as this lives.
class Library {
 public:
  /// `path`, or where that is empty the usual names. Errors as for open_nvml.
  static Result<std::unique_ptr<Library>> open(const std::string& path);

  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library();

  const Functions& functions() const { return functions_; }

  /// The library's own words for a code.
  std::string words(int code) const;

 private:
  Library(void* library, const Functions& functions) : library_(library), functions_(functions) {}

  void* library_;
  Functions functions_;
};

}  // namespace orrery::runtime::nvml
