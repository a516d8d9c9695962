//! TOML texts as people write them: platforms, networks, graphs, faults, studies. Whatever is wrong with one is told as a [`TextError`]:
//! the file, the line, the section or the element of a list, the key, and what would be right.

mod wording;

pub use self::wording::in_plain_words;

use serde::de::DeserializeOwned;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue, Deserializer};

/// Error of a text, and its place: `net.toml:14: layer 3 "conv3": stride: …`.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
pub struct TextError {
    /// The file, if the text is one.
    pub file: Option<PathBuf>,
    /// The line, from 1, if it is known.
    pub line: Option<usize>,
    /// The section (`[dbb0.cache]`), or the element of a list by its number from 1 and its name (``layer 3 `conv3` ``); empty: the text as a
    /// whole.
    pub within: String,
    /// Text that says which key, what is wrong with it, and what would be right.
    pub what: String,
}

impl TextError {
    /// An error of a text as a whole.
    pub fn whole(what: impl fmt::Display) -> TextError {
        TextError { what: what.to_string(), ..TextError::default() }
    }

    /// An error of a file that cannot be read.
    pub fn unreadable(file: &Path, error: impl fmt::Display) -> TextError {
        TextError::whole(format!("cannot read: {error}")).in_file(file)
    }

    /// Returns this error, in this file if it is in none yet.
    #[must_use]
    pub fn in_file(self, file: &Path) -> TextError {
        TextError { file: self.file.or_else(|| Some(file.to_owned())), ..self }
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{}:{line}: ", file.display())?,
            (Some(file), None) => write!(f, "{}: ", file.display())?,
            (None, Some(line)) => write!(f, "line {line}: ")?,
            (None, None) => {}
        }
        match self.within.as_str() {
            "" => f.write_str(&self.what),
            section if section.ends_with(']') => write!(f, "{section} {}", self.what),
            element => write!(f, "{element}: {}", self.what),
        }
    }
}

/// A TOML text that has been taken apart.
pub struct TomlText<'a> {
    text: &'a str,
    /// Ends of the lines: a reader may ask for the line of every value, and a text may have millions.
    ends: Vec<usize>,
    root: Spanned<DeTable<'a>>,
}

/// A list of tables of several kinds: what the types of its elements are deserialised from.
#[derive(Clone, Copy, Debug)]
pub struct Kinds {
    /// The list's key.
    pub list: &'static str,
    /// The key with the name of the kind.
    pub tag: &'static str,
    /// The keys that all kinds have.
    pub common: &'static [&'static str],
    /// A kind, and the key that tells its own kinds apart.
    pub inner: Option<(&'static str, &'static str)>,
}

/// Error of an element of a list, told by who does not know which one it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyError {
    /// The key; empty: the element as a whole.
    pub key: &'static str,
    /// Text that says what is wrong, and what would be right.
    pub what: String,
}

impl KeyError {
    /// Creates the error of a key's value.
    pub fn new(key: &'static str, what: impl Into<String>) -> KeyError {
        KeyError { key, what: what.into() }
    }
}

/// The way to a value, from the outermost table.
type KeyPath<'t, 'a> = Vec<KeyStep<'t, 'a>>;

enum KeyStep<'t, 'a> {
    Key(&'t str, &'t Spanned<DeValue<'a>>),
    Item(usize, &'t DeTable<'a>),
}

impl<'a> TomlText<'a> {
    /// Takes a text apart.
    ///
    /// # Errors
    /// It is no TOML.
    pub fn parse(text: &'a str) -> Result<TomlText<'a>, TextError> {
        let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
        let root = DeTable::parse(text).map_err(|error| TextError {
            line: error.span().map(|span| line(&ends, span.start)),
            ..TextError::whole(error.message().trim_end().replace('\n', "; "))
        })?;
        Ok(TomlText { text, ends, root })
    }

    /// Returns the outermost table.
    pub fn table(&self) -> &DeTable<'a> {
        self.root.get_ref()
    }

    /// Reads what the text describes.
    ///
    /// # Errors
    /// Where it is not of this shape; an unknown key with the nearest one that there is.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, TextError> {
        T::deserialize(Deserializer::from(self.root.clone())).map_err(|error| self.refused(&error, None))
    }

    /// Reads what the text describes, with a list of tables of several kinds. An element is a structure of the common keys and of one named
    /// as the tag, which is an enumeration of the kinds with their own keys. (serde's own tags lose where things stand.)
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_kinds<T: DeserializeOwned>(&self, kinds: &Kinds) -> Result<T, TextError> {
        let mut root = self.root.clone();
        if let Some(DeValue::Array(list)) = root.get_mut().get_mut(kinds.list).map(Spanned::get_mut) {
            for (at, element) in list.iter_mut().enumerate() {
                let span = element.span();
                let DeValue::Table(table) = element.get_mut() else { continue };
                let wrong = |KeyError { key, what }| self.wrong(&format!("{}.{at}.{key}", kinds.list), what);
                let Tag { key, kind } = Tag::take(table, kinds.tag).map_err(wrong)?;
                let (common, mut own): (DeTable<'_>, DeTable<'_>) = std::mem::take(table)
                    .into_iter()
                    .partition(|(key, _)| kinds.common.contains(&key.get_ref().as_ref()));
                if let Some((_, tag)) = kinds.inner.filter(|(of, _)| kind.get_ref() == of) {
                    let Tag { kind: inner, .. } = Tag::take(&mut own, tag).map_err(wrong)?;
                    own = DeTable::from_iter([(inner, Spanned::new(span.clone(), DeValue::Table(own)))]);
                }
                let own = DeTable::from_iter([(kind, Spanned::new(span.clone(), DeValue::Table(own)))]);
                *table = common;
                table.insert(key, Spanned::new(span, DeValue::Table(own)));
            }
        }
        T::deserialize(Deserializer::from(root)).map_err(|error| self.refused(&error, Some(kinds)))
    }

    /// An error at a key, such as `dbb0.read_latency` or `layer.2.stride` (elements of lists count from 0), or at what of the way to it there is.
    pub fn wrong(&self, path: &str, what: impl fmt::Display) -> TextError {
        let (mut at, mut table, mut list) = (None, Some(self.root.get_ref()), None);
        let mut way = KeyPath::new();
        for part in path.split('.') {
            let Some(value) = (match (table, list, part.parse::<usize>()) {
                (Some(of), ..) => of.get_key_value(part).map(|(key, value)| {
                    at = Some(key.span().start);
                    way.push(KeyStep::Key(key.get_ref(), value));
                    value
                }),
                (_, Some(of), Ok(place)) => <[_]>::get(of, place).inspect(|value: &&Spanned<DeValue<'_>>| {
                    at = Some(value.span().start);
                    way.extend(value.get_ref().as_table().map(|table| KeyStep::Item(place, table)));
                }),
                _ => None,
            }) else {
                break;
            };
            table = value.get_ref().as_table();
            list = value.get_ref().as_array().map(|list| &**list);
        }
        self.error(at, &way, what)
    }

    /// An error where something stands.
    pub fn wrong_at(&self, span: Range<usize>, what: impl fmt::Display) -> TextError {
        self.error(Some(span.start), &way_in(self.root.get_ref(), span.start).unwrap_or_default(), what)
    }

    /// The line in which something stands, from 1.
    pub fn line(&self, at: usize) -> usize {
        line(&self.ends, at)
    }

    /// The text of a value as it is written.
    pub fn written(&self, span: Range<usize>) -> &'a str {
        self.text.get(span).unwrap_or_default()
    }

    fn error(&self, at: Option<usize>, way: &[KeyStep<'_, 'a>], what: impl fmt::Display) -> TextError {
        TextError { line: at.map(|at| self.line(at)), within: within(way).0, ..TextError::whole(what) }
    }

    /// Returns the error that serde tells, with the key that it is about.
    fn refused(&self, error: &toml::de::Error, kinds: Option<&Kinds>) -> TextError {
        let message = error.message().trim_end();
        let Some(Range { start, .. }) = error.span() else { return TextError::whole(message) };
        // What the outermost table lacks, a value or a section, stands in no line, whatever the text begins with.
        if message.starts_with("missing field ") && error.span() == Some(self.root.span()) {
            let what = in_plain_words(message, &[]);
            return TextError::whole(format!("{what} at the top level"));
        }
        let mut way = way_in(self.root.get_ref(), start).unwrap_or_default();
        let mut at = start;
        // A value that was read as a whole knows only its own place, but names the key in it that is wrong.
        let inner = match way.last() {
            None => Some(self.root.get_ref()),
            Some(KeyStep::Key(_, value)) => value.get_ref().as_table(),
            Some(KeyStep::Item(_, table)) => Some(*table),
        };
        let is_named =
            |key: &str| message.split('`').nth(1) == Some(key) || message.starts_with(&format!("{key} = "));
        let named = inner.into_iter().flatten().find(|(key, _)| is_named(key.get_ref()));
        if let Some((key, value)) = named {
            at = key.span().start;
            way.push(KeyStep::Key(key.get_ref(), value));
        }
        let is_of_element = matches!(way[..], [.., KeyStep::Item(..), KeyStep::Key(..)]);
        let others = kinds.filter(|_| is_of_element).map_or(&[][..], |kinds| kinds.common);
        let what = in_plain_words(message, others);
        // An unknown name is told with what holds it, whatever is in it.
        let unknown = what.strip_prefix("unknown field `").and_then(|rest| rest.split('`').next());
        let is_unknown =
            |step: &KeyStep<'_, '_>| matches!(step, KeyStep::Key(key, _) if Some(*key) == unknown);
        if let Some(place) = way.iter().rposition(is_unknown) {
            way.truncate(place);
        }
        let key = within(&way).1;
        let says_key = key.is_empty() || named.is_some() && unknown.is_none();
        self.error(Some(at), &way, if says_key { what } else { format!("{key}: {what}") })
    }
}

/// The key of a table that says which kind it is, and the kind.
struct Tag<'a> {
    key: Spanned<DeString<'a>>,
    kind: Spanned<DeString<'a>>,
}

impl<'a> Tag<'a> {
    /// Takes it out of a table.
    fn take(table: &mut DeTable<'a>, tag: &'static str) -> Result<Tag<'a>, KeyError> {
        let missing = || KeyError::new("", format!("`{tag}` is missing"));
        let (key, value) = table.remove_entry(tag).ok_or_else(missing)?;
        let span = value.span();
        match value.into_inner() {
            DeValue::String(kind) => Ok(Tag { key, kind: Spanned::new(span, kind) }),
            _ => Err(KeyError::new(tag, format!("{tag}: write it in quotes"))),
        }
    }
}

fn line(ends: &[usize], at: usize) -> usize {
    ends.partition_point(|end| *end < at) + 1
}

/// The innermost table or value that stands there.
fn way_in<'t, 'a>(table: &'t DeTable<'a>, at: usize) -> Option<KeyPath<'t, 'a>> {
    table.iter().find_map(|(key, value)| {
        let step = KeyStep::Key(key.get_ref(), value);
        match way_on(value, at) {
            Some(way) => Some(std::iter::once(step).chain(way).collect()),
            None => key.span().contains(&at).then(|| vec![step]),
        }
    })
}

fn way_on<'t, 'a>(value: &'t Spanned<DeValue<'a>>, at: usize) -> Option<KeyPath<'t, 'a>> {
    let here = || value.span().contains(&at).then(Vec::new);
    match value.get_ref() {
        DeValue::Table(table) => way_in(table, at).or_else(here),
        DeValue::Array(list) => {
            let on = |(place, item): (usize, &'t Spanned<DeValue<'a>>)| {
                let table = item.get_ref().as_table().map(|table| KeyStep::Item(place, table));
                way_on(item, at).map(|way| table.into_iter().chain(way).collect())
            };
            list.iter().enumerate().find_map(on).or_else(here)
        }
        _ => here(),
    }
}

/// Returns the name of what holds a value, and its key there.
fn within(way: &[KeyStep<'_, '_>]) -> (String, String) {
    let (mut holder, mut keys) = (String::new(), Vec::new());
    for step in way {
        match step {
            KeyStep::Key(key, _) => keys.push(*key),
            KeyStep::Item(place, table) => {
                let name = table.get("name").and_then(|name| name.get_ref().as_str());
                let name = name.map_or_else(String::new, |name| format!(" `{}`", name.escape_debug()));
                let of = if holder.is_empty() { String::new() } else { format!("{holder}: ") };
                holder = format!("{of}{} {}{name}", keys.join("."), place + 1);
                keys.clear();
            }
        }
    }
    if !holder.is_empty() {
        return (holder, keys.join("."));
    }
    let key = match way.last() {
        Some(KeyStep::Key(key, value)) if !value.get_ref().is_table() => {
            keys.pop();
            (*key).to_owned()
        }
        _ => String::new(),
    };
    (if keys.is_empty() { String::new() } else { format!("[{}]", keys.join(".")) }, key)
}

#[cfg(test)]
mod tests;
