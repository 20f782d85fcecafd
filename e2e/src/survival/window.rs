//! What a test sees of a place that nobody reaches from outside: connections that a process in it makes.

use std::process::Stdio;

use anyhow::Context as _;
use sluice_testbed::Inside;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::task::JoinSet;

/// Connects standard input and output with a port of the loopback address.
const CONNECT: &str = "exec 3<>\"/dev/tcp/127.0.0.1/$0\"; cat <&3 & exec cat >&3";

/// A port here that stands for one of the loopback address there, until this is dropped.
pub struct Window {
    port: u16,
    _connections: JoinSet<()>,
}

// === impl Window ===

impl Window {
    /// Opens it.
    ///
    /// # Errors
    /// When no port is free.
    pub async fn open(place: Inside, port: u16) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let (here, mut connections) = (listener.local_addr()?.port(), JoinSet::new());
        #[expect(clippy::disallowed_methods, reason = "a window that is shut fails the test")]
        connections.spawn(async move {
            // Dropped with the window, and every connection with it.
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let place = place.clone();
                #[expect(clippy::disallowed_methods, reason = "who connected sees that it has ended")]
                open.spawn(async move { drop(connect(stream, &place, port).await) });
            }
        });
        Ok(Self { port: here, _connections: connections })
    }

    /// The port here.
    pub fn port(&self) -> u16 {
        self.port
    }
}

/// Passes on what comes from either side, until one of them has ended.
async fn connect(mut stream: TcpStream, place: &Inside, port: u16) -> anyhow::Result<()> {
    let [program, arguments @ ..] = place.command();
    let mut process = Command::new(program)
        .args(arguments)
        .args(["bash", "-c", CONNECT, &port.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let (mut to, mut from) =
        (process.stdin.take().context("a pipe")?, process.stdout.take().context("a pipe")?);
    let (mut read, mut write) = stream.split();
    tokio::select! {
        done = tokio::io::copy(&mut read, &mut to) => done.map(drop)?,
        done = tokio::io::copy(&mut from, &mut write) => done.map(drop)?,
    }
    Ok(())
}
