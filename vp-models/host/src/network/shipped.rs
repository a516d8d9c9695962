//! The networks that are built in: `networks/` in the repository.

use super::{Network, Options, digits};
use vp_models::toml_text::TextError;

macro_rules! network {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../../networks/", $name, "/network.toml")))
    };
}

/// Names and descriptions; weights are made up, but for `digits`.
const SHIPPED: [(&str, &str); 7] = [
    network!("digits"),
    network!("lenet"),
    network!("alexnet"),
    network!("googlenet"),
    network!("resnet50"),
    network!("mobilenet_v1"),
    network!("yolov3_tiny"),
];

impl Network {
    /// The names of the networks that are built in, small to large.
    pub const NAMES: [&'static str; 7] = {
        let mut names = [""; 7];
        let mut at = 0;
        while at < names.len() {
            names[at] = SHIPPED[at].0;
            at += 1;
        }
        names
    };

    /// The text of the built-in network of that name, for who changes it; its tensors are [`digits::tensor`]'s.
    pub fn text(name: &str) -> Option<&'static str> {
        SHIPPED.iter().find(|(shipped, _)| *shipped == name).map(|(_, text)| *text)
    }

    /// The built-in network of that name; `None` if there is none.
    ///
    /// # Errors
    /// When it cannot have an input of the size asked for.
    pub fn named(name: &str, options: &Options) -> Result<Option<Network>, TextError> {
        let Some(text) = Network::text(name) else { return Ok(None) };
        Network::parse_with(text, options, &mut |file| digits::tensor(file)).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Shape;

    fn named(name: &str) -> Network {
        Network::named(name, &Options::default()).unwrap().unwrap()
    }

    #[test]
    fn networks_have_the_sizes_of_their_papers() {
        // Products for an image, in millions, and what comes out.
        let expected = [
            ("lenet", 2, [1, 1, 10]),
            ("alexnet", 724, [1, 1, 1000]),
            ("googlenet", 1582, [1, 1, 1000]),
            ("resnet50", 3857, [1, 1, 1000]),
            ("mobilenet_v1", 568, [1, 1, 1000]),
            ("yolov3_tiny", 2782, [26, 26, 510]),
        ];
        for (name, macs, [width, height, channels]) in expected {
            let network = named(name);
            assert_eq!(network.output(), Shape { width, height, channels }, "{name}");
            assert_eq!(network.macs() / 1_000_000, macs, "{name}");
        }
        assert_eq!(Network::named("vgg", &Options::default()), Ok(None));
    }

    #[test]
    fn an_input_can_be_smaller() {
        let options = Options { input_size: Some([64, 64]), ..Options::default() };
        let network = Network::named("resnet50", &options).unwrap().unwrap();
        assert_eq!(network.input, Shape { width: 64, height: 64, channels: 3 });
        assert_eq!(network.output().channels, 1000);
    }
}
