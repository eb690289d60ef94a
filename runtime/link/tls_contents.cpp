#include "runtime/link/tls_contents.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include <cstddef>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <vector>

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

struct StackFreed {
  void operator()(STACK_OF(X509) * it) const { sk_X509_free(it); }
};

/// All in the file, in order.
std::vector<Certificate> certificates_in(const std::string& pem) {
  const Memory memory = memory_of(pem);
  std::vector<Certificate> all;
  while (X509* one = PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr))
    all.emplace_back(one);
  ERR_clear_error();  // Its end is told as an error.
  return all;
}

bool is_of_another_authority(int error) {
  return error == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT ||
         error == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY ||
         error == X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE ||
         error == X509_V_ERR_CERT_SIGNATURE_FAILURE ||
         error == X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT ||
         error == X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN;
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

Status check_own_authority(const TlsFiles& files) {
  Reading reading;
  const std::string ca = reading.file(files.ca, "ca");
  const std::string own = reading.file(files.certificate, "certificate");
  if (!reading.errors.empty()) return reading.errors;
  const std::vector<Certificate> chain = certificates_in(own);
  const std::unique_ptr<X509_STORE, Freed<X509_STORE, X509_STORE_free>> trusted(X509_STORE_new());
  const std::unique_ptr<X509_STORE_CTX, Freed<X509_STORE_CTX, X509_STORE_CTX_free>> check(
      X509_STORE_CTX_new());
  const std::unique_ptr<STACK_OF(X509), StackFreed> behind(sk_X509_new_null());
  if (chain.empty() || !trusted || !check || !behind)
    return Error{.subject = files.certificate,
                 .message = "holds no certificate, needed one in PEM form"};
  for (const Certificate& one : certificates_in(ca)) X509_STORE_add_cert(trusted.get(), one.get());
  for (const Certificate& one : std::span(chain).subspan(1)) sk_X509_push(behind.get(), one.get());
  // A clock may still be set when a daemon starts.
  X509_STORE_set_flags(trusted.get(), X509_V_FLAG_NO_CHECK_TIME | X509_V_FLAG_PARTIAL_CHAIN);
  if (X509_STORE_CTX_init(check.get(), trusted.get(), chain.front().get(), behind.get()) != 1 ||
      X509_verify_cert(check.get()) == 1 ||
      !is_of_another_authority(X509_STORE_CTX_get_error(check.get())))
    return Done{};
  const std::string by = entry(*X509_get_issuer_name(chain.front().get()), NID_commonName);
  return Error{.subject = files.certificate,
               .message = "was signed by another authority" +
                          (by.empty() ? "" : ", '" + by + "',") + " than " + files.ca +
                          ", needed one that this has signed, for no peer "
                          "takes another; make it with that authority's key, or name the "
                          "authority of the whole cluster as tls.ca"};
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
