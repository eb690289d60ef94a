// The part of NVML's binary interface that is used here: NVIDIA keeps it stable, and with it no
// header of theirs is needed to build. Names are ours, values and layouts theirs.
#pragma once

#include <cstdint>

namespace orrery::runtime::nvml {

using Handle = struct OpaqueDevice*;
using EventSet = struct OpaqueEventSet*;

/// nvmlReturn_t.
enum Code : int {
  kSuccess = 0,
  kNotSupported = 3,
  kNoPermission = 4,
  kDriverNotLoaded = 9,
  kTimeout = 10,
  kGpuIsLost = 15,
  kResetRequired = 16,
  kUnknown = 999,
};

/// nvmlMemory_t, in bytes.
struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

/// nvmlPciInfo_t as of nvmlDeviceGetPciInfo_v3.
struct PciInfo {
  char legacy_bus_id[16];
  unsigned int domain;
  unsigned int bus;
  unsigned int device;
  unsigned int device_and_vendor;
  unsigned int subsystem;
  char bus_id[32];
};

/// nvmlEventData_t as of nvmlEventSetWait_v2.
struct EventData {
  Handle device;
  unsigned long long type;
  unsigned long long data;
  unsigned int gpu_instance;
  unsigned int compute_instance;
};

inline constexpr unsigned long long kEventXid = 0x8;

/// nvmlMemoryErrorType_t and nvmlEccCounterType_t: uncorrected ones since the driver was loaded.
inline constexpr int kUncorrected = 1;
inline constexpr int kVolatile = 0;

/// Bits of nvmlDeviceGetCurrentClocksThrottleReasons: slowed down by heat, by driver and hardware.
inline constexpr unsigned long long kSlowedByHeat = 0x20 | 0x40;

using Init = int (*)();
using Shutdown = int (*)();
using ErrorString = const char* (*)(int);
using GetCount = int (*)(unsigned int*);
using GetHandle = int (*)(unsigned int, Handle*);
using GetText = int (*)(Handle, char*, unsigned int);
using GetMemory = int (*)(Handle, Memory*);
using GetPciInfo = int (*)(Handle, PciInfo*);
using GetEccErrors = int (*)(Handle, int, int, unsigned long long*);
using GetReasons = int (*)(Handle, unsigned long long*);
using EventSetCreate = int (*)(EventSet*);
using EventSetFree = int (*)(EventSet);
using RegisterEvents = int (*)(Handle, unsigned long long, EventSet);
using EventSetWait = int (*)(EventSet, EventData*, unsigned int);

}  // namespace orrery::runtime::nvml
