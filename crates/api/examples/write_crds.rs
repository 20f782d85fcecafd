//! Writes the CRD manifests into a folder, with a list of them for kustomize, and removes what is no longer made: `write_crds DIR`.

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
    let mut list = String::from(
        "# Made by `make crds`.\napiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n",
    );
    for (name, text) in sluice_api::crd::yaml() {
        list += &format!("  - {name}\n");
        fs::write(folder.join(name), text)?;
    }
    fs::write(folder.join("kustomization.yaml"), list)
}
