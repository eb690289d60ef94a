#include "runtime/security/authority.hpp"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <memory>

#include "core/base/hex.hpp"

namespace orrery::runtime {
namespace {

struct Freed {
  void operator()(X509* it) const { X509_free(it); }

  void operator()(EVP_PKEY* it) const { EVP_PKEY_free(it); }

  void operator()(BIO* it) const { BIO_free(it); }

  void operator()(X509_EXTENSION* it) const { X509_EXTENSION_free(it); }

  void operator()(BIGNUM* it) const { BN_free(it); }
};

using Certificate = std::unique_ptr<X509, Freed>;
using PrivateKey = std::unique_ptr<EVP_PKEY, Freed>;
using Memory = std::unique_ptr<BIO, Freed>;

constexpr Duration kClocksApart = Duration::seconds(600);
constexpr std::int64_t kSecond = 1'000'000'000;

/// What the library says of its own failure; its queue is empty afterwards.
Error refused(const std::string& what) {
  std::array<char, 256> reason{};
  const unsigned long code = ERR_get_error();
  ERR_error_string_n(code, reason.data(), reason.size());
  ERR_clear_error();
  return {ErrorCode::InvalidInput,
          {},
          0,
          what,
          std::string("failed (") + (code == 0 ? "no reason given" : reason.data()) +
              "), the cryptographic library must be able to; check its installation"};
}

Memory memory_of(std::string_view pem) {
  return Memory(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

Certificate certificate_in(std::string_view pem) {
  return Certificate(PEM_read_bio_X509(memory_of(pem).get(), nullptr, nullptr, nullptr));
}

PrivateKey key_in(std::string_view pem) {
  const auto no_passphrase = [](char*, int, int, void*) { return -1; };
  return PrivateKey(PEM_read_bio_PrivateKey(memory_of(pem).get(), nullptr, no_passphrase, nullptr));
}

std::string text_of(BIO& memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(&memory, &data);
  return {data, static_cast<std::size_t>(size)};
}

Result<KeyPair> in_pem_form(EVP_PKEY& key, X509& certificate) {
  const Memory key_text(BIO_new(BIO_s_mem()));
  const Memory certificate_text(BIO_new(BIO_s_mem()));
  if (!key_text || !certificate_text ||
      PEM_write_bio_PKCS8PrivateKey(key_text.get(), &key, nullptr, nullptr, 0, nullptr, nullptr) !=
          1 ||
      PEM_write_bio_X509(certificate_text.get(), &certificate) != 1)
    return refused("certificate");
  return KeyPair{text_of(*key_text), text_of(*certificate_text)};
}

bool add_name(X509_NAME& name, const char* field, const std::string& text) {
  return X509_NAME_add_entry_by_txt(&name,
                                    field,
                                    MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(text.data()),
                                    static_cast<int>(text.size()),
                                    -1,
                                    0) == 1;
}

bool add_extension(X509& certificate, X509& issuer, int what, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, &issuer, &certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, Freed> extension(
      X509V3_EXT_conf_nid(nullptr, &context, what, value.c_str()));
  return extension && X509_add_ext(&certificate, extension.get(), -1) == 1;
}

/// 127 random bits, above 0.
bool set_serial(X509& certificate) {
  std::array<unsigned char, 16> bytes{};
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) return false;
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7F) | 0x40);
  const std::unique_ptr<BIGNUM, Freed> number(BN_bin2bn(bytes.data(), bytes.size(), nullptr));
  return number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(&certificate)) != nullptr;
}

bool set_validity(X509& certificate, const Validity& validity, const ASN1_TIME* latest) {
  const std::time_t from = (validity.now.ns - kClocksApart.ns) / kSecond;
  const std::time_t until = (validity.now + validity.lasting).ns / kSecond;
  if (ASN1_TIME_set(X509_getm_notBefore(&certificate), from) == nullptr) return false;
  if (latest != nullptr && ASN1_TIME_cmp_time_t(latest, until) < 0)
    return X509_set1_notAfter(&certificate, latest) == 1;
  return ASN1_TIME_set(X509_getm_notAfter(&certificate), until) != nullptr;
}

/// A certificate of version 3 with everything but subject and extensions.
Certificate begin(EVP_PKEY& key, const Validity& validity, const ASN1_TIME* latest) {
  Certificate certificate(X509_new());
  if (!certificate || X509_set_version(certificate.get(), X509_VERSION_3) != 1 ||
      !set_serial(*certificate) || !set_validity(*certificate, validity, latest) ||
      X509_set_pubkey(certificate.get(), &key) != 1)
    return nullptr;
  return certificate;
}

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> number{};
  return inet_pton(AF_INET, host.c_str(), number.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), number.data()) == 1;
}

/// All names under which the holder may be reached, as the library's configuration writes them.
std::string alternative_names(const CertificateRequest& request) {
  std::string text;
  for (const std::string& host : request.hosts) {
    if (!text.empty()) text += ",";
    text += (is_address(host) ? "IP:" : "DNS:") + host;
  }
  return text;
}

std::string usage_of(Role role) {
  return role == Role::Controller ? "serverAuth,clientAuth" : "clientAuth";
}

std::string entry(const X509_NAME& subject, int what) {
  const int at = X509_NAME_get_index_by_NID(&subject, what, -1);
  if (at < 0) return {};
  unsigned char* text = nullptr;
  const int size =
      ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(&subject, at)));
  if (size < 0) return {};
  std::string out(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
  OPENSSL_free(text);
  return out;
}

/// What is wrong with a request, all of it.
Errors check(const CertificateRequest& request) {
  Errors errors;
  const auto add = [&](std::string subject, std::string message) {
    errors.push_back({ErrorCode::InvalidInput, {}, 0, std::move(subject), std::move(message)});
  };
  const Holder& holder = request.holder;
  if (!is_holder_name(holder.role, holder.name))
    add(std::string(to_string(holder.role)) + " '" + holder.name + "'",
        holder.role == Role::Agent
            ? "is no DNS label (a-z, 0-9, '-'), which names of nodes are; correct it"
            : "is no name of 1 to 63 letters, digits and . _ @ -; correct it");
  for (const std::string& host : request.hosts)
    if (!is_certificate_host(host))
      add("host '" + host + "'",
          "is neither a name nor a numeric address, one is needed without a port; write for "
          "example controller.example or 10.0.0.1");
  return errors;
}

}  // namespace

bool is_certificate_host(const std::string& host) {
  if (is_address(host)) return true;
  return !host.empty() && host.size() <= 253 && host.front() != '.' && host.front() != '-' &&
         host.find_first_not_of("0123456789.") != std::string::npos &&
         std::all_of(host.begin(), host.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '-';
         });
}

Result<KeyPair> make_authority(const Validity& validity) {
  std::array<unsigned char, 4> random{};
  if (RAND_bytes(random.data(), random.size()) != 1) return refused("authority");
  const std::string name = "Orrery authority " + hex_of(random);

  const PrivateKey key(EVP_EC_gen("P-256"));
  if (!key) return refused("authority");
  const Certificate certificate = begin(*key, validity, nullptr);
  if (!certificate) return refused("authority");
  X509_NAME* const subject = X509_get_subject_name(certificate.get());
  if (!add_name(*subject, "O", "Orrery") || !add_name(*subject, "CN", name) ||
      X509_set_issuer_name(certificate.get(), subject) != 1 ||
      !add_extension(
          *certificate, *certificate, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
      !add_extension(*certificate, *certificate, NID_key_usage, "critical,keyCertSign,cRLSign") ||
      !add_extension(*certificate, *certificate, NID_subject_key_identifier, "hash") ||
      X509_sign(certificate.get(), key.get(), EVP_sha256()) == 0)
    return refused("authority");
  return in_pem_form(*key, *certificate);
}

Result<KeyPair> issue(const KeyPair& authority,
                      const CertificateRequest& request,
                      const Validity& validity) {
  if (Errors errors = check(request); !errors.empty()) return errors;
  const Certificate issuer = certificate_in(authority.certificate);
  const PrivateKey issuer_key = key_in(authority.key);
  if (!issuer || !issuer_key || X509_check_private_key(issuer.get(), issuer_key.get()) != 1) {
    ERR_clear_error();
    return Error{ErrorCode::InvalidInput,
                 {},
                 0,
                 "authority",
                 "has no certificate with its own key, both are needed; name the folder that "
                 "`orrery certs init` made"};
  }
  const Holder& holder = request.holder;
  const std::string what = std::string(to_string(holder.role)) + " '" + holder.name + "'";
  const PrivateKey key(EVP_EC_gen("P-256"));
  if (!key) return refused(what);
  const Certificate certificate = begin(*key, validity, X509_get0_notAfter(issuer.get()));
  if (!certificate) return refused(what);
  X509_NAME* const subject = X509_get_subject_name(certificate.get());
  const std::string names = alternative_names(request);
  if (!add_name(*subject, "O", "Orrery") ||
      !add_name(*subject, "OU", std::string(to_string(holder.role))) ||
      !add_name(*subject, "CN", holder.name) ||
      X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer.get())) != 1 ||
      !add_extension(*certificate, *issuer, NID_basic_constraints, "critical,CA:FALSE") ||
      !add_extension(*certificate, *issuer, NID_key_usage, "critical,digitalSignature") ||
      !add_extension(*certificate, *issuer, NID_ext_key_usage, usage_of(holder.role)) ||
      !add_extension(*certificate, *issuer, NID_subject_key_identifier, "hash") ||
      !add_extension(*certificate, *issuer, NID_authority_key_identifier, "keyid:always") ||
      (!names.empty() && !add_extension(*certificate, *issuer, NID_subject_alt_name, names)) ||
      X509_sign(certificate.get(), issuer_key.get(), EVP_sha256()) == 0)
    return refused(what);
  return in_pem_form(*key, *certificate);
}

Result<KeyPair> make_own_certificate(const Validity& validity) {
  const PrivateKey key(EVP_EC_gen("P-256"));
  if (!key) return refused("certificate of a worker");
  const Certificate certificate = begin(*key, validity, nullptr);
  if (!certificate) return refused("certificate of a worker");
  X509_NAME* const subject = X509_get_subject_name(certificate.get());
  if (!add_name(*subject, "O", "Orrery") || !add_name(*subject, "CN", "worker") ||
      X509_set_issuer_name(certificate.get(), subject) != 1 ||
      !add_extension(*certificate, *certificate, NID_basic_constraints, "critical,CA:FALSE") ||
      !add_extension(*certificate, *certificate, NID_key_usage, "critical,digitalSignature") ||
      !add_extension(*certificate, *certificate, NID_ext_key_usage, "serverAuth") ||
      X509_sign(certificate.get(), key.get(), EVP_sha256()) == 0)
    return refused("certificate of a worker");
  return in_pem_form(*key, *certificate);
}

Result<CertificateFacts> read_certificate(std::string_view pem) {
  const Certificate certificate = certificate_in(pem);
  std::tm expires{};
  if (!certificate || ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &expires) != 1) {
    ERR_clear_error();
    return Error{ErrorCode::InvalidInput,
                 {},
                 0,
                 "certificate",
                 "is none, one in PEM form is needed; make one with `orrery certs`"};
  }
  const X509_NAME& subject = *X509_get_subject_name(certificate.get());
  return CertificateFacts{entry(subject, NID_organizationalUnitName),
                          entry(subject, NID_commonName),
                          Instant{static_cast<std::int64_t>(timegm(&expires)) * kSecond}};
}

}  // namespace orrery::runtime
