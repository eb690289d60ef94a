#include "runtime/sdk/wire.hpp"

#include <algorithm>

#include "runtime/sdk/buffer_memory.hpp"

namespace orrery::sdk {
namespace {

constexpr std::size_t kPiecesMax = 64;  // Of one gather write.
constexpr std::uint64_t kAtOnceMax = 64 << 10;
constexpr Milliseconds kLinger{1000};

ByteView bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

void drop_bytes(std::vector<ByteView>& pieces, std::size_t size) {
  std::size_t first = 0;
  for (; first < pieces.size() && size >= pieces[first].size(); ++first)
    size -= pieces[first].size();
  pieces.erase(pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(first));
  if (size > 0) pieces.front() = pieces.front().subspan(size);
}

}  // namespace

Wire::Wire(std::shared_ptr<Link> link, FrameLimits limits)
    : link_(std::move(link)), reader_(limits) {}

void Wire::start(std::function<void(Frame)> on_frame, std::function<void(WireEnd)> on_end) {
  callbacks_ = std::make_shared<Callbacks>(Callbacks{std::move(on_frame), std::move(on_end)});
  read();
}

void Wire::read() {
  if (closed_) return;
  const std::span<std::uint8_t> direct = reader_.direct_space();
  const bool is_direct = !direct.empty();
  link_->read_some(is_direct ? direct : std::span<std::uint8_t>(in_),
                   [self = shared_from_this(), is_direct](const IoResult& result) {
                     self->on_read(result, is_direct);
                   });
}

void Wire::on_read(const IoResult& result, bool direct) {
  if (closed_) return;
  const bool is_over = !result.failure.empty() || result.size == 0;
  if (closing_ && is_over) return close();
  if (closing_) return read();  // Thrown away, so that the other side reads our last words.
  if (!result.failure.empty()) return end({result.failure});
  if (result.size == 0) return end({"the other side closed the connection"});
  if (direct) {
    if (reader_.advance(result.size)) deliver();
  } else {
    std::span<const std::uint8_t> bytes(in_.data(), result.size);
    while (!closed_ && !closing_ && reader_.feed(bytes)) deliver();
    if (!closed_ && !closing_ && !reader_.broken().empty()) end({reader_.broken(), true});
  }
  read();
}

void Wire::deliver() {
  Frame frame = reader_.take();
  if (std::ranges::any_of(frame.buffers,
                          [](const auto& each) { return each.size() >= detail::kKeptMin; }))
    detail::watch_buffer_memory();
  if (const std::shared_ptr<Callbacks> held = callbacks_) held->on_frame(std::move(frame));
}

void Wire::send(OutgoingFrame frame) {
  if (closed_ || closing_) return;
  if (bytes_in(frame.buffers) >= detail::kKeptMin) detail::watch_buffer_memory();
  out_.push_back(std::move(frame));
  write();
}

void Wire::send(const std::string& header) {
  if (std::optional<OutgoingFrame> frame = frame_of(header)) send(std::move(*frame));
}

void Wire::write() {
  if (closed_ || writing_ > 0 || out_.empty()) return;
  std::vector<ByteView> pieces;
  for (const OutgoingFrame& frame : out_) {
    if (writing_ > 0 && pieces.size() + 1 + frame.buffers.size() > kPiecesMax) break;
    ++writing_;
    pieces.push_back(bytes_of(frame.head));
    pieces.insert(pieces.end(), frame.buffers.begin(), frame.buffers.end());
  }
  // A single small message leaves on this thread, without a round through the I/O's queue.
  if (writing_ == 1 && bytes_in(pieces) <= kAtOnceMax && !Io::instance().is_busy()) {
    drop_bytes(pieces, link_->write_now(pieces));
    if (pieces.empty()) return written();
  }
  link_->write_all(std::move(pieces), [self = shared_from_this()](const IoResult& result) {
    if (self->closed_) return;
    if (!result.failure.empty()) return self->end({result.failure});
    self->written();
    self->write();
  });
}

/// The frames that were on their way have left.
void Wire::written() {
  out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(writing_));
  writing_ = 0;
  if (out_.empty() && closing_) link_->end_writing();
}

void Wire::close_after_sending() {
  if (closed_ || closing_) return;
  closing_ = true;
  callbacks_.reset();
  if (out_.empty()) link_->end_writing();
  linger_ = Io::instance().after(kLinger, [self = shared_from_this()] { self->close(); });
}

void Wire::close() {
  if (closed_) return;
  closed_ = true;
  callbacks_.reset();
  linger_.reset();
  link_->close();
}

void Wire::end(WireEnd why) {
  const std::shared_ptr<Callbacks> held = std::exchange(callbacks_, nullptr);
  // A rule that was broken is told to the other side before the connection ends.
  const bool may_tell = why.broke_rule;
  if (!may_tell) close();
  if (held) held->on_end(std::move(why));
  if (may_tell && !closing_) close();
}

}  // namespace orrery::sdk
