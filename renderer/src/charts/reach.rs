//! Which servers may be asked for whom. A chart is fetched from where the renderer stands, in the network of the management
//! cluster: a tenant who could name any address would reach, through it, what he cannot reach himself.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use http::Uri;
use hyper_util::client::legacy::connect::dns::Name;
use sluice_renderer_core::Access;

/// Servers of the own network that tenants may name as well.
#[derive(Clone, Debug)]
pub enum ChartHosts {
    /// All: whoever names them runs this process himself.
    All,
    /// Those of these names or addresses, each with or without a port.
    These(BTreeSet<String>),
}

/// A tenant has named a server of the own network.
#[derive(Debug)]
pub(crate) struct Refused;

// === impl ChartHosts ===

impl Default for ChartHosts {
    fn default() -> Self {
        Self::These(BTreeSet::new())
    }
}

impl ChartHosts {
    /// Whether the server of this address may be asked, wherever it is.
    pub(crate) fn allow(&self, uri: &Uri, access: &Access) -> bool {
        let Self::These(named) = self else { return true };
        let is_named = |name: &str| named.iter().any(|known| known.eq_ignore_ascii_case(name));
        let host = uri.host().unwrap_or_default();
        let with_port = uri.port_u16().map(|port| format!("{host}:{port}"));
        !access.of_tenant || is_named(host) || with_port.is_some_and(|name| is_named(&name))
    }
}

// === impl Refused ===

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "its address is of the own network, from which nothing is fetched for tenants; name another repository, or have \
             the platform's admin name this host in --chart-hosts",
        )
    }
}

impl Error for Refused {}

/// Refuses a server that is named by its address. Those that are named by a name are looked at when it is resolved.
pub(crate) fn check(uri: &Uri) -> Result<(), Refused> {
    let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    match host.parse::<IpAddr>() {
        Ok(address) if is_own_network(address) => Err(Refused),
        _ => Ok(()),
    }
}

/// The public addresses of a name. They are looked at as they are used, so that the name cannot mean others in the meantime.
pub(crate) async fn public(
    name: Name,
) -> Result<std::vec::IntoIter<SocketAddr>, Box<dyn Error + Send + Sync>> {
    let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
    let (own, public): (Vec<_>, Vec<_>) = found.partition(|address| is_own_network(address.ip()));
    if public.is_empty() && !own.is_empty() {
        return Err(Refused.into());
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
        let hosts = ChartHosts::These(BTreeSet::from(named));
        let tenant = Access { of_tenant: true, ..Access::default() };
        let allow = |url: &str| hosts.allow(&url.parse().unwrap(), &tenant);
        assert!(
            allow("https://charts.corp/x") && allow("http://Charts.Corp:81") && allow("http://10.0.0.1:8080")
        );
        assert!(!allow("http://10.0.0.1") && !allow("http://10.0.0.1:81") && !allow("http://x.charts.corp"));
        assert!(hosts.allow(&"http://10.0.0.2".parse().unwrap(), &Access::default()));
        assert!(ChartHosts::All.allow(&"http://10.0.0.2".parse().unwrap(), &tenant));
    }
}
