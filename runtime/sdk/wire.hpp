// Frames over a link: read one after the other, sent in their order. On the I/O thread only.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "runtime/sdk/frame.hpp"
#include "runtime/sdk/io.hpp"

namespace orrery::sdk {

/// Why no more frames come.
struct WireEnd {
  std::string why;
  bool broke_rule = false;  ///< The other side sent what is no frame; it may still be told.
};

class Wire : public std::enable_shared_from_this<Wire> {
 public:
  Wire(std::shared_ptr<Link> link, FrameLimits limits);

  /// Begins to read. `on_end` is called once, and nothing after it.
  void start(std::function<void(Frame)> on_frame, std::function<void(WireEnd)> on_end);

  /// For the frames to come.
  void limit(FrameLimits limits) { reader_.limit(limits); }

  void send(OutgoingFrame frame);

  /// A header alone.
  void send(const std::string& header);

  /// Closes once all that was sent has left, or within a second.
  void close_after_sending();

  /// Keeps `token` until the wire is gone.
  void hold(std::shared_ptr<void> token) { held_ = std::move(token); }

  /// Closes at once, without on_end.
  void close();

 private:
  struct Callbacks {
    std::function<void(Frame)> on_frame;
    std::function<void(WireEnd)> on_end;
  };

  void read();
  void on_read(const IoResult& result, bool direct);
  void deliver();
  void write();
  void written();
  void end(WireEnd why);

  std::shared_ptr<Link> link_;
  FrameReader reader_;
  std::shared_ptr<Callbacks> callbacks_;  ///< Held while one runs, for it may close the wire.
  std::array<std::uint8_t, 64 << 10> in_;
  std::deque<OutgoingFrame> out_;
  std::size_t writing_ = 0;  ///< Frames at the front of out_ that are on their way.
  bool closed_ = false;
  bool closing_ = false;
  Io::Timer linger_;
  std::shared_ptr<void> held_;
};

}  // namespace orrery::sdk
