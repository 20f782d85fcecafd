//! How far the management cluster has come, as renderers have seen it: a number that only grows. Who finds a smaller one in the management
//! cluster knows that it was restored from a backup.

use crate::bus::Bus;
use crate::error::BusError;
use crate::layout::{setting, stored};

const WHAT: &str = "management";

impl Bus {
    /// The number; `None` where no renderer has seen one yet, or the bus was lost.
    ///
    /// # Errors
    /// When the server does not answer.
    pub async fn management_mark(&self) -> Result<Option<u64>, BusError> {
        stored(&self.js, WHAT).await
    }

    /// Writes the number, unless a greater one is there. Of two who write at the same time the smaller one may stay: then a loss of the last
    /// moment is not noticed.
    ///
    /// # Errors
    /// When the server does not answer.
    pub async fn raise_management_mark(&self, to: u64) -> Result<(), BusError> {
        if self.management_mark().await?.is_some_and(|known| known >= to) {
            return Ok(());
        }
        let named = || format!("write the number of {WHAT}");
        let sent = self.js.publish(setting(WHAT), to.to_string().into()).await;
        sent.map_err(BusError::request(named()))?.await.map_err(BusError::request(named())).map(drop)
    }
}
