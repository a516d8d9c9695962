//! The built-in platform of a trace that is asked to run on none: what its contents say, then its folder and its name.

use super::{Body, Trace, TraceSource, configuration_in_name, configuration_of_name};
use crate::loadable::{Loadable, LoadableError, fit};
use vp_models::platform::Description;

/// Platform of a trace that says nothing of its configuration.
pub const DEFAULT_PLATFORM: &str = "nv_small";

/// Platform of a network, and of a loadable that fits several.
pub const NETWORK_PLATFORM: &str = "nv_large";

/// The platform of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracePlatform {
    /// Name of the built-in platform.
    pub platform: String,
    /// Reason for this one, if that is worth a word.
    pub why: Option<String>,
    /// True if nothing about the trace says which configuration it is for.
    pub is_default: bool,
}

/// Returns the platform of a trace. A loadable runs where it fits.
pub fn platform_of(source: &TraceSource, trace: &Trace) -> TracePlatform {
    let Body::Loadable { loadable, .. } = trace.body() else {
        let is_default = known_configuration(source).is_none();
        return TracePlatform { platform: platform_of_folder(source).to_owned(), why: None, is_default };
    };
    match platform_of_loadable(Some(source), loadable) {
        Ok(fit::Choice { platform, why }) => {
            TracePlatform { platform: platform.to_owned(), why: Some(why), is_default: false }
        }
        // What is wrong is told when it is run.
        Err(_) => {
            TracePlatform { platform: platform_of_folder(source).to_owned(), why: None, is_default: false }
        }
    }
}

/// Returns the platform of a loadable, from where it is if that is known.
///
/// # Errors
/// When a descriptor fits no hardware.
pub fn platform_of_loadable(
    source: Option<&TraceSource>,
    loadable: &Loadable,
) -> Result<fit::Choice, LoadableError> {
    let folder = source.and_then(|source| source.configuration.as_deref());
    let folder = folder.map(|platform| fit::Hint { platform, reason: "by folder" });
    // As recordings have it, the vendor's names end in what they were compiled for.
    let of_name = source.map(|source| match configuration_in_name(&source.name, source.language) {
        Some(platform) => fit::Hint { platform, reason: "by name" },
        None => {
            let platform = configuration_of_name(&source.name, source.language);
            fit::Hint { platform, reason: "as that of NVIDIA's loadables whose names say none" }
        }
    });
    let default = fit::Hint { platform: NETWORK_PLATFORM, reason: "as the default of `vp compile`" };
    let hints: Vec<fit::Hint<'_>> = folder.into_iter().chain(of_name).chain([default]).collect();
    fit::choose(loadable, &hints)
}

/// Returns the built-in platform that the folder of a trace names, or the default.
pub fn platform_of_folder(source: &TraceSource) -> &str {
    known_configuration(source).unwrap_or(DEFAULT_PLATFORM)
}

/// Returns the built-in platform that the folder of a trace names.
fn known_configuration(source: &TraceSource) -> Option<&str> {
    source.configuration.as_deref().filter(|name| Description::named(name).is_ok())
}
