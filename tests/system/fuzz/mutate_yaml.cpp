// For targets that read YAML, JSON or tables: two of three inputs are made by changes of parts.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/system/fuzz/text_mutator.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data,
                                               std::size_t size,
                                               std::size_t max_size,
                                               unsigned int seed) {
  static orrery::tests::TextMutator mutator;
  // What learning costs is spent on one input in eight.
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (seed % 8 == 0) mutator.learn(text);
  if (seed % 3 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::string out = mutator.mutated(text, max_size, seed);
  std::copy(out.begin(), out.end(), data);
  return out.size();
}
