//! X.509 certificates as sprig asks Go for them.

use std::net::IpAddr;

use sha2::{Digest, Sha256};

use super::{der, pem, private::Key};
use crate::{exec::Fail, sprig::dates};

/// What a certificate is to say.
#[derive(Debug, Default)]
pub(super) struct Request {
    pub(super) name: String,
    pub(super) ips: Vec<IpAddr>,
    pub(super) dns: Vec<String>,
    pub(super) not_before: i64,
    pub(super) days: i64,
    pub(super) is_ca: bool,
    pub(super) serial: [u8; 16],
}

/// Who signs.
pub(super) struct Authority {
    pub(super) subject: Vec<u8>,
    pub(super) key_id: Vec<u8>,
    pub(super) key: Key,
}

/// What is read from a certificate.
pub(super) struct Parsed {
    pub(super) subject: Vec<u8>,
    pub(super) key_id: Vec<u8>,
}

const COMMON_NAME: &[u8] = &[0x55, 4, 3];
const KEY_USAGE: &[u8] = &[0x55, 0x1d, 15];
const EXT_KEY_USAGE: &[u8] = &[0x55, 0x1d, 37];
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 19];
const SUBJECT_KEY_ID: &[u8] = &[0x55, 0x1d, 14];
const AUTHORITY_KEY_ID: &[u8] = &[0x55, 0x1d, 35];
const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 17];
const SERVER_AUTH: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 1];
const CLIENT_AUTH: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 2];

/// The certificate in PEM, signed by the authority or by its own key.
pub(super) fn create(request: &Request, key: &Key, authority: Option<&Authority>) -> Result<String, Fail> {
    let signer = authority.map_or(key, |a| &a.key);
    let (algorithm, public) = key.public()?;
    let own_id = Sha256::digest(&public)[..20].to_vec();
    let subject = distinguished(&request.name);
    let issuer = authority.map_or_else(|| subject.clone(), |a| a.subject.clone());
    let key_id = match authority {
        Some(a) => a.key_id.clone(),
        None if request.is_ca => own_id.clone(),
        None => Vec::new(),
    };
    let validity = [moment(request.not_before), moment(not_after(request))];
    let body = der::sequence(&[
        der::tagged(0xa0, &der::small(2)),
        der::integer(&request.serial),
        signer.signature_algorithm(),
        issuer,
        der::sequence(&validity),
        subject,
        der::sequence(&[algorithm, der::bits(&public)]),
        der::tagged(0xa3, &der::sequence(&extensions(request, &own_id, &key_id))),
    ]);
    let signature = signer.sign(&body)?;
    let whole = der::sequence(&[body, signer.signature_algorithm(), der::bits(&signature)]);
    Ok(pem::encode("CERTIFICATE", &whole))
}

fn not_after(request: &Request) -> i64 {
    // Go counts nanoseconds in 64 bits, which some 292 years fill.
    let nanos = request.days.wrapping_mul(86_400_000_000_000);
    request.not_before.saturating_add(nanos.div_euclid(1_000_000_000))
}

fn extensions(request: &Request, own_id: &[u8], key_id: &[u8]) -> Vec<Vec<u8>> {
    let usage: &[u8] = if request.is_ca { &[2, 0xa4] } else { &[5, 0xa0] };
    let constraints = if request.is_ca { der::tagged(0x01, &[0xff]) } else { Vec::new() };
    let purposes = der::sequence(&[der::oid(SERVER_AUTH), der::oid(CLIENT_AUTH)]);
    let mut all = vec![
        extension(KEY_USAGE, true, &der::tagged(0x03, usage)),
        extension(EXT_KEY_USAGE, false, &purposes),
        extension(BASIC_CONSTRAINTS, true, &der::sequence(&[constraints])),
    ];
    if request.is_ca {
        all.push(extension(SUBJECT_KEY_ID, false, &der::octets(own_id)));
    } else if !key_id.is_empty() {
        all.push(extension(AUTHORITY_KEY_ID, false, &der::sequence(&[der::tagged(0x80, key_id)])));
    }
    let mut names: Vec<Vec<u8>> = request.dns.iter().map(|d| der::tagged(0x82, d.as_bytes())).collect();
    names.extend(request.ips.iter().map(|ip| match ip {
        IpAddr::V4(ip) => der::tagged(0x87, &ip.octets()),
        IpAddr::V6(ip) => der::tagged(0x87, &ip.octets()),
    }));
    if !names.is_empty() {
        all.push(extension(SUBJECT_ALT_NAME, request.name.is_empty(), &der::sequence(&names)));
    }
    all
}

fn extension(id: &[u8], critical: bool, content: &[u8]) -> Vec<u8> {
    let flag = if critical { der::tagged(0x01, &[0xff]) } else { Vec::new() };
    der::sequence(&[der::oid(id), flag, der::octets(content)])
}

/// A name that is only a common name.
fn distinguished(name: &str) -> Vec<u8> {
    if name.is_empty() {
        return der::sequence(&[]);
    }
    let printable = name.bytes().all(|b| b.is_ascii_alphanumeric() || b" '()+,-./:=?".contains(&b));
    let text = der::tagged(if printable { 0x13 } else { 0x0c }, name.as_bytes());
    let attribute = der::sequence(&[der::oid(COMMON_NAME), text]);
    der::sequence(&[der::tagged(0x31, &attribute)])
}

/// A moment: two digits of the year until 2049, four from then on.
fn moment(unix: i64) -> Vec<u8> {
    let unix = unix.clamp(-62_167_219_200, 253_402_300_799);
    let time = dates::utc(unix);
    let year = dates::layout::civil(&time).year;
    let short = (1950..2050).contains(&year);
    let layout: &[u8] = if short { b"060102150405Z" } else { b"20060102150405Z" };
    der::tagged(if short { 0x17 } else { 0x18 }, &dates::layout_format::format(&time, layout))
}

/// Reads the subject and the key identifier of a certificate.
pub(super) fn parse(bytes: &[u8]) -> Result<Parsed, &'static str> {
    read(bytes).ok_or("x509: malformed certificate")
}

fn read(bytes: &[u8]) -> Option<Parsed> {
    let mut body = der::Reader(der::Reader(der::Reader(bytes).expect(0x30)?).expect(0x30)?);
    let (tag, ..) = body.next()?;
    if tag == 0xa0 {
        body.expect(0x02)?;
    }
    body.expect(0x30)?;
    body.expect(0x30)?;
    body.expect(0x30)?;
    let (_, _, subject) = body.next().filter(|(tag, ..)| *tag == 0x30)?;
    body.expect(0x30)?;
    let mut key_id = Vec::new();
    while let Some((tag, content, _)) = body.next() {
        if tag != 0xa3 {
            continue;
        }
        let mut all = der::Reader(der::Reader(content).expect(0x30)?);
        while let Some(extension) = all.expect(0x30) {
            let mut parts = der::Reader(extension);
            if parts.expect(0x06)? != SUBJECT_KEY_ID {
                continue;
            }
            while let Some((tag, content, _)) = parts.next() {
                if tag == 0x04 {
                    key_id = der::Reader(content).expect(0x04)?.to_vec();
                }
            }
        }
    }
    Some(Parsed { subject: subject.to_vec(), key_id })
}
