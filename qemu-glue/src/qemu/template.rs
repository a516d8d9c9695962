//! Form in which the QEMU at hand describes what it saves.
//!
//! Versions have moved and renamed what is in a `VMStateDescription` and in its fields. So one of QEMU's own is read whose fields are
//! known: `vmstate_fifo8`, of util/fifo8.c.

use std::ffi::CStr;
use std::ops::Range;

use super::{own_memory, symbols};

/// Bytes of a description in which its fields are looked for.
const DESCRIPTION: usize = 256;
/// Number of the word of a description from which on functions are.
const HOOKS: usize = 3;
/// Words of the fields of the description that is copied.
const FIELDS: usize = 96;

/// A description of QEMU's own, found out about.
pub(super) struct Template {
    /// Words of the description up to the pointer to its fields.
    pub(super) description: Vec<usize>,
    /// Words of the last two fields, and of the end behind them.
    pub(super) fields: Vec<usize>,
    /// Number of words of a field.
    pub(super) field: usize,
    /// Number of the word in a field that points to its functions.
    pub(super) info: usize,
    pub(super) kind: InfoKind,
}

/// Form of a field's functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InfoKind {
    /// `get` and `put`, which give 0 when all is well.
    Plain,
    /// Behind them `load` and `save`, which have a place for errors and give true when all is well: from 11.1 on.
    WithErrors,
}

impl Template {
    /// Finds out how this QEMU describes what it saves: by a description whose fields are known.
    pub(super) fn find() -> Option<Template> {
        let address = |name| Some(symbols::find(name) as usize).filter(|address| *address != 0);
        let (numbers, bytes) = (address("vmstate_info_uint32")?, address("vmstate_info_buffer")?);
        Template::of(address("vmstate_fifo8")?, numbers, bytes)
    }

    /// As above, of a description at this address, and the functions of fields of these kinds.
    fn of(description: usize, numbers: usize, bytes: usize) -> Option<Template> {
        let word = |address: usize| Some(usize::from_ne_bytes(own_memory(address)?));
        let is_named = |address: usize, name: &CStr| {
            let Some(text) = word(address) else { return false };
            let mut letters = name.to_bytes_with_nul().iter().enumerate();
            letters.all(|(at, letter)| own_memory(text.wrapping_add(at)) == Some([*letter]))
        };
        if !is_named(description, c"Fifo8") {
            return None;
        }
        let at = (size_of::<usize>()..DESCRIPTION).step_by(size_of::<usize>()).find(|at| {
            word(description + at).is_some_and(|fields| fields != 0 && is_named(fields, c"data"))
        })?;
        let fields = word(description + at)?;
        let place = |number: usize| fields + number * size_of::<usize>();
        let of = |wanted| (0..FIELDS).filter(move |number| word(place(*number)) == Some(wanted));
        let info = of(bytes).next()?;
        let (first, second) = (of(numbers).next()?, of(numbers).nth(1)?);
        let field = second - first;
        let is_known = info + field == first
            && info < field
            && is_named(place(field), c"head")
            && is_named(place(2 * field), c"num");
        // Functions of QEMU's own would be called for what is not theirs.
        let is_plain = |from: usize, mut numbers: Range<usize>| {
            numbers.all(|number| word(from + number * size_of::<usize>()).is_some_and(|word| word >> 32 == 0))
        };
        let are_plain = is_plain(description, HOOKS..at / size_of::<usize>())
            && [field, 2 * field]
                .into_iter()
                .all(|begin| is_plain(place(begin), 1..info) && is_plain(place(begin), info + 1..field));
        if !is_known || !are_plain {
            return None;
        }
        // Behind the last field is the end, which versions mark differently.
        let words = |from: usize, count: usize| -> Option<Vec<usize>> {
            (0..count).map(|number| word(from + number * size_of::<usize>())).collect()
        };
        let fields = words(place(field), 3 * field)?;
        let description = words(description, at / size_of::<usize>() + 1)?;
        let function = |number: usize| word(numbers + number * size_of::<usize>());
        let kind = match (function(1)?, function(2)?, function(3)?, function(4)?) {
            (0, 0, 1.., 1..) => InfoKind::WithErrors,
            (1.., 1.., ..) => InfoKind::Plain,
            _ => return None,
        };
        Some(Template { description, fields, field, info, kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of a field, and where some of them are.
    struct Layout {
        field: usize,
        offset: usize,
        info: usize,
        flags: usize,
        end: usize,
        /// Number of the word of the description that points to the fields.
        fields: usize,
    }

    /// QEMU 7.2, on a host of 64 bits.
    const OLD: Layout = Layout { field: 13, offset: 2, info: 8, flags: 9, end: 0, fields: 9 };
    /// QEMU 11.1.
    const NEW: Layout = Layout { field: 12, offset: 1, info: 7, flags: 8, end: 0x2_0000, fields: 12 };

    static BYTES: [usize; 5] = [0; 5];

    /// `vmstate_fifo8` and the functions of its numbers.
    fn fifo(layout: &Layout, functions: [usize; 5]) -> (Vec<usize>, Vec<usize>) {
        let name = |text: &'static CStr| text.as_ptr() as usize;
        let numbers = Vec::leak(functions.to_vec());
        let mut fields = vec![0; 96];
        let kinds = [(c"data", &BYTES[..]), (c"head", numbers), (c"num", numbers)];
        for (number, (text, info)) in kinds.into_iter().enumerate() {
            let field = &mut fields[number * layout.field..];
            field[0] = name(text);
            field[layout.offset] = 8 + 4 * number;
            field[layout.info] = info.as_ptr() as usize;
            field[layout.flags] = 1;
        }
        fields[3 * layout.field + layout.flags] = layout.end;
        let fields = Vec::leak(fields);
        let mut description = vec![0; 64];
        (description[0], description[1], description[2]) = (name(c"Fifo8"), 1 << 32, 1);
        description[layout.fields] = fields.as_ptr() as usize;
        (description, numbers.to_vec())
    }

    fn found(description: &[usize], numbers: &[usize]) -> Option<Template> {
        let fields = description.iter().rev().find(|word| **word != 0).copied()?;
        // Where the fields of the numbers refer to.
        let info = (0..96).find_map(|at| {
            let word = usize::from_ne_bytes(own_memory(fields + at * size_of::<usize>())?);
            let here: Option<[u8; 8]> = own_memory(word);
            (word != BYTES.as_ptr() as usize && here == Some(numbers[0].to_ne_bytes())).then_some(word)
        })?;
        Template::of(description.as_ptr() as usize, info, BYTES.as_ptr() as usize)
    }

    #[test]
    fn descriptions_of_each_version_are_found_out_about() {
        let marked = 0x5650_5650_5650;
        for (layout, functions, kind) in [
            (&OLD, [marked, 1, 2, 0, 0], InfoKind::Plain),
            (&NEW, [marked, 0, 0, 1, 2], InfoKind::WithErrors),
        ] {
            let (description, numbers) = fifo(layout, functions);
            let template = found(&description, &numbers).expect("a description that is known");
            assert_eq!((template.field, template.info, template.kind), (layout.field, layout.info, kind));
            assert_eq!(template.description.len(), layout.fields + 1);
            assert_eq!(template.fields.len(), 3 * layout.field);
            assert_eq!(template.fields[2 * layout.field + layout.flags], layout.end);
        }
    }

    #[test]
    fn a_description_that_is_unlike_those_is_not_copied() {
        let functions = [0x5650_5650_5650, 1, 2, 0, 0];
        let (description, numbers) = fifo(&OLD, functions);
        let mut with_hook = description.clone();
        with_hook[4] = numbers.as_ptr() as usize;
        assert!(found(&with_hook, &numbers).is_none());
        let mut other = description.clone();
        other[0] = c"Fifo".as_ptr() as usize;
        assert!(found(&other, &numbers).is_none());
        let crowded = Layout { info: 12, ..OLD };
        let (description, numbers) = fifo(&Layout { field: 5, flags: 4, info: 3, ..crowded }, functions);
        assert!(found(&description, &numbers).is_some());
        let (description, numbers) = fifo(&OLD, [functions[0], 0, 0, 0, 0]);
        assert!(found(&description, &numbers).is_none());
    }
}
