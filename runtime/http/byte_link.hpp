// Bytes in and out of one accepted connection, plain or through TLS. Only server files include
// this.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/http/request.hpp"

namespace orrery::http {

using Socket = boost::asio::generic::stream_protocol::socket;
using IoDone = std::function<void(const boost::system::error_code&, std::size_t)>;

/// One connection. At most one read and one write at a time; buffers live until they are done. A
/// link must stay alive until then too: the callback that waits holds it.
class ByteLink {
 public:
  virtual ~ByteLink() = default;

  /// Before anything else. With TLS `about` gets what the client's certificate says.
  virtual void shake_hands(Connection& about, IoDone done) = 0;
  virtual void read(boost::asio::mutable_buffer into, IoDone done) = 0;
  virtual void write(std::string_view bytes, IoDone done) = 0;

  /// Nothing more will be written; the other end is told.
  virtual void end_writing() = 0;

  /// Operations under way end with an error.
  virtual void close() = 0;
};

std::shared_ptr<ByteLink> plain_link(Socket socket);

/// `context` outlives the link.
std::shared_ptr<ByteLink> tls_link(Socket socket, boost::asio::ssl::context& context);

}  // namespace orrery::http
