//! Charts in OCI registries. A chart is a manifest and one blob, so that this is a handful of requests with a token: they go over
//! the HTTP client that is there anyway.

use http::HeaderName;
use http::header::{LINK, WWW_AUTHENTICATE};
use serde_json::Value;
use sluice_api::digest::sveltos_hash;
use sluice_chart::best_version;
use sluice_renderer_core::ChartRequest;

use super::failure::Failure;
use super::http::{Ask, Authorization, Http, ServerResponse, basic, joined, origin, shown};
use super::is_exact;
use super::turns::Bytes;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONTENT: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
const DIGEST: HeaderName = HeaderName::from_static("docker-content-digest");
/// Bytes of a manifest, a token or a page of tags.
const LIMIT: usize = 4 << 20;
/// Pages of tags.
const PAGES: usize = 200;

/// A conversation with a registry.
pub(crate) struct Registry<'a> {
    http: &'a Http,
    request: &'a ChartRequest,
    /// Address of the chart's own part of the registry.
    base: String,
    authorization: Option<Authorization>,
}

// === impl Registry ===

impl<'a> Registry<'a> {
    pub(crate) fn new(http: &'a Http, request: &'a ChartRequest) -> Self {
        let place = request.repository.strip_prefix("oci://").unwrap_or(&request.repository);
        let path = place.split_once('/').map_or("", |(_, path)| path);
        let name = format!("{path}/{}", request.name);
        let base = format!("{}/v2/{}", server(request), name.trim_start_matches('/'));
        Self { http, request, base, authorization: None }
    }

    /// The digest of the chart's archive.
    ///
    /// # Errors
    /// Why that cannot be told.
    pub(crate) async fn digest(&mut self) -> Result<String, Failure> {
        let tag = self.tag().await?;
        let url = format!("{}/manifests/{tag}", self.base);
        let answer = self.get(&url, Some(MANIFEST), LIMIT).await?;
        let said = answer.header(&DIGEST).map(str::to_owned);
        let manifest = answer.content(&url)?;
        if said.is_some_and(|said| said.starts_with("sha256:") && said != sveltos_hash(&manifest)) {
            return Err(Failure::content(format!("{} is not what its digest says", shown(&url))));
        }
        let manifest: Value = serde_json::from_slice(&manifest)
            .map_err(|error| Failure::content(format!("{} is no manifest: {error}", shown(&url))))?;
        let layers = manifest.get("layers").and_then(Value::as_array);
        let text = |layer: &Value, field: &str| layer.get(field).and_then(Value::as_str).map(str::to_owned);
        let is_chart = |layer: &&Value| text(layer, "mediaType").as_deref() == Some(CONTENT);
        let digest =
            layers.and_then(|layers| layers.iter().find(is_chart)).and_then(|layer| text(layer, "digest"));
        digest.ok_or_else(|| Failure::content(format!("{} is no Helm chart; correct chartName", shown(&url))))
    }

    /// The archive of this digest.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) async fn archive(&mut self, digest: &str, limit: usize) -> Result<Bytes, Failure> {
        let url = format!("{}/blobs/{digest}", self.base);
        self.get(&url, None, limit).await?.content(&url)
    }

    /// The tag that is meant. Tags have `_` where versions have `+`.
    async fn tag(&mut self) -> Result<String, Failure> {
        let wanted = &self.request.version;
        if is_exact(wanted) {
            return Ok(wanted.replace('+', "_"));
        }
        let tags: Vec<String> = self.tags().await?.iter().map(|tag| tag.replace('_', "+")).collect();
        let best = best_version(wanted, tags.iter().map(String::as_str));
        best.map(|best| best.replace('+', "_")).ok_or_else(|| {
            Failure::content(format!("{} has no version {wanted:?}; correct chartVersion", shown(&self.base)))
        })
    }

    async fn tags(&mut self) -> Result<Vec<String>, Failure> {
        let mut url = format!("{}/tags/list", self.base);
        let mut tags = Vec::new();
        for _ in 0..PAGES {
            let answer = self.get(&url, None, LIMIT).await?;
            let next = answer.header(&LINK).and_then(next_page).map(|next| joined(&answer.from, next));
            let page: Value = serde_json::from_slice(&answer.content(&url)?)
                .map_err(|error| Failure::content(format!("{} is no list of tags: {error}", shown(&url))))?;
            let found = page.get("tags").and_then(Value::as_array).into_iter().flatten();
            tags.extend(found.filter_map(Value::as_str).map(str::to_owned));
            match next {
                Some(next) if self.is_own(&next) => url = next,
                Some(next) => {
                    let other = origin(&next);
                    return Err(Failure::content(format!(
                        "{} goes on at another server, {other}; ask that one, or name one version",
                        shown(&url)
                    )));
                }
                None => break,
            }
        }
        Ok(tags)
    }

    /// Asks; where the registry wants to know who does, says it once.
    async fn get(
        &mut self,
        url: &str,
        accept: Option<&'static str>,
        limit: usize,
    ) -> Result<ServerResponse, Failure> {
        let access = &self.request.access;
        let ask = |authorization: &Option<Authorization>| Ask {
            accept,
            authorization: authorization.clone(),
            known: None,
            limit,
        };
        let answer = self.http.get(url, access, &ask(&self.authorization)).await?;
        // A server to which the registry redirects is told nothing, whatever it asks for.
        if answer.status.as_u16() != 401 || !self.is_own(&answer.from) {
            return Ok(answer);
        }
        let Some(challenge) = answer.header(&WWW_AUTHENTICATE) else { return Ok(answer) };
        let authorization = self.authorize(challenge).await?;
        if authorization.is_none() {
            return Ok(answer);
        }
        self.authorization = authorization;
        self.http.get(url, access, &ask(&self.authorization)).await
    }

    /// What the challenge asks for: a password, or a token that is given for it.
    async fn authorize(&self, challenge: &str) -> Result<Option<Authorization>, Failure> {
        let login = self.request.access.login.as_ref().map(basic);
        let own = |header| Authorization::new(&self.base, header);
        let Some(bearer) = challenge.strip_prefix("Bearer ") else { return Ok(login.map(own)) };
        let Some(realm) = part(bearer, "realm") else { return Ok(None) };
        if !realm.starts_with("https://") && !self.request.access.plain_http {
            return Err(Failure::content("the registry wants the password sent without TLS; it is not"));
        }
        let query = ["service", "scope"]
            .map(|name| part(bearer, name).map(|value| format!("{name}={}", encoded(value))));
        let query: Vec<String> = query.into_iter().flatten().collect();
        let mark = if realm.contains('?') { '&' } else { '?' };
        let url = format!("{realm}{mark}{}", query.join("&"));
        let authorization = login.map(|login| Authorization::new(&url, login));
        let ask = Ask { authorization, limit: LIMIT, ..Ask::default() };
        let answer = self.http.get(&url, &self.request.access, &ask).await?.content(&url)?;
        let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
        let token = ["token", "access_token"].iter().find_map(|field| answer.get(field)?.as_str());
        Ok(token.map(|token| own(format!("Bearer {token}"))))
    }

    /// Whether this is an address of the registry itself.
    fn is_own(&self, url: &str) -> bool {
        origin(url) == origin(&self.base)
    }
}

/// Scheme, host and port of the server that is asked for a chart.
pub(crate) fn server(request: &ChartRequest) -> String {
    let repository = &request.repository;
    let Some(place) = repository.strip_prefix("oci://") else { return origin(repository).to_owned() };
    let scheme = if request.access.plain_http { "http" } else { "https" };
    origin(&format!("{scheme}://{place}")).to_owned()
}

/// The value of `name="…"` in a challenge.
fn part<'c>(challenge: &'c str, name: &str) -> Option<&'c str> {
    let mut parts = challenge.split_inclusive('"');
    while let Some(head) = parts.next() {
        let value = parts.next()?.trim_end_matches('"');
        if head.trim_start_matches([',', ' ']).strip_suffix("=\"") == Some(name) {
            return Some(value);
        }
    }
    None
}

/// A text as a value in the query of an address.
fn encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let one = |byte: u8| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(one).collect()
}

/// The address in `<…>; rel="next"`.
fn next_page(link: &str) -> Option<&str> {
    let (address, rest) = link.strip_prefix('<')?.split_once('>')?;
    rest.contains("next").then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_and_links_are_read() {
        let challenge = r#"realm="https://a.example.com/token",service="r",scope="repository:x:pull,push""#;
        assert_eq!(part(challenge, "realm"), Some("https://a.example.com/token"));
        assert_eq!(part(challenge, "scope"), Some("repository:x:pull,push"));
        assert_eq!(part(challenge, "error"), None);
        assert_eq!(encoded("repository:x:pull"), "repository%3Ax%3Apull");
        assert_eq!(next_page("</v2/x/tags/list?last=b>; rel=\"next\""), Some("/v2/x/tags/list?last=b"));
    }
}
