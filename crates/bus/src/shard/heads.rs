//! Reading the heads of own rows, to take shards over.
//!
//! A process that takes many shards over at once reads each stream for all of them: who comes while it is read waits for the
//! next reading. A consumer costs the servers more than the rows of one cluster do, and with filters the server looks for the next
//! row that is selected by walking on, each time anew.

// D-0212: own rows are read for all shards of a process together.

use std::collections::HashMap;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use sluice_api::Digest;
use sluice_protocol::{Event, Head, Row, Sequence, Subject};
use sluice_tasks::{End, Kept, Tasks};
use tokio::sync::{Mutex, mpsc};

use crate::buckets::content_refs::ContentRefs;
use crate::bus::Bus;
use crate::seal::envelope::KeyId;
use crate::shard::input::{Inner, send};
use crate::shard::read_spec::ReadSpec;
use crate::shard::reader::{ReadEvent, Reader, read};
use crate::shard::selection::Selection;

/// For so many shards a stream is read as a whole: that is faster by far than what filters would leave out.
const READ_ALL_FOR: usize = 8;
/// Heads that go to their shard together.
const TOGETHER: usize = 64;
/// How often that may be on its way to one shard; more wait until it has taken those.
const ON_THE_WAY: usize = 4;
/// How often it is looked at whether anybody waits yet.
const LOOK: Duration = Duration::from_secs(1);
/// After so many looks without a word a reading has failed: a claim that is gone never comes.
const PATIENCE: u32 = 30;
/// Pause before the bodies are asked for again that rows name.
const AGAIN: Duration = Duration::from_millis(200);

/// Reads for the shards of a process. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct HeadReader {
    /// Unbounded: one for each shard that is being taken over, and stream.
    asked: mpsc::UnboundedSender<Asked>,
}

/// The rows of one shard in one stream.
#[derive(Clone, Debug)]
pub(crate) struct OwnRows {
    stream: String,
    /// With the fence row, whose subjects no other owner's filters select.
    filters: Vec<String>,
    fence: String,
    /// Sequence of its claim, which came after everything that there is to read.
    claimed: Sequence,
}

/// What becomes of reading own rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heads {
    /// All have been told.
    Told,
    /// None has been told: they can be asked for again.
    None,
    /// Some have been told: the shard begins again.
    Some,
}

/// Which rows, and where they go.
#[derive(Debug)]
struct Asked {
    bus: Bus,
    rows: OwnRows,
    answer: mpsc::Sender<Part>,
}

#[derive(Debug)]
enum Part {
    Heads(Vec<(Subject, Head)>),
    /// The claim has come, and this is left.
    Last(Marked),
}

/// Rows whose heads do not tell everything.
#[derive(Debug, Default)]
struct Marked {
    heads: Vec<(Subject, Head)>,
    /// Which of them name a body in the `content` bucket.
    named: HashMap<Subject, Digest>,
    /// Which of them are sealed, for which keys.
    sealed: Vec<(Subject, Vec<KeyId>)>,
}

/// What goes to one shard next.
struct Recipient {
    answer: mpsc::Sender<Part>,
    heads: Vec<(Subject, Head)>,
    marked: Marked,
}

// === impl OwnRows ===

impl OwnRows {
    /// The rows of `stream` that `filters` select, with the fence row that was claimed.
    pub(crate) fn new(stream: String, mut filters: Vec<String>, fence: String, claimed: Sequence) -> Self {
        let mut selection = Selection::default();
        filters.iter().for_each(|filter| selection.insert(filter, 0));
        // Some have their fence row among their rows, and the server takes no two filters for one subject.
        if selection.find(&fence).is_none() {
            filters.push(fence.clone());
        }
        Self { stream, filters, fence, claimed }
    }

    /// Tells a shard their heads. The large bodies that they name are marked from now on.
    pub(crate) async fn tell<S>(
        &self,
        bus: &Bus,
        content_refs: &ContentRefs,
        shard: &mpsc::Sender<Inner<S>>,
    ) -> Heads {
        let (answer, mut answers) = mpsc::channel(ON_THE_WAY);
        let asked = Asked { bus: bus.clone(), rows: self.clone(), answer };
        // Who takes it ends after everybody who asks.
        drop(bus.head_reader.asked.send(asked));
        let mut ended = Heads::None;
        while let Some(answer) = answers.recv().await {
            let heads = match answer {
                Part::Heads(heads) => heads,
                Part::Last(marked) => {
                    ended = Heads::Told;
                    self.settled(bus, content_refs, marked).await
                }
            };
            for (subject, head) in heads {
                send(shard, Event::Found(subject, head)).await;
            }
            if ended == Heads::Told {
                break;
            }
            ended = Heads::Some;
        }
        ended
    }

    /// A row whose body is lost, or that is sealed for a former key, is published again, whatever its content.
    async fn settled(&self, bus: &Bus, content_refs: &ContentRefs, marked: Marked) -> Vec<(Subject, Head)> {
        let Marked { mut heads, named, sealed } = marked;
        let mut stale = loop {
            match content_refs.adopt(&bus.contents, named.clone()).await {
                Ok(missing) => break missing,
                Err(error) => tracing::info!(%error, "bodies of own rows cannot be looked for yet"),
            }
            tokio::time::sleep(AGAIN).await;
        };
        stale.extend(bus.sealing.stale(&self.fence, sealed));
        let stale = heads.iter_mut().filter(|(subject, _)| stale.contains(subject));
        stale.for_each(|(_, head)| head.digest = Digest::default());
        heads
    }
}

// === impl HeadReader ===

impl HeadReader {
    /// Begins to read for whoever asks.
    pub(crate) fn start(tasks: &Tasks) -> Self {
        let (asked, receiver) = mpsc::unbounded_channel();
        let receiver = Arc::new(Mutex::new(receiver));
        tasks.keep(Kept::Heads, move || serve(receiver.clone()));
        Self { asked }
    }
}

/// Reads each stream for those who wait, and then for those who came meanwhile.
async fn serve(asked: Arc<Mutex<mpsc::UnboundedReceiver<Asked>>>) -> End {
    let mut asked = asked.lock().await;
    // By stream, of those that are being read.
    let mut waiting: HashMap<String, Vec<Asked>> = HashMap::new();
    let mut readings: FuturesUnordered<BoxFuture<'static, String>> = FuturesUnordered::new();
    loop {
        tokio::select! {
            next = asked.recv() => {
                // Whoever is read for has a sender, too.
                let Some(next) = next else { return End::Done };
                let stream = next.rows.stream.clone();
                if let Some(waiting) = waiting.get_mut(&stream) {
                    waiting.push(next);
                    continue;
                }
                waiting.insert(stream.clone(), Vec::new());
                readings.push(Box::pin(read_for(stream, vec![next])));
            }
            Some(stream) = readings.next() => match waiting.get_mut(&stream).map(mem::take) {
                Some(waiting) if !waiting.is_empty() => readings.push(Box::pin(read_for(stream, waiting))),
                _ => drop(waiting.remove(&stream)),
            },
        }
    }
}

/// Reads a stream for all of these; who is left without the last part asks again, or begins again.
async fn read_for(stream: String, mut asked: Vec<Asked>) -> String {
    asked.retain(|asked| !asked.answer.is_closed());
    let Some(first) = asked.first() else { return stream };
    let all = asked.len() >= READ_ALL_FOR;
    let filters = asked.iter().filter(|_| !all).flat_map(|asked| asked.rows.filters.clone()).collect();
    let until = asked.iter().map(|asked| (asked.rows.fence.clone(), asked.rows.claimed)).collect();
    let spec = ReadSpec { heads_only: true, until, ..ReadSpec::some(stream.clone(), filters) };
    match read(&first.bus, &spec).await {
        Ok(reader) => tell_all(reader, asked).await,
        Err(error) => tracing::info!(%error, "own rows cannot be read yet"),
    }
    stream
}

async fn tell_all(mut reader: Reader, asked: Vec<Asked>) {
    let mut whose = Selection::default();
    for (number, asked) in asked.iter().enumerate() {
        asked.rows.filters.iter().for_each(|filter| whose.insert(filter, number));
    }
    let mut recipients: Vec<_> = asked.into_iter().map(|asked| Recipient::of(asked.answer)).collect();
    loop {
        match next(&mut reader, &recipients).await {
            Some(ReadEvent::Row(Row { subject, head, .. }, _)) => {
                let number = whose.find(&subject.to_string());
                let Some(recipient) = number.and_then(|number| recipients.get_mut(number)) else {
                    // Of somebody else; what was noted of it is not for anybody here.
                    drop((reader.take_named(), reader.take_sealed()));
                    continue;
                };
                // The claim itself is no row of a table.
                if !matches!(subject, Subject::Owner { .. }) {
                    recipient.take(&mut reader, subject, head).await;
                }
            }
            Some(ReadEvent::CaughtUp(_)) => break,
            Some(_) => {}
            None => return,
        }
    }
    for recipient in recipients {
        recipient.end().await;
    }
}

/// What the reader says next; nothing when it has ended, when nobody waits for it any more, or when it has been silent for too long.
async fn next(reader: &mut Reader, recipients: &[Recipient]) -> Option<ReadEvent> {
    // One future for all looks: a reader that looks for another consumer must not begin that again each time.
    let mut event = std::pin::pin!(reader.next());
    for _ in 0..PATIENCE {
        if let Ok(event) = tokio::time::timeout(LOOK, &mut event).await {
            return event;
        }
        if recipients.iter().all(|recipient| recipient.answer.is_closed()) {
            return None;
        }
    }
    None
}

// === impl Recipient ===

impl Recipient {
    fn of(answer: mpsc::Sender<Part>) -> Self {
        Self { answer, heads: Vec::new(), marked: Marked::default() }
    }

    async fn take(&mut self, reader: &mut Reader, subject: Subject, head: Head) {
        let (named, sealed) = (reader.take_named(), reader.take_sealed());
        if named.is_empty() && sealed.is_empty() {
            self.heads.push((subject, head));
        } else {
            self.marked.heads.push((subject, head));
            self.marked.named.extend(named);
            self.marked.sealed.extend(sealed);
        }
        if self.heads.len() >= TOGETHER {
            let heads = mem::take(&mut self.heads);
            self.answer(Part::Heads(heads)).await;
        }
    }

    async fn end(mut self) {
        // They fit into one part, and so a shard with few rows has all of them or none.
        self.marked.heads.append(&mut self.heads);
        let marked = mem::take(&mut self.marked);
        self.answer(Part::Last(marked)).await;
    }

    async fn answer(&self, answer: Part) {
        // Who has ended meanwhile needs none.
        drop(self.answer.send(answer).await);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_row_among_own_rows_has_no_filter_of_its_own() {
        let rows = |filter: &str, fence: &str| {
            OwnRows::new("S".to_owned(), vec![filter.to_owned()], fence.to_owned(), Sequence::new(1)).filters
        };
        assert_eq!(rows("s.01.>", "s.01.owner"), ["s.01.>"]);
        assert_eq!(rows("s.01.*.x", "s.01.owner.1"), ["s.01.*.x", "s.01.owner.1"]);
    }
}
