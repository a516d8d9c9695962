//! Operations in a few words.

use super::super::layout;
use super::super::network::OperationWork;

/// Work of an operation, as people say it.
pub(super) fn does(what: &OperationWork) -> String {
    match what {
        OperationWork::Bdma(copies) => match copies.len() {
            1 => "1 copy".to_owned(),
            count => format!("{count} copies"),
        },
        OperationWork::Convolution { descriptor, .. } => convolution(descriptor),
        OperationWork::Sdp { descriptor, .. } => sdp(descriptor),
        OperationWork::Pdp { descriptor, .. } => pooling(descriptor),
        OperationWork::Cdp { descriptor, .. } => format!("over {} channels", descriptor.local_size),
        OperationWork::Rubik { descriptor, .. } => {
            let mode = named(descriptor.mode, &["contract", "split", "merge"]);
            match descriptor.mode {
                0 => format!("{mode} {}x{}", descriptor.stride_x, descriptor.stride_y),
                _ => mode,
            }
        }
    }
}

fn named(code: u8, names: &[&str]) -> String {
    names.get(usize::from(code)).map_or_else(|| format!("code {code}"), |name| (*name).to_owned())
}

fn padding(sides: [u8; 4]) -> Option<String> {
    let [left, right, top, bottom] = sides;
    sides.iter().any(|side| *side > 0).then(|| match left == right && left == top && left == bottom {
        true => format!("padding {left}"),
        false => format!("padding {left},{right},{top},{bottom}"),
    })
}

fn convolution(it: &layout::Convolution) -> String {
    /// Features, where there are formats of pixels beside them.
    const FEATURES: u8 = 36;
    let when = |is_so: bool, text: &str| is_so.then(|| text.to_owned());
    let [width, height] = [it.kernel_width, it.kernel_height].map(zerocopy::U16::get);
    let parts = [
        Some(format!("{width}x{height}")),
        when(it.mode == 1, "Winograd"),
        (it.data_format != FEATURES).then(|| format!("pixels of format {}", it.data_format)),
        when_other(it.stride_x, it.stride_y, 1, "stride"),
        when_other(it.dilation_x, it.dilation_y, 1, "dilation"),
        padding([it.pad_left, it.pad_right, it.pad_top, it.pad_bottom]),
        Some(format!("banks {}+{}", it.data_banks, it.weight_banks)),
        when(it.weight_format != 0, "compressed weights"),
        when(it.data_reuse != 0, "data there"),
        when(it.weight_reuse != 0, "weights there"),
        when(it.skip_data_release != 0, "data kept"),
        when(it.skip_weight_release != 0, "weights kept"),
        (it.batch > 1).then(|| format!("batch of {}", it.batch)),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn when_other(x: u8, y: u8, usual: u8, name: &str) -> Option<String> {
    // A zero means one, too.
    let is_usual = |step: u8| step == usual || step == 0;
    (!is_usual(x) || !is_usual(y)).then(|| format!("{name} {x}x{y}"))
}

fn sdp(it: &layout::Sdp) -> String {
    let stage = |(name, stage): (&str, &layout::Stage)| {
        (stage.enable != 0).then(|| {
            let alu = named(stage.alu, &["max", "min", "add", "equal"]);
            let mut parts = match stage.operation {
                0 => Vec::new(),
                1 => vec!["multiply".to_owned()],
                2 => vec![alu],
                3 => vec!["multiply".to_owned(), alu],
                code => vec![format!("operation {code}")],
            };
            if let (1.., Some(by)) =
                (stage.operation, ["layer", "kernel", "point"].get(usize::from(stage.mode)))
            {
                parts.push(format!("by {by}"));
            }
            match stage.activation {
                0 => {}
                code => parts.push(named(code, &["", "ReLU", "table", "PReLU"])),
            }
            format!("{name}: {}", parts.join(" "))
        })
    };
    let stages: Vec<String> = ["x1", "x2", "y"].into_iter().zip(&it.stages).filter_map(stage).collect();
    match stages.is_empty() {
        true => "as it is".to_owned(),
        false => stages.join(", "),
    }
}

fn pooling(it: &layout::Pdp) -> String {
    let method = named(it.mode, &["average", "max", "min"]);
    let [width, height] = [it.pool_width, it.pool_height].map(|extent| u16::from(extent) + 1);
    let parts = [
        Some(format!("{method} {width}x{height}")),
        when_other(it.stride_x, it.stride_y, 1, "stride"),
        padding([it.pad_left, it.pad_right, it.pad_top, it.pad_bottom]),
        (it.splits > 1).then(|| format!("{} strips", it.splits)),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
