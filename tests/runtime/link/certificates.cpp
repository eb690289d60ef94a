#include "tests/runtime/link/certificates.hpp"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cstdio>

namespace orrery::runtime {
namespace {

void write_certificate(const std::string& path, X509* certificate) {
  FILE* const out = std::fopen(path.c_str(), "w");
  PEM_write_X509(out, certificate);
  std::fclose(out);
}

void write_key(const std::string& path, EVP_PKEY* key) {
  FILE* const out = std::fopen(path.c_str(), "w");
  ::chmod(path.c_str(), 0600);
  PEM_write_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(out);
}

void name(X509* certificate, const char* field, const std::string& value) {
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate),
                             field,
                             MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(value.c_str()),
                             -1,
                             -1,
                             0);
}

void extend(X509* certificate, X509* issuer, int what, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, what, value.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

X509* certificate_for(EVP_PKEY* key, long serial) {
  X509* const certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 24 * 3600);
  X509_set_pubkey(certificate, key);
  return certificate;
}

}  // namespace

struct TestAuthority::Secret {
  EVP_PKEY* key = nullptr;
  X509* certificate = nullptr;
  long issued = 1;
};

TestAuthority::TestAuthority(const std::string& authority) : secret_(new Secret) {
  secret_->key = EVP_EC_gen("P-256");
  secret_->certificate = certificate_for(secret_->key, 1);
  X509* const certificate = secret_->certificate;
  name(certificate, "CN", authority);
  X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
  extend(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE");
  extend(certificate, certificate, NID_key_usage, "critical,keyCertSign");
  X509_sign(certificate, secret_->key, EVP_sha256());
  write_certificate(ca_file(), certificate);
}

TestAuthority::~TestAuthority() {
  X509_free(secret_->certificate);
  EVP_PKEY_free(secret_->key);
  delete secret_;
}

TlsFiles TestAuthority::issue(const std::string& holder,
                              const std::string& unit,
                              const std::string& ip) {
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  X509* const certificate = certificate_for(key, ++secret_->issued);
  name(certificate, "OU", unit);
  name(certificate, "CN", holder);
  X509_set_issuer_name(certificate, X509_get_subject_name(secret_->certificate));
  if (!ip.empty()) extend(certificate, secret_->certificate, NID_subject_alt_name, "IP:" + ip);
  X509_sign(certificate, secret_->key, EVP_sha256());
  const std::string stem = folder_.file(std::to_string(secret_->issued));
  const TlsFiles files{.ca = ca_file(), .certificate = stem + ".pem", .key = stem + ".key"};
  write_certificate(files.certificate, certificate);
  write_key(files.key, key);
  X509_free(certificate);
  EVP_PKEY_free(key);
  return files;
}

}  // namespace orrery::runtime
