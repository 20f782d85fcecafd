//! Writes the CRD manifests into a folder and removes what is no longer made: `write_crds DIR`.

use std::{env, fs, io, path::PathBuf};

fn main() -> io::Result<()> {
    let Some(folder) = env::args_os().nth(1).map(PathBuf::from) else {
        return Err(io::Error::other("usage: write_crds DIR"));
    };
    fs::create_dir_all(&folder)?;
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            fs::remove_file(path)?;
        }
    }
    for (name, text) in sluice_api::crd::yaml() {
        fs::write(folder.join(name), text)?;
    }
    Ok(())
}
