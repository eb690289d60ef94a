#include "runtime/sdk/frame.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace orrery::sdk {
namespace {

constexpr std::size_t kDirectMin = 64 << 10;

constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// A buffer of this size. The system gives fresh memory page by page at the first touch, which for
/// a large buffer of small pages takes longer than to receive it: so it is asked for huge ones.
std::vector<std::uint8_t> sized_buffer(std::size_t size) {
  std::vector<std::uint8_t> out;
  if (size >= 2 * kHugePage) {
    out.reserve(size);
    const auto begin = reinterpret_cast<std::uintptr_t>(out.data());
    const std::uintptr_t first = (begin + kHugePage - 1) / kHugePage * kHugePage;
    const std::uintptr_t last = (begin + size) / kHugePage * kHugePage;
    ::madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
  }
  out.resize(size);
  return out;
}

std::uint64_t big_endian(const std::uint8_t* bytes, int count) {
  std::uint64_t out = 0;
  for (int i = 0; i < count; ++i) out = out << 8U | bytes[i];
  return out;
}

void append_big_endian(std::string& out, std::uint64_t number, int count) {
  for (int i = count; i-- > 0;) out += static_cast<char>(number >> (8U * static_cast<unsigned>(i)));
}

}  // namespace

bool FrameReader::fail(std::string why) {
  broken_ = std::move(why);
  return false;
}

bool FrameReader::feed(std::span<const std::uint8_t>& bytes) {
  const auto next = [&](std::uint64_t wanted) {
    const std::span<const std::uint8_t> out =
        bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), wanted)));
    bytes = bytes.subspan(out.size());
    return out;
  };
  while (broken_.empty() && stage_ != Stage::Complete && !bytes.empty()) {
    switch (stage_) {
      case Stage::Lengths: {
        const auto part = next(lengths_.size() - have_);
        std::memcpy(lengths_.data() + have_, part.data(), part.size());
        have_ += part.size();
        if (have_ == lengths_.size() && !on_lengths()) return false;
        break;
      }
      case Stage::Header: {
        const auto part = next(header_size_ - header_.size());
        header_.append(reinterpret_cast<const char*>(part.data()), part.size());
        if (header_.size() == header_size_ && !on_header()) return false;
        break;
      }
      case Stage::Buffers: {
        std::vector<std::uint8_t>& buffer = frame_.buffers.back();
        const auto part = next(buffer.size() - have_);
        std::memcpy(buffer.data() + have_, part.data(), part.size());
        have_ += part.size();
        if (have_ == buffer.size()) next_buffer();
        break;
      }
      case Stage::Skipping: {
        have_ += next(payload_size_ - have_).size();
        if (have_ == payload_size_) stage_ = Stage::Complete;
        break;
      }
      case Stage::Complete:
        break;
    }
  }
  return broken_.empty() && stage_ == Stage::Complete;
}

std::span<std::uint8_t> FrameReader::direct_space() {
  if (stage_ != Stage::Buffers || frame_.buffers.back().size() - have_ < kDirectMin) return {};
  return std::span(frame_.buffers.back()).subspan(have_);
}

bool FrameReader::advance(std::size_t size) {
  have_ += size;
  if (have_ == frame_.buffers.back().size()) next_buffer();
  return stage_ == Stage::Complete;
}

bool FrameReader::on_lengths() {
  header_size_ = big_endian(lengths_.data(), 4);
  payload_size_ = big_endian(lengths_.data() + 4, 8);
  if (header_size_ < 2 || header_size_ > limits_.header_max)
    return fail("found a header of " + std::to_string(header_size_) + " bytes, needed 2 to " +
                std::to_string(limits_.header_max));
  if (payload_size_ > 0 && !limits_.may_have_payload)
    return fail("found a payload of " + std::to_string(payload_size_) +
                " bytes, needed none before the caller is known");
  header_.clear();
  have_ = 0;
  stage_ = Stage::Header;
  return true;
}

bool FrameReader::on_header() {
  std::string why;
  std::optional<Value> header = read_header(header_, why);
  if (!header) return fail(std::move(why));
  frame_.header = std::move(*header);
  sizes_.clear();
  std::uint64_t sum = 0;
  if (const auto listed = frame_.header.find("buffers"); listed != frame_.header.end()) {
    if (!listed->is_array()) return fail("found buffers that are no list of sizes");
    for (const Value& size : *listed) {
      if (!size.is_number_unsigned() || size.get<std::uint64_t>() > payload_size_ - sum)
        return fail("found buffers whose sizes are not those of the payload");
      sizes_.push_back(size.get<std::uint64_t>());
      sum += sizes_.back();
    }
  }
  if (sum != payload_size_)
    return fail("found buffers of " + std::to_string(sum) + " bytes in a payload of " +
                std::to_string(payload_size_));
  have_ = 0;
  if (payload_size_ > limits_.payload_max) {
    frame_.skipped = payload_size_;
    stage_ = Stage::Skipping;
    return true;
  }
  return next_buffer();
}

/// Opens the next buffer that is not empty; after the last one the frame is complete.
bool FrameReader::next_buffer() {
  have_ = 0;
  while (frame_.buffers.size() < sizes_.size()) {
    const auto size = static_cast<std::size_t>(sizes_[frame_.buffers.size()]);
    frame_.buffers.push_back(sized_buffer(size));
    if (size == 0) continue;
    stage_ = Stage::Buffers;
    return true;
  }
  stage_ = Stage::Complete;
  return true;
}

Frame FrameReader::take() {
  stage_ = Stage::Lengths;
  have_ = 0;
  return std::exchange(frame_, {});
}

std::optional<OutgoingFrame> frame_of(std::string_view header,
                                      std::vector<ByteView> buffers,
                                      std::shared_ptr<const void> owner) {
  if (header.size() > kHeaderMax) return std::nullopt;
  OutgoingFrame out;
  out.head.reserve(12 + header.size());
  append_big_endian(out.head, header.size(), 4);
  append_big_endian(out.head, bytes_in(buffers), 8);
  out.head += header;
  out.buffers = std::move(buffers);
  out.owner = std::move(owner);
  return out;
}

std::string buffers_field(const std::vector<ByteView>& buffers) {
  std::string out = R"(,"buffers":[)";
  for (std::size_t i = 0; i < buffers.size(); ++i)
    out.append(i == 0 ? "" : ",").append(std::to_string(buffers[i].size()));
  return out + "]";
}

std::uint64_t bytes_in(const std::vector<ByteView>& buffers) {
  std::uint64_t out = 0;
  for (const ByteView& buffer : buffers) out += buffer.size();
  return out;
}

}  // namespace orrery::sdk
