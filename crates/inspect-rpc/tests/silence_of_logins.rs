//! Nothing that is logged of a login, at whatever level, has its token, its code or a secret in it.
#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::sync::{Arc, Mutex};

use sluice_inspect_rpc::{Authentication, Oidc, OidcSettings, Settings};

mod common;
#[path = "oidc/issuer.rs"]
mod issuer;

use common::browser::get;
use common::{start_alone, with};
use issuer::{Issuer, Key, PASSWORD, form, password_file};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn what_a_login_is_made_of_is_in_no_log() {
    let (log, dir) = (Log::default(), tempfile::tempdir().unwrap());
    let writer = log.clone();
    let all =
        tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(move || writer.clone());
    all.init();
    let key = Key::es256();
    let issuer = Issuer::with(&key);
    let settings = OidcSettings {
        secret_file: Some(password_file(dir.path())),
        page: Some("http://127.0.0.1:1/ui/".to_owned()),
        ..issuer.settings()
    };
    let authentication = Authentication::Oidc(Arc::new(Oidc::new(settings).unwrap()));
    let (to, _tasks) = start_alone(Settings { page: true, ..with(authentication) }).await;
    let begun = get(to, "/ui/login", "").await;
    let secret = begun.all("set-cookie")[0].split([';', '=']).nth(1).unwrap().to_owned();
    let login = format!("cookie: sluice-login={secret}\r\n");
    let mut secrets = vec![secret, PASSWORD.to_owned()];
    // One that counts, and one that does not, of which the reason is told.
    for name in ["", "another"] {
        let callback = issuer.log_in(&begun.all("location")[0], &key, |claims| {
            if !name.is_empty() {
                claims["aud"] = name.into();
            }
        });
        let back = get(to, callback.strip_prefix("http://127.0.0.1:1").unwrap(), &login).await;
        assert_eq!(back.code, if name.is_empty() { 303 } else { 401 }, "{}", back.body);
        secrets.push(form(callback.split_once('?').unwrap().1)["state"].clone());
        if let Some(cookie) = back.all("set-cookie").first() {
            let token = cookie.split([';', '=']).nth(1).unwrap().to_owned();
            assert_eq!(
                get(to, "/ui/api/session", &format!("cookie: sluice-token-0={token}\r\n")).await.code,
                200
            );
            secrets.push(token);
        }
    }
    secrets.extend(issuer.sent());
    assert_eq!(secrets.len(), 7, "the cookie, the password, two states, a token, two verifiers");
    let log = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    assert!(log.contains("a login did not succeed") && log.contains("TRACE"), "it is read");
    for secret in secrets {
        assert_eq!(log.lines().find(|line| line.contains(&secret)), None);
    }
}
