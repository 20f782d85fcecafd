//! Addresses that are spoken to: encrypted, or on this machine.

use std::net::IpAddr;

use http::Uri;

/// An address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    text: String,
    path: String,
    is_encrypted: bool,
}

// === impl Address ===

impl Address {
    /// Reads one.
    pub(super) fn of(text: &str) -> Result<Self, &'static str> {
        let uri: Uri = text.parse().map_err(|_| "it is no address")?;
        let host = uri.host().ok_or("write it with its scheme, as https://host/path")?;
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err("leave user and password out");
        }
        let is_encrypted = match uri.scheme_str() {
            Some("https") => true,
            Some("http") if is_loopback(host) => false,
            _ => {
                return Err(
                    "use https://; without encryption only this machine counts (127.0.0.1, localhost)",
                );
            }
        };
        Ok(Self { text: text.to_owned(), path: uri.path().to_owned(), is_encrypted })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_is_spoken_to_is_encrypted_or_on_this_machine() {
        for good in [
            "https://id.example",
            "https://id.example:8443/realms/a",
            "http://127.0.0.1:5556/dex",
            "http://[::1]:1",
            "http://localhost/",
        ] {
            assert_eq!(Address::of(good).unwrap().is_encrypted(), good.starts_with("https"), "{good}");
        }
        for wrong in [
            "",
            "id.example",
            "/path",
            "http://id.example",
            "http://127.0.0.1.evil.example",
            "http://10.0.0.1",
            "ftp://127.0.0.1",
            "https://user:word@id.example",
            "http://localhost@id.example",
            "javascript:alert(1)",
        ] {
            assert!(Address::of(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Address::of("https://h/a/ui/").unwrap().path(), "/a/ui/");
    }
}
