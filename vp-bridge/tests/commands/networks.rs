//! Networks as a user runs them: by name, from a file, from a sheet of layers.

use crate::common::process::Ended as _;
use std::process::{Command, Output};

fn vp(arguments: &[&str]) -> (Output, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_vp")).args(arguments).ended();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    (output, out, error)
}

#[test]
fn a_network_is_shown_layer_by_layer() {
    let (output, text, error) = vp(&["run", "lenet", "--platform", "nv_small"]);
    assert!(output.status.success(), "{error}");
    for layer in ["conv1", "pool1", "fc2", "probabilities"] {
        assert!(text.lines().any(|line| line.starts_with(layer)), "{layer}: {text}");
    }
    assert!(text.contains("with conv1") && text.contains("CPU"), "{text}");
    assert!(text.contains("frames/s") && text.contains("bound by   "), "{text}");
}

#[test]
fn the_same_network_without_arithmetic_takes_the_same_cycles_and_says_so() {
    let line = |text: &str, of: &str| text.lines().find(|line| line.starts_with(of)).map(str::to_owned);
    let [computed, timed] =
        [&["run", "lenet"][..], &["run", "lenet", "--timed"]].map(|arguments| vp(arguments).1);
    assert_eq!(line(&computed, "time"), line(&timed, "time"));
    assert_eq!(line(&computed, "event hash"), line(&timed, "event hash"));
    assert!(timed.contains("zeros") && !timed.contains("FNV"), "{timed}");
}

#[test]
fn a_networks_bytes_are_neither_read_nor_written_as_arrays() {
    let folder = tempfile::tempdir().unwrap();
    let [array, output] = ["input.npy", "output.npy"].map(|name| folder.path().join(name));
    std::fs::write(&array, b"\x93NUMPY\x01\x00\x06\x00{   }\n").unwrap();
    let (array, output) = (array.to_str().unwrap(), output.to_str().unwrap());
    for (arguments, why) in [
        (
            ["run", "digits", "--input", array].as_slice(),
            "an array of NumPy, where a network takes its elements",
        ),
        (&["run", "digits", "--output", output], "no array of NumPy"),
    ] {
        let (ended, _, error) = vp(arguments);
        assert!(!ended.status.success() && error.contains(why), "{error}");
    }
}

#[test]
fn the_default_layer_fits_its_platform() {
    let (output, text, error) = vp(&["run", "--platform", "nv_large"]);
    assert!(output.status.success(), "{error}");
    assert!(text.contains("digits"), "{text}");
    let folder = tempfile::tempdir().unwrap();
    let name = "conv_3x3_bias_relu_6x5x70x40";
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../traces/nv_large").join(name);
    for entry in std::fs::read_dir(source).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    let (output, text, _) = vp(&["run", folder.path().to_str().unwrap()]);
    assert!(!output.status.success() && text.contains("it ran on nv_small, the default"), "{text}");
}

/// docs/memory.md, "What is seen".
#[test]
fn memories_with_a_time_of_their_own_have_a_line_each() {
    let input = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(input.path(), [1; 64]).unwrap();
    let input = input.path().to_str().unwrap();
    for (platform, port, more) in [
        ("nv_large_master", "dbb0", ["--frames", "1"]),
        ("nv_large_master", "sram0", ["--placement", "activations"]),
        ("fpga-ai-suite", "dbb0", ["--input", input]),
    ] {
        let settings =
            ["cache.sets=64", "dram.standard=DDR4-2400R"].map(|setting| format!("{port}.{setting}"));
        let arguments =
            ["run", "digits", "--platform", platform, "--set", &settings[0], "--set", &settings[1]];
        let (output, text, error) = vp(&[&arguments[..], &more].concat());
        assert!(output.status.success(), "{error}");
        for part in ["cache ", "dram0 "] {
            let line =
                text.lines().find(|line| line.starts_with(part)).unwrap_or_else(|| panic!("{part}: {text}"));
            assert!(line.contains(&format!(" of {port}, ")), "{line}");
        }
    }
}

#[test]
fn a_sheet_of_layers_is_a_network() {
    let folder = tempfile::tempdir().unwrap();
    let sheet = folder.path().join("two.csv");
    let header = "layer,in_channels,in_height,in_width,out_channels,kernel_height,kernel_width,stride_y,stride_x,\
                  out_height,out_width,pool,pool_height,pool_width,pool_stride_y,pool_stride_x,pooled_height,pooled_width";
    let rows = "a,3,16,16,32,3,3,1,1,16,16,True,2,2,2,2,8,8\nb,32,8,8,16,1,1,1,1,8,8,False,,,,,8,8\nb,24,8,8,16,1,1,1,1,8,8,False,,,,,8,8";
    std::fs::write(&sheet, format!("{header}\n{rows}\n")).unwrap();
    let (output, text, error) = vp(&["run", sheet.to_str().unwrap()]);
    assert!(output.status.success(), "{error}");
    for layer in ["a ", "a pooling", "b ", "b (2)"] {
        assert!(text.lines().any(|line| line.starts_with(layer)), "{layer}: {text}");
    }
    std::fs::write(&sheet, format!("{header}\na,3,x\n")).unwrap();
    let (output, _, error) = vp(&["run", sheet.to_str().unwrap()]);
    assert!(!output.status.success());
    assert!(error.contains("two.csv:2: the row ends before its column `in_width`"), "{error}");
}

/// By file, line, layer and key, with what would be right.
#[test]
fn what_is_wrong_with_a_layer_is_told_with_its_line_and_what_would_be_right() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("network.toml");
    let path = file.to_str().unwrap();
    let head =
        "name = 'mine'\nseed = 1\ninput = { width = 8, height = 8, channels = 8 }\n\n[[layer]]\nname = 'a'\n";
    let convolution = format!("{head}kind = 'convolution'\nkernels = 8\nkernel = [1, 1]\n");
    let elementwise = format!("{head}kind = 'elementwise'\nother = 'input'\nmethod = 'multiply'\n");
    for (text, told) in [
        (
            convolution.replace("seed", "precision = 'int16'\nseed"),
            ":2: mine cannot run on nv_small: precision = \"int16\": the configuration nv_small does not compute it; built-in ones that do: nv_full",
        ),
        (
            format!("{convolution}stride = [9, 1]"),
            ":5: mine cannot run on nv_small: layer `a`: stride: CSC.D_CONV_STRIDE_EXT.CONV_X_STRIDE_EXT = 0x9: the register holds 1 to 8",
        ),
        (
            format!("{convolution}dilation = [33, 1]")
                .replace("kernel = [1, 1]", "kernel = [2, 1]\npadding = [15, 0]")
                .replace("width = 8", "width = 16"),
            ":5: mine cannot run on nv_small: layer `a`: dilation: CSC.D_DILATION_EXT.X_DILATION_EXT = 0x21: the register holds 1 to 32",
        ),
        (
            format!("{convolution}look_up = {{ values = 't.i16', start = 0, step = 0.5 }}"),
            ":10: layer 1 `a`: look_up.step: found 0.5, expected a whole number",
        ),
        (
            format!("{convolution}converter = {{ scale = 1, shift = 64 }}"),
            ":10: layer 1 `a`: converter.shift: found 64, expected 0 to 63",
        ),
        (
            format!("{convolution}converter = {{ scale = 40000, shift = 1 }}"),
            ":10: layer 1 `a`: converter.scale: found 40000, expected a whole number from -32768 to 32767",
        ),
        (
            format!("{convolution}converter = {{ scale = 1 }}"),
            ":10: layer 1 `a`: converter: `shift` is missing",
        ),
        (format!("{convolution}truncate = 32"), ":10: layer 1 `a`: truncate: found 32, expected 0 to 31"),
        (
            format!("{convolution}stride = 2"),
            ":10: layer 1 `a`: stride: found 2, expected a list of 2 values",
        ),
        (
            format!("{convolution}weights = 3"),
            ":10: layer 1 `a`: weights: expected the name of a file in quotes, or { seed = 3 }",
        ),
        (format!("{convolution}weights = 't.i8'"), "t.i8: No such file or directory"),
        (
            convolution.replace("kernels = 8\n", ""),
            ":5: layer 1 `a`: `kernels` is missing: write it, such as kernels = 16",
        ),
        (
            elementwise.clone(),
            ":5: layer 1 `a`: `converter` is missing: write it, such as converter = { scale = 1, shift = 7 }",
        ),
        (
            elementwise.replace("multiply", "prod"),
            ":9: layer 1 `a`: method: found `prod`, expected one of `add`, `multiply`, `maximum`, `minimum`\n",
        ),
        (elementwise.replace("method = 'multiply'\n", ""), ":5: layer 1 `a`: `method` is missing\n"),
        (
            convolution.replace("[[layer]]", "[[layers]]"),
            ":5: unknown field `layers`, expected one of `name`,",
        ),
    ] {
        std::fs::write(&file, &text).unwrap();
        let (output, _, error) = vp(&["run", path, "--platform", "nv_small"]);
        assert!(!output.status.success() && error.contains(told), "{text}: {error}");
        assert_eq!(error.matches("t.i8").count(), usize::from(told.contains("t.i8")), "{error}");
    }
}

/// A row with a cause: the network, its first layer, by how many percent ours is slower, and the cause.
type Far = (String, String, i64, String);

/// Rows with a cause that `vp study published` prints of the case without SRAM.
fn printed(text: &str) -> Vec<Far> {
    let (mut all, mut network) = (Vec::new(), "");
    for line in text.lines() {
        let cells: Vec<&str> = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        match cells[..] {
            [name @ ("alexnet" | "googlenet" | "resnet50")] => network = name,
            [title] if title.contains(" with SRAM: ") => network = "",
            _ if network.is_empty() => {}
            // What bounds theirs is in each row that they have.
            [name, _, "MAC" | "DRAM", _, differs, _, _, _, cause] => {
                let percent = differs.trim_end_matches(" %").parse().expect("a number");
                all.push((network.to_owned(), first(name), percent, cause.to_owned()));
            }
            _ => {}
        }
    }
    all
}

/// Of layers that are counted together the first.
fn first(name: &str) -> String {
    name.split(" + ").next().unwrap_or(name).to_owned()
}

#[test]
fn published_figures_stand_beside_ours_and_the_documentation_explains_each_that_is_far() {
    let (output, text, error) = vp(&["study", "published"]);
    assert!(output.status.success(), "{error}");
    assert!(text.contains("(their own sum: 1 116.8)"), "{text}");
    let (mut with_sram, mut without) = (Vec::new(), Vec::new());
    let mut is_with_sram = false;
    for line in text.lines() {
        match line {
            "alexnet" | "googlenet" | "resnet50" => is_with_sram = false,
            _ => is_with_sram |= line.contains(" with SRAM: "),
        }
        // Rows that stand beside none of theirs have no difference.
        let bounds = [" DRAM ", " MAC ", " CVSRAM-R ", " CVSRAM-W "];
        if line.contains(" % ") && bounds.iter().any(|bound| line.contains(bound)) {
            if is_with_sram { with_sram.push(line) } else { without.push(line) }
        }
    }
    assert_eq!(with_sram.len(), without.len());
    let rows = without.into_iter();
    let far = rows.clone().filter(|row| {
        let words: Vec<&str> = row.split_whitespace().collect();
        let at = words.iter().position(|word| *word == "%").expect("how far apart");
        words[at - 1].parse::<f64>().expect("a number").abs() > 15.0
    });
    let printed = printed(&text);
    assert!(rows.clone().count() == 8 + 39 + 54 && far.count() <= printed.len(), "{text}");

    // Each row of the documentation's tables stands for some of them, with their least and their largest difference.
    let mut explained: Vec<Far> = Vec::new();
    let mut network = "";
    for line in include_str!("../../../docs/published.md").lines() {
        match line {
            "### AlexNet" => network = "alexnet",
            "### GoogLeNet" => network = "googlenet",
            "### ResNet-50" => network = "resnet50",
            _ => {}
        }
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [names, range, cause, why] = cells[..] else { continue };
        if network.is_empty() || !range.ends_with('%') {
            continue;
        }
        let mut ends =
            range.split(" to ").map(|end| end.trim_end_matches(" %").parse::<i64>().expect("percent"));
        let least = ends.next().expect("a number");
        let ends = (least, ends.next().unwrap_or(least));
        let of: Vec<&Far> = names
            .split(", ")
            .map(|name| {
                let is_it = |row: &&Far| row.0 == network && row.1 == name;
                printed.iter().find(is_it).unwrap_or_else(|| panic!("{network} {name} is not far"))
            })
            .collect();
        let percents = of.iter().map(|row| row.2);
        assert_eq!((percents.clone().min(), percents.max()), (Some(ends.0), Some(ends.1)), "{line}");
        assert!(of.iter().all(|row| row.3 == cause), "{line}: {of:?}");
        assert!(why.len() > 20, "{line}");
        explained.extend(of.into_iter().cloned());
    }
    explained.sort();
    let mut printed = printed;
    printed.sort();
    assert_eq!(explained, printed);
    // What the documentation's table says of the case with SRAM: theirs, ours, and how much of it ours uses.
    for (network, name) in [("alexnet", "AlexNet"), ("googlenet", "GoogLeNet"), ("resnet50", "ResNet-50")] {
        let (_, part) = text.split_once(&format!("\n{network} with SRAM: ")).expect("the case");
        let used = part.split_once(" bytes of it").expect("bytes").0;
        let rate = |of: &str| {
            let line = part.lines().find(|line| line.starts_with(of)).expect("a line");
            let (_, rate) = line.split_once(" cycles, ").expect("cycles");
            rate.split_once(" frames/s").expect("frames/s").0.to_owned()
        };
        let row = format!("| {name} | {} | {} | {used} |", rate("theirs"), rate("ours"));
        assert!(include_str!("../../../docs/published.md").contains(&row), "{row}");
    }
    let (output, _, error) = vp(&["study", "published", "vgg"]);
    assert!(!output.status.success() && error.contains("alexnet, googlenet, resnet50"), "{error}");
}

/// Tensors in SRAM: what each layer moves over `sram0`, and what cannot be there.
#[test]
fn tensors_in_sram_are_shown_by_layer_and_refused_by_line() {
    let with = ["run", "lenet", "--timed", "--set", "sram0.size=65536", "--placement", "all"];
    let (output, text, error) = vp(&with);
    assert!(output.status.success(), "{error}");
    assert!(text.contains("sram0 read") && text.contains("bytes: "), "{text}");
    let used = text.lines().find(|line| line.starts_with("SRAM ")).expect("what is used");
    assert!(used.contains("activation") && used.contains("over sram0"), "{used}");
    let (_, plain, _) = vp(&["run", "lenet", "--timed"]);
    assert!(!plain.contains("sram0"), "{plain}");
    let (output, _, error) = vp(&["run", "lenet", "--platform", "nv_small", "--placement", "all"]);
    let lacks = "lenet cannot run on nv_small: placement = \"all\": the configuration nv_small has no SRAMIF";
    assert!(!output.status.success() && error.contains(lacks), "{error}");
    let (output, _, error) = vp(&["run", "lenet", "--platform", "nv_medium_1024_full", "--copies", "auto"]);
    let lacks = "copies = \"auto\": the configuration nv_medium_1024_full has no BDMA (bdma = false)";
    assert!(!output.status.success() && error.contains(lacks), "{error}");
    let (output, text, error) =
        vp(&["run", "resnet50", "--input-size", "64x64", "--timed", "--copies", "auto"]);
    assert!(output.status.success(), "{error}");
    let used = text.lines().find(|line| line.starts_with("SRAM ")).expect("what is used");
    assert!(text.contains("copied") && used.contains(" bytes by BDMA)"), "{text}");
    let (output, _, error) = vp(&["run", "lenet", "--placement", "al"]);
    assert!(!output.status.success() && error.contains("nearest: all"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("network.toml");
    let network = "name = 'mine'\nseed = 1\ninput = { width = 8, height = 8, channels = 8 }\n\n[[layer]]\n\
                   kind = 'convolution'\nname = 'first'\nkernels = 8\nkernel = [1, 1]\nmemory = 'sram'\n";
    std::fs::write(&file, network).unwrap();
    let path = file.to_str().unwrap();
    let (output, _, error) = vp(&["run", path, "--placement-limit", "1K"]);
    let demanded = format!(
        "{path}:10: mine cannot run on nv_large: layer `first`: memory = \"sram\": it takes 2 048 bytes, and of 1 024 \
         bytes of SRAM 1 024 are left"
    );
    assert!(!output.status.success() && error.contains(&demanded), "{error}");
    std::fs::write(&file, network.replace("'sram'", "'flash'")).unwrap();
    let (output, _, error) = vp(&["run", path]);
    assert!(
        !output.status.success() && error.contains("network.toml:10: ") && error.contains("`dram`"),
        "{error}"
    );
}

/// The rows of a table of layers whose mark is this.
fn marked(text: &str, mark: &str) -> usize {
    text.lines().filter(|line| line.split_whitespace().nth(1) == Some(mark)).count()
}

#[test]
fn a_network_runs_in_a_format_and_by_methods_that_its_file_does_not_say() {
    let shown = |arguments: &[&str]| {
        let (output, text, error) = vp(&[&["run", "--timed"], arguments].concat());
        assert!(output.status.success(), "{arguments:?}: {error}");
        text
    };
    let resnet = ["resnet50", "--input-size", "64x64"];
    let plain = shown(&resnet);
    assert!(marked(&plain, "W") + marked(&plain, "C") == 0 && !plain.contains("Winograd"), "{plain}");
    let text = shown(&[&resnet[..], &["--winograd", "always"]].concat());
    assert!(marked(&text, "W") == 16 && marked(&text, "C") == 0, "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let legend = "W by Winograd's method: results are near those of the direct method, and not the same";
    assert!(words.contains(legend), "{text}");
    let text = shown(&["lenet", "--zeros", "0.9"]);
    assert!(marked(&text, "C") > 1 && text.contains("C  weights in memory without their zeros"), "{text}");
    // Its kernels are of 5x5.
    let text = shown(&["lenet", "--winograd", "always"]);
    assert!(text.contains("no layer is computed by Winograd's method here"), "{text}");
    for precision in ["int8", "int16", "fp16"] {
        let json = shown(&["lenet", "--platform", "nv_full", "--precision", precision, "--json"]);
        assert!(json.contains(&format!("\"precision\": \"{precision}\"")), "{json}");
    }
}

#[test]
fn what_a_network_cannot_be_read_with_is_refused_with_what_would_be_right() {
    let folder = tempfile::tempdir().unwrap();
    let sheet = folder.path().join("one.csv");
    let header = "layer,in_channels,in_height,in_width,out_channels,kernel_height,kernel_width,stride_y,stride_x,\
                  out_height,out_width,pool";
    std::fs::write(&sheet, format!("{header}\na,16,8,8,32,3,3,1,1,8,8,False\n")).unwrap();
    let sheet = sheet.to_str().unwrap();
    for (arguments, told) in [
        (
            &["lenet", "--precision", "int61"][..],
            "`int61` is no precision: int8, int16 or fp16; nearest: int16",
        ),
        (
            &["lenet", "--winograd", "alway"],
            "`alway` is no choice of Winograd's method: never, auto or always; nearest: always",
        ),
        (&["lenet", "--zeros", "1.5"], "1.5 is no share: it is from 0 (none) to 1 (all)"),
        (&["digits", "--zeros", "0.5"], "zeros = 0.5: none of its weights are made up"),
        (
            &["lenet", "--platform", "nv_small", "--precision", "fp16"],
            "lenet cannot run on nv_small: precision = \"fp16\": the configuration nv_small does not compute it",
        ),
        (&["--winograd", "auto"], "--winograd, --batch, --placement, --copies, --energy and --cpu are for"),
        (&["digits", "--platform", "fpga-ai-suite", "--precision", "int8"], "are for networks on NVDLA"),
        (&[sheet, "--input-size", "4x4"], "one.csv: a sheet says the input of each layer"),
    ] {
        let (output, _, error) = vp(&[&["run"], arguments].concat());
        assert!(!output.status.success() && error.contains(told), "{arguments:?}: {error}");
    }
    let (output, text, error) =
        vp(&["run", sheet, "--platform", "nv_full", "--precision", "int16", "--winograd", "always"]);
    assert!(output.status.success() && marked(&text, "W") == 1, "{error}{text}");
}

/// 16 products of transformed features for 36 of the direct method.
#[test]
fn energy_is_of_the_products_that_the_array_makes() {
    let of = |winograd: &str| {
        let arguments =
            ["run", "resnet50", "--input-size", "128x128", "--timed", "--energy", "default", "--json"];
        let (output, text, error) = vp(&[&arguments[..], &["--winograd", winograd]].concat());
        assert!(output.status.success(), "{error}");
        let ran: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let layer = ran["layers"].as_array().unwrap().iter().find(|layer| layer["name"] == "res2a_branch2b");
        let layer = layer.expect("the layer").clone();
        assert_eq!(ran["differs_from_direct"], layer["is_winograd"]);
        ["macs", "products", "energy.macs_uj"].map(|name| layer[name].as_f64().expect("a number"))
    };
    let (direct, tiles) = (of("never"), of("always"));
    assert_eq!((direct[0], tiles[0]), (direct[1], direct[1]));
    let off = |of: f64, direct: f64| (of / direct - 16.0 / 36.0).abs();
    assert!(off(tiles[1], direct[1]) < 1e-9 && off(tiles[2], direct[2]) < 1e-9, "{direct:?} {tiles:?}");
}

#[test]
fn published_figures_can_stand_beside_ours_with_activations_in_sram() {
    let (output, text, error) =
        vp(&["study", "published", "resnet50", "--placement", "activations", "--json"]);
    assert!(output.status.success(), "{error}");
    let told: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let [dram, sram] = [0, 1].map(|at| told["networks"][at].clone());
    assert_eq!((&dram["sram_bytes"], &sram["sram"]), (&0.into(), &true.into()));
    let rate = format!("ResNet-50 {:.1}.", sram["frames_per_second"].as_f64().expect("a rate"));
    assert!(include_str!("../../../docs/published.md").contains(&rate), "{rate}");
    let (output, _, error) = vp(&["study", "published", "--placement", "all", "--no-sram"]);
    assert!(!output.status.success() && error.contains("--no-sram"), "{error}");
}

#[test]
fn published_figures_can_stand_beside_ours_by_winograds_method() {
    let row = |arguments: &[&str], name: &str| {
        let (output, text, error) =
            vp(&[&["study", "published", "resnet50", "--no-sram", "--json"], arguments].concat());
        assert!(output.status.success(), "{error}");
        let told: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let layers = told["networks"][0]["layers"].as_array().unwrap();
        layers.iter().find(|layer| layer["name"] == name).expect("the layer").clone()
    };
    let direct = row(&[], "res3a_branch2b");
    assert!(direct["is_winograd"] == false && direct["causes"][0] == "no Winograd", "{direct}");
    let tiles = row(&["--winograd", "always"], "res3a_branch2b");
    assert!(tiles["is_winograd"] == true && !tiles["causes"].to_string().contains("Winograd"), "{tiles}");
    assert!(tiles["cycles"].as_f64() < direct["cycles"].as_f64(), "{direct} {tiles}");
    // A configuration without it.
    let without = row(&["--set", "nvdla.winograd=false"], "res3a_branch2b");
    assert!(without["causes"].to_string().contains("Winograd impossible"), "{without}");
}
