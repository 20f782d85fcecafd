//! Password hashes, derived passwords, AES.

use aes::Aes256;
use aes::cipher::{BlockModeDecrypt, BlockModeEncrypt, KeyIvInit, block_padding::NoPadding};
use hmac::{Hmac, KeyInit, Mac};
use rand::RngCore;
use sha2::Sha256;

use super::encoding::{base64, decode_base64};
use crate::{
    exec::{Cx, Fail},
    funcs::{CallResult, Row},
    text::lossy,
    value::Value,
};

pub(crate) const TABLE: &[Row] = &[
    ("bcrypt(password string) string", bcrypt, "The bcrypt hash."),
    ("htpasswd(user string, password string) string", htpasswd, "A line of a password file."),
    (
        "derivePassword(counter uint32, type string, password string, user string, site string) string",
        derive_password,
        "A password derived from a master password.",
    ),
    ("encryptAES(password string, text string) string", encrypt, "AES-256-CBC in base64."),
    ("decryptAES(password string, text string) string", decrypt, "From `encryptAES`."),
];

/// What a deliberately slow function costs: four fit into the default budget.
const SLOW_STEPS: u64 = 240_000;
/// What it costs to derive a password: 180 ms in an optimized build on a slow core.
const DERIVE_STEPS: u64 = 180_000;

fn bcrypt_hash(cx: &mut Cx<'_>, password: &[u8]) -> Result<Vec<u8>, Fail> {
    cx.step(SLOW_STEPS)?;
    let failed = "failed to encrypt string with bcrypt:";
    if password.len() > 72 {
        return Ok(format!("{failed} bcrypt: password length exceeds 72 bytes").into_bytes());
    }
    let mut salt = [0; 16];
    cx.random.get(cx.env).fill_bytes(&mut salt);
    Ok(match bcrypt::hash_with_salt(password, 10, salt) {
        Ok(parts) => parts.format_for_version(bcrypt::Version::TwoA).into_bytes(),
        Err(error) => format!("{failed} {error}").into_bytes(),
    })
}

fn bcrypt<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let hash = bcrypt_hash(cx, args[0].bytes())?;
    cx.string(hash)
}

fn htpasswd<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let user = args[0].bytes();
    if user.contains(&b':') {
        return cx.string([b"invalid username: ", user].concat());
    }
    let hash = bcrypt_hash(cx, args[1].bytes())?;
    cx.string([user, b":", &hash].concat())
}

const SEED: &[u8] = b"com.lyndir.masterpassword";

/// The shapes of derived passwords by type.
fn shapes(kind: &[u8]) -> &'static [&'static [u8]] {
    match kind {
        b"maximum" => &[b"anoxxxxxxxxxxxxxxxxx", b"axxxxxxxxxxxxxxxxxno"],
        b"long" => &[
            b"CvcvnoCvcvCvcv",
            b"CvcvCvcvnoCvcv",
            b"CvcvCvcvCvcvno",
            b"CvccnoCvcvCvcv",
            b"CvccCvcvnoCvcv",
            b"CvccCvcvCvcvno",
            b"CvcvnoCvccCvcv",
            b"CvcvCvccnoCvcv",
            b"CvcvCvccCvcvno",
            b"CvcvnoCvcvCvcc",
            b"CvcvCvcvnoCvcc",
            b"CvcvCvcvCvccno",
            b"CvccnoCvccCvcv",
            b"CvccCvccnoCvcv",
            b"CvccCvccCvcvno",
            b"CvcvnoCvccCvcc",
            b"CvcvCvccnoCvcc",
            b"CvcvCvccCvccno",
            b"CvccnoCvcvCvcc",
            b"CvccCvcvnoCvcc",
            b"CvccCvcvCvccno",
        ],
        b"medium" => &[b"CvcnoCvc", b"CvcCvcno"],
        b"short" => &[b"Cvcn"],
        b"basic" => &[b"aaanaaan", b"aannaaan", b"aaannaaa"],
        b"pin" => &[b"nnnn"],
        _ => &[],
    }
}

/// The characters a place of a shape may hold.
fn characters(place: u8) -> &'static [u8] {
    match place {
        b'C' => b"BCDFGHJKLMNPQRSTVWXYZ",
        b'v' => b"aeiou",
        b'c' => b"bcdfghjklmnpqrstvwxyz",
        b'a' => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz",
        b'n' => b"0123456789",
        b'o' => b"@&%?,=[]_:-+*$#!'^~;()/.",
        _ => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz0123456789!@#$%^&*()",
    }
}

fn with_length(text: &[u8]) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX).to_be_bytes();
    [SEED, &length, text].concat()
}

fn derive_password<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let (kind, password, user, site) = (args[1].bytes(), args[2].bytes(), args[3].bytes(), args[4].bytes());
    let shapes = shapes(kind);
    if shapes.is_empty() {
        return cx.string(format!("cannot find password template {}", lossy(kind)));
    }
    cx.step(DERIVE_STEPS)?;
    let failed = |e: &dyn std::fmt::Display| Fail::from(format!("failed to derive password: {e}"));
    let params = scrypt::Params::new(15, 8, 2).map_err(|e| failed(&e))?;
    let mut key = [0; 64];
    scrypt::scrypt(password, &with_length(user), &params, &mut key).map_err(|e| failed(&e))?;
    let counter = u32::try_from(args[0].as_int()).unwrap_or(0).to_be_bytes();
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).map_err(|e| failed(&e))?;
    mac.update(&with_length(site));
    mac.update(&counter);
    let seed = mac.finalize().into_bytes();
    let shape = shapes[usize::from(seed[0]) % shapes.len()];
    let pick = |(place, random): (&u8, &u8)| {
        let all = characters(*place);
        all[usize::from(*random) % all.len()]
    };
    let derived: Vec<u8> = shape.iter().zip(&seed[1..]).map(pick).collect();
    cx.string(derived)
}

/// The password as a key: cut or filled with zeros to 32 bytes.
fn aes_key(password: &[u8]) -> [u8; 32] {
    let mut key = [0; 32];
    let len = password.len().min(32);
    key[..len].copy_from_slice(&password[..len]);
    key
}

fn encrypt<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let text = args[1].bytes();
    if text.is_empty() {
        return Ok(Value::text(""));
    }
    cx.may_be_long(text.len() / 3 * 4 + 64)?;
    cx.step(text.len() as u64 / 8)?;
    let mut iv = [0; 16];
    cx.random.get(cx.env).fill_bytes(&mut iv);
    let padding = 16 - text.len() % 16;
    let mut content = text.to_vec();
    content.resize(text.len() + padding, u8::try_from(padding).unwrap_or(16));
    let cipher = cbc::Encryptor::<Aes256>::new(&aes_key(args[0].bytes()).into(), &iv.into());
    let sealed = cipher.encrypt_padded_vec::<NoPadding>(&content);
    let out = base64(&[iv.as_slice(), &sealed].concat());
    cx.string(out)
}

fn decrypt<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let text = args[1].bytes();
    if text.is_empty() {
        return Ok(Value::text(""));
    }
    cx.step(text.len() as u64 / 8)?;
    let sealed = decode_base64(text).map_err(|at| format!("illegal base64 data at input byte {at}"))?;
    let Some((iv, body)) = sealed.split_first_chunk::<16>() else {
        let len = sealed.len();
        return Err(format!("runtime error: slice bounds out of range [:16] with capacity {len}").into());
    };
    if body.len() % 16 != 0 {
        return Err("crypto/cipher: input not full blocks".into());
    }
    let cipher = cbc::Decryptor::<Aes256>::new(&aes_key(args[0].bytes()).into(), &(*iv).into());
    let mut open = cipher.decrypt_padded_vec::<NoPadding>(body).map_err(|e| Fail::from(e.to_string()))?;
    let Some(padding) = open.last().map(|b| usize::from(*b)) else {
        return Err("runtime error: index out of range [-1]".into());
    };
    match open.len().checked_sub(padding) {
        Some(len) => open.truncate(len),
        None => {
            let short = open.len() as i64 - padding as i64;
            return Err(format!("runtime error: slice bounds out of range [:{short}]").into());
        }
    }
    cx.string(open)
}
