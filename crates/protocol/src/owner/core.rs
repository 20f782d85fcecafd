//! What a stage gives to its owner: its decision.

use super::step::Step;
use crate::Sequence;
use crate::row::{Head, Row};
use crate::subject::Subject;
use crate::view::View;

// D-0102: stages are level-triggered.
/// What a stage decides. Synchronous; time is an argument; what must happen is pushed into the [`Step`].
pub trait Core {
    /// What the stage learns from elsewhere than its input table.
    type External;
    /// What the stage wants done besides publishing rows.
    type Effect;

    /// A row of this shard's own output exists (take-over). Comes before everything else.
    fn found(&mut self, subject: &Subject, head: &Head);

    /// How new this core's knowledge is.
    fn view(&self) -> View;

    // D-0412: an owner begins only when it has been told everything.
    /// Whether it has been told everything that was there besides rows when it began: with half of it, it would take
    /// the other half for gone.
    fn is_ready(&self) -> bool {
        true
    }

    /// News from elsewhere. Before [`Core::start`] it may change state and ask for effects, not publish.
    fn external(&mut self, input: Self::External, step: &mut Step<Self::Effect>);

    /// From now on rows come and may be published.
    fn start(&mut self, step: &mut Step<Self::Effect>);

    /// A row of the input table, in the order of the stream.
    fn row(&mut self, row: &Row, step: &mut Step<Self::Effect>);

    /// At some time since it was at `sequence`, the reader had delivered every row of the table. Only now a row's
    /// absence can be seen: a row that was replaced comes after those that were written later than its first form.
    /// Said once at the beginning, and again when [`Core::awaits_end`]. Before the first time a row may be an older one than
    /// a former owner has seen: what is published is held until then, and what else changes anything must wait too.
    fn caught_up(&mut self, sequence: Sequence, step: &mut Step<Self::Effect>);

    /// These rows of this shard's output, which a former owner made from newer knowledge than this core had, are not newer
    /// than what it knows any more. When it returns true, all that it has wanted of them is forgotten; it decides anew, from
    /// what it knows now, and publishes, now or later, what it wants to be there. Of what it cannot tell it publishes nothing,
    /// and the row stays. When it returns false, what it has wanted is published as it is.
    fn reconsider(&mut self, _rows: &[(Subject, Head)], _step: &mut Step<Self::Effect>) -> bool {
        false
    }

    /// Whether something that was read counts only from the end of the table on.
    fn awaits_end(&self) -> bool {
        false
    }

    /// The server has everything that was published before a [`Step::hear_when_stored`], and in that step: once for each, in their order.
    fn all_stored(&mut self, _step: &mut Step<Self::Effect>) {}

    /// The time that was asked for by [`Step::wake_at`] has come.
    fn tick(&mut self, step: &mut Step<Self::Effect>);
}
