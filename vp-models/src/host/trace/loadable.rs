//! Loadables as something to be played: read from a file, with what must come out beside it.

use std::path::Path;

use super::error::{TraceError, TraceErrorKind};
use super::recording;
use super::{Body, MAX_SURFACE_BYTES, Trace};
use crate::host::loadable::Loadable;
use crate::host::read_at_most;

pub(super) fn load(name: &str, file: &Path) -> Result<Trace, TraceError> {
    let unreadable =
        |error: std::io::Error| TraceError::whole(file, TraceErrorKind::Unreadable(error.to_string()));
    let (bytes, limit) = (file.metadata().map_err(unreadable)?.len(), MAX_SURFACE_BYTES);
    if bytes > limit {
        return Err(TraceError::whole(file, TraceErrorKind::FileTooLarge { what: "loadable", bytes, limit }));
    }
    let bytes = read_at_most(file, limit).map_err(unreadable)?;
    let loadable = Loadable::parse(&bytes)
        .map_err(|error| TraceError::whole(file, TraceErrorKind::BadLoadable(error)))?;
    let beside = file.with_file_name(format!("{name}.dimg"));
    let golden = [beside, file.with_file_name("o_000000.dimg")].into_iter().find(|golden| golden.is_file());
    let golden = golden.map(|golden| recording::image(&golden)).transpose()?;
    let body = Body::Loadable { loadable: Box::new(loadable), inputs: Vec::new(), golden };
    Ok(Trace {
        name: name.to_owned(),
        script: file.to_owned(),
        body,
        surfaces: std::collections::BTreeMap::new(),
    })
}
