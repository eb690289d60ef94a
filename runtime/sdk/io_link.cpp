#include "runtime/sdk/io_link.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <boost/asio/steady_timer.hpp>
#include <type_traits>

#include "runtime/sdk/errors.hpp"
#include "runtime/sdk/hashes.hpp"

namespace orrery::sdk {
namespace asio = boost::asio;

namespace {

using boost::system::error_code;

constexpr std::size_t kGatherMax = 64;  // Pieces of one write.

/// Pieces that are still to be written. asio::async_write would hand the system 64 KiB at a time.
class Unwritten {
 public:
  explicit Unwritten(std::vector<ByteView> pieces) : pieces_(std::move(pieces)) { skip_empty(); }

  bool empty() const { return first_ == pieces_.size(); }

  std::vector<asio::const_buffer> buffers() const {
    std::vector<asio::const_buffer> out;
    for (std::size_t i = first_; i < pieces_.size() && out.size() < kGatherMax; ++i)
      out.emplace_back(pieces_[i].data(), pieces_[i].size());
    return out;
  }

  void consume(std::size_t size) {
    written_ += size;
    for (; size > 0 && size >= pieces_[first_].size(); ++first_) size -= pieces_[first_].size();
    if (size > 0) pieces_[first_] = pieces_[first_].subspan(size);
    skip_empty();
  }

  std::size_t written() const { return written_; }

 private:
  void skip_empty() {
    while (!empty() && pieces_[first_].empty()) ++first_;
  }

  std::vector<ByteView> pieces_;
  std::size_t first_ = 0;
  std::size_t written_ = 0;
};

/// The end of the stream is no failure but 0 bytes.
IoResult read_result(const error_code& why, std::size_t size) {
  if (!why) return {size, {}};
  if (why == asio::error::eof || why == asio::ssl::error::stream_truncated) return {};
  return {0, why.message()};
}

template <class Stream>
class AsioLink final : public Link {
 public:
  AsioLink(Stream stream, TlsContext context)
      : context_(std::move(context)), stream_(std::move(stream)) {}

  void read_some(std::span<std::uint8_t> into, IoDone done) override {
    stream_.async_read_some(asio::buffer(into.data(), into.size()),
                            [done = std::move(done)](const error_code& why, std::size_t size) {
                              done(read_result(why, size));
                            });
  }

  std::size_t write_now(const std::vector<ByteView>& pieces) override {
    if constexpr (std::is_same_v<Stream, Socket>) {
      std::array<iovec, kGatherMax> parts{};
      const std::size_t count = std::min(pieces.size(), parts.size());
      for (std::size_t i = 0; i < count; ++i)
        parts[i] = {const_cast<std::uint8_t*>(pieces[i].data()), pieces[i].size()};
      msghdr message{};
      message.msg_iov = parts.data();
      message.msg_iovlen = count;
      // Why it fails, write_all finds out.
      const ssize_t written =
          ::sendmsg(stream_.native_handle(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
      return written < 0 ? 0 : static_cast<std::size_t>(written);
    } else {
      return 0;
    }
  }

  void write_all(std::vector<ByteView> pieces, IoDone done) override {
    write_some(std::make_shared<Unwritten>(std::move(pieces)), std::move(done));
  }

  // Lengths are told beside all bytes: the end of the stream says nothing, so TLS needs no
  // farewell.
  void end_writing() override {
    error_code ignored;
    stream_.lowest_layer().shutdown(Socket::shutdown_send, ignored);
  }

  void close() override {
    error_code ignored;
    stream_.lowest_layer().close(ignored);
  }

  Stream& stream() { return stream_; }

 private:
  void write_some(const std::shared_ptr<Unwritten>& unwritten, IoDone done) {
    stream_.async_write_some(
        unwritten->buffers(),
        [this, unwritten, done = std::move(done)](const error_code& why, std::size_t size) {
          if (why) return done({0, why.message()});
          unwritten->consume(size);
          if (unwritten->empty()) return done({unwritten->written(), {}});
          write_some(unwritten, done);
        });
  }

  TlsContext context_;
  Stream stream_;
};

using TlsStream = asio::ssl::stream<Socket>;
using TlsLink = AsioLink<TlsStream>;

std::string shown_certificate(SSL* session) {
  X509* certificate = SSL_get1_peer_certificate(session);
  if (certificate == nullptr) return {};
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  X509_digest(certificate, EVP_sha256(), digest.data(), &size);
  X509_free(certificate);
  return to_hex({reinterpret_cast<const char*>(digest.data()), size});
}

std::shared_ptr<asio::steady_timer> close_after(const std::shared_ptr<TlsLink>& link,
                                                Milliseconds limit) {
  auto timer = std::make_shared<asio::steady_timer>(link->stream().get_executor(), limit);
  timer->async_wait([link](const error_code& why) {
    if (!why) link->close();
  });
  return timer;
}

TlsContext client_context(const ConnectTo& to) {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_client);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  if (to.security == ConnectTo::Security::Pinned) {
    // The certificate is compared with the directory's, which is more than any authority says.
    context->set_verify_mode(asio::ssl::verify_none);
    return context;
  }
  context->set_verify_mode(asio::ssl::verify_peer);
  error_code why;
  if (to.ca.empty()) {
    context->set_default_verify_paths(why);
  } else {
    context->load_verify_file(to.ca, why);
  }
  if (why) return nullptr;
  return context;
}

/// What OpenSSL says of an answer that is no TLS.
bool speaks_no_tls(const error_code& why) {
  if (why.category() != asio::error::get_ssl_category()) return false;
  switch (ERR_GET_REASON(static_cast<unsigned>(why.value()))) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_UNKNOWN_PROTOCOL:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
      return true;
    default:
      return false;
  }
}

/// What became of a client's handshake.
Connected shaken(const std::shared_ptr<TlsLink>& link, const ConnectTo& to, const error_code& why) {
  SSL* session = link->stream().native_handle();
  if (why) {
    const long verified = SSL_get_verify_result(session);
    link->close();
    if (to.security == ConnectTo::Security::Verified && verified != X509_V_OK)
      return {nullptr,
              std::string("its certificate is not accepted: ") +
                  X509_verify_cert_error_string(verified),
              true};
    if (speaks_no_tls(why))
      return {
          nullptr,
          "no TLS is spoken there, needed http://; write it so, or let the controller serve TLS",
          false,
          true};
    return {nullptr, "TLS: " + why.message()};
  }
  if (to.security == ConnectTo::Security::Pinned && shown_certificate(session) != to.certificate) {
    link->close();
    return {nullptr, "it shows another certificate than the directory has of it", true};
  }
  return {link, {}};
}

}  // namespace

std::shared_ptr<Link> plain_link(Socket socket) {
  return std::make_shared<AsioLink<Socket>>(std::move(socket), nullptr);
}

TlsContext server_context(const std::string& pem_file) {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  error_code why;
  context->use_certificate_chain_file(pem_file, why);
  if (!why) context->use_private_key_file(pem_file, asio::ssl::context::pem, why);
  if (why)
    throw BadSettings({"ORRERY_CALL_CERTIFICATE: found " + pem_file + ", which cannot be used (" +
                       why.message() +
                       "), needed a certificate and its key in PEM; start the worker by its agent, "
                       "which makes the file"});
  return context;
}

void accept_tls(Socket socket,
                const TlsContext& context,
                Milliseconds limit,
                std::function<void(std::shared_ptr<Link>)> done) {
  const auto link = std::make_shared<TlsLink>(TlsStream(std::move(socket), *context), context);
  const auto timer = close_after(link, limit);
  link->stream().async_handshake(asio::ssl::stream_base::server,
                                 [link, timer, done = std::move(done)](const error_code& why) {
                                   timer->cancel();
                                   if (why) link->close();
                                   done(why ? nullptr : link);
                                 });
}

void connect_tls(Socket socket,
                 const ConnectTo& to,
                 Milliseconds limit,
                 std::function<void(Connected)> done) {
  const TlsContext context = client_context(to);
  if (!context)
    return done({nullptr,
                 "the authorities of " + to.ca + " cannot be read, needed PEM; name another file",
                 false,
                 true});
  const auto link = std::make_shared<TlsLink>(TlsStream(std::move(socket), *context), context);
  if (to.security == ConnectTo::Security::Verified) {
    link->stream().set_verify_callback(asio::ssl::host_name_verification(to.host));
    SSL_set_tlsext_host_name(link->stream().native_handle(), to.host.c_str());
  }
  const auto timer = close_after(link, limit);
  link->stream().async_handshake(asio::ssl::stream_base::client,
                                 [link, timer, to, done = std::move(done)](const error_code& why) {
                                   timer->cancel();
                                   done(shaken(link, to, why));
                                 });
}

}  // namespace orrery::sdk
