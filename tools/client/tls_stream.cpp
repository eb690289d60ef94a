// TLS on a socket by OpenSSL: version 1.2 or newer, and the server's certificate is always checked.
#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>

#include "tools/client/socket_stream.hpp"

namespace orrery::cli {
namespace {

struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};

struct FreeSession {
  void operator()(SSL* session) const { SSL_free(session); }
};

using Context = std::unique_ptr<SSL_CTX, FreeContext>;
using Session = std::unique_ptr<SSL, FreeSession>;

/// What OpenSSL says about the last failure; clears it.
std::string library_words() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "the connection ended" : reason;
}

Error unfit_file(const std::string& file, const std::string& what) {
  const std::ifstream readable(file);
  if (!readable)
    return Error{.file = file,
                 .message = std::string("cannot be read: ") + std::strerror(errno) + "; needed " +
                            what + " in PEM form, see orrery certs init"};
  return Error{.file = file,
               .message = "cannot be used: " + library_words() + "; needed " + what +
                          " in PEM form, see orrery certs init"};
}

Status load(SSL_CTX& context, const TlsIdentity& tls) {
  if (!tls.ca.empty()) {
    if (SSL_CTX_load_verify_file(&context, tls.ca.c_str()) != 1)
      return unfit_file(tls.ca, "certificates of authorities");
  } else {
    SSL_CTX_set_default_verify_paths(&context);
  }
  if (tls.certificate.empty() && tls.key.empty()) return Done{};
  if (SSL_CTX_use_certificate_chain_file(&context, tls.certificate.c_str()) != 1)
    return unfit_file(tls.certificate, "a certificate");
  if (SSL_CTX_use_PrivateKey_file(&context, tls.key.c_str(), SSL_FILETYPE_PEM) != 1)
    return unfit_file(tls.key, "the certificate's private key");
  return Done{};
}

/// The certificate must name `host`: a number or a name.
void expect_host(SSL& session, const std::string& host) {
  X509_VERIFY_PARAM* parameters = SSL_get0_param(&session);
  in6_addr number{};
  const bool is_number = inet_pton(AF_INET, host.c_str(), &number) == 1 ||
                         inet_pton(AF_INET6, host.c_str(), &number) == 1;
  if (is_number) {
    X509_VERIFY_PARAM_set1_ip_asc(parameters, host.c_str());
  } else {
    X509_VERIFY_PARAM_set1_host(parameters, host.c_str(), host.size());
    SSL_set_tlsext_host_name(&session, host.c_str());
  }
}

class TlsStream final : public Stream {
 public:
  TlsStream(Socket socket, Context context, Session session)
      : socket_(std::move(socket)), context_(std::move(context)), session_(std::move(session)) {}

  Status connect(Deadline deadline) {
    while (true) {
      const int code = SSL_connect(session_.get());
      if (code == 1) return Done{};
      const long verified = SSL_get_verify_result(session_.get());
      if (verified != X509_V_OK) {
        ERR_clear_error();
        return unavailable(std::string("its certificate is not accepted: ") +
                           X509_verify_cert_error_string(verified) +
                           "; name the cluster's authority with --ca or ORRERY_CA, and the server "
                           "by a name that its certificate has");
      }
      const bool no_tls = SSL_get_error(session_.get(), code) == SSL_ERROR_SSL;
      if (Status again = wait_after(code, deadline); !again)
        return no_tls ? unavailable(again.errors()[0].message +
                                    "; a server that speaks plain HTTP is named by http://")
                      : again;
    }
  }

  Status write(std::string_view bytes, Deadline deadline) override {
    while (!bytes.empty()) {
      std::size_t sent = 0;
      const int code = SSL_write_ex(session_.get(), bytes.data(), bytes.size(), &sent);
      if (code == 1) {
        bytes.remove_prefix(sent);
      } else if (const Status again = wait_after(code, deadline); !again) {
        return again;
      }
    }
    return Done{};
  }

  Result<std::size_t> read(char* bytes, std::size_t size, Deadline deadline) override {
    while (true) {
      std::size_t got = 0;
      const int code = SSL_read_ex(session_.get(), bytes, size, &got);
      if (code == 1) return got;
      if (SSL_get_error(session_.get(), code) == SSL_ERROR_ZERO_RETURN) return std::size_t{0};
      if (const Status again = wait_after(code, deadline); !again) return again.errors();
    }
  }

 private:
  Status wait_after(int code, Deadline deadline) {
    switch (SSL_get_error(session_.get(), code)) {
      case SSL_ERROR_WANT_READ:
        return wait_for(socket_, false, deadline);
      case SSL_ERROR_WANT_WRITE:
        return wait_for(socket_, true, deadline);
      default:
        return unavailable("TLS: " + library_words());
    }
  }

  Socket socket_;
  Context context_;
  Session session_;
};

}  // namespace

Result<std::unique_ptr<Stream>> tls_stream(Socket socket,
                                           const ServerAddress& server,
                                           const TlsIdentity& tls,
                                           Deadline deadline) {
  Context context(SSL_CTX_new(TLS_client_method()));
  if (!context) return unavailable("TLS: " + library_words());
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // A controller that ends its stream by closing the socket has said all there is.
  SSL_CTX_set_options(context.get(), SSL_OP_IGNORE_UNEXPECTED_EOF);
  if (const Status loaded = load(*context, tls); !loaded) return loaded.errors();
  Session session(SSL_new(context.get()));
  SSL_set_fd(session.get(), socket.descriptor());
  expect_host(*session, server.host);
  auto stream =
      std::make_unique<TlsStream>(std::move(socket), std::move(context), std::move(session));
  if (const Status connected = stream->connect(deadline); !connected) return connected.errors();
  return std::unique_ptr<Stream>(std::move(stream));
}

}  // namespace orrery::cli
