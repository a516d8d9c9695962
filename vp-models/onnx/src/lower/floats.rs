//! A graph whose quantisation is no longer nodes: values are numbers, and beside them stands how a quantised model codes them.
//!
//! `QuantizeLinear` and `DequantizeLinear` between two nodes say that the number between has a code; `QLinearConv` and
//! `QLinearMatMul` are the operators of numbers between such codes. What a model quantises is kept exactly: weights as
//! their integers, values by scale and zero point.

use super::uses::Uses;
use crate::lower::Code;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use vp_tensors::{Binary, ElementType, Elements, Graph, Node, Operator, Tensor, Value, ValueId};

/// Integers of a constant that a model has quantised.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ConstantCodes {
    /// The integers, without their zero point, in the order of the constant's elements.
    pub(crate) values: Vec<i32>,
    /// One scale, or one along an axis.
    pub(crate) scales: Vec<f32>,
    /// Axis along which scales differ.
    pub(crate) axis: usize,
}

/// A graph of numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct FloatGraph {
    pub(crate) graph: Graph,
    /// Codes of values that the model quantises.
    pub(crate) codes: HashMap<ValueId, Code>,
    /// Integers of constants that the model has quantised.
    pub(crate) constants: HashMap<ValueId, ConstantCodes>,
}

/// Scale and zero point of each slice along an axis.
struct Scales {
    scales: Vec<f32>,
    zeros: Vec<i64>,
    /// True if codes have no sign.
    is_unsigned: bool,
}

impl Scales {
    /// The code of a tensor with one scale.
    fn code(&self) -> Option<Code> {
        let (&[scale], &[zero]) = (&self.scales[..], &self.zeros[..]) else { return None };
        // NVDLA's codes have a sign: those without are 128 less.
        let zero = if self.is_unsigned { zero - 128 } else { zero };
        (scale > 0.0 && scale.is_finite()).then_some(Code { scale, zero: zero as i32 })
    }
}

/// Builder of a graph of numbers.
struct Floats<'a> {
    source: &'a Graph,
    uses: Uses,
    made: FloatGraph,
    /// The value that stands for each of the source's.
    stands: Vec<ValueId>,
    /// Of values in codes the numbers that they stand for, and how.
    coded: HashMap<ValueId, (ValueId, Code)>,
    /// Of values of the source the only code in which they are read, if there is one.
    read_as: HashMap<ValueId, Option<Code>>,
}

/// Makes quantisation a property of values.
pub(crate) fn floats(source: &Graph) -> FloatGraph {
    let graph = Graph {
        name: source.name.clone(),
        values: source.values.clone(),
        constants: source.constants.clone(),
        inputs: source.inputs.clone(),
        outputs: Vec::new(),
        nodes: Vec::new(),
    };
    let stands = (0..source.values.len()).map(ValueId).collect();
    let made = FloatGraph { graph, ..FloatGraph::default() };
    let mut floats = Floats {
        source,
        uses: Uses::of(source),
        made,
        stands,
        coded: HashMap::new(),
        read_as: HashMap::new(),
    };
    for node in &source.nodes {
        floats.node(node);
    }
    floats.made.graph.outputs = source.outputs.iter().map(|output| floats.stands[output.0]).collect();
    // The numbers that stand for an output in codes have its name.
    for output in source.outputs.iter().rev() {
        floats.made.graph.values[floats.stands[output.0].0].name = source.value(*output).name.clone();
    }
    floats.made.without_dead()
}

impl Floats<'_> {
    fn node(&mut self, node: &Node) {
        let inputs: Vec<Option<ValueId>> =
            node.inputs.iter().map(|input| input.map(|input| self.stands[input.0])).collect();
        let taken = match &node.operator {
            Operator::DequantizeLinear { axis } => self.dequantised(node, &inputs, *axis),
            Operator::QuantizeLinear { axis } => self.quantised(node, &inputs, *axis),
            Operator::QLinearConv(spatial) => {
                self.convolution(node, &inputs, Operator::Conv(spatial.clone()))
            }
            Operator::QLinearMatMul => self.product(node, &inputs),
            Operator::DynamicQuantizeLinear => self.at_run_time(node, &inputs),
            Operator::ConvInteger(spatial) => {
                self.of_integers(node, &inputs, Operator::Conv(spatial.clone()))
            }
            Operator::MatMulInteger => self.of_integers(node, &inputs, Operator::MatMul),
            Operator::Cast { to: ElementType::Float } => self.cast(node, &inputs),
            Operator::Split { .. } => self.passed(node, &inputs),
            operator if passes_codes(operator) => self.passed(node, &inputs),
            _ => None,
        };
        if taken.is_none() && self.folded(node, &inputs).is_none() {
            self.made.graph.nodes.push(Node { inputs, ..node.clone() });
        }
    }

    /// Computes a node of which only constants are read.
    fn folded(&mut self, node: &Node, inputs: &[Option<ValueId>]) -> Option<()> {
        let is_quantisation = matches!(node.operator, Operator::DequantizeLinear { .. });
        let &[output] = &node.outputs[..] else { return None };
        if is_quantisation || inputs.iter().flatten().next().is_none() {
            return None;
        }
        let read = |input: &Option<ValueId>| match input {
            None => Some(None),
            Some(input) => self.made.graph.constant(*input).map(Some),
        };
        let read = inputs.iter().map(read).collect::<Option<Vec<_>>>()?;
        let made = node.operator.run(&read, 1).ok()?.into_iter().next()?;
        self.made.graph.constants.insert(output, Arc::new(made));
        Some(())
    }

    /// `DynamicQuantizeLinear`: the network has its own codes, so that numbers stand for its codes, with a scale of 1.
    fn at_run_time(&mut self, node: &Node, inputs: &[Option<ValueId>]) -> Option<()> {
        let &[codes, scale, zero] = &node.outputs[..] else { return None };
        // What nobody scales back are the codes themselves.
        if self.uses.readers(scale).is_empty()
            || node.outputs.iter().any(|output| self.uses.is_output(*output))
        {
            return None;
        }
        self.stands[codes.0] = inputs[0]?;
        self.made.graph.constants.insert(scale, Arc::new(Tensor::floats(Vec::new(), vec![1.0])));
        self.made.graph.constants.insert(zero, Arc::new(Tensor::of(Vec::new(), Elements::Uint8(vec![0]))));
        Some(())
    }

    /// `ConvInteger` or `MatMulInteger` of numbers, and of weights whose scale comes later. Codes are so many steps of their numbers.
    fn of_integers(&mut self, node: &Node, inputs: &[Option<ValueId>], operator: Operator) -> Option<()> {
        let &[Some(data), Some(weights), ..] = inputs else { return None };
        let (data, step) = match self.coded.get(&data) {
            _ if self.made.graph.value(data).element_type == ElementType::Float => (data, 1.0),
            Some(&(number, code)) => {
                let of = self.made.graph.value(data).element_type;
                let one = self.scales_of(vec![code.scale], inputs.get(2).copied().flatten(), of)?;
                (number, (one.code()? == code).then_some(code.scale)?)
            }
            None => return None,
        };
        let zeros = match inputs.get(3).copied().flatten() {
            Some(zero) => self.made.graph.constant(zero)?.to_integers()?,
            None => vec![0],
        };
        let scales = Scales { scales: vec![1.0 / step; zeros.len()], zeros, is_unsigned: false };
        let axis =
            if operator == Operator::MatMul { self.made.graph.value(weights).shape.len() - 1 } else { 0 };
        let weights = self.constant(weights, &scales, axis)?;
        let number = self.number(*node.outputs.first()?, " as numbers");
        self.stands[node.outputs[0].0] = number;
        let inputs = vec![Some(data), Some(weights)];
        self.made.graph.nodes.push(Node { name: node.name.clone(), operator, inputs, outputs: vec![number] });
        Some(())
    }

    /// A cast of what is numbers already.
    fn cast(&mut self, node: &Node, inputs: &[Option<ValueId>]) -> Option<()> {
        let input = inputs[0]?;
        if self.made.graph.value(input).element_type != ElementType::Float {
            return None;
        }
        self.stands[node.outputs[0].0] = input;
        Some(())
    }

    fn scales(&self, scale: Option<ValueId>, zero: Option<ValueId>, of: ElementType) -> Option<Scales> {
        let scales = self.made.graph.constant(scale?)?.to_floats();
        self.scales_of(scales, zero, of)
    }

    fn scales_of(&self, scales: Vec<f32>, zero: Option<ValueId>, of: ElementType) -> Option<Scales> {
        let zero = zero.map(|zero| self.made.graph.constant(zero));
        let (zeros, of) = match zero {
            None => (vec![0; scales.len()], of),
            Some(None) => return None,
            Some(Some(zero)) => (zero.to_integers()?, zero.element_type()),
        };
        let zeros = if zeros.len() == 1 { vec![zeros[0]; scales.len()] } else { zeros };
        (zeros.len() == scales.len() && !scales.is_empty()).then_some(Scales {
            scales,
            zeros,
            is_unsigned: of == ElementType::Uint8,
        })
    }

    /// A new value of numbers in the shape of another.
    fn number(&mut self, like: ValueId, what: &str) -> ValueId {
        let Value { name, shape, .. } = self.made.graph.value(like);
        let value =
            Value { name: format!("{name}{what}"), shape: shape.clone(), element_type: ElementType::Float };
        self.made.graph.values.push(value);
        self.stands.push(ValueId(self.made.graph.values.len() - 1));
        ValueId(self.made.graph.values.len() - 1)
    }

    /// The constant's numbers, with its integers beside them.
    fn constant(&mut self, of: ValueId, scales: &Scales, axis: usize) -> Option<ValueId> {
        let tensor = Arc::clone(self.made.graph.constants.get(&of)?);
        let integers = tensor.to_integers()?;
        let inner: usize = tensor.shape.get(axis + 1..).unwrap_or_default().iter().product();
        let slice =
            |at: usize| if scales.scales.len() == 1 { 0 } else { at / inner.max(1) % scales.scales.len() };
        let fits = scales.scales.len() == 1 || tensor.shape.get(axis) == Some(&scales.scales.len());
        if !fits {
            return None;
        }
        let values: Vec<i32> = integers
            .iter()
            .enumerate()
            .map(|(at, integer)| i32::try_from(integer - scales.zeros[slice(at)]).ok())
            .collect::<Option<_>>()?;
        let numbers =
            values.iter().enumerate().map(|(at, value)| *value as f32 * scales.scales[slice(at)]).collect();
        let made = self.number(of, "");
        self.made.graph.constants.insert(made, Arc::new(Tensor::floats(tensor.shape.clone(), numbers)));
        self.made.constants.insert(made, ConstantCodes { values, scales: scales.scales.clone(), axis });
        Some(made)
    }

    fn dequantised(&mut self, node: &Node, inputs: &[Option<ValueId>], axis: i64) -> Option<()> {
        let (input, output) = (inputs[0]?, *node.outputs.first()?);
        let value = self.made.graph.value(input);
        let (rank, of) = (value.shape.len() as i64, value.element_type);
        let scales = self.scales(*inputs.get(1)?, inputs.get(2).copied().flatten(), of)?;
        let axis = usize::try_from(if axis < 0 { axis + rank } else { axis }).ok()?;
        if self.made.graph.constants.contains_key(&input) {
            self.stands[output.0] = self.constant(input, &scales, axis)?;
            return Some(());
        }
        if of == ElementType::Float {
            return self.multiplied(node, (input, output), &scales, axis);
        }
        // Wider integers, such as sums, are no codes.
        if !matches!(of, ElementType::Int8 | ElementType::Uint8) {
            return None;
        }
        let code = scales.code()?;
        match self.coded.get(&input) {
            Some((number, known)) if *known == code => {
                self.stands[output.0] = *number;
                Some(())
            }
            Some(_) => None,
            None => {
                // Codes that come from outside: the numbers are known as soon as there are any.
                self.made.codes.insert(output, code);
                self.coded.insert(input, (output, code));
                None
            }
        }
    }

    /// `DequantizeLinear` of integers that are numbers here: a product.
    fn multiplied(
        &mut self,
        node: &Node,
        (input, output): (ValueId, ValueId),
        scales: &Scales,
        axis: usize,
    ) -> Option<()> {
        if scales.zeros.iter().any(|zero| *zero != 0) {
            return None;
        }
        let mut shape = vec![1; self.made.graph.value(input).shape.len()];
        match &scales.scales[..] {
            [_] => shape.clear(),
            several => *shape.get_mut(axis)? = several.len(),
        }
        let name = format!("{} scale", node.name);
        self.made.graph.values.push(Value { name, shape: shape.clone(), element_type: ElementType::Float });
        let factor = ValueId(self.made.graph.values.len() - 1);
        self.stands.push(factor);
        self.made.graph.constants.insert(factor, Arc::new(Tensor::floats(shape, scales.scales.clone())));
        self.made.graph.nodes.push(Node {
            name: node.name.clone(),
            operator: Operator::Binary(Binary::Mul),
            inputs: vec![Some(input), Some(factor)],
            outputs: vec![output],
        });
        Some(())
    }

    /// The code that all readers of a value of the source give it, if they do and it is no output.
    fn read_as(&mut self, value: ValueId) -> Option<Code> {
        if let Some(known) = self.read_as.get(&value) {
            return *known;
        }
        let code_of = |reader: &usize| {
            let node = &self.source.nodes[*reader];
            let input = |place: usize| node.inputs.get(place).copied().flatten();
            let of = self.source.value(*node.outputs.first()?).element_type;
            let is_quantised = matches!(node.operator, Operator::QuantizeLinear { .. });
            is_quantised.then(|| self.scales(input(1), input(2), of)?.code())?
        };
        let mut codes = self.uses.readers(value).iter().map(code_of);
        let first = codes.next().flatten().filter(|_| !self.uses.is_output(value));
        let only = first.filter(|first| codes.all(|code| code == Some(*first)));
        self.read_as.insert(value, only);
        only
    }

    fn quantised(&mut self, node: &Node, inputs: &[Option<ValueId>], axis: i64) -> Option<()> {
        let (input, output) = (inputs[0]?, *node.outputs.first()?);
        let of = self.made.graph.value(output).element_type;
        let scales = self.scales(*inputs.get(1)?, inputs.get(2).copied().flatten(), of)?;
        if self.made.graph.constants.contains_key(&input) {
            return None;
        }
        _ = axis;
        let code = scales.code()?;
        let is_own = match self.made.codes.get(&input) {
            Some(known) => *known == code,
            None => self.read_as(node.inputs[0]?) == Some(code),
        };
        let number = match is_own {
            true => input,
            false => {
                // What others read as it is, or in another code, is another value.
                let number = self.number(input, &format!(" as {}", node.name));
                self.made.graph.nodes.push(Node {
                    name: node.name.clone(),
                    operator: Operator::Identity,
                    inputs: vec![Some(input)],
                    outputs: vec![number],
                });
                number
            }
        };
        self.made.codes.insert(number, code);
        self.coded.insert(output, (number, code));
        // For whom the codes themselves count, the node stays.
        self.made.graph.nodes.push(Node { inputs: replaced(inputs, 0, number), ..node.clone() });
        Some(())
    }

    /// The numbers of an input in codes, whose scales may differ along an axis if it is a constant.
    fn numbers(
        &mut self,
        (input, axis): (ValueId, usize),
        [scale, zero]: [Option<ValueId>; 2],
        name: &str,
    ) -> Option<ValueId> {
        let of = self.made.graph.value(input).element_type;
        let scales = self.scales(scale, zero, of)?;
        if self.made.graph.constants.contains_key(&input) {
            return self.constant(input, &scales, axis);
        }
        let code = scales.code()?;
        if let Some((number, known)) = self.coded.get(&input)
            && *known == code
        {
            return Some(*number);
        }
        let number = self.number(input, " as numbers");
        self.made.graph.nodes.push(Node {
            name: format!("{name} input"),
            operator: Operator::DequantizeLinear { axis: 0 },
            inputs: vec![Some(input), scale, zero],
            outputs: vec![number],
        });
        self.made.codes.insert(number, code);
        self.coded.insert(input, (number, code));
        Some(number)
    }

    /// Notes that a node made of a quantised one gives numbers for the codes that this one gives.
    fn gives(
        &mut self,
        node: &Node,
        operator: Operator,
        inputs: Vec<Option<ValueId>>,
        scales: [Option<ValueId>; 2],
    ) -> Option<()> {
        let output = *node.outputs.first()?;
        let code = self.scales(scales[0], scales[1], self.made.graph.value(output).element_type)?.code()?;
        let number = self.number(output, "");
        self.made.graph.nodes.push(Node { name: node.name.clone(), operator, inputs, outputs: vec![number] });
        self.made.codes.insert(number, code);
        self.coded.insert(output, (number, code));
        self.made.graph.nodes.push(Node {
            name: format!("{} output", node.name),
            operator: Operator::QuantizeLinear { axis: 0 },
            inputs: vec![Some(number), scales[0], scales[1]],
            outputs: vec![output],
        });
        Some(())
    }

    /// `QLinearConv`: x, its scale and zero point, w, its scale and zero point, y's scale and zero point, bias.
    fn convolution(&mut self, node: &Node, inputs: &[Option<ValueId>], operator: Operator) -> Option<()> {
        let &[Some(x), x_scale, x_zero, Some(w), w_scale, w_zero, y_scale, y_zero, ..] = inputs else {
            return None;
        };
        let bias = inputs.get(8).copied().flatten();
        let x_scales = self.scales(x_scale, x_zero, self.made.graph.value(x).element_type)?;
        let of_weights = self.scales(w_scale, w_zero, self.made.graph.value(w).element_type)?;
        let of_bias = Scales {
            scales: of_weights.scales.iter().map(|scale| scale * x_scales.scales[0]).collect(),
            zeros: vec![0; of_weights.scales.len()],
            is_unsigned: false,
        };
        self.made.graph.constants.get(&w)?;
        let bias = match bias {
            Some(bias) => Some(self.constant(bias, &of_bias, 0)?),
            None => None,
        };
        let x = self.numbers((x, 0), [x_scale, x_zero], &node.name)?;
        let w = self.constant(w, &of_weights, 0)?;
        self.gives(node, operator, vec![Some(x), Some(w), bias], [y_scale, y_zero])
    }

    /// `QLinearMatMul`: a, b and y, each with scale and zero point; b may have several, one for each column.
    fn product(&mut self, node: &Node, inputs: &[Option<ValueId>]) -> Option<()> {
        let &[Some(a), a_scale, a_zero, Some(b), b_scale, b_zero, y_scale, y_zero] = inputs else {
            return None;
        };
        let column = self.made.graph.value(b).shape.len().saturating_sub(1);
        let a = self.numbers((a, 0), [a_scale, a_zero], &node.name)?;
        let b = self.numbers((b, column), [b_scale, b_zero], &node.name)?;
        self.gives(node, Operator::MatMul, vec![Some(a), Some(b)], [y_scale, y_zero])
    }

    /// An operator that moves codes as it would move numbers.
    fn passed(&mut self, node: &Node, inputs: &[Option<ValueId>]) -> Option<()> {
        let output = *node.outputs.first()?;
        if self.made.graph.value(output).element_type == ElementType::Float {
            return None;
        }
        if self.made.graph.value(inputs[0]?).element_type == ElementType::Float {
            return self.passed_numbers(node, inputs);
        }
        let (number, code) = *self.coded.get(&inputs[0]?)?;
        let read = match node.operator {
            Operator::Concat { .. } => inputs
                .iter()
                .map(|input| {
                    let coded = self.coded.get(&(*input)?);
                    coded.filter(|(_, of)| *of == code).map(|(number, _)| Some(*number))
                })
                .collect::<Option<Vec<_>>>()?,
            _ => replaced(inputs, 0, number),
        };
        let numbers: Vec<ValueId> =
            node.outputs.iter().map(|output| self.number(*output, " as numbers")).collect();
        let made = Node { inputs: read, outputs: numbers.clone(), ..node.clone() };
        self.made.graph.nodes.push(made);
        for (output, number) in node.outputs.iter().zip(numbers) {
            self.made.codes.insert(number, code);
            self.coded.insert(*output, (number, code));
        }
        self.made.graph.nodes.push(Node { inputs: inputs.to_vec(), ..node.clone() });
        Some(())
    }

    /// An operator that moves codes or sums for which numbers stand here, as of what is quantised at run time.
    fn passed_numbers(&mut self, node: &Node, inputs: &[Option<ValueId>]) -> Option<()> {
        // Joined codes of several scales mean nothing together, and an output is the codes themselves.
        let is_output = node.outputs.iter().any(|output| self.uses.is_output(*output));
        if is_output || matches!(node.operator, Operator::Concat { .. }) {
            return None;
        }
        let numbers: Vec<ValueId> =
            node.outputs.iter().map(|output| self.number(*output, " as numbers")).collect();
        for (output, number) in node.outputs.iter().zip(&numbers) {
            self.stands[output.0] = *number;
        }
        self.made.graph.nodes.push(Node { inputs: inputs.to_vec(), outputs: numbers, ..node.clone() });
        Some(())
    }
}

/// Inputs with one of them replaced.
fn replaced(inputs: &[Option<ValueId>], at: usize, by: ValueId) -> Vec<Option<ValueId>> {
    let mut inputs = inputs.to_vec();
    inputs[at] = Some(by);
    inputs
}

/// Operators that take codes for what they are.
fn passes_codes(operator: &Operator) -> bool {
    matches!(
        operator,
        Operator::MaxPool(_)
            | Operator::Concat { .. }
            | Operator::Reshape { .. }
            | Operator::Flatten { .. }
            | Operator::Squeeze { .. }
            | Operator::Unsqueeze { .. }
            | Operator::Transpose { .. }
            | Operator::Slice
            | Operator::Identity
    )
}

impl FloatGraph {
    /// Returns the graph without nodes whose outputs nobody reads.
    pub(crate) fn without_dead(mut self) -> FloatGraph {
        let mut is_needed = vec![false; self.graph.values.len()];
        self.graph.outputs.iter().for_each(|output| is_needed[output.0] = true);
        let mut kept = Vec::new();
        for node in std::mem::take(&mut self.graph.nodes).into_iter().rev() {
            if node.outputs.iter().any(|output| is_needed[output.0]) {
                node.inputs.iter().flatten().for_each(|input| is_needed[input.0] = true);
                kept.push(node);
            }
        }
        kept.reverse();
        self.graph.nodes = kept;
        let constants: BTreeMap<ValueId, Arc<Tensor>> =
            self.graph.constants.into_iter().filter(|(id, _)| is_needed[id.0]).collect();
        self.graph.constants = constants;
        self
    }

    /// Elements of a constant of numbers.
    pub(crate) fn numbers(&self, id: ValueId) -> Option<&Tensor> {
        self.graph.constant(id).filter(|tensor| matches!(tensor.elements, Elements::Float(_)))
    }
}

#[cfg(test)]
mod tests;
