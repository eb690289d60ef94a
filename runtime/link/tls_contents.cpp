#include "runtime/link/tls_contents.hpp"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cstddef>
#include <fstream>
#include <memory>
#include <optional>

#include "core/base/stream_text.hpp"
#include "runtime/config/key_rights.hpp"

namespace orrery::runtime {
namespace {

template <class T, void (*kFree)(T*)>
struct Freed {
  void operator()(T* it) const { kFree(it); }
};

using Certificate = std::unique_ptr<X509, Freed<X509, X509_free>>;
using PrivateKey = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY, EVP_PKEY_free>>;

struct BioFreed {
  void operator()(BIO* it) const { BIO_free(it); }
};

using Memory = std::unique_ptr<BIO, BioFreed>;

Memory memory_of(const std::string& pem) {
  return Memory(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

Certificate certificate_in(const std::string& pem) {
  return Certificate(PEM_read_bio_X509(memory_of(pem).get(), nullptr, nullptr, nullptr));
}

/// A key that is locked by a passphrase is not asked for one.
PrivateKey key_in(const std::string& pem) {
  const auto no_passphrase = [](char*, int, int, void*) { return -1; };
  return PrivateKey(PEM_read_bio_PrivateKey(memory_of(pem).get(), nullptr, no_passphrase, nullptr));
}

class Reading {
 public:
  std::string file(const std::string& path, const std::string& which) {
    if (path.empty()) {
      refuse("tls." + which, "no file is named, needed all of ca, certificate and key; name it");
      return {};
    }
    std::ifstream in(path, std::ios::binary);
    std::optional<std::string> text = rest_of(in);
    if (!text) {
      refuse(path, "cannot be read, needed the " + which + " in PEM form; mend path or rights");
      return {};
    }
    return *std::move(text);
  }

  void refuse(const std::string& subject, const std::string& message) {
    errors.push_back({.subject = subject, .message = message});
  }

  Errors errors;
};

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

}  // namespace

Result<TlsContents> read_tls(const TlsFiles& files) {
  Reading reading;
  TlsContents out{.ca = reading.file(files.ca, "ca"),
                  .certificate = reading.file(files.certificate, "certificate"),
                  .key = reading.file(files.key, "key")};
  if (!reading.errors.empty()) return reading.errors;
  if (!certificate_in(out.ca)) reading.refuse(files.ca, "holds no certificate, needed the CA's");
  const Certificate certificate = certificate_in(out.certificate);
  if (!certificate)
    reading.refuse(files.certificate, "holds no certificate, needed one in PEM form");
  const PrivateKey key = key_in(out.key);
  if (!key)
    reading.refuse(files.key, "holds no private key, needed one in PEM form without passphrase");
  else if (std::optional<Error> open = check_kept_secret(files.key))
    reading.errors.push_back(*std::move(open));
  if (certificate && key && X509_check_private_key(certificate.get(), key.get()) != 1)
    reading.refuse(files.key, "is not the key of " + files.certificate + "; name the pair");
  if (!reading.errors.empty()) return reading.errors;
  return out;
}

CertificateSubject subject_of(const std::string& pem) {
  const Certificate certificate = certificate_in(pem);
  if (!certificate) return {};
  const X509_NAME* const subject = X509_get_subject_name(certificate.get());
  if (subject == nullptr) return {};
  return {.name = entry(*subject, NID_commonName),
          .unit = entry(*subject, NID_organizationalUnitName)};
}

}  // namespace orrery::runtime
