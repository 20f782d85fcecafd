//! Registered clusters.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::Value;
use sluice_api::yaml;
use x509_cert::Certificate;
use x509_cert::der::DecodePem as _;

use super::facts::{ClusterFacts, Facts};
use super::finding::{Area, Finding};

const AREA: Area = Area { name: "cluster", see: "docs/operations/install.md#managed-clusters" };
const DAY: i64 = 86_400;
/// So long before it ends a credential is to be renewed.
const SOON: i64 = 14 * DAY;
/// Streaming lists are on by default in 1.32, and from 1.34 on.
const OLDEST: u32 = 32;

pub(super) fn judge(facts: &Facts) -> Vec<Finding> {
    let clusters = match &facts.clusters {
        Ok(clusters) => clusters,
        Err(why) => return vec![AREA.skip("all", why)],
    };
    let mut findings = vec![AREA.prefer(
        !clusters.is_empty(),
        "registered",
        format!("{} clusters are registered", clusters.len()),
        "sluice register cluster",
    )];
    findings.extend(clusters.iter().flat_map(|cluster| of_cluster(cluster, facts.now)));
    findings
}

fn of_cluster(cluster: &ClusterFacts, now: i64) -> Vec<Finding> {
    let check = |what: &str| format!("{}.{what}", cluster.name);
    let mut findings = vec![match &cluster.server {
        Err(why) => AREA.wrong(&check("answers"), why, "sluice register cluster gives it another kubeconfig"),
        Ok(server) => AREA.fine(&check("answers"), format!("Kubernetes {}", server.version)),
    }];
    if let Ok(server) = &cluster.server {
        let digits = server.minor.trim_end_matches(|c: char| !c.is_ascii_digit());
        let lists = digits.parse::<u32>().is_ok_and(|minor| minor == OLDEST || minor >= 34);
        let says = format!("Kubernetes 1.{digits}: streaming lists (WatchList)");
        findings.push(AREA.prefer(
            lists,
            &check("lists"),
            says,
            "enable the feature WatchList of its API server, or upgrade it",
        ));
    }
    findings.extend(cluster.ends.iter().map(|(what, end)| {
        let days = (end - now) / DAY;
        match end - now {
            left if left <= 0 => AREA.wrong(
                &check(what),
                format!("the {what} has ended"),
                "register the cluster with a new one",
            ),
            left => AREA.prefer(
                left > SOON,
                &check(what),
                format!("the {what} ends in {days} days"),
                "register the cluster with a new one",
            ),
        }
    }));
    findings
}

/// When the credentials of a kubeconfig end, in seconds since 1970: of what says so.
pub(super) fn ends(kubeconfig: &str) -> Vec<(&'static str, i64)> {
    let config =
        yaml::documents(kubeconfig).ok().and_then(|mut documents| documents.pop()).unwrap_or_default();
    let mut found = Vec::new();
    for entry in config["users"].as_array().into_iter().flatten() {
        let text = |field: &str| entry["user"][field].as_str();
        found.extend(text("token").and_then(end_of_token).map(|end| ("token", end)));
        found.extend(
            text("client-certificate-data").and_then(end_of_certificate).map(|end| ("certificate", end)),
        );
    }
    found
}

/// What a JWT says in `exp`; nothing for other tokens.
fn end_of_token(token: &str) -> Option<i64> {
    let claims = token.split('.').nth(1)?;
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()?;
    claims["exp"].as_i64()
}

/// `notAfter` of the first certificate of a PEM file in base64.
fn end_of_certificate(data: &str) -> Option<i64> {
    let pem = STANDARD.decode(data).ok()?;
    let certificate = Certificate::from_pem(pem).ok()?;
    let end = certificate.tbs_certificate.validity.not_after.to_unix_duration();
    i64::try_from(end.as_secs()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_token_is_read_from_it_and_any_other_text_has_none() {
        let claims = URL_SAFE_NO_PAD.encode(r#"{"exp": 1800000000, "sub": "x"}"#);
        assert_eq!(end_of_token(&format!("e30.{claims}.sig")), Some(1_800_000_000));
        for token in ["", "abc", "a.b.c", "e30.e30.x", "...."] {
            assert_eq!(end_of_token(token), None, "{token}");
        }
    }

    #[test]
    fn what_is_no_certificate_has_no_end() {
        for data in ["", "!", "aGVsbG8="] {
            assert_eq!(end_of_certificate(data), None, "{data}");
        }
    }
}
