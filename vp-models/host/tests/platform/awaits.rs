//! Work of the CPU that a platform waits for, where nothing goes on by itself.

use std::path::Path;

use vp_host::Host;
use vp_host::LocalHost;
use vp_host::trace::cfg::CfgCommand;
use vp_host::trace::{Body, Trace};
use vp_hub::Until;
use vp_models::platform::{Description, Platform};

const ENDED: &str = "CDMA_DAT_DONE_STATUS0, CDMA_WT_DONE_STATUS0, CACC_DONE_STATUS0";

/// A convolution with SDP and PDP behind it, whose driver enables all units but these.
struct Driver {
    without: &'static [&'static str],
    /// Register writes before all others.
    first: &'static [(&'static str, u32)],
    faults: Option<&'static str>,
}

const WHOLE: Driver = Driver { without: &[], first: &[], faults: None };

impl Driver {
    /// The platform when the driver has done its part and nothing happens any more.
    fn run(&self) -> LocalHost {
        let name = "conv_sdp_pdp_3x3_prelu_maxpool_12x10x8x16";
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces/nv_small").join(name);
        let trace = Trace::load(&folder.join(format!("{name}.cfg"))).unwrap();
        let Body::Cfg(lines) = trace.body() else { panic!("not in the language of our traces") };
        let mut host = LocalHost::new(Platform::build(&Description::named("nv_small").unwrap()).unwrap());
        if let Some(faults) = self.faults {
            host.inject_faults(faults).unwrap();
        }
        let mut write = |register: &str, value| {
            let address = host.map().find(register).unwrap().address;
            host.write(address, value).unwrap();
        };
        self.first.iter().for_each(|(register, value)| write(register, *value));
        for line in lines {
            let CfgCommand::RegWrite { register, value } = &line.command else { continue };
            let register = register.as_str();
            let unit = register.strip_suffix(".D_OP_ENABLE");
            if unit.is_none_or(|unit| !self.without.contains(&unit)) {
                write(register, *value);
            }
        }
        host.advance(Until::Idle).unwrap();
        host
    }

    fn awaits(&self) -> Option<String> {
        self.run().platform().awaits_cpu()
    }
}

#[test]
fn the_units_that_have_yet_to_be_enabled_are_waited_for() {
    let cases: [(&[&str], &str); 7] = [
        (&["SDP"], "to enable SDP"),
        (&["SDP_RDMA"], "to enable SDP_RDMA"),
        (&["CDMA"], "to enable CDMA"),
        (&["CMAC_B"], "to enable CMAC_B"),
        (&["CDMA", "CSC", "CMAC_A", "CMAC_B", "CACC"], "to enable CDMA, CSC, CMAC_A, CMAC_B, CACC"),
        (&["SDP", "CDMA", "CSC", "CMAC_A", "CMAC_B", "CACC"], "to enable SDP"),
        (&["SDP", "PDP", "CDMA", "CSC", "CMAC_A", "CMAC_B", "CACC"], "to enable SDP"),
    ];
    for (without, expected) in cases {
        let awaits = Driver { without, ..WHOLE }.awaits().unwrap_or_default();
        // CDMA may have ended before, and its interrupt then waits too.
        let awaits = awaits.rsplit(", and ").next().unwrap_or_default().to_owned();
        assert_eq!(awaits, expected, "without {without:?}");
    }
}

#[test]
fn a_group_whose_turn_it_is_not_is_told_from_a_unit_that_is_not_enabled() {
    let mut host = Driver { without: &["PDP"], ..WHOLE }.run();
    for (register, value) in [("PDP.S_POINTER", 1), ("PDP.D_OP_ENABLE", 1)] {
        let address = host.map().find(register).unwrap().address;
        host.write(address, value).unwrap();
    }
    host.advance(Until::Idle).unwrap();
    let awaits = host.platform().awaits_cpu().unwrap_or_default();
    assert!(awaits.ends_with("to enable PDP group 0, whose turn it is"), "{awaits}");
}

#[test]
fn an_interrupt_is_to_be_taken_where_all_has_ended() {
    let awaits = WHOLE.awaits().unwrap_or_default();
    assert!(awaits.starts_with("to take the interrupt (") && awaits.contains("PDP_DONE_STATUS0"), "{awaits}");
    assert!(awaits.contains(ENDED) && !awaits.contains("enable"), "{awaits}");
}

#[test]
fn an_interrupt_that_a_fault_took_is_one_that_the_cpu_is_not_told_of() {
    let awaits =
        Driver { faults: Some("[[fault]]\nkind = 'lost-interrupt'\n"), ..WHOLE }.awaits().unwrap_or_default();
    assert!(awaits.starts_with("to clear ") && awaits.contains("PDP_DONE_STATUS0"), "{awaits}");
    assert!(awaits.ends_with("of which it is not told: a fault took the interrupt"), "{awaits}");
}

#[test]
fn what_is_masked_is_waited_for_only_where_work_is_left() {
    const MASK: &[(&str, u32)] = &[("GLB.S_INTR_MASK", u32::MAX)];
    assert_eq!(Driver { first: MASK, ..WHOLE }.awaits(), None);
    let awaits = Driver { first: MASK, without: &["SDP"], ..WHOLE }.awaits().unwrap_or_default();
    assert!(
        awaits.starts_with("to clear CDMA_") && awaits.contains("which is masked, and to enable SDP"),
        "{awaits}"
    );
}

#[test]
fn what_is_waited_for_is_among_what_the_platform_says_of_itself() {
    let host = Driver { without: &["SDP"], ..WHOLE }.run();
    let seen = host.platform().inspect();
    let awaits = seen.text("awaits").unwrap_or_default();
    assert!(awaits.starts_with("the CPU to ") && awaits.ends_with("to enable SDP"), "{awaits}");
}
