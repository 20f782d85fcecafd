//! How we know who the server is, and how a certificate tells it who we are.
//!
//! The client reads these files for every connection, so a certificate that is rotated is used from the next one on.

use std::error::Error;
use std::path::{Path, PathBuf};

use async_nats::rustls;
use async_nats::{ConnectError, ConnectErrorKind, ConnectOptions};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::error::BusError;

/// Files and manners of TLS. Any of them makes TLS a must; without any the server decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// Who signs servers; without it those whom this machine trusts.
    pub ca: Option<PathBuf>,
    /// Our certificate and its key.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// Encrypt before the first word of the server.
    pub first: bool,
}

impl Tls {
    /// Reads every file once.
    ///
    /// # Errors
    /// When one cannot be read or does not hold what it should; names the flag and the remedy.
    pub(crate) fn check(&self) -> Result<(), BusError> {
        if let Some(ca) = &self.ca {
            certificates("--nats-ca", ca)?;
        }
        let Some((certificate, key)) = &self.identity else { return Ok(()) };
        certificates("--nats-cert", certificate)?;
        match PrivateKeyDer::from_pem_file(key) {
            Ok(_) => Ok(()),
            Err(error) => {
                Err(unusable("--nats-key", key, &error, "a private key that belongs to --nats-cert"))
            }
        }
    }

    pub(crate) fn apply(&self, mut options: ConnectOptions) -> ConnectOptions {
        if *self != Self::default() {
            options = options.require_tls(true);
        }
        if self.first {
            options = options.tls_first();
        }
        if let Some(ca) = &self.ca {
            options = options.add_root_certificates(ca.clone());
        }
        match &self.identity {
            Some((certificate, key)) => options.add_client_certificate(certificate.clone(), key.clone()),
            None => options,
        }
    }
}

fn certificates(flag: &str, path: &Path) -> Result<(), BusError> {
    let found = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match found {
        Ok(found) if !found.is_empty() => Ok(()),
        Ok(_) => Err(unusable(flag, path, &"there is none in it", "certificates")),
        Err(error) => Err(unusable(flag, path, &error, "certificates")),
    }
}

fn unusable(flag: &str, path: &Path, error: &dyn std::fmt::Display, wanted: &str) -> BusError {
    BusError::Unsuitable(format!(
        "{flag} {}: {error}; name a file in PEM format with {wanted} that this process may read",
        path.display()
    ))
}

/// What the operator is told when a connection ended because of TLS; `None` when it did not.
pub(crate) fn refusal(error: &ConnectError) -> Option<String> {
    let Some(cause) = cause(error) else {
        // Files that were good one by one, but are not good for each other.
        return (error.kind() == ConnectErrorKind::Tls)
            .then(|| format!("TLS cannot be set up; --nats-key must belong to --nats-cert ({error})"));
    };
    let remedy = match cause {
        rustls::Error::InvalidCertificate(_) => {
            "its certificate is not good; --nats-ca must name who signed it, and --nats-url a name that is in it"
        }
        rustls::Error::AlertReceived(_) => {
            "it refuses our certificate, or that there is none; --nats-cert and --nats-key must name one that its CA signed"
        }
        rustls::Error::InvalidMessage(_) => {
            "it does not speak TLS where we expect it; take the flags of TLS away, or use --nats-tls-first exactly where the server has handshake_first"
        }
        _ => "TLS failed; look at --nats-ca, --nats-cert and --nats-key",
    };
    Some(format!("{remedy} ({cause})"))
}

fn cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<rustls::Error>() {
            return Some(found);
        }
        // An input or output error keeps its inner one apart from its source.
        let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        next = match inner {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const NO_PEM: &str = "neither a certificate nor a key";

    /// A file with this in it, as long as the folder is there.
    fn file(dir: &tempfile::TempDir, text: &str) -> PathBuf {
        let path = dir.path().join("file.pem");
        std::fs::write(&path, text).unwrap();
        path
    }

    fn checked(tls: &Tls) -> String {
        tls.check().unwrap_err().to_string()
    }

    #[test]
    fn without_files_there_is_nothing_to_check() {
        assert!(Tls::default().check().is_ok());
        assert!(Tls { first: true, ..Tls::default() }.check().is_ok());
    }

    #[test]
    fn a_file_that_is_not_there_is_named_with_its_flag() {
        let missing = PathBuf::from("/nowhere/at/all");
        let ca = Tls { ca: Some(missing.clone()), ..Tls::default() };
        assert!(checked(&ca).starts_with("--nats-ca /nowhere/at/all: "), "{}", checked(&ca));
        let identity = Tls { identity: Some((missing.clone(), missing)), ..Tls::default() };
        assert!(checked(&identity).starts_with("--nats-cert /nowhere/at/all: "), "{}", checked(&identity));
    }

    #[test]
    fn a_file_without_a_certificate_is_none_and_is_not_repeated() {
        let dir = tempfile::tempdir().unwrap();
        let error = checked(&Tls { ca: Some(file(&dir, NO_PEM)), ..Tls::default() });
        assert!(error.contains("there is none in it") && error.contains("PEM format"), "{error}");
        assert!(!error.contains(NO_PEM), "{error}");
    }

    /// An error of TLS, packed as the client packs it.
    fn told(cause: rustls::Error) -> String {
        let io = std::io::Error::new(std::io::ErrorKind::InvalidData, cause);
        refusal(&ConnectError::with_source(ConnectErrorKind::Io, io)).unwrap()
    }

    #[test]
    fn a_server_whose_certificate_is_not_good_is_told_apart_from_one_that_refuses_ours() {
        let theirs = told(rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer));
        assert!(theirs.contains("--nats-ca") && theirs.contains("--nats-url"), "{theirs}");
        let ours = told(rustls::Error::AlertReceived(rustls::AlertDescription::CertificateRequired));
        assert!(ours.contains("--nats-cert") && ours.contains("--nats-key"), "{ours}");
    }

    #[test]
    fn a_server_that_does_not_speak_tls_is_told_by_the_flag_that_may_be_wrong() {
        let error = told(rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType));
        assert!(error.contains("--nats-tls-first"), "{error}");
    }

    #[test]
    fn every_other_error_of_tls_names_what_to_look_at_and_its_cause() {
        let error = told(rustls::Error::General("of a test".into()));
        assert!(error.contains("look at --nats-ca") && error.contains("of a test"), "{error}");
    }

    #[test]
    fn a_server_that_is_away_has_not_refused_anything() {
        let away = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        assert_eq!(refusal(&ConnectError::with_source(ConnectErrorKind::Io, away)), None);
        let pair = refusal(&ConnectError::new(ConnectErrorKind::Tls)).unwrap();
        assert!(pair.contains("--nats-key must belong to --nats-cert"), "{pair}");
    }
}
