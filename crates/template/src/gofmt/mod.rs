//! Go's `fmt`: verbs, flags and `%!` markers, on template values.

pub(crate) mod flags;
pub(crate) mod float;
pub(crate) mod integer;
pub(crate) mod printer;
pub(crate) mod printf;
pub(crate) mod strings;
pub(crate) mod values;

use printer::Printer;

use crate::{
    exec::{Cx, Fail},
    value::Value,
};

type Text = Result<Vec<u8>, Fail>;

/// Bytes of a key that are kept.
const LONGEST_KEY: usize = 64 << 10;

/// `fmt.Sprint`: spaces between operands when neither is a string.
pub(crate) fn sprint<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> Text {
    let mut printer = Printer::new(cx);
    let mut after_string = false;
    for (i, arg) in args.iter().enumerate() {
        let string = matches!(arg, Value::Str(_));
        if i > 0 && !string && !after_string {
            printer.out.push(b' ');
        }
        printer.print_arg(arg, 'v')?;
        after_string = string;
    }
    Ok(printer.out)
}

/// `fmt.Sprintln`.
pub(crate) fn sprintln<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> Text {
    let mut printer = Printer::new(cx);
    for (i, arg) in args.iter().enumerate() {
        if i > 0 {
            printer.out.push(b' ');
        }
        printer.print_arg(arg, 'v')?;
    }
    printer.out.push(b'\n');
    Ok(printer.out)
}

/// `fmt.Sprint` of one value, which is also how actions print.
pub(crate) fn sprint_one<'a>(cx: &mut Cx<'a>, arg: &Value<'a>) -> Text {
    let mut printer = Printer::new(cx);
    printer.print_arg(arg, 'v')?;
    Ok(printer.out)
}

/// A map's key is made of whatever is given, `fmt.Sprint` of everything that a chart has too. Nobody reads so long a key: it
/// is cut.
pub(crate) fn sprint_key<'a>(cx: &mut Cx<'a>, arg: &Value<'a>) -> Text {
    let mut printer = Printer { cut: LONGEST_KEY, ..Printer::new(cx) };
    let printed = printer.print_arg(arg, 'v');
    if printer.out.len() <= LONGEST_KEY {
        printed?;
    }
    Ok(printer.out)
}

/// `fmt.Sprintf`.
pub(crate) fn sprintf<'a>(cx: &mut Cx<'a>, format: &[u8], args: &[Value<'a>]) -> Text {
    let mut printer = Printer::new(cx);
    printer.printf(format, args)?;
    Ok(printer.out)
}
