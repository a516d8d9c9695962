//! Studies that are refused before anything runs: by file, line and key.

use crate::studied::{SMALL, Studied};
use std::fs;

#[test]
fn values_are_checked_before_anything_runs() {
    let wrong = SMALL.replace("'nv_large'", "'nv_lareg'").replace("[2, 64]", "[2,\n 300]");
    let study = Studied::new(&wrong);
    let told = study.told(&["study.toml"]);
    for part in [
        "study.toml: values are wrong",
        "study.toml:7: dbb0.read_outstanding = 300: [dbb0] read_outstanding = 300",
        "(3 points)",
        "study.toml:4: platform = nv_lareg: ",
        "nothing has been run; --keep-going runs the points that can",
    ] {
        assert!(told.contains(part), "no `{part}` in {told}");
    }
    assert!(!study.file("points.jsonl").exists());
    // A value that is wrong only for a plan.
    let text = "name = 'batches'\n[sweep]\nnetwork = 'lenet'\nplatform = 'nv_large'\nbatch = [1, 33]\n";
    let study = Studied::new(text);
    let told = study.told(&["study.toml"]);
    assert!(told.contains("study.toml:5: batch = 33: ") && !study.file("points.jsonl").exists(), "{told}");
}

#[test]
fn a_study_that_cannot_run_is_refused_before_it_begins() {
    let study = Studied::new(&SMALL.replace("dbb0.read_latency", "dbb0.raed_latency"));
    let told = study.told(&["study.toml"]);
    assert!(told.contains("no point can run") && told.contains("raed_latency"), "{told}");
    assert!(!study.file("points.jsonl").exists());
    assert!(study.told(&["nowhere.toml"]).contains("nowhere.toml: cannot read: "));
    assert!(study.told(&[]).contains("<FILE>"));
}

#[test]
fn what_cannot_be_in_sram_is_refused_before_anything_runs() {
    let start = "name = 'refused'\n[sweep]\nnetwork = 'lenet'\n";
    let told = |rest: &str| Studied::new(&format!("{start}{rest}")).told(&["study.toml"]);
    let word = told("platform = 'nv_large'\nplacement = ['dram', 'sram']\n");
    let expected = "study.toml:5: placement = sram: `sram` is no placement: dram, activations or all";
    assert!(word.contains(expected) && !word.contains("nearest"), "{word}");
    let lacks = told("platform = ['nv_small']\nplacement = 'all'\n");
    assert!(lacks.contains("placement = \"all\": the configuration nv_small has no SRAMIF"), "{lacks}");
    let lacks = told("platform = 'nv_medium_1024_full'\ncopies = ['never',\n 'auto']\n");
    let expected = "study.toml:6: copies = auto: copies = \"auto\": the configuration nv_medium_1024_full has no BDMA (bdma = false)";
    assert!(lacks.contains(expected), "{lacks}");
    let nothing = told("platform = 'nv_large'\n'network.layer.conv9.memory' = 'sram'\n");
    assert!(nothing.contains("network.layer.conv9.memory = sram: there is no `conv9`"), "{nothing}");
    // What a network's file demands, with its line.
    let study = Studied::new(
        "name = 'small'\n[sweep]\nnetwork = 'mine.toml'\nplatform = 'nv_large'\n'sram0.size' = [512]\n",
    );
    let network = "name = 'mine'\nseed = 1\ninput = { width = 8, height = 8, channels = 8 }\n\n[[layer]]\n\
                   kind = 'convolution'\nname = 'first'\nkernels = 8\nkernel = [1, 1]\nmemory = 'sram'\n";
    fs::write(study.folder.path().join("mine.toml"), network).unwrap();
    let told = study.told(&["study.toml"]);
    let expected =
        "mine.toml:10: layer `first`: memory = \"sram\": it takes 2 048 bytes, and of 512 bytes of SRAM 512";
    assert!(told.contains(expected), "{told}");
}

#[test]
fn a_share_of_zeros_that_is_none_is_refused_by_file_line_and_key() {
    let study = Studied::new("name = 's'\n[sweep]\nnetwork = 'lenet'\n'network.zeros' = [0.5, 1.5]\n");
    let told = study.told(&["study.toml"]);
    assert!(told.contains("study.toml:4: network.zeros = 1.5: ") && told.contains("share"), "{told}");
    assert!(!study.file("points.jsonl").exists());
}

#[test]
fn a_design_that_the_rtl_cannot_be_is_refused_by_name() {
    let told = |parameters: &str| {
        let text = format!("name = 's'\n[sweep]\nnetwork = 'digits'\nplatform = 'nv_small'\n{parameters}\n");
        let study = Studied::new(&text);
        let told = study.told(&["study.toml"]);
        assert!(!study.file("points.jsonl").exists(), "{told}");
        told
    };
    let names = "'nvdla.mac_atomic_c, nvdla.cbuf_bank_width'";
    assert!(
        told("'nvdla.mac_atomic_c' = [16, 32]")
            .contains("cbuf_bank_width = 8 is impossible: must be as large as mac_atomic_c (16)")
    );
    assert!(
        told(&format!("{names} = [64]"))
            .contains("mac_atomic_c = 64 is impossible: must be as large as mac_atomic_k (8), or twice")
    );
    assert!(
        told("'nvdla.mac_atomic_k' = 4")
            .contains("mac_atomic_k = 4 is impossible: must be as large as memory_atom (8)")
    );
    for banks in [24, 64] {
        let expected = format!("cbuf_banks = {banks} is impossible: must be a power of two, 2 to 32");
        assert!(told(&format!("'nvdla.cbuf_banks' = {banks}")).contains(&expected));
    }
    assert!(
        told("'nvdla.primary_width' = 96")
            .contains("primary_width = 96 is impossible: must be a power of two")
    );
}

/// The report's parameter is right here, and the one that is swept is not.
#[test]
fn a_misspelt_parameter_is_told_before_a_report_that_names_the_right_one() {
    let sweep = "name = 's'\n[sweep]\nnetwork = 'digits'\n'dbb0.raed_outstanding' = [4, 8]\n";
    let study = Studied::new(&format!("{sweep}[report]\ncurves = 'dbb0.read_outstanding'\n"));
    let told = study.told(&["study.toml"]);
    assert!(told.contains("study.toml:4: dbb0.raed_outstanding = 4: "), "{told}");
    assert!(told.contains("; nearest: read_outstanding") && !told.contains("curves"), "{told}");
}

#[test]
fn values_of_a_network_are_refused_with_the_nearest_name() {
    let told = |name: &str| {
        Studied::new(&format!("name = 's'\n[sweep]\nnetwork = 'lenet'\n'{name}' = 3\n")).told(&["study.toml"])
    };
    for (name, nearest) in [
        ("network.layer.cnov1.stride", "network.layer.cnov1.stride = 3: there is no `cnov1`; nearest: conv1"),
        ("network.layr.conv1.stride", "network.layr.conv1.stride = 3: there is no `layr`; nearest: layer"),
        ("network.layer.conv1.strid", "unknown field `strid`, expected one of"),
    ] {
        let told = told(name);
        assert!(told.contains(nearest) && told.contains("; nearest: "), "{told}");
    }
}

#[test]
fn a_network_that_is_not_there_is_refused_with_the_nearest_name() {
    let study = Studied::new("name = 's'\n[sweep]\nnetwork = ['digits',\n'resnet5']\n");
    let told = study.told(&["study.toml"]);
    assert!(told.contains("study.toml:4: network = resnet5: cannot read resnet5: "), "{told}");
    assert!(told.contains("; nearest: resnet50") && !study.file("points.jsonl").exists(), "{told}");
}
