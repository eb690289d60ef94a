// Sets of resources as Batsim writes them: "0-3 8".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::sim {

/// Resource numbers `first` to `last`, both included.
struct ResourceRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;

  friend bool operator==(const ResourceRange&, const ResourceRange&) = default;
};

/// A set of resource numbers, canonical: ranges ascend, are disjoint and as long as they can be.
class ResourceSet {
 public:
  ResourceSet() = default;

  /// Of ranges in any order, overlapping or not; each has `first` <= `last`.
  explicit ResourceSet(std::vector<ResourceRange> ranges);

  /// Numbers and ranges "A-B" with A <= B, apart by blanks or commas, in any order; numbers up to
  /// 4,294,967,294. Nothing where the text is something else. Blank text is the empty set.
  static std::optional<ResourceSet> parse(std::string_view text);

  const std::vector<ResourceRange>& ranges() const { return ranges_; }

  bool empty() const { return ranges_.empty(); }

  /// How many resources.
  std::uint64_t size() const;

  /// The canonical form, as in "0-3 8": what `append_device_set` writes.
  std::string text() const;

  friend bool operator==(const ResourceSet&, const ResourceSet&) = default;

 private:
  std::vector<ResourceRange> ranges_;
};

}  // namespace orrery::sim
