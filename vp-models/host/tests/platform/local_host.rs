//! A CPU in the same process: its calls can be ended, and time passes as far as it says.

use std::cell::Cell;
use std::rc::Rc;

use vp_core::Time;
use vp_host::LocalHost;
use vp_host::network::{Plan, RunError, Runner, digits};
use vp_host::{Host, HostError};
use vp_hub::{Until, Why};
use vp_models::platform::{Description, Platform};

fn host() -> LocalHost {
    LocalHost::new(Platform::build(&Description::named("nv_small").unwrap()).unwrap())
}

/// Runs the digits network on some frames.
fn infer(host: &mut LocalHost) -> Result<(), RunError> {
    let description = host.platform().description().clone();
    let config = &description.nvdla().unwrap().config;
    let plan = Plan::new(&digits::network(), config, description.dbb0.range()).unwrap();
    let samples = digits::samples();
    let inputs: Vec<&[i8]> = samples[..4].iter().map(|sample| sample.pixels.as_slice()).collect();
    Runner::new(&plan, host).unwrap().run(&inputs, |_, _| ())
}

#[test]
fn a_run_that_is_asked_whether_it_goes_on_is_the_one_that_is_not() {
    let mut unasked = host();
    infer(&mut unasked).unwrap();
    for slice in [Time::ns(1), Time::ps(333), Time::us(3), Time::us(16)] {
        let (mut asked, times) = (host(), Rc::new(Cell::new(0)));
        let counted = times.clone();
        asked.ask_whether(move |now| {
            counted.set(counted.get() + 1);
            Some(now + slice)
        });
        infer(&mut asked).unwrap();
        let end = |host: &mut LocalHost| (host.now().unwrap(), host.platform().event_hash());
        assert_eq!(end(&mut asked), end(&mut unasked), "{slice}");
        assert!(times.get() > 100, "{slice}");
    }
}

#[test]
fn a_call_that_is_ended_leaves_the_platform_to_the_next_one() {
    let (mut host, end) = (host(), Rc::new(Cell::new(Time::us(2))));
    let until = end.clone();
    host.ask_whether(move |now| (now < until.get()).then(|| until.get()));
    let ended = host.advance(Until::Time(Time::s(1))).unwrap_err();
    assert!(matches!(ended, HostError::Cancelled { time } if time <= Time::us(2)), "{ended:?}");
    end.set(Time::MAX);
    host.read(0x1000).unwrap();
    assert!(host.now().unwrap() < Time::us(3));
    assert_eq!(host.advance(Until::Time(Time::us(9))), Ok(Why::Time));
}

#[test]
fn a_limit_ends_what_is_waited_for_and_no_later_call_waits_behind_it() {
    let mut host = host();
    host.set_limit(Time::us(2));
    let limit = host.advance(Until::Time(Time::us(5))).unwrap_err();
    assert!(matches!(limit, HostError::Limit { .. }), "{limit:?}");
    host.set_limit(Time::MAX);
    host.read(0x1000).unwrap();
    assert!(host.now().unwrap() < Time::us(3));
}
