// TLS files, read and checked before the transport sees them, and what a certificate says.
#pragma once

#include <string>

#include "core/base/result.hpp"
#include "runtime/config/config.hpp"

namespace orrery::runtime {

/// What the three files hold, in PEM form.
struct TlsContents {
  std::string ca;
  std::string certificate;
  std::string key;
};

/// Errors, all at once: a file that is not named, cannot be read or holds something else; a key
/// that is not the certificate's.
Result<TlsContents> read_tls(const TlsFiles& files);

/// Of files that `read_tls` takes: an error where none of the certificates in `ca` has signed the
/// daemon's own, directly or over others that stand behind it in its file. A peer of the same
/// authority ends the handshake of such a daemon without a word. Times are not looked at.
Status check_own_authority(const TlsFiles& files);

/// What a certificate's subject says about its holder.
struct CertificateSubject {
  std::string name;  ///< Common name.
  std::string unit;  ///< Organizational unit: Orrery's role.
};

/// Of the first certificate in `pem`; empty where there is none.
CertificateSubject subject_of(const std::string& pem);

}  // namespace orrery::runtime
