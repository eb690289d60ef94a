// A heap that grows into huge pages.

#include "runtime/forecast/huge_heap.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "core/base/huge_pages.hpp"

namespace orrery::runtime {
namespace {

/// What the kernel says of the mapping that has this address, as one line: "rd wr mr mw me ac hg".
std::string flags_of(const void* memory) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(memory);
  std::ifstream maps("/proc/self/smaps");
  bool here = false;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    if (words >> std::hex >> begin >> dash >> end && dash == '-')
      here = begin <= wanted && wanted < end;
    else if (here && line.starts_with("VmFlags:"))
      return line;
  }
  return {};
}

TEST(HugeHeap, HasWhatIsAllocatedNext) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's malloc is no heap";
#endif
  if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage"))
    GTEST_SKIP() << "this system has no huge pages";
  constexpr std::size_t kHeap = 32 * kHugePage;
  use_huge_heap(kHeap);
  const auto memory = std::make_unique<char[]>(kHeap / 2);
  if (flags_of(memory.get()).empty()) GTEST_SKIP() << "this system does not tell";
  EXPECT_NE(flags_of(memory.get() + kHeap / 4).find(" hg"), std::string::npos);
  // It is memory as any other.
  memory[0] = 'a';
  memory[kHeap / 2 - 1] = 'z';
  EXPECT_EQ(memory[0] + memory[kHeap / 2 - 1], 'a' + 'z');
}

}  // namespace
}  // namespace orrery::runtime
