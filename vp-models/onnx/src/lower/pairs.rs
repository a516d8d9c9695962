//! Nodes of two tensors, or more: of two cubes, or of a cube and constants.

use super::draft::{DraftActivation, DraftKind};
use super::drafter::{Drafter, NoNetwork};
use super::function::Function;
use super::nodes::{Decided, cpu, output_of};
use vp_host::network::PairMethod;
use vp_tensors::{Binary, Node, Operator, Reduction, ValueId};

impl Drafter<'_> {
    pub(super) fn binary(&mut self, at: usize, node: &Node, binary: Binary) -> Decided {
        let &[Some(first), Some(second)] = &node.inputs[..] else { cpu!("it has not two operands") };
        let output = output_of(node);
        let constant = [first, second].map(|id| self.floats.graph.constant(id).is_some());
        let data = match constant {
            [false, false] => return self.pair(at, binary, [first, second], output),
            [true, true] => cpu!("it is a constant"),
            [false, true] if binary == Binary::Pow && self.is_two(second) => {
                return self.pair(at, Binary::Mul, [first, first], output);
            }
            [is_first, _] => {
                if is_first {
                    second
                } else {
                    first
                }
            }
        };
        if self.shape(data) != self.shape(output) {
            cpu!("its constant has more elements than what it is joined with");
        }
        if self.is_left_behind(at, data) {
            cpu!("it stands behind all units");
        }
        self.place(data)?;
        let Some(numbers) = self.channelwise(data, if constant[0] { first } else { second }) else {
            cpu!("its constant is not one number for each channel");
        };
        let count = numbers.len();
        let (ones, zeros) = (vec![1.0; count], vec![0.0; count]);
        let negative = |numbers: Vec<f64>| numbers.iter().map(|number| -number).collect::<Vec<_>>();
        let factors = match (binary, constant[0]) {
            (Binary::Add, _) => (ones, numbers),
            (Binary::Sub, false) => (ones, negative(numbers)),
            (Binary::Sub, true) => (vec![-1.0; count], numbers),
            (Binary::Mul, _) => (numbers, zeros),
            (Binary::Div, false) if numbers.iter().all(|number| *number != 0.0) => {
                (numbers.iter().map(|number| 1.0 / number).collect(), zeros)
            }
            (Binary::Pow, false) => cpu!("no unit has Pow but with exponent 2"),
            _ => cpu!("no unit has {}", Operator::Binary(binary).name()),
        };
        self.scaled(at, data, output, factors)
    }

    /// Returns true of a constant 2.
    fn is_two(&self, value: ValueId) -> bool {
        let constant = self.floats.graph.constant(value);
        constant.is_some_and(|tensor| tensor.elements.len() == 1 && tensor.to_floats() == [2.0])
    }

    pub(super) fn variadic(&mut self, at: usize, node: &Node, reduction: Reduction) -> Decided {
        let inputs: Vec<ValueId> = node.inputs.iter().flatten().copied().collect();
        let output = output_of(node);
        match (inputs.as_slice(), reduction) {
            ([one], _) => self.viewed(at, *one, output, |view, _| Some(view.clone())),
            ([first, second], Reduction::Sum) => self.pair(at, Binary::Add, [*first, *second], output),
            ([first, second], Reduction::Max | Reduction::Min) => {
                let constant =
                    [*second, *first].map(|id| self.floats.numbers(id).and_then(|of| of.as_floats()));
                let (data, bound) = match constant {
                    [Some(&[bound]), _] => (*first, bound),
                    [_, Some(&[bound])] => (*second, bound),
                    _ => {
                        let method = match reduction {
                            Reduction::Max => PairMethod::Maximum,
                            _ => PairMethod::Minimum,
                        };
                        return self.cubes(at, DraftKind::Pair(method), [*first, *second], output);
                    }
                };
                if self.shape(data) != self.shape(output) {
                    cpu!("its constant has more axes than what it is joined with");
                }
                match (reduction, bound) {
                    (Reduction::Max, 0.0) => self.activated(at, data, output, DraftActivation::Relu),
                    (Reduction::Max, _) => {
                        self.function(at, data, output, Function::Clip(bound, f32::INFINITY))
                    }
                    _ => self.function(at, data, output, Function::Clip(f32::NEG_INFINITY, bound)),
                }
            }
            _ => cpu!("no unit joins so many tensors"),
        }
    }

    /// Two tensors that flow.
    fn pair(&mut self, at: usize, binary: Binary, [first, second]: [ValueId; 2], output: ValueId) -> Decided {
        match binary {
            Binary::Add => {
                for (sum, other) in [(first, second), (second, first)] {
                    if self.adds(at, sum, other, output)? {
                        return Ok(Ok(()));
                    }
                }
                self.cubes(at, DraftKind::Sum { takes_first_off: false }, [first, second], output)
            }
            Binary::Sub => self.cubes(at, DraftKind::Sum { takes_first_off: true }, [second, first], output),
            Binary::Mul => {
                if self.gated(at, [first, second], output)? {
                    return Ok(Ok(()));
                }
                for (cube, factors) in [(first, second), (second, first)] {
                    let (whole, pixel) = (self.shape(cube), self.shape(factors));
                    if whole == self.shape(output)
                        && whole != pixel
                        && pixel.len() == 4
                        && whole.len() == 4
                        && pixel[..2] == whole[..2]
                        && pixel[2..] == [1, 1]
                    {
                        return self.channel_product(at, [cube, factors], output);
                    }
                }
                self.cubes(at, DraftKind::Pair(PairMethod::Multiply), [first, second], output)
            }
            _ => cpu!("no unit has {} of two tensors", Operator::Binary(binary).name()),
        }
    }

    /// Adds a tensor to a convolution's sums, if that can be a part of it.
    fn adds(&mut self, at: usize, sum: ValueId, other: ValueId, output: ValueId) -> Result<bool, NoNetwork> {
        if sum == other || self.shape(sum) != self.shape(other) {
            return Ok(false);
        }
        let Some(of) = self.absorbing(sum, at) else { return Ok(false) };
        let DraftKind::Convolution(kernels) = &self.drafts[of].kind else { return Ok(false) };
        if kernels.adds {
            return Ok(false);
        }
        let other = self.place(other)?;
        let own = &self.places[&sum].view;
        if other.view != *own || other.source == Some(of) {
            return Ok(false);
        }
        if let DraftKind::Convolution(kernels) = &mut self.drafts[of].kind {
            kernels.adds = true;
        }
        self.drafts[of].sources.push(other.source);
        self.move_last(of);
        self.absorb(of, at, sum, output);
        Ok(true)
    }

    /// Two cubes that lie alike.
    fn cubes(
        &mut self,
        at: usize,
        kind: DraftKind,
        [first, second]: [ValueId; 2],
        output: ValueId,
    ) -> Decided {
        if self.is_behind_units(at) {
            cpu!("it stands behind all units");
        }
        if self.shape(first) != self.shape(second) {
            cpu!("its tensors are of different shapes");
        }
        let [one, other] = [self.place(first)?, self.place(second)?];
        if one.view != other.view {
            cpu!("its tensors do not lie alike");
        }
        let view = one.view.clone();
        let draft = self.draft(at, kind, vec![one.source, other.source], [view.cube; 2], output);
        self.add(draft, output, view);
        Ok(Ok(()))
    }

    fn channel_product(&mut self, at: usize, [cube, factors]: [ValueId; 2], output: ValueId) -> Decided {
        if self.is_behind_units(at) {
            cpu!("it stands behind all units");
        }
        let Some(whole) = self.nchw(cube)? else { cpu!("its input is no cube") };
        let Some(pixel) = self.nchw(factors)? else { cpu!("its factors are no cube") };
        if whole.source.is_some() && whole.source == pixel.source || pixel.source.is_none() {
            cpu!("its factors are not made by a layer");
        }
        let view = whole.view.clone();
        let draft = self.draft(
            at,
            DraftKind::ChannelProduct,
            vec![whole.source, pixel.source],
            [view.cube; 2],
            output,
        );
        self.add(draft, output, view);
        Ok(Ok(()))
    }
}
