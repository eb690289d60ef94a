#include "runtime/http/byte_link.hpp"

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <utility>

namespace orrery::http {
namespace asio = boost::asio;

namespace {

using boost::system::error_code;

void close_socket(Socket& socket) {
  error_code ignored;
  socket.close(ignored);
}

class PlainLink final : public ByteLink {
 public:
  explicit PlainLink(Socket socket) : socket_(std::move(socket)) {}

  void shake_hands(Connection&, IoDone done) override {
    asio::post(socket_.get_executor(), [done = std::move(done)] { done({}, 0); });
  }

  void read(asio::mutable_buffer into, IoDone done) override {
    socket_.async_read_some(into, std::move(done));
  }

  void write(std::string_view bytes, IoDone done) override {
    asio::async_write(socket_, asio::buffer(bytes.data(), bytes.size()), std::move(done));
  }

  void end_writing() override {
    error_code ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
  }

  void close() override { close_socket(socket_); }

 private:
  Socket socket_;
};

std::string name_part(X509_NAME* name, int part) {
  const int at = X509_NAME_get_index_by_NID(name, part, -1);
  if (at < 0) return {};
  const ASN1_STRING* text = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at));
  const auto* bytes = reinterpret_cast<const char*>(ASN1_STRING_get0_data(text));
  return {bytes, static_cast<std::size_t>(ASN1_STRING_length(text))};
}

void read_certificate(SSL* ssl, Connection& about) {
  about.encrypted = true;
  if (SSL_get_verify_result(ssl) != X509_V_OK) return;
  X509* certificate = SSL_get1_peer_certificate(ssl);
  if (certificate == nullptr) return;
  X509_NAME* name = X509_get_subject_name(certificate);
  about.has_certificate = true;
  about.certificate_role = name_part(name, NID_organizationalUnitName);
  about.certificate_name = name_part(name, NID_commonName);
  X509_free(certificate);
}

class TlsLink final : public ByteLink {
 public:
  TlsLink(Socket socket, asio::ssl::context& context) : stream_(std::move(socket), context) {}

  void shake_hands(Connection& about, IoDone done) override {
    stream_.async_handshake(asio::ssl::stream_base::server,
                            [this, &about, done = std::move(done)](const error_code& why) {
                              if (!why) read_certificate(stream_.native_handle(), about);
                              done(why, 0);
                            });
  }

  void read(asio::mutable_buffer into, IoDone done) override {
    stream_.async_read_some(into, std::move(done));
  }

  void write(std::string_view bytes, IoDone done) override {
    asio::async_write(stream_, asio::buffer(bytes.data(), bytes.size()), std::move(done));
  }

  // The length of every answer is told beside its bytes: the end of the connection says nothing.
  void end_writing() override {
    error_code ignored;
    stream_.next_layer().shutdown(Socket::shutdown_send, ignored);
  }

  void close() override { close_socket(stream_.next_layer()); }

 private:
  asio::ssl::stream<Socket> stream_;
};

}  // namespace

std::shared_ptr<ByteLink> plain_link(Socket socket) {
  return std::make_shared<PlainLink>(std::move(socket));
}

std::shared_ptr<ByteLink> tls_link(Socket socket, asio::ssl::context& context) {
  return std::make_shared<TlsLink>(std::move(socket), context);
}

}  // namespace orrery::http
