//! Promises of vfio-user that hold for every message and for every way a stream is cut.

use crate::common::cases;
use bytes::{Bytes, BytesMut};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use vp_protocols::vfio_user::*;

fn data(most: usize) -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..=most).prop_map(Bytes::from)
}

fn write(most: usize) -> impl Strategy<Value = Write> {
    (any::<u32>(), any::<u64>(), data(most)).prop_map(|(region, offset, data)| Write { region, offset, data })
}

fn set_irqs() -> impl Strategy<Value = SetIrqs> {
    let action = select(vec![IrqAction::Mask, IrqAction::Unmask, IrqAction::Trigger]);
    let data = prop_oneof![
        (any::<u32>()).prop_map(|count| (count, IrqData::None)),
        (any::<u32>()).prop_map(|count| (count, IrqData::Eventfd)),
        vec(any::<bool>(), 0..40).prop_map(|meant| (meant.len() as u32, IrqData::Bool(meant))),
    ];
    (any::<u32>(), any::<u32>(), action, data).prop_map(|(index, start, action, (count, data))| SetIrqs {
        index,
        start,
        count,
        action,
        data,
    })
}

fn request() -> impl Strategy<Value = Request> {
    let numbers = (any::<u64>(), any::<u64>(), any::<u64>());
    prop_oneof![
        (any::<bool>(), any::<bool>(), numbers).prop_map(
            |(is_readable, is_writeable, (offset, address, size))| {
                Request::DmaMap(DmaMap { is_readable, is_writeable, offset, address, size })
            }
        ),
        (any::<bool>(), any::<u64>(), any::<u64>())
            .prop_map(|(is_all, address, size)| Request::DmaUnmap(DmaUnmap { is_all, address, size })),
        Just(Request::DeviceInfo),
        any::<u32>().prop_map(|index| Request::RegionInfo { index }),
        any::<u32>().prop_map(|index| Request::IrqInfo { index }),
        set_irqs().prop_map(Request::SetIrqs),
        (any::<u32>(), any::<u64>(), 0..=MAX_DATA as u32)
            .prop_map(|(region, offset, count)| Request::RegionRead { region, offset, count }),
        write(300).prop_map(Request::RegionWrite),
        vec(write(8), 0..5).prop_map(Request::RegionWriteMulti),
        Just(Request::Reset),
        (any::<u32>(), any::<u32>(), data(40)).prop_map(|(most, flags, data)| Request::Feature(Feature {
            most,
            flags,
            data
        })),
        (any::<u32>(), any::<u32>()).prop_map(|(most, count)| Request::MigrationRead { most, count }),
        data(300).prop_map(Request::MigrationWrite),
        (select(vec![6_u16, 14, 99, u16::MAX]), data(40))
            .prop_map(|(command, payload)| Request::Other { command, payload }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(256)))]

    #[test]
    fn requests_arrive_as_they_were_sent_however_the_stream_is_cut(
        requests in vec(request(), 1..8), cuts in vec(1_usize..80, 1..40),
    ) {
        let (mut client, mut server) = (Client::new(Capabilities::default()), Connection::<u32>::new(Capabilities::default()));
        for request in &requests {
            client.request(request);
        }
        let mut sent = client.output().split();
        let (mut input, mut heard, mut cut) = (BytesMut::new(), Vec::new(), cuts.iter().cycle());
        while !sent.is_empty() {
            let length = (*cut.next().unwrap()).min(sent.len());
            input.unsplit(sent.split_to(length));
            while let Some(event) = server.receive(&mut input).unwrap() {
                heard.push(event);
            }
        }
        prop_assert!(matches!(heard.remove(0), Event::Opened));
        for (request, event) in requests.iter().zip(&heard) {
            let Event::Request { request: told, .. } = event else { panic!("{event:?}") };
            prop_assert_eq!(told, request);
        }
        prop_assert_eq!(heard.len(), requests.len());
    }

    #[test]
    fn no_payload_makes_a_command_that_is_written_otherwise(command in 0_u16..20, payload in data(100)) {
        if let Ok(request) = Request::parse(command, payload.clone()) {
            let mut written = BytesMut::new();
            request.emit(&mut written);
            let again = Request::parse(request.command(), written.freeze());
            prop_assert_eq!(again, Ok(request));
        }
    }

    #[test]
    fn memory_is_read_as_the_client_has_it(
        accesses in vec((any::<u64>(), 1_usize..200), 1..20), order in any::<u64>(),
    ) {
        let (mut client, mut server) = (Client::new(Capabilities::default()), Connection::<u32>::new(Capabilities::default()));
        server.receive(client.output()).unwrap();
        client.receive(server.output()).unwrap();
        let byte = |address: u64| address.wrapping_mul(0x9e37_79b9) as u8;
        let bytes = |address: u64, count: usize| (0..count as u64).map(|at| byte(address.wrapping_add(at))).collect::<Vec<u8>>();
        let tokens: Vec<_> = accesses.iter().map(|(address, count)| server.read_memory(*address, *count).unwrap()).collect();
        let mut asked = Vec::new();
        while let Some(event) = client.receive(server.output()).unwrap() {
            asked.push(event);
        }
        // Answered in another order.
        let middle = order as usize % asked.len();
        asked.rotate_left(middle);
        for event in &asked {
            let ClientEvent::Read { address, count, .. } = event else { panic!("{event:?}") };
            client.answer(event, Ok(&bytes(*address, *count as usize)));
        }
        while let Some(event) = server.receive(client.output()).unwrap() {
            let Event::Answered { token, result } = event else { panic!("{event:?}") };
            let (address, count) = accesses[tokens.iter().position(|of| *of == token).unwrap()];
            prop_assert_eq!(result.unwrap(), bytes(address, count));
        }
    }
}
