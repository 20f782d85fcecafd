//! Operands by kind: scalars, lists, maps, structs, objects with a `String` method.

use super::printer::{Print, Printer};
use crate::{
    sprig::{dates, semver},
    value::{IntTy, List, ListTy, Map, Object, Record, Time, UintTy, Value},
};

// === impl Printer ===

impl<'a> Printer<'_, 'a> {
    /// Prints a top-level operand.
    pub(crate) fn print_arg(&mut self, arg: &Value<'a>, verb: char) -> Print {
        self.arg = Some(arg.clone());
        if arg.is_nil() {
            return match verb {
                'T' | 'v' => self.pad(b"<nil>"),
                _ => self.bad_verb(verb),
            };
        }
        match verb {
            'T' => self.print_string(arg.type_name().as_bytes(), 's'),
            'p' => match arg {
                Value::List(_) | Value::Map(_) => self.pad(b"0xc000012345"),
                _ => self.bad_verb('p'),
            },
            // `%w` wraps errors, and there are none: composite operands are refused whole.
            'w' if matches!(arg, Value::List(_) | Value::Map(_) | Value::Record(_) | Value::Object(_)) => {
                self.bad_verb('w')
            }
            _ => self.print_value(arg, verb),
        }
    }

    fn print_value(&mut self, value: &Value<'a>, verb: char) -> Print {
        self.cx.step(1)?;
        match value {
            Value::Invalid | Value::Nil => self.write(b"<nil>"),
            Value::Bool(b) => match verb {
                't' | 'v' => self.pad(if *b { b"true" } else { b"false" }),
                _ => self.bad_verb(verb),
            },
            Value::Int(ty, i) => self.print_named_int(*ty, *i, verb),
            Value::Uint(_, u) => self.print_unsigned(*u, verb),
            Value::Float(f) => self.print_float(*f, verb),
            Value::Complex(re, im) => self.print_complex(*re, *im, verb),
            Value::Str(s) => self.print_string(s.bytes(), verb),
            Value::List(list) => self.nested(|p| p.print_list(list, verb)),
            Value::Map(map) => self.nested(|p| p.print_map(map, verb)),
            Value::Record(record) => self.nested(|p| p.print_record(record, verb)),
            Value::Object(object) => self.print_object(object, verb),
        }
    }

    fn nested(&mut self, part: impl FnOnce(&mut Self) -> Print) -> Print {
        self.cx.may_be_deep(self.depth + 1, "a value")?;
        self.depth += 1;
        part(self)?;
        self.depth -= 1;
        Ok(())
    }

    /// An element of a container: what a bad verb reports from now on.
    fn print_element(&mut self, value: &Value<'a>, iface: bool, verb: char) -> Print {
        if value.is_nil() && iface {
            return self.write(if self.flags.sharp_v { b"interface {}(nil)" } else { b"<nil>" });
        }
        self.arg = Some(value.clone());
        self.print_value(value, verb)
    }

    fn uses_methods(&self, verb: char) -> bool {
        !self.erroring && !self.flags.sharp_v && matches!(verb, 'v' | 's' | 'x' | 'X' | 'q')
    }

    fn print_named_int(&mut self, ty: IntTy, value: i64, verb: char) -> Print {
        let name = match ty {
            IntTy::Duration => dates::duration::format(value),
            IntTy::Month => dates::layout::month_name(value).to_owned(),
            IntTy::Weekday => dates::layout::weekday_name(value).to_owned(),
            _ => return self.print_signed(value, verb),
        };
        if self.uses_methods(verb) {
            self.print_string(name.as_bytes(), verb)
        } else {
            self.print_signed(value, verb)
        }
    }

    fn print_object(&mut self, object: &Object, verb: char) -> Print {
        let by_method = self.flags.sharp_v || self.uses_methods(verb) || verb == 'v';
        let text = match object {
            Object::Time(time) if !by_method => return self.print_time(time, verb),
            Object::Time(time) => dates::layout::time_string(time),
            Object::Version(version) if !self.uses_methods(verb) => return self.print_version(version, verb),
            Object::Version(version) => semver::to_string(version),
            Object::Certificate(c) => {
                return self.print_fields("sprig.certificate", &[("Cert", &c.cert), ("Key", &c.key)], verb);
            }
        };
        self.print_string(text.as_bytes(), if self.uses_methods(verb) { verb } else { 'v' })
    }

    /// A time where its `String` method does not apply: nanoseconds, seconds since the year 1, and a pointer to its
    /// zone, which is nil for UTC.
    fn print_time(&mut self, time: &Time, verb: char) -> Print {
        const UNIX: i64 = 62_135_596_800;
        self.write(b"{")?;
        self.arg = Some(Value::Uint(UintTy::Uint64, u64::from(time.nanos)));
        self.print_unsigned(u64::from(time.nanos), verb)?;
        self.write(b" ")?;
        self.arg = Some(Value::int64(time.unix.wrapping_add(UNIX)));
        self.print_signed(time.unix.wrapping_add(UNIX), verb)?;
        self.write(b" ")?;
        match verb {
            'b' | 'o' | 'd' => self.print_unsigned(0, verb)?,
            _ => {
                self.write(format!("%!{verb}(*time.Location=").as_bytes())?;
                self.pad(b"<nil>")?;
                self.write(b")")?;
            }
        }
        self.write(b"}")
    }

    /// A version where its `String` method does not apply: a pointer to its fields.
    fn print_version(&mut self, v: &semver::Version, verb: char) -> Print {
        self.write(if self.flags.sharp_v { b"&semver.Version{" } else { b"&{" })?;
        let numbers = [("major", v.major), ("minor", v.minor), ("patch", v.patch)];
        for (i, (name, number)) in numbers.into_iter().enumerate() {
            self.field_name(i, name)?;
            self.arg = Some(Value::Uint(UintTy::Uint64, number));
            self.print_unsigned(number, verb)?;
        }
        for (name, text) in [("pre", &v.pre), ("metadata", &v.metadata), ("original", &v.original)] {
            self.field_name(1, name)?;
            self.arg = Some(Value::string(text.as_bytes()));
            self.print_string(text.as_bytes(), verb)?;
        }
        self.write(b"}")
    }

    fn print_fields(&mut self, name: &str, fields: &[(&str, &str)], verb: char) -> Print {
        self.open_struct(name)?;
        for (i, (field, text)) in fields.iter().enumerate() {
            self.field_name(i, field)?;
            self.arg = Some(Value::string(text.as_bytes()));
            self.print_string(text.as_bytes(), verb)?;
        }
        self.write(b"}")
    }

    fn open_struct(&mut self, name: &str) -> Print {
        if self.flags.sharp_v {
            self.write(name.as_bytes())?;
        }
        self.write(b"{")
    }

    fn separator(&mut self, at: usize) -> Print {
        match (at, self.flags.sharp_v) {
            (0, _) => Ok(()),
            (_, true) => self.write(b", "),
            (_, false) => self.write(b" "),
        }
    }

    fn field_name(&mut self, at: usize, field: &str) -> Print {
        self.separator(at)?;
        if self.flags.plus_v || self.flags.sharp_v {
            self.write(field.as_bytes())?;
            self.write(b":")?;
        }
        Ok(())
    }

    fn print_record(&mut self, record: &Record<'a>, verb: char) -> Print {
        self.open_struct(record.name)?;
        for (i, (field, value)) in record.printed().enumerate() {
            self.field_name(i, field)?;
            self.print_element(&value, false, verb)?;
        }
        self.write(b"}")
    }

    fn print_list(&mut self, list: &List<'a>, verb: char) -> Print {
        if list.ty() == ListTy::Bytes && matches!(verb, 's' | 'q' | 'x' | 'X') {
            let bytes = list.to_bytes();
            return self.print_string(&bytes, verb);
        }
        if self.flags.sharp_v {
            self.write(list.ty().name().as_bytes())?;
            if matches!(list, List::Nil(_)) {
                return self.write(b"(nil)");
            }
        }
        self.write(if self.flags.sharp_v { b"{" } else { b"[" })?;
        let iface = list.elements_are_interfaces();
        for i in 0..list.len() {
            self.separator(i)?;
            let element = list.get(i).unwrap_or_default();
            self.print_element(&element, iface, verb)?;
        }
        self.write(if self.flags.sharp_v { b"}" } else { b"]" })
    }

    fn print_map(&mut self, map: &Map<'a>, verb: char) -> Print {
        if self.flags.sharp_v {
            self.write(map.ty().name().as_bytes())?;
            if matches!(map, Map::Nil(_)) {
                return self.write(b"(nil)");
            }
        }
        self.write(if self.flags.sharp_v { b"{" } else { b"map[" })?;
        let iface = map.ty().of_any();
        for (i, (key, value)) in self.cx.maps.entries(map).into_iter().enumerate() {
            self.separator(i)?;
            self.print_element(&Value::Str(key), false, verb)?;
            self.write(b":")?;
            self.print_element(&value, iface, verb)?;
        }
        self.write(if self.flags.sharp_v { b"}" } else { b"]" })
    }
}
