//! A place with a network of its own, joined to this machine by one link that can be taken down.
//!
//! ```text
//! this machine (outside) ── link ── the place: its own loopback address, no other way out
//! ```

use std::process::{Command, id};

use anyhow::{Context as _, bail};

/// A network namespace. It goes when this is dropped; what runs in it keeps it until then.
#[derive(Debug)]
pub struct Place {
    namespace: String,
    /// The end of the link in it.
    link: String,
    /// The address of this machine on the link, and that of the place.
    addresses: [String; 2],
}

/// Where a process runs that is in a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inside {
    namespace: String,
    /// Where it says how it is.
    pub(crate) address: String,
}

// === impl Place ===

impl Place {
    /// Why no place can be made on this machine; `None` where one can.
    pub fn refused() -> Option<String> {
        let probe = format!("sluice-{}-probe", id());
        let made = ip(&["netns", "add", &probe]).and_then(|()| ip(&["netns", "del", &probe]));
        made.err().map(|error| {
            format!("no network namespace can be made here, which takes root and `ip`: {error:#}")
        })
    }

    /// Makes one; the number tells those of this process apart.
    ///
    /// # Errors
    /// What `ip` says.
    pub fn make(number: u8) -> anyhow::Result<Self> {
        let (namespace, outer, link) = (
            format!("sluice-{}-{number}", id()),
            format!("sl{}o{number}", id()),
            format!("sl{}i{number}", id()),
        );
        // A network of four addresses that hardly anybody else has.
        let network =
            |last: u8| format!("10.{}.{}.{}", 200 + id() % 50, id() / 50 % 250, 4 * (number % 60) + last);
        let addresses = [network(1), network(2)];
        ip(&["netns", "add", &namespace])?;
        // From here on it goes with its handle.
        let place = Self { namespace, link, addresses };
        let [outside, inside] = &place.addresses;
        ip(&["link", "add", &outer, "type", "veth", "peer", "name", &place.link, "netns", &place.namespace])?;
        ip(&["addr", "add", &format!("{outside}/30"), "dev", &outer])?;
        ip(&["link", "set", &outer, "up"])?;
        ip(&["-n", &place.namespace, "addr", "add", &format!("{inside}/30"), "dev", &place.link])?;
        ip(&["-n", &place.namespace, "link", "set", "lo", "up"])?;
        place.join()?;
        Ok(place)
    }

    /// The address of this machine that the place can reach.
    pub fn outside(&self) -> &str {
        &self.addresses[0]
    }

    /// The address of the place.
    pub fn address(&self) -> &str {
        &self.addresses[1]
    }

    /// For processes that say over the link how they are.
    pub fn inside(&self) -> Inside {
        Inside { namespace: self.namespace.clone(), address: self.addresses[1].clone() }
    }

    /// For processes that listen where nobody outside reaches them.
    pub fn closed(&self) -> Inside {
        Inside { namespace: self.namespace.clone(), address: "127.0.0.1".to_owned() }
    }

    /// Whether a connection from inside to this address (`host:port`) comes about.
    ///
    /// # Errors
    /// When it cannot be tried.
    pub fn reaches(&self, address: &str) -> anyhow::Result<bool> {
        let [program, arguments @ ..] = self.inside().command().map(str::to_owned);
        let connect = format!("exec 3<>/dev/tcp/{}", address.replacen(':', "/", 1));
        let mut command = Command::new(program);
        let tried = command.args(arguments).args(["timeout", "2", "bash", "-c", &connect]).output()?;
        Ok(tried.status.success())
    }

    /// Cuts it off: connections stay open, and nothing comes through.
    ///
    /// # Errors
    /// What `ip` says.
    pub fn cut(&self) -> anyhow::Result<()> {
        ip(&["-n", &self.namespace, "link", "set", &self.link, "down"])
    }

    /// Joins it again.
    ///
    /// # Errors
    /// What `ip` says.
    pub fn join(&self) -> anyhow::Result<()> {
        ip(&["-n", &self.namespace, "link", "set", &self.link, "up"])
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // The link goes with it. There is nothing else to do about a failure here.
        ip(&["netns", "del", &self.namespace]).ok();
    }
}

// === impl Inside ===

impl Inside {
    /// A program that runs another one in the place, with the same process number.
    pub fn command(&self) -> [&str; 4] {
        ["ip", "netns", "exec", &self.namespace]
    }
}

fn ip(arguments: &[&str]) -> anyhow::Result<()> {
    let said = Command::new("ip").args(arguments).output().context("ip, of the package iproute2")?;
    if !said.status.success() {
        bail!("ip {}: {}", arguments.join(" "), String::from_utf8_lossy(&said.stderr).trim());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_place_is_reached_over_its_link_alone_and_goes_with_its_handle() {
        if let Some(why) = Place::refused() {
            eprintln!("skipped: {why}");
            return;
        }
        let place = Place::make(59).unwrap();
        let listener = std::net::TcpListener::bind((place.outside(), 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let reaches = |address: &str| place.reaches(&format!("{address}:{port}")).unwrap();
        assert!(reaches(place.outside()));
        assert!(!reaches("127.0.0.1"), "the loopback address of this machine is not that of the place");
        place.cut().unwrap();
        assert!(!reaches(place.outside()), "it is cut off");
        place.join().unwrap();
        assert!(reaches(place.outside()));
        let namespace = place.namespace.clone();
        drop(place);
        assert!(ip(&["netns", "exec", &namespace, "true"]).is_err());
    }
}
