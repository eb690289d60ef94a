// NVML for tests. The variable ORRERY_FAKE_NVML names a file, read at every call, with lines of
//
//   gpus N             how many there are, and
//   init CODE          what initialising returns
//   name GPU TEXT      "NVIDIA H200" unless said
//   lost GPU           every question about it finds it lost
//   ecc GPU COUNT      uncorrected errors since the driver was loaded
//   hot GPU            slowed down by heat
//   xid NUMBER GPU XID an event, delivered once: numbers rise
//   hang               every reading takes for ever
//   plain              functions that old drivers lack answer that they are not supported
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "runtime/devices/nvml_abi.hpp"

namespace {

namespace nvml = orrery::runtime::nvml;

struct Event {
  unsigned int gpu = 0;
  unsigned long long xid = 0;
};

struct Machine {
  unsigned int gpus = 0;
  int init = nvml::kSuccess;
  bool plain = false;
  bool hang = false;
  std::map<unsigned int, std::string> names;
  std::set<unsigned int> lost;
  std::set<unsigned int> hot;
  std::map<unsigned int, unsigned long long> ecc;
  std::map<unsigned long long, Event> events;
};

Machine read_machine() {
  Machine machine;
  const char* path = std::getenv("ORRERY_FAKE_NVML");
  std::ifstream in(path == nullptr ? "" : path);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string what;
    unsigned int gpu = 0;
    words >> what;
    if (what == "gpus") words >> machine.gpus;
    if (what == "init") words >> machine.init;
    if (what == "plain") machine.plain = true;
    if (what == "hang") machine.hang = true;
    if (what == "name" && words >> gpu) std::getline(words >> std::ws, machine.names[gpu]);
    if (what == "lost" && words >> gpu) machine.lost.insert(gpu);
    if (what == "hot" && words >> gpu) machine.hot.insert(gpu);
    if (what == "ecc" && words >> gpu) words >> machine.ecc[gpu];
    if (what == "xid") {
      unsigned long long number = 0;
      Event event;
      words >> number >> event.gpu >> event.xid;
      machine.events[number] = event;
    }
  }
  return machine;
}

// Handles are numbers from 1, so that none is null.
nvml::Handle handle_of(unsigned int gpu) {
  return reinterpret_cast<nvml::Handle>(static_cast<std::uintptr_t>(gpu) + 1);
}

unsigned int gpu_of(nvml::Handle handle) {
  return static_cast<unsigned int>(reinterpret_cast<std::uintptr_t>(handle) - 1);
}

int code_of(const Machine& machine, nvml::Handle handle) {
  return machine.lost.contains(gpu_of(handle)) ? nvml::kGpuIsLost : nvml::kSuccess;
}

int give(const std::string& text, char* to, unsigned int length) {
  std::strncpy(to, text.c_str(), length);
  return nvml::kSuccess;
}

unsigned long long delivered = 0;

}  // namespace

extern "C" {

int nvmlInit_v2() {
  delivered = 0;
  return read_machine().init;
}

int nvmlShutdown() { return nvml::kSuccess; }

const char* nvmlErrorString(int code) {
  if (code == nvml::kGpuIsLost) return "GPU is lost";
  if (code == nvml::kDriverNotLoaded) return "Driver Not Loaded";
  return "some code";
}

int nvmlDeviceGetCount_v2(unsigned int* count) {
  *count = read_machine().gpus;
  return nvml::kSuccess;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int gpu, nvml::Handle* handle) {
  *handle = handle_of(gpu);
  return nvml::kSuccess;
}

int nvmlDeviceGetName(nvml::Handle handle, char* to, unsigned int length) {
  Machine machine = read_machine();
  const auto name = machine.names.find(gpu_of(handle));
  return give(name == machine.names.end() ? "NVIDIA H200" : name->second, to, length);
}

int nvmlDeviceGetUUID(nvml::Handle handle, char* to, unsigned int length) {
  return give("GPU-fake-" + std::to_string(gpu_of(handle)), to, length);
}

int nvmlDeviceGetMemoryInfo(nvml::Handle handle, nvml::Memory* memory) {
  *memory = {150'000'000'000ULL, 150'000'000'000ULL, 0};
  while (read_machine().hang) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return code_of(read_machine(), handle);
}

int nvmlDeviceGetPciInfo_v3(nvml::Handle handle, nvml::PciInfo* pci) {
  *pci = {};
  const std::string bus_id = "00000000:FF:1" + std::to_string(gpu_of(handle) % 10) + ".0";
  std::strncpy(pci->bus_id, bus_id.c_str(), sizeof pci->bus_id - 1);
  return nvml::kSuccess;
}

int nvmlDeviceGetTotalEccErrors(nvml::Handle handle, int, int, unsigned long long* count) {
  Machine machine = read_machine();
  if (machine.plain) return nvml::kNotSupported;
  *count = machine.ecc[gpu_of(handle)];
  return code_of(machine, handle);
}

int nvmlDeviceGetCurrentClocksThrottleReasons(nvml::Handle handle, unsigned long long* reasons) {
  const Machine machine = read_machine();
  if (machine.plain) return nvml::kNotSupported;
  *reasons = machine.hot.contains(gpu_of(handle)) ? 0x40 : 0;
  return code_of(machine, handle);
}

int nvmlEventSetCreate(nvml::EventSet* set) {
  static int set_of_all = 0;
  *set = reinterpret_cast<nvml::EventSet>(&set_of_all);
  return read_machine().plain ? nvml::kNotSupported : nvml::kSuccess;
}

int nvmlEventSetFree(nvml::EventSet) { return nvml::kSuccess; }

int nvmlDeviceRegisterEvents(nvml::Handle, unsigned long long types, nvml::EventSet) {
  return (types & nvml::kEventXid) != 0 ? nvml::kSuccess : nvml::kNotSupported;
}

int nvmlEventSetWait_v2(nvml::EventSet, nvml::EventData* event, unsigned int milliseconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  do {
    const Machine machine = read_machine();
    const auto next = machine.events.upper_bound(delivered);
    if (next != machine.events.end()) {
      delivered = next->first;
      *event = {};
      event->device = handle_of(next->second.gpu);
      event->type = nvml::kEventXid;
      event->data = next->second.xid;
      return nvml::kSuccess;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds == 0 ? 0 : 2));
  } while (std::chrono::steady_clock::now() < end);
  return nvml::kTimeout;
}

}  // extern "C"
