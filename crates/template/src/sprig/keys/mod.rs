//! Private keys and certificates, all derived from the seed of the render.

// D-0915: certificates begin at fixed moments.

mod cert;
mod der;
mod dsa;
mod pem;
mod private;

use rand::{RngCore, rngs::StdRng};

use super::{casts::to_text, encoding::decode_base64};
use crate::{
    exec::{Cx, Fail},
    funcs::{CallResult, Row},
    text::lossy,
    value::{Certificate, List, Object, Value},
};
use cert::{Authority, Request};
use private::Key;

pub(crate) const TABLE: &[Row] = &[
    (
        "genPrivateKey(type string) string",
        gen_private_key,
        "A private key in PEM: `rsa`, `dsa`, `ecdsa` or `ed25519`.",
    ),
    ("genCA(name string, days int) certificate", gen_ca, "A certificate authority with an RSA key."),
    (
        "genCAWithKey(name string, days int, key string) certificate",
        gen_ca_with_key,
        "A certificate authority with the given key. | EC keys must be of the curve P-256.",
    ),
    (
        "genSelfSignedCert(name string, ips list, dns list, days int) certificate",
        gen_self_signed,
        "A self-signed certificate with an RSA key.",
    ),
    (
        "genSelfSignedCertWithKey(name string, ips list, dns list, days int, key string) certificate",
        gen_self_signed_with_key,
        "A self-signed certificate with the given key. | EC keys must be of the curve P-256.",
    ),
    (
        "genSignedCert(name string, ips list, dns list, days int, ca certificate) certificate",
        gen_signed,
        "A certificate signed by the authority, with an RSA key.",
    ),
    (
        "genSignedCertWithKey(name string, ips list, dns list, days int, ca certificate, key string) certificate",
        gen_signed_with_key,
        "A certificate signed by the authority, with the given key. | EC keys must be of the curve P-256.",
    ),
    (
        "buildCustomCert(cert string, key string) certificate",
        build_custom,
        "A certificate and a key in base64 of PEM. | The certificate's shape is checked, not its extensions.",
    ),
];

/// The render's randomness in the form that the key crates take.
struct Source<'r>(&'r mut StdRng);

impl rsa::rand_core::RngCore for Source<'_> {
    fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    fn fill_bytes(&mut self, dest: &mut [u8]) {
        self.0.fill_bytes(dest);
    }

    fn try_fill_bytes(&mut self, dest: &mut [u8]) -> Result<(), rsa::rand_core::Error> {
        self.0.fill_bytes(dest);
        Ok(())
    }
}

impl rsa::rand_core::CryptoRng for Source<'_> {}

/// What making a key costs. In an optimized build on a core of 2 GHz a step of these is about a microsecond, so that the
/// default budget of a million is about a second. Measured, on average: ECDSA and Ed25519 0.1 ms; RSA of 2048 bits
/// 350 ms, since primes are searched for, so that three fit into a render; RSA of 4096 bits 2.9 s and DSA 4 s, so that
/// one fits, and only because `genPrivateKey "rsa"` means 4096 bits.
const SMALL_KEY: u64 = 2_000;
const RSA_2048: u64 = 300_000;
const LARGE_KEY: u64 = 900_000;

fn gen_private_key<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let kind = args[0].bytes();
    cx.step(match kind {
        b"" | b"rsa" | b"dsa" => LARGE_KEY,
        _ => SMALL_KEY,
    })?;
    let mut source = Source(cx.random.get(cx.env));
    let key = match kind {
        b"" | b"rsa" => Key::new_rsa(&mut source, 4096)?,
        b"dsa" => Key::Dsa(dsa::generate(&mut source)),
        b"ecdsa" => Key::new_ecdsa(&mut source),
        b"ed25519" => Key::new_ed25519(&mut source),
        other => return cx.string(format!("Unknown type {}", lossy(other))),
    };
    let text = key.to_pem()?;
    cx.string(text)
}

fn new_rsa(cx: &mut Cx<'_>) -> Result<Key, Fail> {
    cx.step(RSA_2048)?;
    Key::new_rsa(&mut Source(cx.random.get(cx.env)), 2048)
}

fn given_key(cx: &mut Cx<'_>, value: &Value<'_>) -> Result<Key, Fail> {
    read_key(cx, &lossy(value.bytes()))?.map_err(|m| Fail::from(format!("parsing private key: {m}")))
}

/// Reads a key in PEM. Its numbers are inverted and multiplied, which grows with the square of their length. Measured:
/// 0.8 ms for 1.7 KB (RSA of 2048 bits), 4 ms for 3.2 KB (4096 bits), 28 ms for 6.4 KB (8192 bits).
fn read_key(cx: &mut Cx<'_>, text: &str) -> Result<Result<Key, String>, Fail> {
    let length = text.len() as u64;
    cx.step(length.saturating_mul(length) / 1_400 + SMALL_KEY)?;
    Ok(Key::from_pem(text))
}

/// The request that the first arguments describe: name, addresses, names, days.
fn request<'a>(
    cx: &mut Cx<'a>,
    name: &Value<'a>,
    ips: Option<&Value<'a>>,
    dns: Option<&Value<'a>>,
    days: &Value<'a>,
) -> Result<Request, Fail> {
    let (now, days) = (cx.env.now_unix_nanos.div_euclid(1_000_000_000), days.as_int());
    let mut request = Request {
        name: lossy(name.bytes()),
        not_before: if cx.env.steady_certificates { steady(now, days, cx.env.draw()) } else { now },
        days,
        ..Request::default()
    };
    let (ips, dns) = (list(ips), list(dns));
    cx.step((ips.len() + dns.len()) as u64 * 4)?;
    for ip in ips {
        let Value::Str(text) = &ip else {
            return Err(format!("error parsing ip: {} is not a string", to_text(cx, &ip)?).into());
        };
        let text = text.lossy();
        let parsed = text.parse().map_err(|_| format!("error parsing ip: {text}"))?;
        request.ips.push(parsed);
    }
    for dns in dns {
        let Value::Str(text) = &dns else {
            let shown = to_text(cx, &dns)?;
            return Err(format!("error processing alternate dns name: {shown} is not a string").into());
        };
        request.dns.push(text.lossy());
    }
    cx.random.get(cx.env).fill_bytes(&mut request.serial);
    Ok(request)
}

/// The last of the moments that lie an eighth of so many days apart. The seed moves them, so that not everything is renewed
/// on one day.
fn steady(now: i64, days: i64, seed: [u8; 32]) -> i64 {
    let apart = days.saturating_mul(86_400) / 8;
    if apart <= 0 {
        return now;
    }
    let moved = seed.iter().take(7).fold(0, |moved, byte| moved << 8 | i64::from(*byte)) % apart;
    now - (now - moved).rem_euclid(apart)
}

fn list<'a>(value: Option<&Value<'a>>) -> Vec<Value<'a>> {
    match value {
        Some(Value::List(list)) if !matches!(list, List::Nil(_)) => list.to_vec(),
        _ => Vec::new(),
    }
}

fn certificate<'a>(cx: &mut Cx<'a>, cert: String, key: String) -> CallResult<'a> {
    cx.spend(cert.len() + key.len())?;
    Ok(cx.object(Object::Certificate(Certificate { cert: cert.into(), key: key.into() })))
}

fn self_signed<'a>(cx: &mut Cx<'a>, request: &Request, key: &Key) -> CallResult<'a> {
    cx.step(key.signing_steps())?;
    let made = cert::create(request, key, None)?;
    let pem = key.to_pem()?;
    certificate(cx, made, pem)
}

fn gen_ca<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let key = new_rsa(cx)?;
    let request = Request { is_ca: true, ..request(cx, &args[0], None, None, &args[1])? };
    self_signed(cx, &request, &key)
}

fn gen_ca_with_key<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let key = given_key(cx, &args[2])?;
    let request = Request { is_ca: true, ..request(cx, &args[0], None, None, &args[1])? };
    self_signed(cx, &request, &key)
}

fn gen_self_signed<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let key = new_rsa(cx)?;
    let request = request(cx, &args[0], Some(&args[1]), Some(&args[2]), &args[3])?;
    self_signed(cx, &request, &key)
}

fn gen_self_signed_with_key<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let key = given_key(cx, &args[4])?;
    let request = request(cx, &args[0], Some(&args[1]), Some(&args[2]), &args[3])?;
    self_signed(cx, &request, &key)
}

/// The authority in an argument that has passed the type check.
fn authority(cx: &mut Cx<'_>, value: &Value<'_>) -> Result<Authority, Fail> {
    let Value::Object(object) = value else { return Err("unable to decode certificate".into()) };
    let Object::Certificate(ca) = &**object else { return Err("unable to decode certificate".into()) };
    let block = pem::decode(&ca.cert).ok_or("unable to decode certificate")?;
    let parsed = cert::parse(&block.bytes)
        .map_err(|m| format!("error parsing certificate: decodedSignerCert.Bytes: {m}"))?;
    let key = read_key(cx, &ca.key)?.map_err(|m| format!("error parsing private key: {m}"))?;
    Ok(Authority { subject: parsed.subject, key_id: parsed.key_id, key })
}

fn signed<'a>(cx: &mut Cx<'a>, args: &[Value<'a>], key: &Key) -> CallResult<'a> {
    let authority = authority(cx, &args[4])?;
    cx.step(authority.key.signing_steps())?;
    let request = request(cx, &args[0], Some(&args[1]), Some(&args[2]), &args[3])?;
    let made = cert::create(&request, key, Some(&authority))?;
    let pem = key.to_pem()?;
    certificate(cx, made, pem)
}

fn gen_signed<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let key = new_rsa(cx)?;
    signed(cx, args, &key)
}

fn gen_signed_with_key<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let key = given_key(cx, &args[5])?;
    signed(cx, args, &key)
}

fn build_custom<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let cert = decode_base64(args[0].bytes()).map_err(|_| "unable to decode base64 certificate")?;
    let key = decode_base64(args[1].bytes()).map_err(|_| "unable to decode base64 private key")?;
    let (cert, key) = (lossy(&cert), lossy(&key));
    let block = pem::decode(&cert).ok_or("unable to decode certificate")?;
    cert::parse(&block.bytes).map_err(|m| format!("error parsing certificate: decodedCert.Bytes: {m}"))?;
    read_key(cx, &key)?.map_err(|m| format!("error parsing private key: {m}"))?;
    certificate(cx, cert, key)
}
