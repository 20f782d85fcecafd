//! The ways to a repository: TLS with an authority of its own, unchecked, and without.

use std::net::SocketAddr;

use sluice_template::{Data, Env, Limits, Options, Program};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;

use super::*;

/// A server's certificate, its key, and the authority that signed it, as PEM.
struct Certificates {
    own: String,
    key: String,
    authority: String,
}

struct TlsListener {
    plain: TcpListener,
    acceptor: TlsAcceptor,
}

fn mk_certificates(seed: u8) -> Certificates {
    let text = "{{ $k := genPrivateKey \"ecdsa\" }}{{ $ca := genCAWithKey \"own authority\" 30 $k }}\
                {{ $k := genPrivateKey \"ecdsa\" }}\
                {{ $c := genSignedCertWithKey \"here\" (list \"127.0.0.1\") nil 30 $ca $k }}\
                {{ $c.Cert }}|{{ $c.Key }}|{{ $ca.Cert }}";
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    let program = Program::compile("t", text, &Options::default()).unwrap();
    let env = Env::new(i64::try_from(now).unwrap(), [seed; 32]);
    let made = program.render(&Data::Null, &env, &Limits::default()).unwrap();
    let parts: Vec<&str> = made.split('|').collect();
    let [own, key, authority] = parts.try_into().unwrap();
    Certificates { own: own.into(), key: key.into(), authority: authority.into() }
}

async fn mk_tls(certificates: &Certificates) -> Fake {
    let chain = vec![CertificateDer::from_pem_slice(certificates.own.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(certificates.key.as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let plain = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = plain.local_addr().unwrap().to_string();
    Fake::on(TlsListener { plain, acceptor: TlsAcceptor::from(Arc::new(config)) }, address)
}

impl axum::serve::Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (stream, address) = self.plain.accept().await.unwrap();
            // A client that does not trust the certificate goes away here.
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.plain.local_addr()
    }
}

fn secure(fake: &Fake, access: Access) -> [ChartRequest; 2] {
    let http = fake.request("1.2.0");
    let repository = http.repository.replace("http://", "https://");
    let oci = http.repository.replace("http://", "oci://");
    [
        ChartRequest { repository, access: access.clone(), ..http.clone() },
        ChartRequest { repository: oci, access, ..http },
    ]
}

#[tokio::test]
async fn a_server_is_trusted_by_the_authority_that_is_named_or_unchecked() {
    let (certificates, stranger) = (mk_certificates(1), mk_certificates(2));
    let fake = mk_tls(&certificates).await;
    fake.publish(&["1.2.0"]);
    fake.push("1.2.0");
    let trusting = |ca: &Certificates| Access { ca: Some(ca.authority.clone()), ..Access::default() };
    for request in secure(&fake, trusting(&certificates)) {
        assert_eq!(look(&request).await, Ok("1.2.0".into()), "{request}");
    }
    for request in secure(&fake, Access { insecure_skip_tls_verify: true, ..Access::default() }) {
        assert_eq!(look(&request).await, Ok("1.2.0".into()), "{request}");
    }
    fake.asked();
    for access in [Access::default(), trusting(&stranger)] {
        for mut request in secure(&fake, access) {
            request.access.login = Some(login());
            let error = look(&request).await.unwrap_err();
            assert!(error.contains("invalid peer certificate"), "{error}");
            assert!(!error.contains("tried again"), "the server does its work: {error}");
        }
    }
    assert_eq!(fake.asked(), Vec::<String>::new(), "nothing was said to a server that is not trusted");
}

/// Whoever asks in the right way is answered, whatever others have asked for in the meantime.
#[tokio::test]
async fn a_wrong_authority_makes_nobody_else_wait() {
    let (certificates, stranger) = (mk_certificates(1), mk_certificates(2));
    let fake = mk_tls(&certificates).await;
    fake.publish(&["1.2.0"]);
    fake.push("1.2.0");
    let fetcher = Fetcher::new(ChartSettings::default());
    let trusting = |ca: &Certificates| Access { ca: Some(ca.authority.clone()), ..Access::default() };
    for (wrong, right) in
        secure(&fake, trusting(&stranger)).into_iter().zip(secure(&fake, trusting(&certificates)))
    {
        for _ in 0..3 {
            assert_eq!(fetcher.look(&wrong, None).await.1, Duration::from_secs(30));
        }
        let answered = tokio::time::timeout(Duration::from_millis(900), fetcher.look(&right, None)).await;
        assert_eq!(version(answered.unwrap().0), Ok("1.2.0".into()));
    }
}

#[tokio::test]
async fn many_authorities_can_be_named_at_once() {
    let (certificates, other) = (mk_certificates(1), mk_certificates(2));
    let fake = mk_tls(&certificates).await;
    fake.publish(&["1.2.0"]);
    let ca = Some(format!("{}\n{}", other.authority, certificates.authority));
    let [request, _] = secure(&fake, Access { ca, ..Access::default() });
    assert_eq!(look(&request).await, Ok("1.2.0".into()));
}

#[tokio::test]
async fn an_authority_that_is_none_is_said() {
    let fake = mk_tls(&mk_certificates(1)).await;
    for ca in ["no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        let [request, _] = secure(&fake, Access { ca: Some(ca.into()), ..Access::default() });
        let error = look(&request).await.unwrap_err();
        assert!(error.contains("registryCredentialsConfig.ca"), "{error}");
    }
}

#[tokio::test]
async fn a_registry_without_tls_is_spoken_to_only_where_that_is_said() {
    let fake = Fake::start().await;
    fake.push("1.2.0");
    assert_eq!(look(&fake.oci("1.2.0")).await, Ok("1.2.0".into()));
    let request = ChartRequest { access: Access::default(), ..fake.oci("1.2.0") };
    assert!(look(&request).await.is_err());
    let realm = "Bearer realm=\"http://127.0.0.1:1/token\",service=\"r\"";
    let tls = mk_tls(&mk_certificates(1)).await;
    tls.change(|served| (served.wanted, served.challenge) = (Some("Bearer x".into()), Some(realm.into())));
    let access = Access { insecure_skip_tls_verify: true, login: Some(login()), ..Access::default() };
    let [_, request] = secure(&tls, access);
    assert!(look(&request).await.unwrap_err().contains("wants the password sent without TLS; it is not"));
}

#[tokio::test]
async fn a_registry_takes_a_password_as_it_is() {
    let fake = Fake::start().await;
    fake.push("1.2.0");
    fake.change(|served| {
        (served.wanted, served.challenge) = (Some(http::basic(&login())), Some("Basic realm=\"r\"".into()));
    });
    let mut request = fake.oci("1.2.0");
    assert!(look(&request).await.unwrap_err().contains("401 Unauthorized; correct user and password"));
    request.access.login = Some(login());
    assert_eq!(look(&request).await, Ok("1.2.0".into()));
}
