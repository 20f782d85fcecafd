//! Who says a problem, and what becomes of it when they end.

use sluice_protocol::{About, Fault, Problem, ProblemRow};

use super::*;
use crate::buckets::problems::{Problems, problem_feed};
use crate::kit;

fn open(object: &str, text: &str) -> Problem {
    Problem::open("matcher", "", about(object), text)
}

fn about(object: &str) -> About {
    About::Manifest(object.to_owned())
}

fn is(object: &str, text: &str) -> impl Fn(&ProblemRow) -> bool {
    move |row| row.object == object && row.error == text
}

#[tokio::test]
async fn a_problem_is_there_with_its_newest_text_until_it_is_resolved() {
    let server = Server::start();
    let bus = bus(&server).await;
    let feed = problem_feed(&bus, CancellationToken::new());
    let mut news = feed.subscribe();
    let source = Problems::start(&bus).source();
    source.report(open("x", "first"));
    let first = kit::told(&mut news, is("x", "first")).await;
    source.report(open("x", "second"));
    let second = kit::told(&mut news, is("x", "second")).await;
    assert_eq!((first.attempts, second.attempts, second.since), (1, 2, first.since));
    source.report(Problem::resolved("matcher", "", about("x")));
    kit::told(&mut news, is("x", "")).await;
    assert!(feed.values().is_empty());
    source.report(open("x", "again"));
    assert_eq!(kit::told(&mut news, is("x", "again")).await.attempts, 1, "it is another one");
}

#[tokio::test]
async fn what_somebody_said_who_has_ended_goes_unless_another_one_says_it() {
    let server = Server::start();
    let (here, there) = (bus(&server).await, bus(&server).await);
    let feed = problem_feed(&here, CancellationToken::new());
    let mut news = feed.subscribe();
    let problems = Problems::start(&here);
    let source = problems.source();
    source.report(open("x", "no"));
    source.report(open("y", "no"));
    kit::told(&mut news, is("y", "no")).await;
    // The shard has moved, and its next owner meets one of them.
    let successor = Problems::start(&there).source();
    successor.report(open("y", "still no"));
    kit::told(&mut news, is("y", "still no")).await;
    drop(source);
    kit::told(&mut news, is("x", "")).await;
    // What comes after it was written when all was taken back.
    let last = problems.source();
    last.report(open("z", "no"));
    kit::told(&mut news, is("z", "no")).await;
    let mut left: Vec<_> = feed.values().into_iter().map(|row| (row.object, row.error)).collect();
    left.sort();
    assert_eq!(
        left,
        [("y", "still no"), ("z", "no")].map(|(object, text)| (object.to_owned(), text.to_owned()))
    );
}

#[tokio::test]
async fn problems_are_counted_by_what_they_are_about_until_they_are_resolved() {
    let server = Server::start();
    let problems = Problems::start(&bus(&server).await);
    let source = problems.source();
    let of = |about: About, fault: Fault| Problem::open("matcher", "", about, fault);
    ["x", "y"].iter().for_each(|object| source.report(of(about(object), Fault::new("no"))));
    source.report(of(About::Shard("00".into()), Fault::new("no")));
    source.report(of(About::Shard("01".into()), Fault::note("only to be known")));
    let word = about("x").word().to_owned();
    kit::until(|| problems.open() == [(word.clone(), 2), ("shard".to_owned(), 1)].into()).await;
    source.report(Problem::resolved("matcher", "", about("x")));
    kit::until(|| problems.open().get(&word) == Some(&1)).await;
}
