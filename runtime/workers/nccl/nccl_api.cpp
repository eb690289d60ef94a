#include "runtime/workers/nccl/nccl_api.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace orrery::worker {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "libnccl.so.2";

/// Adds FOLDER/*/site-packages/nvidia/nccl/lib/libnccl.so.2 and the like below a prefix of Python.
void add_wheels(const fs::path& prefix, std::vector<std::string>& out) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator at(prefix / "lib", error), end; !error && at != end;
       at.increment(error)) {
    if (!at->path().filename().string().starts_with("python3")) continue;
    for (const char* packages : {"site-packages", "dist-packages"}) {
      const fs::path file = at->path() / packages / "nvidia/nccl/lib" / kName;
      std::error_code ignored;
      if (fs::exists(file, ignored)) found.push_back(file.string());
    }
  }
  std::sort(found.begin(), found.end());  // Folders come in no order.
  out.insert(out.end(), found.begin(), found.end());
}

template <class Function>
bool find(void* library, const char* name, Function& out) {
  out = reinterpret_cast<Function>(::dlsym(library, name));
  return out != nullptr;
}

bool find_all(void* library, nccl::Api& out) {
  find(library, "ncclGetLastError", out.get_last_error);
  return find(library, "ncclGetVersion", out.get_version) &&
         find(library, "ncclGetUniqueId", out.get_unique_id) &&
         find(library, "ncclCommInitRankConfig", out.init_rank) &&
         find(library, "ncclCommGetAsyncError", out.get_async_error) &&
         find(library, "ncclCommAbort", out.abort) &&
         find(library, "ncclAllReduce", out.all_reduce) &&
         find(library, "ncclGetErrorString", out.get_error_string);
}

/// Why a library is of no use; empty where it is.
std::string try_to_open(const std::string& file, NcclLibrary& out) {
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = ::dlerror();
    return reason == nullptr ? "cannot be opened" : reason;
  }
  out.file = file;
  if (!find(library, "ncclGetVersion", out.api.get_version) ||
      out.api.get_version(&out.version) != nccl::kSuccess)
    return "tells no version";
  if (out.version < nccl::kVersionMin || !find_all(library, out.api))
    return "is version " + std::to_string(out.version) + ", needs 2.14 or newer";
  return {};
}

}  // namespace

std::vector<std::string> nccl_places(const std::string& file) {
  if (!file.empty()) return {file};
  std::vector<std::string> out{kName};
  for (const char* folder : {"/usr/lib/x86_64-linux-gnu",
                             "/usr/lib64",
                             "/usr/local/cuda/lib64",
                             "/usr/local/cuda/lib",
                             "/usr/local/lib"}) {
    const fs::path path = fs::path(folder) / kName;
    std::error_code ignored;
    if (fs::exists(path, ignored)) out.push_back(path.string());
  }
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const char* prefix = std::getenv(variable)) add_wheels(prefix, out);
  for (const char* prefix : {"/usr/local", "/usr", "/opt/conda"}) add_wheels(prefix, out);
  return out;
}

Result<NcclLibrary> open_nccl(const std::string& file) {
  std::string tried;
  for (const std::string& place : nccl_places(file)) {
    NcclLibrary library;
    const std::string reason = try_to_open(place, library);
    if (reason.empty()) return library;
    tried += (tried.empty() ? "" : "; ") + place + ": " + reason;
  }
  return Error{ErrorCode::Unavailable,
               {},
               0,
               "NCCL",
               "cannot be opened (" + tried + "); name its file with --nccl-library"};
}

}  // namespace orrery::worker
