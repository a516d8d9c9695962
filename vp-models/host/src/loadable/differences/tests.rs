use super::*;
use crate::loadable::Generation;
use crate::loadable::convert::convert;
use crate::loadable::tests::Pooling;

fn pooling(generation: Generation) -> Contents {
    Contents::read(&Pooling { generation, ..Pooling::USUAL }.bytes(&[7; 512])).expect("whole")
}

fn parts(one: &Contents, other: &Contents) -> Vec<Part> {
    differences(one, other).iter().map(|found| found.part).collect()
}

#[test]
fn what_differs_is_told_by_part_with_the_first_and_the_number() {
    let one = pooling(Generation::Short);
    assert_eq!(differences(&one, &one), []);
    let first = |change: &dyn Fn(&mut Contents)| {
        let mut other = one.clone();
        change(&mut other);
        let found = differences(&one, &other);
        let told = |found: &PartDifferences| {
            let Difference { place, one, other } = &found.first;
            (
                found.part,
                found.count,
                place.clone(),
                one.clone().unwrap_or_default(),
                other.clone().unwrap_or_default(),
            )
        };
        found.iter().map(told).collect::<Vec<_>>()
    };
    let one = |part, count, place: &str, one: &str, other: &str| {
        vec![(part, count, place.to_owned(), one.to_owned(), other.to_owned())]
    };
    let operation = "task 0, operation 0 (PDP)";
    assert_eq!(
        first(&|it| it.blobs[1].data[16..18].copy_from_slice(&[1, 1])),
        one(Part::Operations, 2, &format!("{operation}, stride_x"), "2", "1")
    );
    assert_eq!(
        first(&|it| it.blobs[2].data[44] = 96),
        one(Part::Surfaces, 1, &format!("{operation}, destination, line_stride"), "64", "96")
    );
    assert_eq!(
        first(&|it| it.blobs[3].data[4] = 1),
        one(Part::Dependencies, 1, &format!("{operation}, number of events before it"), "0", "1")
    );
    assert_eq!(
        first(&|it| it.blobs[4].data[100..104].fill(9)),
        one(Part::Blobs, 4, "blob `piece 4`, byte 100", "0x07", "0x09")
    );
    assert_eq!(
        first(&|it| it.memories[5].alignment = 64),
        one(Part::Memory, 1, "memory 5, alignment", "0", "64")
    );
    assert_eq!(first(&|it| it.addresses[5].size = 64), one(Part::Addresses, 1, "address 5, size", "0", "64"));
    // Bytes behind a descriptor are nothing's.
    assert_eq!(first(&|it| it.blobs[2].data[600] = 1), vec![]);
}

#[test]
fn both_forms_of_a_loadable_differ_in_versions_and_addresses_only() {
    for form in Generation::ALL {
        let one = pooling(form);
        let other = convert(&one, form.other()).expect("can be said");
        let found = parts(&one, &other);
        assert_eq!(found[0], Part::Versions);
        assert!(found[1..].iter().all(|part| *part == Part::Addresses), "{found:?}");
    }
}

#[test]
fn a_loadable_that_cannot_be_read_is_compared_by_its_tables_and_bytes() {
    let one = pooling(Generation::Short);
    let mut other = one.clone();
    other.blobs[3].data[3] = 9;
    assert!(parts(&one, &other).contains(&Part::Operations));
    let mut broken = one.clone();
    broken.tasks[0].addresses.push(99);
    let mut other = broken.clone();
    other.blobs[1].data[0] ^= 1;
    assert_eq!(parts(&broken, &other), [Part::Blobs]);
}
