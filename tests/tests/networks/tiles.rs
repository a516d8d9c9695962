//! Winograd's method where outputs are of any size: hardware makes whole tiles, into memory with room for them, and whoever reads that
//! finds what a slow and obvious computation leaves.

use std::fmt::Write as _;
use vp_host::network::{
    Measured, Memories, Network, Placement, Plan, PlanError, PlanOptions, Shape, Winograd, Work,
};
use vp_models::nvdla::numeric::Precision;
use vp_models::nvdla::registers::{Unit, cdma};
use vp_models::platform::Description;
use vp_tests::effort::cases;
use vp_tests::random::NetworkDraw;
use vp_tests::reference::run_layers_by;

/// Writes the text of a network layer by layer.
struct Text<'a> {
    draw: &'a mut NetworkDraw,
    text: String,
    /// Names and sizes of what there is to read. The network's input is the first.
    made: Vec<(String, Shape)>,
    precision: Precision,
}

impl Text<'_> {
    fn any<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.draw.any(0..of.len() as u32) as usize].clone()
    }

    fn channels(&mut self) -> u32 {
        // In fp16 the reference takes channels without places between that nobody fills.
        if self.precision == Precision::Fp16 { 16 * self.draw.any(1..4) } else { self.draw.any(1..50) }
    }

    fn layer(&mut self, kind: &str, rest: &str, output: Shape) -> (String, Shape) {
        let name = format!("l{}", self.made.len());
        writeln!(self.text, "[[layer]]\nkind = '{kind}'\nname = '{name}'\n{rest}").unwrap();
        self.made.push((name.clone(), output));
        (name, output)
    }

    /// A convolution of this size from there that keeps columns and lines.
    fn same(
        &mut self,
        (name, from): &(String, Shape),
        size: u32,
        kernels: u32,
        more: &str,
    ) -> (String, Shape) {
        let activation = self.any(&["", "relu = true\n", "leaky = { scale = 20, shift = 7 }\n"]);
        let rest = format!(
            "input = '{name}'\nkernels = {kernels}\nkernel = [{size}, {size}]\npadding = [{0}, {0}]\n{activation}{more}",
            size / 2
        );
        self.layer("convolution", &rest, Shape { channels: kernels, ..*from })
    }

    /// One with any padding.
    fn padded(&mut self, (name, from): &(String, Shape)) {
        let mut side = |size: u32| {
            let least = 3u32.saturating_sub(size);
            let before = self.draw.any(least.min(2)..3);
            [before, self.draw.any(least.saturating_sub(before)..3)]
        };
        let [[left, right], [above, below]] = [from.width, from.height].map(&mut side);
        let kernels = self.channels();
        let rest = format!(
            "input = '{name}'\nkernels = {kernels}\nkernel = [3, 3]\npadding = [{left}, {above}]\n\
             padding_after = [{right}, {below}]\n"
        );
        let output = Shape {
            width: from.width + left + right - 2,
            height: from.height + above + below - 2,
            channels: kernels,
        };
        self.layer("convolution", &rest, output);
    }

    fn pooling(&mut self, (name, from): &(String, Shape)) {
        let [columns, rows] = [from.width, from.height].map(|size| size.min(self.draw.any(1..4)));
        let method = self.any(&["max", "min", "average"]);
        let rest =
            format!("input = '{name}'\nmethod = '{method}'\nkernel = [{columns}, {rows}]\nstride = [1, 1]\n");
        let output = Shape { width: from.width + 1 - columns, height: from.height + 1 - rows, ..*from };
        self.layer("pooling", &rest, output);
    }

    /// Two side by side, of which one is by Winograd's method.
    fn concatenation(&mut self, from: &(String, Shape)) {
        let kernels = [self.channels(), self.channels()];
        let tiles = self.same(from, 3, kernels[0], "");
        let other = match self.draw.any(0..3) {
            0 => self.same(from, 1, kernels[1], ""),
            1 => self.same(from, 3, kernels[1], ""),
            _ => {
                let rest = format!(
                    "input = '{}'\nmethod = 'max'\nkernel = [3, 3]\nstride = [1, 1]\npadding = [1, 1]\n",
                    from.0
                );
                self.layer("pooling", &rest, from.1)
            }
        };
        let parts = if self.draw.any(0..2) == 0 { [tiles, other] } else { [other, tiles] };
        let output = Shape { channels: parts[0].1.channels + parts[1].1.channels, ..from.1 };
        let rest = format!("inputs = ['{}', '{}']\n", parts[0].0, parts[1].0);
        self.layer("concatenation", &rest, output);
    }

    /// A layer of any kind.
    fn any_layer(&mut self) {
        let from = match self.draw.any(0..3) {
            0 => self.any(&self.made.clone()),
            _ => self.made[self.made.len() - 1].clone(),
        };
        let Shape { width, height, channels } = from.1;
        let alike = |alike: &dyn Fn(&Shape) -> bool| {
            self.made.iter().filter(|(_, shape)| alike(shape)).cloned().collect::<Vec<_>>()
        };
        let same_size = alike(&|shape| (shape.width, shape.height) == (width, height));
        let same_shape = alike(&|shape| *shape == from.1);
        match self.draw.any(0..8) {
            0 | 1 => self.padded(&from),
            2 | 3 => {
                let (name, added) = self.any(&same_size);
                let size = self.any(&[3, 3, 1]);
                self.same(&from, size, added.channels, &format!("add = {{ layer = '{name}' }}\n"));
            }
            4 => self.concatenation(&from),
            5 => self.pooling(&from),
            6 => {
                let rest = format!("inputs = ['{}', '{}']\n", from.0, self.any(&same_shape).0);
                self.layer("sum", &rest, from.1);
            }
            _ if width * height < 60 => {
                let output = Shape { width: 2 * width, height: 2 * height, channels };
                self.layer("upsampling", &format!("input = '{}'\nfactor = 2\n", from.0), output);
            }
            _ => {
                let kernels = self.channels();
                self.same(&from, 1, kernels, "");
            }
        }
    }
}

/// A network of made-up weights, by its text.
fn drawn(draw: &mut NetworkDraw, precision: Precision) -> String {
    let name = match precision {
        Precision::Int8 => "int8",
        Precision::Int16 => "int16",
        Precision::Fp16 => "fp16",
    };
    let mut text = Text { draw, text: String::new(), made: Vec::new(), precision };
    let channels = text.channels();
    let input = Shape { width: text.draw.any(3..16), height: text.draw.any(3..16), channels };
    text.made.push(("input".to_owned(), input));
    let Shape { width, height, channels } = input;
    write!(
        text.text,
        "name = 'drawn'\nseed = {}\nprecision = '{name}'\nwinograd = 'always'\n\
         input = {{ width = {width}, height = {height}, channels = {channels} }}\n",
        text.draw.any(0..1000)
    )
    .unwrap();
    for _ in 0..text.draw.any(1..6) {
        text.any_layer();
    }
    text.text
}

/// Layers of which some hardware layer is by Winograd's method.
fn by_winograd(plan: &Plan) -> Vec<usize> {
    let is_it = |step: &&vp_host::network::PlanStep| match &step.work {
        Work::Hardware { program, .. } => program.writes.iter().any(|write| {
            write.unit == Unit::Cdma && write.register.name == cdma::D_MISC_CFG.name && write.value & 1 == 1
        }),
        Work::Copy { .. } | Work::Cpu { .. } => false,
    };
    let mut layers: Vec<usize> = plan.steps.iter().filter(is_it).map(|step| step.layer).collect();
    layers.dedup();
    layers
}

/// Runs a network, and returns its output, and the layers that were by Winograd's method; none if the planner cannot take the network.
fn run(
    network: &Network,
    described: &Description,
    options: &PlanOptions,
    inputs: &[&[i8]],
) -> Option<(Vec<i8>, Vec<usize>)> {
    let config = &described.nvdla().unwrap().config;
    let plan = match Plan::with(network, config, &Memories::of(described), options) {
        Err(PlanError::ConvolutionBuffer { .. }) => {
            return None;
        }
        planned => planned.unwrap(),
    };
    let measured = Measured::with(network, described, inputs, options).unwrap();
    Some((measured.outputs.concat(), by_winograd(&plan)))
}

fn parsed(text: &str) -> Network {
    Network::parse(text, &mut |_| Err("none".to_owned())).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Sums, concatenations, poolings, what the CPU does: in each format, cut or whole, wherever tensors lie.
#[test]
fn whoever_reads_tiles_of_outputs_of_any_size_finds_the_references_elements() {
    let mut small = Description::named("nv_full").unwrap();
    let config = &mut small.nvdla_mut().unwrap().config;
    (config.cbuf_banks, config.cbuf_bank_depth) = (8, 64);
    let platforms = [Description::named("nv_full").unwrap(), small, Description::named("nv_large").unwrap()];
    let precisions = [Precision::Int8, Precision::Int16, Precision::Fp16];
    let placements = [Placement::Dram, Placement::Activations, Placement::All];
    let (mut ran, mut of_any_size) = (0, 0);
    let all = cases(60);
    for seed in 0..u64::from(all) {
        let mut draw = NetworkDraw::new(seed);
        let precision = precisions[draw.any(0..3) as usize];
        let mut described = platforms[draw.any(0..3) as usize].clone();
        if !described.nvdla().unwrap().config.computes(precision) {
            described = platforms[0].clone();
        }
        let text = drawn(&mut draw, precision);
        let network = parsed(&text);
        described.sram0.size = [4096, 30_000, 1 << 20][draw.any(0..3) as usize];
        let frames = [1, 1, 2][draw.any(0..3) as usize];
        let placement = placements[draw.any(0..3) as usize];
        let options = PlanOptions { frames, placement, ..PlanOptions::default() };
        let inputs: Vec<Vec<i8>> = (0..frames).map(|frame| network.example_input(frame.into())).collect();
        let slices: Vec<&[i8]> = inputs.iter().map(Vec::as_slice).collect();
        let Some((output, tiles)) = run(&network, &described, &options, &slices) else { continue };
        let expected = |network: &Network, tiles: &[usize]| -> Vec<i8> {
            inputs.iter().flat_map(|input| run_layers_by(network, input, tiles).pop().unwrap()).collect()
        };
        if output != expected(&network, &tiles) {
            let first = (1..=network.layers.len()).find(|&count| {
                let before = network.clone().truncated(count);
                let made = run(&before, &described, &options, &slices);
                made.is_some_and(|(output, tiles)| output != expected(&before, &tiles))
            });
            panic!("{}, {options:?}, seed {seed}: the first {first:?} layers of\n{text}", described.name);
        }
        ran += 1;
        let is_odd = |layer: &&usize| {
            let Shape { width, height, .. } = network.layers[**layer].output;
            !width.is_multiple_of(4) || !height.is_multiple_of(4)
        };
        of_any_size += tiles.iter().filter(is_odd).count();
    }
    assert!(
        ran * 3 > all * 2 && of_any_size > all as usize,
        "{ran} ran, {of_any_size} layers were of odd sizes"
    );
}

/// An output takes as many products as the tiles that cover it: at 29 of 32 columns and lines the method gains, at 5 of 8 it does not.
#[test]
fn tiles_that_are_not_whole_are_counted_where_the_method_is_chosen() {
    let described = Description::named("nv_full").unwrap();
    let layer = |size: u32| {
        let text = format!(
            "name = 'square'\nseed = 7\nprecision = 'int16'\nwinograd = 'auto'\n\
             input = {{ width = {size}, height = {size}, channels = 64 }}\n[[layer]]\nname = 'conv'\n\
             kind = 'convolution'\nkernels = 64\nkernel = [3, 3]\npadding = [1, 1]\n"
        );
        parsed(&text)
    };
    let measure = |network: &Network| {
        let input = network.example_input(1);
        let (_, tiles) = run(network, &described, &PlanOptions::default(), &[&input]).unwrap();
        (tiles.len(), Measured::of(network, &described, &input).unwrap().cycles())
    };
    let with = |size: u32, winograd: Winograd| {
        let mut network = layer(size);
        network.choices.winograd = winograd;
        measure(&network)
    };
    for (size, is_chosen) in [(29, true), (5, false)] {
        let [(_, direct), (tiles, auto), (one, always)] =
            [Winograd::Never, Winograd::Auto, Winograd::Always].map(|winograd| with(size, winograd));
        assert_eq!((tiles, one), (usize::from(is_chosen), 1), "{size}");
        assert_eq!(auto, direct.min(always), "{size}: {direct} cycles, {always} by Winograd's method");
    }
}
