#include "runtime/sdk/frame.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/sdk/buffer_memory.hpp"

namespace orrery::sdk {
namespace {

constexpr std::size_t kDirectMin = 64 << 10;

/// A vector cannot grow without zeros being written first. So a large one grows by parts that are
/// in the processor's caches still when their bytes come.
constexpr std::size_t kGrowth = 256 << 10;

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
        const auto part = next(space(bytes.size()).size());
        std::memcpy(frame_.buffers.back().data() + have_, part.data(), part.size());
        have_ += part.size();
        if (have_ == size_) next_buffer();
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

/// The next bytes of the buffer under way: some, at most `size_max`.
std::span<std::uint8_t> FrameReader::space(std::size_t size_max) {
  std::vector<std::uint8_t>& buffer = frame_.buffers.back();
  if (buffer.size() == have_) buffer.resize(have_ + std::min(size_ - have_, kGrowth));
  return std::span(buffer).subspan(have_, std::min(buffer.size() - have_, size_max));
}

std::span<std::uint8_t> FrameReader::direct_space() {
  if (stage_ != Stage::Buffers || size_ - have_ < kDirectMin) return {};
  return space(size_ - have_);
}

bool FrameReader::advance(std::size_t size) {
  have_ += size;
  if (have_ == size_) next_buffer();
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
    size_ = static_cast<std::size_t>(sizes_[frame_.buffers.size()]);
    if (size_ < detail::kKeptMin) {
      frame_.buffers.emplace_back(size_);
    } else {
      std::vector<std::uint8_t>& buffer =
          frame_.buffers.emplace_back(detail::BufferMemory::instance().take(size_));
      if (buffer.size() > size_) buffer.resize(size_);
    }
    if (size_ == 0) continue;
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
