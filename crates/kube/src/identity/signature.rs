//! Signature version 4 of AWS, in the query of a request: <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html>.

use hmac::{Hmac, KeyInit as _, Mac as _};
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use super::ask::escaped;

/// With what requests are signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Keys {
    pub(super) id: String,
    pub(super) secret: String,
    /// Where they are lent.
    pub(super) session: Option<String>,
}

/// A request to be signed: a `GET` of `/`.
pub(super) struct Signed<'a> {
    pub(super) host: &'a str,
    pub(super) region: &'a str,
    pub(super) service: &'a str,
    pub(super) parameters: &'a [(&'a str, &'a str)],
    /// Headers with which it is sent, by lower-case name.
    pub(super) headers: &'a [(&'a str, &'a str)],
    /// For how long it is good, seconds.
    pub(super) good_for: u32,
}

// === impl Signed ===

impl Signed<'_> {
    /// Its query with the signature.
    pub(super) fn query(&self, keys: &Keys, now: Timestamp) -> String {
        let time = now.strftime("%Y%m%dT%H%M%SZ").to_string();
        let day = time.get(..8).unwrap_or_default();
        let scope = format!("{day}/{}/{}/aws4_request", self.region, self.service);
        let mut headers = vec![("host", self.host)];
        headers.extend_from_slice(self.headers);
        headers.sort_unstable();
        let names = headers.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
        let query = self.unsigned(keys, &time, &scope, &names);
        let lines: String =
            headers.iter().map(|(name, value)| format!("{name}:{}\n", value.trim())).collect();
        let request = format!("GET\n/\n{query}\n{lines}\n{names}\n{}", hex(&Sha256::digest(b"")));
        let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hex(&Sha256::digest(request.as_bytes())));
        let secret = format!("AWS4{}", keys.secret);
        let key = [day, self.region, self.service, "aws4_request"]
            .iter()
            .fold(secret.into_bytes(), |key, part| mac(&key, part.as_bytes()));
        format!("{query}&X-Amz-Signature={}", hex(&mac(&key, text.as_bytes())))
    }

    /// All parameters by name.
    fn unsigned(&self, keys: &Keys, time: &str, scope: &str, names: &str) -> String {
        let good_for = self.good_for.to_string();
        let credential = format!("{}/{scope}", keys.id);
        let mut parameters = vec![
            ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
            ("X-Amz-Credential", &credential),
            ("X-Amz-Date", time),
            ("X-Amz-Expires", &good_for),
            ("X-Amz-SignedHeaders", names),
        ];
        parameters.extend(keys.session.as_deref().map(|session| ("X-Amz-Security-Token", session)));
        parameters.extend_from_slice(self.parameters);
        parameters.sort_unstable();
        let all: Vec<_> =
            parameters.iter().map(|(name, value)| format!("{}={}", escaped(name), escaped(value))).collect();
        all.join("&")
    }
}

fn mac(key: &[u8], text: &[u8]) -> Vec<u8> {
    // Every length of a key will do.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return Vec::new() };
    mac.update(text);
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn keys(session: Option<&str>) -> Keys {
        Keys {
            id: "AKIDEXAMPLE".into(),
            secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".into(),
            session: session.map(str::to_owned),
        }
    }

    fn signature(session: Option<&str>, headers: &[(&str, &str)]) -> String {
        let parameters = [("Version", "2011-06-15"), ("Action", "GetCallerIdentity")];
        let (host, region) = ("sts.eu-west-1.amazonaws.com", "eu-west-1");
        let signed = Signed { host, region, service: "sts", parameters: &parameters, headers, good_for: 60 };
        let query = signed.query(&keys(session), "2026-11-30T06:00:00Z".parse().unwrap());
        query.split_once("&X-Amz-Signature=").unwrap().1.to_owned()
    }

    /// What botocore 1.44 signs for the same.
    #[test]
    fn it_is_what_other_programs_sign() {
        assert_eq!(
            signature(Some("session/+token=="), &[("x-k8s-aws-id", "shop")]),
            "f8b33d29cfa3bb700488cddaab6fbc260612bfc582325355688eb426a92145f3"
        );
        assert_eq!(signature(None, &[]), "bafcaaa25b91530d954b733a53d46117e63c2d514179bbec8e5031b061bfa008");
    }

    #[test]
    fn parameters_are_sorted_and_escaped() {
        let parameters = [("RoleArn", "arn:aws:iam::1:role/a b"), ("Action", "AssumeRole")];
        let (host, region) = ("sts.eu-west-1.amazonaws.com", "eu-west-1");
        let signed =
            Signed { host, region, service: "sts", parameters: &parameters, headers: &[], good_for: 60 };
        let query = signed.query(&keys(None), "2026-11-30T06:00:00Z".parse().unwrap());
        let expected = "Action=AssumeRole&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fa%20b&X-Amz-Algorithm=AWS4-HMAC-SHA256&\
                        X-Amz-Credential=AKIDEXAMPLE%2F20261130%2Feu-west-1%2Fsts%2Faws4_request&X-Amz-Date=20261130T060000Z&\
                        X-Amz-Expires=60&X-Amz-SignedHeaders=host&X-Amz-Signature=";
        assert!(query.starts_with(expected), "{query}");
    }
}
