//! Servers outside of every cluster that somebody names, and which of them may be asked for whom. A stage asks from where it stands, in
//! the network of the management cluster: a tenant who could name any address would reach, through it, what he cannot reach himself.
//! The client of Kubernetes itself is not used: it logs whole addresses, in which there may be secrets.

// D-1068: tenants name no server of the own network.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use http::{Request, Uri};
use hyper_util::client::legacy::ResponseFuture;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use kube::Config;
use kube::client::{Body, ConfigExt as _};

use crate::client::without_needless_tls;
use crate::http::connections;

/// Servers of the own network that tenants may name as well.
#[derive(Clone, Debug)]
pub enum OwnHosts {
    /// All: whoever names them runs this process himself.
    All,
    /// Those that an argument names.
    These {
        /// Their names or addresses, each with or without a port.
        named: BTreeSet<String>,
        /// What the argument is called, for messages.
        flag: &'static str,
    },
}

/// Where a client may connect to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Everywhere.
    All,
    /// To the public part of the network only; the argument that names others.
    Public(&'static str),
}

/// A tenant has named a server of the own network.
#[derive(Debug)]
pub struct Refused {
    flag: &'static str,
}

/// A client: it keeps its connections, and follows no redirection.
pub type HttpClient = Arc<dyn Fn(Request<Body>) -> ResponseFuture + Send + Sync>;

// === impl OwnHosts ===

impl OwnHosts {
    /// Those that this argument names.
    pub fn named(flag: &'static str, hosts: impl IntoIterator<Item = String>) -> Self {
        Self::These { named: hosts.into_iter().collect(), flag }
    }

    /// Where a client for the server of this address may connect to.
    ///
    /// # Errors
    /// It is named by an address of the own network. Those that are named by a name are looked at when it is resolved.
    pub fn reach(&self, uri: &Uri, of_tenant: bool) -> Result<Reach, Refused> {
        let Self::These { named, flag } = self else { return Ok(Reach::All) };
        let is_named = |name: &str| named.iter().any(|known| known.eq_ignore_ascii_case(name));
        let host = uri.host().unwrap_or_default();
        let with_port = uri.port_u16().map(|port| format!("{host}:{port}"));
        if !of_tenant || is_named(host) || with_port.is_some_and(|name| is_named(&name)) {
            return Ok(Reach::All);
        }
        let host = host.trim_start_matches('[').trim_end_matches(']');
        match host.parse::<IpAddr>() {
            Ok(address) if is_own_network(address) => Err(Refused { flag }),
            _ => Ok(Reach::Public(flag)),
        }
    }
}

// === impl Refused ===

impl Refused {
    /// Whether it is the reason of an error.
    pub fn is_reason_of(error: &(dyn Error + 'static)) -> bool {
        error.is::<Self>() || error.source().is_some_and(Self::is_reason_of)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "its address is of the own network, where nothing is asked for tenants; name another server, or have the platform's \
             admin name this host in {}",
            self.flag
        )
    }
}

impl Error for Refused {}

/// A client for the server of an address, of which the authorities hold that the system knows.
///
/// # Errors
/// These certificates cannot be used.
pub fn client_of(uri: Uri, reach: Reach) -> kube::Result<HttpClient> {
    http_client(&without_needless_tls(Config::new(uri)), reach)
}

/// A client for a server of this configuration, which connects only to where it may.
///
/// # Errors
/// The configuration's certificates cannot be used.
pub fn http_client(config: &Config, reach: Reach) -> kube::Result<HttpClient> {
    let Reach::Public(flag) = reach else {
        let client = connections().build::<_, Body>(config.rustls_https_connector()?);
        return Ok(Arc::new(move |request| client.request(request)));
    };
    let mut plain = HttpConnector::new_with_resolver(tower::service_fn(move |name| public(name, flag)));
    plain.enforce_http(false);
    let connector = config.rustls_https_connector_with_connector(plain)?;
    let client = connections().build::<_, Body>(connector);
    Ok(Arc::new(move |request| client.request(request)))
}

/// The public addresses of a name. They are looked at as they are used, so that the name cannot mean others in the meantime.
async fn public(
    name: Name,
    flag: &'static str,
) -> Result<std::vec::IntoIter<SocketAddr>, Box<dyn Error + Send + Sync>> {
    let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
    let (own, public): (Vec<_>, Vec<_>) = found.partition(|address| is_own_network(address.ip()));
    if public.is_empty() && !own.is_empty() {
        return Err(Refused { flag }.into());
    }
    Ok(public.into_iter())
}

/// Whether an address leads anywhere but to the public part of the network.
fn is_own_network(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_own_v4(address),
        IpAddr::V6(address) => is_own_v6(address),
    }
}

fn is_own_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_multicast()
        || matches!((a, b, c), (0, ..) | (240.., ..) | (100, 64..=127, _) | (198, 18..=19, _) | (192, 0, 0))
}

/// Addresses that carry one of the older kind are what that one is; of the others those are public that are given out to the
/// public, but for the part that carries older ones in a way of its own.
fn is_own_v6(address: Ipv6Addr) -> bool {
    let parts = address.segments();
    let older = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_own_v4(Ipv4Addr::new(a, b, c, d))
    };
    match parts {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => older(high, low),
        [0x2002, high, low, ..] => older(high, low),
        [0x2001, 0, ..] => true,
        [first, ..] => first & 0xe000 != 0x2000,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn addresses_of_the_own_network_are_known_in_every_form() {
        for own in [
            "127.0.0.1",
            "127.9.9.9",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "0.1.2.3",
            "255.255.255.255",
            "224.0.0.1",
            "192.0.0.192",
            "198.18.0.1",
            "::",
            "::1",
            "fe80::1",
            "fd00::1",
            "fec0::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2002:a00:1::",
            "2001::1",
        ] {
            assert!(is_own_network(own.parse().unwrap()), "{own}");
        }
        for public in [
            "1.1.1.1",
            "172.15.0.1",
            "172.32.0.1",
            "100.63.0.1",
            "100.128.0.1",
            "2606:4700::1111",
            "::ffff:1.1.1.1",
            "64:ff9b::1.1.1.1",
            "2002:101:101::",
            "2001:4860:4860::8888",
        ] {
            assert!(!is_own_network(public.parse().unwrap()), "{public}");
        }
    }

    #[test]
    fn a_host_is_allowed_by_its_name_with_or_without_its_port() {
        let named = ["charts.corp", "10.0.0.1:8080"].map(str::to_owned);
        let hosts = OwnHosts::named("--hosts", named);
        let reach = |url: &str| hosts.reach(&url.parse().unwrap(), true).map_err(|error| error.to_string());
        for allowed in ["https://charts.corp/x", "http://Charts.Corp:81", "http://10.0.0.1:8080"] {
            assert_eq!(reach(allowed), Ok(Reach::All), "{allowed}");
        }
        for refused in ["http://10.0.0.1", "http://10.0.0.1:81", "http://[::1]:81"] {
            assert!(reach(refused).unwrap_err().ends_with("name this host in --hosts"), "{refused}");
        }
        assert_eq!(reach("http://x.charts.corp"), Ok(Reach::Public("--hosts")));
        let inside = "http://10.0.0.2".parse().unwrap();
        assert_eq!(hosts.reach(&inside, false).unwrap(), Reach::All);
        assert_eq!(OwnHosts::All.reach(&inside, true).unwrap(), Reach::All);
    }
}
