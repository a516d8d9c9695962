//! Walks through tensors by steps: broadcasting, transposing and slicing are the same but for these.

use crate::OperatorError;
use crate::arguments::wrong_shape;
use crate::value_type::shape_text;

/// Makes elements of the same type with an expression over the vector.
macro_rules! same_elements {
    ($elements:expr, $name:ident => $body:expr) => {
        match $elements {
            Elements::Float($name) => Elements::Float($body),
            Elements::Int64($name) => Elements::Int64($body),
            Elements::Int32($name) => Elements::Int32($body),
            Elements::Int8($name) => Elements::Int8($body),
            Elements::Uint8($name) => Elements::Uint8($body),
            Elements::Bool($name) => Elements::Bool($body),
        }
    };
}
pub(crate) use same_elements;

/// Returns the steps from element to element of each axis.
pub(crate) fn strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for at in (1..shape.len()).rev() {
        strides[at - 1] = strides[at] * shape[at].max(1);
    }
    strides
}

/// Returns the steps of a tensor that is broadcast to a shape.
pub(crate) fn broadcast_strides(from: &[usize], to: &[usize]) -> Vec<usize> {
    let own = strides(from);
    let missing = to.len() - from.len();
    let stride = |at: usize| match at.checked_sub(missing) {
        Some(at) if from[at] != 1 => own[at],
        _ => 0,
    };
    (0..to.len()).map(stride).collect()
}

/// Returns the shape to which inputs of these shapes are broadcast.
pub(crate) fn broadcast<'a>(
    shapes: impl IntoIterator<Item = (usize, &'a [usize])>,
) -> Result<Vec<usize>, OperatorError> {
    let mut common: Vec<usize> = Vec::new();
    for (input, shape) in shapes {
        let missing = shape.len().saturating_sub(common.len());
        common.splice(0..0, std::iter::repeat_n(1, missing));
        let start = common.len() - shape.len();
        let before = common.clone();
        for (common, &size) in common[start..].iter_mut().zip(shape) {
            if *common == 1 {
                *common = size;
            } else if size != 1 && size != *common {
                let expected = format!("one that broadcasts with {}", shape_text(&before));
                return Err(wrong_shape(input, shape, expected));
            }
        }
    }
    Ok(common)
}

/// Walks a shape, row by row: `each` gets where a row begins in each of the tensors, the row's length, and the steps within it.
pub(crate) fn walk<const N: usize>(
    shape: &[usize],
    strides: &[Vec<isize>; N],
    starts: [usize; N],
    mut each: impl FnMut([usize; N], usize, [isize; N]),
) {
    if shape.contains(&0) {
        return;
    }
    let (shape, strides) = merged(shape, strides);
    let Some(row) = shape.len().checked_sub(1) else { return each(starts, 1, [0; N]) };
    let steps = std::array::from_fn(|tensor: usize| strides[tensor][row]);
    let mut at = vec![0; row];
    let mut places = starts;
    loop {
        each(places, shape[row], steps);
        let mut axis = row;
        loop {
            if axis == 0 {
                return;
            }
            axis -= 1;
            at[axis] += 1;
            for (place, strides) in places.iter_mut().zip(&strides) {
                *place = place.wrapping_add_signed(strides[axis]);
            }
            if at[axis] < shape[axis] {
                break;
            }
            for (place, strides) in places.iter_mut().zip(&strides) {
                *place = place.wrapping_add_signed(-strides[axis] * shape[axis] as isize);
            }
            at[axis] = 0;
        }
    }
}

/// Returns the walk with those axes as one through which all tensors step evenly.
fn merged<const N: usize>(shape: &[usize], strides: &[Vec<isize>; N]) -> (Vec<usize>, [Vec<isize>; N]) {
    let mut sizes: Vec<usize> = Vec::new();
    let mut steps: [Vec<isize>; N] = std::array::from_fn(|_| Vec::new());
    for (at, &size) in shape.iter().enumerate().filter(|&(_, &size)| size != 1) {
        let is_even = steps
            .iter()
            .zip(strides)
            .all(|(steps, strides)| steps.last().is_some_and(|&step| step == strides[at] * size as isize));
        if is_even {
            if let Some(last) = sizes.last_mut() {
                *last *= size;
            }
        } else {
            sizes.push(size);
        }
        for (steps, strides) in steps.iter_mut().zip(strides) {
            if is_even {
                steps.pop();
            }
            steps.push(strides[at]);
        }
    }
    (sizes, steps)
}

/// Returns the elements of a tensor in the order of a walk.
pub(crate) fn gather<T: Copy>(elements: &[T], shape: &[usize], strides: Vec<isize>, start: usize) -> Vec<T> {
    let mut out = Vec::with_capacity(shape.iter().product());
    walk(shape, &[strides], [start], |[from], count, [step]| {
        if step == 1 {
            out.extend_from_slice(&elements[from..from + count]);
        } else {
            out.extend((0..count).map(|at| elements[from.wrapping_add_signed(at as isize * step)]));
        }
    });
    out
}

/// Returns a function of the elements of two tensors, which are broadcast to a shape.
pub(crate) fn zip<A: Copy, B: Copy, C>(
    shape: &[usize],
    (left, left_shape): (&[A], &[usize]),
    (right, right_shape): (&[B], &[usize]),
    function: impl Fn(A, B) -> C,
) -> Vec<C> {
    let mut out = Vec::with_capacity(shape.iter().product());
    let strides =
        [signed(broadcast_strides(left_shape, shape)), signed(broadcast_strides(right_shape, shape))];
    walk(shape, &strides, [0, 0], |[from, other], count, steps| match steps {
        [1, 1] => {
            let (left, right) = (&left[from..from + count], &right[other..other + count]);
            out.extend(left.iter().zip(right).map(|(&left, &right)| function(left, right)));
        }
        [1, 0] => {
            let right = right[other];
            out.extend(left[from..from + count].iter().map(|&left| function(left, right)));
        }
        [step, other_step] => out.extend((0..count as isize).map(|at| {
            function(
                left[from.wrapping_add_signed(at * step)],
                right[other.wrapping_add_signed(at * other_step)],
            )
        })),
    });
    out
}

/// Returns steps that may be negative.
pub(crate) fn signed(strides: Vec<usize>) -> Vec<isize> {
    strides.into_iter().map(|stride| stride as isize).collect()
}
