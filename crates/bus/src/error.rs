//! What can go wrong with the bus.

/// An error of the bus. All but [`BusError::Unsuitable`] are worth trying again.
#[derive(Debug, thiserror::Error)]
pub enum BusError {
    /// The server or a stream is not what the pipeline needs; only its operator can heal it.
    #[error("{0}")]
    Unsuitable(String),
    // D-0112: a row that no message can hold is a problem.
    /// A row is larger than the server takes; trying again does not help.
    #[error("{0}")]
    TooLarge(String),
    /// A request failed or was not answered.
    #[error("{what}: {source}")]
    Request {
        /// What was asked.
        what: String,
        /// The client's error.
        source: async_nats::Error,
    },
}

impl BusError {
    /// Wraps an error of the client.
    pub(crate) fn request<E>(what: impl Into<String>) -> impl FnOnce(E) -> Self
    where
        E: Into<async_nats::Error>,
    {
        let what = what.into();
        move |error| Self::Request { what, source: error.into() }
    }
}
