//! One convolution from the command line.

use crate::cli::Failure;
use std::fmt::Write as _;
use vp_host::network::{Network, Options};

/// A convolution.
#[derive(Debug, Clone, Default, PartialEq, clap::Args)]
#[command(next_help_heading = "One convolution")]
pub(super) struct ConvolutionArgs {
    /// Columns, lines and channels of its input, such as 56x56x64
    #[arg(long, value_name = "WIDTHxHEIGHTxCHANNELS", value_parser = sizes::<3>)]
    input: Option<[u32; 3]>,

    /// Number of its kernels
    #[arg(long, value_name = "N")]
    kernels: Option<u32>,

    /// Columns and rows of a kernel, such as 3x3
    #[arg(long, value_name = "COLUMNSxROWS", value_parser = sizes::<2>)]
    kernel: Option<[u32; 2]>,

    /// Steps of its windows [default: 1x1]
    #[arg(long, value_name = "COLUMNSxROWS", value_parser = sizes::<2>)]
    stride: Option<[u32; 2]>,

    /// Padding on each side [default: 0x0]
    #[arg(long, value_name = "COLUMNSxROWS", value_parser = sizes::<2>)]
    padding: Option<[u32; 2]>,

    /// Groups of channels that do not see each other [default: 1]
    #[arg(long, value_name = "N")]
    groups: Option<u32>,

    /// Distances of a kernel's taps [default: 1x1]
    #[arg(long, value_name = "COLUMNSxROWS", value_parser = sizes::<2>)]
    dilation: Option<[u32; 2]>,
}

/// `56x56x64`.
fn sizes<const N: usize>(text: &str) -> Result<[u32; N], String> {
    let numbers: Option<Vec<u32>> = text.split('x').map(|number| number.parse().ok()).collect();
    let numbers = numbers.and_then(|numbers| <[u32; N]>::try_from(numbers).ok());
    numbers.ok_or_else(|| {
        let example = ["", "", "3x3", "56x56x64"].get(N).copied().unwrap_or_default();
        format!("write {N} numbers with an x between, such as {example}")
    })
}

impl ConvolutionArgs {
    pub(super) fn is_given(&self) -> bool {
        *self != ConvolutionArgs::default()
    }

    /// The network of this layer alone, with made-up weights.
    pub(super) fn network(&self, options: Options) -> Result<Network, Failure> {
        let (Some([width, height, channels]), Some(kernels), Some(kernel)) =
            (self.input, self.kernels, self.kernel)
        else {
            return Err(Failure::new("one convolution takes --input, --kernels and --kernel")
                .hint("vp plan conv --input 56x56x64 --kernels 64 --kernel 3x3"));
        };
        let mut text = format!(
            "name = 'conv'\nseed = 1\ninput = {{ width = {width}, height = {height}, channels = {channels} }}\n\
             [[layer]]\nkind = 'convolution'\nname = 'conv'\nkernels = {kernels}\nkernel = {kernel:?}\n"
        );
        let pairs = [("stride", self.stride), ("padding", self.padding), ("dilation", self.dilation)];
        for (key, pair) in pairs {
            if let Some(pair) = pair {
                let _ = writeln!(text, "{key} = {pair:?}");
            }
        }
        if let Some(groups) = self.groups {
            let _ = writeln!(text, "groups = {groups}");
        }
        let network = Network::parse_with(&text, &options, &mut |_| Err("no file".to_owned()));
        // Its lines are those of no file.
        network.map_err(|error| Failure::new(vp_models::toml_text::TextError { line: None, ..error }))
    }
}
