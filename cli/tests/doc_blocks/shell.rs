//! As much of a shell as documents need: words, quotes, comments, pipes.

/// One program with its arguments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Call {
    /// Variables that are set for it, or, without a program, from here on.
    pub variables: Vec<(String, String)>,
    pub words: Vec<String>,
}

/// The programs that a line calls, in their order. What they print may go to another one, or to a file.
pub fn calls(line: &str) -> Vec<Call> {
    let mut calls = vec![Call::default()];
    let mut is_target = false;
    for token in tokens(line) {
        let call = calls.last_mut().unwrap();
        match token {
            Token::Next => calls.push(Call::default()),
            Token::Redirect => is_target = true,
            Token::Word(_) if is_target => is_target = false,
            Token::Word(word) if call.words.is_empty() && word == "export" => {}
            Token::Word(word) => match word.split_once('=') {
                Some((name, value)) if call.words.is_empty() => {
                    call.variables.push((name.to_owned(), value.to_owned()));
                }
                _ => call.words.push(word),
            },
        }
    }
    calls
}

enum Token {
    Word(String),
    /// `|`, `;`, `&&`
    Next,
    /// `>`, `>>`, `<`
    Redirect,
}

fn tokens(line: &str) -> Vec<Token> {
    let (mut tokens, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            (_, Some(open)) if letter == open => quote = None,
            (_, Some(_)) => word.get_or_insert_default().push(letter),
            ('\'' | '"', None) => {
                word.get_or_insert_default();
                quote = Some(letter);
            }
            ('#', None) if word.is_none() => break,
            ('|' | ';' | '&' | '>' | '<', None) => {
                tokens.extend(word.take().map(Token::Word));
                while letters.next_if_eq(&letter).is_some() {}
                tokens.push(if matches!(letter, '<' | '>') { Token::Redirect } else { Token::Next });
            }
            (' ', None) => tokens.extend(word.take().map(Token::Word)),
            (_, None) => word.get_or_insert_default().push(letter),
        }
    }
    assert!(quote.is_none(), "a quote does not end: {line}");
    tokens.extend(word.map(Token::Word));
    tokens
}

#[test]
fn a_line_is_its_programs_with_their_words() {
    let line = "A=b sluice build -o json 'x  y' > file.json && jq \".a #\" | sort -u  # and so on";
    let call = |variables: &[(&str, &str)], words: &[&str]| Call {
        variables: variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        words: words.iter().map(|word| (*word).to_owned()).collect(),
    };
    let wanted = [
        call(&[("A", "b")], &["sluice", "build", "-o", "json", "x  y"]),
        call(&[], &["jq", ".a #"]),
        call(&[], &["sort", "-u"]),
    ];
    assert_eq!(calls(line), wanted);
    assert_eq!(calls("export A=b"), [call(&[("A", "b")], &[])]);
}
