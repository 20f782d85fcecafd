//! A server without a network.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame};
use kube::Client;

use super::Request;

/// A client whose server answers inside of it, for tests whose clock stands still: no time goes by before an answer. A watch to which
/// there is nothing to say stays open, as with a real server.
pub(crate) fn answering(answer: impl Fn(&Request) -> (u16, String) + Send + 'static) -> Client {
    let asked = Arc::new(Mutex::new((0, answer)));
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let asked = asked.clone();
        async move {
            let (head, body) = request.into_parts();
            let body = String::from_utf8(body.collect_bytes().await?.to_vec()).unwrap();
            let (mut asked, path) = (asked.lock().unwrap(), head.uri.to_string());
            let request =
                Request { number: asked.0, method: head.method.to_string(), path, headers: Vec::new(), body };
            asked.0 += 1;
            let (status, text) = asked.1(&request);
            let stays = text.is_empty() && status == 200 && request.path.contains("watch=true");
            let text = (!text.is_empty()).then(|| text.into());
            Ok::<_, kube::Error>(
                http::Response::builder().status(status).body(Content { text, stays }).unwrap(),
            )
        }
    });
    Client::new(service, "default")
}

/// The body of an answer, which may never end.
struct Content {
    text: Option<Bytes>,
    stays: bool,
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        match self.text.take() {
            Some(text) => Poll::Ready(Some(Ok(Frame::data(text)))),
            None if self.stays => Poll::Pending,
            None => Poll::Ready(None),
        }
    }
}
