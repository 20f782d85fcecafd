//! Unpacking a chart's archive, within limits and without a file system.

use std::cell::Cell;
use std::io::{self, Read};

use crate::error::{Error, load};

/// A file of a chart, with its path from the chart's root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// The path, with slashes.
    pub name: String,
    /// The content, without a byte order mark.
    pub data: Vec<u8>,
}

/// What a chart may be like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadLimits {
    /// Bytes of all files of an archive, unpacked; archives within it share the budget. Default 100 MiB, as Helm has it.
    pub unpacked_bytes: usize,
    /// Bytes of one file, unpacked. Default 5 MiB, as Helm has it.
    pub file_bytes: usize,
    /// Files of an archive, those of archives within it included. Default 20 000.
    pub files: usize,
    /// Charts within charts. Default 10.
    pub depth: usize,
}

/// What is left of [`LoadLimits`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    limits: LoadLimits,
    bytes: usize,
    files: usize,
    names: usize,
    plain: u64,
    yaml: usize,
    values: usize,
}

/// Bytes of a name of a file, as file systems have it.
const NAME: usize = 4096;
/// Bytes of all names: each is kept as long as the chart is, and stands in what is made of its file.
const NAMES: usize = 4 << 20;
/// Bytes between the content of two files: a header, and before it the headers that give it a longer name, or attributes. They
/// are in memory as a whole.
const HEADERS: u64 = 64 << 10;
/// Bytes of all files that are read as YAML, schemas included: what they are read into is many times as large.
const YAML: usize = 4 << 20;
/// Values of all charts of an archive. Each is copied some times while they are put together.
const VALUES: usize = 150_000;

const BYTE_ORDER_MARK: &[u8] = &[0xEF, 0xBB, 0xBF];

// === impl LoadLimits ===

impl Default for LoadLimits {
    fn default() -> Self {
        Self { unpacked_bytes: 100 << 20, file_bytes: 5 << 20, files: 20_000, depth: 10 }
    }
}

// === impl Budget ===

impl Budget {
    pub(crate) fn new(limits: LoadLimits) -> Self {
        let bytes = limits.unpacked_bytes;
        // What the headers take counts too, or an archive of nothing but headers would have no end.
        let plain = bytes as u64 * 2 + (1 << 20);
        Self { limits, bytes, files: limits.files, names: NAMES, plain, yaml: YAML, values: VALUES }
    }

    /// Before a file of this name is kept.
    pub(crate) fn call(&mut self, name: &str) -> Result<(), Error> {
        if name.len() > NAME {
            let name = sluice_template::go_quoted(name);
            return Err(Error::limit(format!("limit: a file's name has more than {NAME} bytes: {name}")));
        }
        let refused = || Error::limit(format!("limit: the names of files have more than {NAMES} bytes"));
        self.names = self.names.checked_sub(name.len()).ok_or_else(refused)?;
        Ok(())
    }

    pub(crate) fn spend(&mut self, bytes: usize) -> Result<(), Error> {
        self.files = self.files.checked_sub(1).ok_or_else(|| {
            Error::limit(format!("limit: the chart has more than {} files", self.limits.files))
        })?;
        self.bytes = self.bytes.checked_sub(bytes).ok_or_else(|| self.too_large())?;
        Ok(())
    }

    /// Before a file of so many bytes is read as YAML or as a schema.
    pub(crate) fn read(&mut self, bytes: usize) -> Result<(), Error> {
        let refused = || {
            Error::limit(format!(
                "limit: values, schemas and Chart.yaml of the charts have more than {YAML} bytes"
            ))
        };
        self.yaml = self.yaml.checked_sub(bytes).ok_or_else(refused)?;
        Ok(())
    }

    /// Before so many values are kept.
    pub(crate) fn keep(&mut self, values: usize) -> Result<(), Error> {
        let refused = || Error::limit(format!("limit: the charts have more than {VALUES} values"));
        self.values = self.values.checked_sub(values).ok_or_else(refused)?;
        Ok(())
    }

    pub(crate) fn check_depth(&self, depth: usize) -> Result<(), Error> {
        let limit = self.limits.depth;
        if depth <= limit {
            return Ok(());
        }
        Err(Error::limit(format!("limit: charts are nested deeper than {limit}")))
    }

    /// Refuses a file that is too large; `called` is what Helm calls it.
    pub(crate) fn check_file(&self, called: &str, name: &str, bytes: usize) -> Result<(), Error> {
        let limit = self.limits.file_bytes;
        if bytes <= limit {
            return Ok(());
        }
        let name = sluice_template::go_quoted(name);
        Err(Error::limit(format!("{called} {name} is larger than the maximum file size {limit}")))
    }

    fn too_large(&self) -> Error {
        let limit = self.limits.unpacked_bytes;
        Error::limit(format!("decompressed chart is larger than the maximum size {limit}"))
    }
}

/// The files of a gzipped tar archive, without the folder that they are all in.
pub(crate) fn unpack(bytes: &[u8], budget: &mut Budget) -> Result<Vec<File>, Error> {
    if !bytes.starts_with(&[0x1F, 0x8B, 8]) {
        return Err(load("the chart does not appear to be a gzipped archive"));
    }
    let meter = Meter { all: Cell::new(budget.plain), headers: Cell::new(None) };
    let plain = Metered { from: flate2::read::MultiGzDecoder::new(bytes), meter: &meter };
    let files = entries(&mut tar::Archive::new(plain), &meter, budget);
    budget.plain = meter.all.get();
    match files {
        // The library that reads archives has said no more than that it could not read.
        Err(_) if meter.headers.get() == Some(0) => {
            Err(Error::limit(format!("limit: a header of the archive has more than {HEADERS} bytes")))
        }
        Err(_) if budget.plain == 0 => Err(budget.too_large()),
        Ok(files) if files.is_empty() => Err(load("no files in chart archive")),
        files => files,
    }
}

fn entries<R: Read>(
    archive: &mut tar::Archive<R>,
    meter: &Meter,
    budget: &mut Budget,
) -> Result<Vec<File>, Error> {
    let mut files = Vec::new();
    let mut all = archive.entries().map_err(broken)?;
    loop {
        meter.headers.set(Some(HEADERS));
        let Some(entry) = all.next() else { return Ok(files) };
        let mut entry = entry.map_err(broken)?;
        meter.headers.set(None);
        files.extend(file(&mut entry, budget)?);
        // What is passed over by the library would count as headers.
        io::copy(&mut entry, &mut io::sink()).map_err(broken)?;
    }
}

/// The file that an entry is, if it is one.
fn file<R: Read>(entry: &mut tar::Entry<'_, R>, budget: &mut Budget) -> Result<Option<File>, Error> {
    let kind = entry.header().entry_type();
    let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
    if kind.is_dir() || name.ends_with('/') || kind.is_pax_global_extensions() {
        return Ok(None);
    }
    budget.call(&name)?;
    let path = checked_path(&name)?;
    let size = usize::try_from(entry.size()).unwrap_or(usize::MAX);
    if size > budget.bytes {
        return Err(budget.too_large());
    }
    budget.check_file("decompressed chart file", &name, size)?;
    let mut data = Vec::with_capacity(size.min(1 << 20));
    entry.take(budget.bytes as u64 + 1).read_to_end(&mut data).map_err(broken)?;
    if kind.is_file() && data.len() < size {
        return Err(load("unexpected EOF"));
    }
    budget.spend(data.len())?;
    // It has grown by halves and doubles while it was read, and stays for as long as the chart does.
    data.shrink_to_fit();
    Ok(Some(File { name: path, data: without_mark(data) }))
}

/// What may still be read of an archive.
struct Meter {
    all: Cell<u64>,
    /// Up to the next content, while that is looked for.
    headers: Cell<Option<u64>>,
}

/// Reads as long as the meter allows it.
struct Metered<'m, R> {
    from: R,
    meter: &'m Meter,
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Meter { all, headers } = self.meter;
        let left = headers.get().unwrap_or(u64::MAX).min(all.get());
        if left == 0 && !into.is_empty() {
            return Err(io::Error::other("a limit is reached"));
        }
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(into.len());
        let count = self.from.read(&mut into[..most])?;
        all.set(all.get() - count as u64);
        headers.set(headers.get().map(|left| left - count as u64));
        Ok(count)
    }
}

/// An archive of these files, in one folder. It names no time, user or machine.
pub(crate) fn pack(files: &[File]) -> Result<Vec<u8>, Error> {
    let failed = |error: io::Error| load(format!("the archive cannot be written: {error}"));
    let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    let mut archive = tar::Builder::new(gzip);
    for file in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(file.data.len() as u64);
        header.set_mode(0o644);
        archive
            .append_data(&mut header, format!("chart/{}", file.name), file.data.as_slice())
            .map_err(failed)?;
    }
    archive.into_inner().and_then(flate2::write::GzEncoder::finish).map_err(failed)
}

fn broken(error: io::Error) -> Error {
    load(format!("the archive cannot be read: {error}"))
}

pub(crate) fn without_mark(data: Vec<u8>) -> Vec<u8> {
    match data.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) => rest.to_vec(),
        None => data,
    }
}

/// The path without the first folder; it must not leave the chart.
fn checked_path(name: &str) -> Result<String, Error> {
    let delimiter = if name.contains('\\') { '\\' } else { '/' };
    let (first, rest) = name.split_once(delimiter).unwrap_or((name, ""));
    let path = rest.replace(delimiter, "/");
    if path.starts_with('/') {
        return Err(load("chart illegally contains absolute paths"));
    }
    let path = clean(&path);
    if path == "." {
        return Err(load(format!(
            "chart illegally contains content outside the base directory: {}",
            sluice_template::go_quoted(name)
        )));
    }
    if path.starts_with("..") {
        return Err(load("chart illegally references parent directory"));
    }
    let bytes = path.as_bytes();
    if bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && &bytes[1..3] == b":/" {
        return Err(load("chart contains illegally named files"));
    }
    if first == "Chart.yaml" {
        return Err(load("chart yaml not in base directory"));
    }
    Ok(path)
}

/// The shortest form of a relative path.
pub(crate) fn clean(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn mk_archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let mut archive = tar::Builder::new(gzip);
        for (name, data) in files {
            let mut header = tar::Header::new_old();
            header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_size(data.len() as u64);
            header.set_mode(0o644);
            header.set_cksum();
            archive.append(&header, *data).unwrap();
        }
        archive.into_inner().unwrap().finish().unwrap()
    }

    fn unpacked(files: &[(&str, &[u8])]) -> Result<Vec<File>, String> {
        let limits = LoadLimits { unpacked_bytes: 1000, file_bytes: 900, files: 3, depth: 1 };
        unpack(&mk_archive(files), &mut Budget::new(limits)).map_err(|error| error.to_string())
    }

    #[test]
    fn the_first_folder_and_the_byte_order_mark_go() {
        let files =
            unpacked(&[("c/Chart.yaml", b"\xEF\xBB\xBFa: 1"), ("c/templates/./a.yaml", b"b")]).unwrap();
        let shown: Vec<_> = files.iter().map(|f| (f.name.as_str(), f.data.as_slice())).collect();
        assert_eq!(shown, [("Chart.yaml", b"a: 1".as_slice()), ("templates/a.yaml", b"b")]);
    }

    #[test]
    fn no_path_leaves_the_chart() {
        for (name, why) in [
            ("c//etc/passwd", "chart illegally contains absolute paths"),
            ("c/../../x", "chart illegally references parent directory"),
            ("c/a/../../x", "chart illegally references parent directory"),
            ("c\\..\\x", "chart illegally references parent directory"),
            ("c/c:/x", "chart contains illegally named files"),
            ("Chart.yaml", "chart illegally contains content outside the base directory: \"Chart.yaml\""),
        ] {
            assert_eq!(unpacked(&[(name, b"x")]).unwrap_err(), why, "{name}");
        }
    }

    #[test]
    fn size_and_number_are_limited() {
        let large = vec![b'x'; 1001];
        assert_eq!(
            unpacked(&[("c/a", &large)]).unwrap_err(),
            "decompressed chart is larger than the maximum size 1000"
        );
        assert_eq!(
            unpacked(&[("c/a", &large[..901])]).unwrap_err(),
            "decompressed chart file \"c/a\" is larger than the maximum file size 900"
        );
        assert!(unpacked(&[("c/a", &large[..900])]).is_ok());
        let many = [("c/a", b"" as &[u8]), ("c/b", b""), ("c/d", b""), ("c/e", b"")];
        assert_eq!(unpacked(&many).unwrap_err(), "limit: the chart has more than 3 files");
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        let long = format!("templates/{}/a.yaml", "x".repeat(200));
        let files = [
            File { name: "Chart.yaml".into(), data: b"a: 1".to_vec() },
            File { name: long, data: vec![0; 3000] },
        ];
        let packed = pack(&files).unwrap();
        assert_eq!(unpack(&packed, &mut Budget::new(LoadLimits::default())).unwrap(), files);
        assert_eq!(pack(&files).unwrap(), packed);
    }

    #[test]
    fn what_is_no_archive_is_refused() {
        let mut budget = Budget::new(LoadLimits::default());
        assert!(unpack(b"PK", &mut budget).is_err());
        assert!(unpack(&[0x1F, 0x8B, 8, 0, 1, 2], &mut budget).is_err());
        let whole = mk_archive(&[("c/a", &[b'x'; 900])]);
        assert!(unpack(&whole[..whole.len() / 2], &mut budget).is_err());
    }
}
