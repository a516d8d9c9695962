//! Networks from a sheet of layers, as performance figures are published: a row a convolution, with the pooling behind
//! it.

use super::synthetic::{self, Maker};
use super::{
    Choices, Compression, Lines, Method, Network, NetworkLayer, Operation, Options, Pooling, Shape, Window,
};
use std::collections::{HashMap, HashSet};
use vp_models::toml_text::TextError;

/// Columns that each sheet has. Others are passed over but for those of a pooling.
const NEEDED: [&str; 12] = [
    "layer",
    "in_channels",
    "in_height",
    "in_width",
    "out_channels",
    "kernel_height",
    "kernel_width",
    "stride_y",
    "stride_x",
    "out_height",
    "out_width",
    "pool",
];

/// The columns, by the names in the first line.
struct Columns<'a> {
    header: Vec<&'a str>,
}

impl Columns<'_> {
    /// Refuses a first line without a column that each sheet has.
    fn check(&self) -> Result<(), TextError> {
        let lacking: Vec<String> = NEEDED
            .iter()
            .filter(|needed| !self.header.contains(needed))
            .map(|name| format!("`{name}`"))
            .collect();
        match lacking.as_slice() {
            [] => Ok(()),
            [one] => {
                Err(TextError { line: Some(1), ..TextError::whole(format!("there is no column {one}")) })
            }
            more => Err(TextError {
                line: Some(1),
                ..TextError::whole(format!("there are no columns {}", more.join(", ")))
            }),
        }
    }
}

/// One row.
struct Row<'a> {
    columns: &'a Columns<'a>,
    line: usize,
    cells: Vec<&'a str>,
}

impl Row<'_> {
    fn refuse(&self, why: String) -> TextError {
        TextError { line: Some(self.line), ..TextError::whole(why) }
    }

    fn text(&self, column: &str) -> Result<&str, TextError> {
        let place = self.columns.header.iter().position(|header| *header == column);
        let place = place.ok_or_else(|| self.refuse(format!("there is no column `{column}`")))?;
        let cell = self.cells.get(place).copied();
        cell.ok_or_else(|| self.refuse(format!("the row ends before its column `{column}`")))
    }

    fn number(&self, column: &str) -> Result<u32, TextError> {
        let text = self.text(column)?;
        text.parse().map_err(|_| self.refuse(format!("`{column}` is `{text}`, which is no number")))
    }

    fn is(&self, column: &str) -> Result<bool, TextError> {
        match self.text(column)?.to_ascii_lowercase().as_str() {
            "true" | "1" => Ok(true),
            "false" | "0" | "" => Ok(false),
            _ => {
                let text = self.text(column)?;
                Err(self.refuse(format!("`{column}` is `{text}`, where TRUE, FALSE, 1 or 0 would be right")))
            }
        }
    }

    /// Height and width are written in this order.
    fn pair(&self, names: [&str; 2]) -> Result<[u32; 2], TextError> {
        Ok([self.number(names[1])?, self.number(names[0])?])
    }
}

/// The window that makes so many outputs of such an input, padded evenly where it must be.
fn window(size: [u32; 2], stride: [u32; 2], input: [u32; 2], output: [u32; 2]) -> Window {
    // What is beyond all numbers is refused as what lies on no input.
    let covered =
        |axis: usize| output[axis].saturating_sub(1).saturating_mul(stride[axis]).saturating_add(size[axis]);
    let missing = [0, 1].map(|axis| covered(axis).saturating_sub(input[axis]));
    let before = missing.map(|missing| missing / 2);
    // Padding comes behind if there is only one line of it; of several half lie before.
    let after = [0, 1].map(|axis| missing[axis] - before[axis]);
    Window { size, stride, dilation: [1; 2], before, after }
}

pub(super) fn network(name: &str, text: &str, options: &Options) -> Result<Network, TextError> {
    if options.input_size.is_some() {
        let why = "a sheet says the input of each layer: the first one's cannot have another size";
        return Err(TextError::whole(why));
    }
    // Spreadsheets put a byte order mark before UTF-8.
    let mut lines = text.strip_prefix('\u{feff}').unwrap_or(text).lines().enumerate();
    let header = lines.next().map_or(Vec::new(), |(_, line)| line.split(',').map(str::trim).collect());
    let columns = Columns { header };
    columns.check()?;
    let input = Shape { width: 1, height: 1, channels: 1 };
    let precision = options.precision.unwrap_or_default();
    let compression = Compression::of(options.zeros);
    let choices = Choices { compression, winograd: options.winograd.unwrap_or_default() };
    let network = Network {
        name: name.to_owned(),
        input,
        is_image: false,
        precision,
        choices,
        layers: Vec::new(),
        outputs: Vec::new(),
        demands: Vec::new(),
        lines: Lines::default(),
    };
    let maker = Maker::new(Some(1), precision).with_zeros(options.zeros);
    let mut builder = Builder::new(network, maker);
    for (at, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let cells = line.split(',').map(str::trim).collect();
        builder.line = at + 1;
        builder.row(&Row { columns: &columns, line: at + 1, cells })?;
    }
    builder.network.finished().map_err(TextError::whole)
}

struct Builder {
    network: Network,
    maker: Maker,
    /// The line of the row whose layers are made.
    line: usize,
    /// The layers' names, and the latest layer that makes a cube of each size.
    names: HashSet<String>,
    latest: HashMap<Shape, usize>,
    /// The number that the next row of a name gets that rows had before.
    numbers: HashMap<String, usize>,
}

impl Builder {
    fn new(network: Network, maker: Maker) -> Builder {
        let (names, latest, numbers) = Default::default();
        Builder { network, maker, line: 0, names, latest, numbers }
    }

    /// The name of a row's layer. Halves of a layer that was once cut for two devices have one name.
    fn free_name(&mut self, base: &str) -> String {
        if !self.names.contains(base) {
            return base.to_owned();
        }
        let number = self.numbers.entry(base.to_owned()).or_insert(2);
        loop {
            let name = format!("{base} ({number})");
            *number += 1;
            if !self.names.contains(&name) {
                return name;
            }
        }
    }

    fn push(&mut self, name: String, source: Option<Option<usize>>, sizes: [Shape; 2], operation: Operation) {
        let ([input, output], sources) = (sizes, Vec::from_iter(source));
        self.maker.made(&operation, &sources, &[input]);
        self.names.insert(name.clone());
        self.latest.insert(output, self.network.layers.len());
        self.network.layers.push(NetworkLayer { name, sources, input, output, operation, cycles: None });
        self.network.lines.layers.push(self.line);
    }

    /// The latest cube of that size; where there is none, one that nobody makes.
    fn source(&mut self, row: &Row<'_>, name: &str, input: Shape) -> Result<Option<usize>, TextError> {
        if self.network.layers.is_empty() {
            (self.network.input, self.network.is_image) = (input, input.channels <= 4);
            return Ok(None);
        }
        if let Some(&found) = self.latest.get(&input) {
            return Ok(Some(found));
        }
        self.maker.take(&[input.width, input.height, input.channels]).map_err(|why| row.refuse(why))?;
        let place = self.network.layers.len();
        let values = synthetic::example_input_of(input, self.network.precision, place as u64);
        self.push(format!("{name} input"), None, [input; 2], Operation::Constant(values));
        Ok(Some(place))
    }

    fn row(&mut self, row: &Row<'_>) -> Result<(), TextError> {
        let base = row.text("layer")?;
        let [width, height] = row.pair(["in_height", "in_width"])?;
        let input = Shape { width, height, channels: row.number("in_channels")? };
        let input = input.check().map_err(|why| row.refuse(why))?;
        let name = self.free_name(base);
        let source = self.source(row, &name, input)?;
        let size = row.pair(["kernel_height", "kernel_width"])?;
        let (stride, output) = (row.pair(["stride_y", "stride_x"])?, row.pair(["out_height", "out_width"])?);
        let kernels = row.number("out_channels")?;
        let window = window(size, stride, [width, height], output);
        let made = self.shape(row, window, input, kernels)?;
        if made.width < output[0] || made.height < output[1] || kernels == 0 {
            return Err(row.refuse(format!("{kernels} kernels of {}x{} make {made}", size[0], size[1])));
        }
        let convolution = synthetic::alone(&mut self.maker, input, kernels, window, &[source]);
        let convolution = convolution.map_err(|why| row.refuse(why))?;
        let convolved = self.network.layers.len();
        self.push(name.clone(), Some(source), [input, made], Operation::Convolution(convolution));
        if !row.is("pool")? {
            return Ok(());
        }
        let size = row.pair(["pool_height", "pool_width"])?;
        let stride = row.pair(["pool_stride_y", "pool_stride_x"])?;
        let output = row.pair(["pooled_height", "pooled_width"])?;
        let Window { before, after, .. } = self::window(size, stride, [made.width, made.height], output);
        // What is missing hangs over at the end.
        let after = [before[0] + after[0], before[1] + after[1]];
        let window = Window { size, stride, dilation: [1; 2], before: [0; 2], after };
        let pooled = self.shape(row, window, made, kernels)?;
        let operation = Operation::Pooling(Pooling { method: Method::Max, window });
        self.push(format!("{name} pooling"), Some(Some(convolved)), [made, pooled], operation);
        Ok(())
    }

    fn shape(&self, row: &Row<'_>, window: Window, input: Shape, channels: u32) -> Result<Shape, TextError> {
        let none =
            || row.refuse(format!("no window of {}x{} lies on {input}", window.size[0], window.size[1]));
        let [width, height] = window.outputs(input).ok_or_else(none)?;
        Shape { width, height, channels }.check().map_err(|why| row.refuse(why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "layer,in_channels,in_height,in_width,out_channels,out_height,out_width,kernel_height,\
                          kernel_width,stride_y,stride_x,pool\n";

    fn refusal(rows: &str) -> String {
        network("sheet", &format!("{HEADER}{rows}"), &Options::default()).unwrap_err().to_string()
    }

    #[test]
    fn rows_of_one_name_are_numbered_past_names_that_are_taken() {
        let row = |name: &str| format!("{name},8,8,8,8,8,8,1,1,1,1,FALSE\n");
        let rows: String = ["a", "a (3)", "a", "a", "a", "b"].map(row).concat();
        let network = network("sheet", &format!("{HEADER}{rows}"), &Options::default()).unwrap();
        let names: Vec<&str> = network.layers.iter().map(|layer| layer.name.as_str()).collect();
        assert_eq!(names, ["a", "a (3)", "a (2)", "a (4)", "a (5)", "b"]);
    }

    #[test]
    fn pooling_is_said_by_true_or_false() {
        let layers = |pool: &str| {
            let header = HEADER.replace(
                "pool",
                "pool,pool_height,pool_width,pool_stride_y,pool_stride_x,pooled_height,pooled_width",
            );
            let sheet = format!("\u{feff}{header}a,8,8,8,8,8,8,1,1,1,1,{pool},2,2,2,2,4,4\n");
            network("sheet", &sheet, &Options::default()).map(|network| network.layers.len())
        };
        for (pool, count) in [("TRUE", 2), ("true", 2), ("1", 2), ("False", 1), ("0", 1), ("", 1)] {
            assert_eq!(layers(pool).unwrap(), count, "{pool}");
        }
        let why = layers("max").unwrap_err().to_string();
        assert_eq!(why, "line 2: `pool` is `max`, where TRUE, FALSE, 1 or 0 would be right");
    }

    #[test]
    fn columns_and_cells_that_lack_are_named() {
        let why =
            network("sheet", "layer,in_height,in_width,in_channels,out_channels,pool\n", &Options::default());
        assert_eq!(
            why.unwrap_err().to_string(),
            "line 1: there are no columns `kernel_height`, `kernel_width`, `stride_y`, `stride_x`, `out_height`, `out_width`"
        );
        assert_eq!(refusal("a,8,8,8,8,8,8,1,1,1\n"), "line 2: the row ends before its column `stride_x`");
        assert_eq!(refusal("a,8,8,8,8,8,8,1,1,1,1,1\n"), "line 2: there is no column `pool_width`");
    }

    #[test]
    fn a_window_beyond_all_numbers_is_refused() {
        let why = refusal("a,3,16,16,8,4294967295,16,3,3,4294967295,1,FALSE\n");
        assert_eq!(why, "line 2: 8 kernels of 3x3 make 16x1x8");
        let why = refusal("a,3,16,16,8,16,16,3,4294967295,1,4294967295,FALSE\n");
        assert!(why.starts_with("line 2: "), "{why}");
    }

    #[test]
    fn more_weights_and_constants_than_memory_takes_are_not_made_up() {
        let many = "more than 268435456 weights and constants are to be made up";
        let why = refusal("a,8192,4096,4096,8192,1,1,4096,4096,1,1,FALSE\n");
        assert_eq!(why, format!("line 2: {many}"));
        let why = refusal("a,3,16,16,8,16,16,3,3,1,1,FALSE\nb,8192,8192,8192,8,8192,8192,1,1,1,1,FALSE\n");
        assert_eq!(why, format!("line 3: {many}"));
    }
}
