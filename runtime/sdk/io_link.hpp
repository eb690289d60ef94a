// Links over Asio's sockets. Only io.cpp and io_link.cpp include this.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl.hpp>
#include <functional>
#include <memory>
#include <string>

#include "runtime/sdk/io.hpp"

namespace orrery::sdk {

using Socket = boost::asio::generic::stream_protocol::socket;
using TlsContext = std::shared_ptr<boost::asio::ssl::context>;

std::shared_ptr<Link> plain_link(Socket socket);

/// A server's side of TLS; `done` gets the link, or none where the handshake failed.
void accept_tls(Socket socket,
                const TlsContext& context,
                Milliseconds limit,
                std::function<void(std::shared_ptr<Link>)> done);

/// A client's side.
void connect_tls(Socket socket,
                 const ConnectTo& to,
                 Milliseconds limit,
                 std::function<void(Connected)> done);

/// Throws BadSettings for a file that cannot be used.
TlsContext server_context(const std::string& pem_file);

}  // namespace orrery::sdk
