"""Fake quantizers of A2Q as PyTorch functions: learned step and width, local gradient."""

import math
from typing import Any

import torch

__all__ = ["COLUMN_WIDTH", "MIN_STEP", "fake_quantize", "local_quantize", "rounded_width"]

COLUMN_WIDTH = 4
"""Bits of weights and of XW, sign included: codes -7 .. 7."""

MIN_STEP = 1e-4
"""Smallest step of training and export; a step never reaches 0."""

LN2 = math.log(2)


def rounded_width(width: torch.Tensor, most: int) -> torch.Tensor:
    """Compute [b] = round(|b|), ties to even, limited to 1 .. `most`.

    The limit below is no part of the release, where [b] = 0 makes a sign quantizer.

    >>> rounded_width(torch.tensor([0.2, 2.5, 3.5, 12.0]), 9)
    tensor([1., 2., 4., 9.])
    """
    return torch.round(width.abs()).clamp(1, most)


class _FakeQuantize(torch.autograd.Function):
    """x_q = s * sign(x) * min(floor(|x| / s + 1/2), m), m = 2^([b] - 1) - 1.

    All three inputs have one shape. Gradients: to x it passes everywhere (as in the release); to
    s it is (x_q - x) / s where |x| <= s * m and sign(x) * m elsewhere; to b it is 0 and
    sign(x) * 2^([b] - 1) * ln 2 * s.
    """

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, step: torch.Tensor, width: torch.Tensor) -> torch.Tensor:
        largest = 2 ** (width - 1) - 1
        code = torch.minimum(torch.floor(x.abs() / step + 0.5), largest)
        quantized = torch.sign(x) * code * step
        ctx.save_for_backward(x, quantized, step, largest)
        return quantized

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, ...]:
        (gradient,) = gradients
        x, quantized, step, largest = ctx.saved_tensors
        outside = x.abs() > step * largest
        sign = torch.sign(x)
        to_step = torch.where(outside, sign * largest, (quantized - x) / step)
        to_width = outside * sign * (largest + 1) * LN2 * step
        return gradient, gradient * to_step, gradient * to_width


def fake_quantize(x: torch.Tensor, step: torch.Tensor, width: torch.Tensor) -> torch.Tensor:
    """Quantize `x` with steps and integer widths that broadcast to it; the task trains them.

    A straight-through `width` (its rounding's gradient is 1) lets the gradient reach b.
    """
    step = step.abs().clamp(min=MIN_STEP)
    return _FakeQuantize.apply(x, step.expand_as(x), width.expand_as(x))


def local_quantize(
    x: torch.Tensor, step: torch.Tensor, width: torch.Tensor, most: int, group: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Quantize `x` and train step and width by the quantization error alone (Local Gradient).

    Parameters
    ----------
    x : Tensor
    step, width : Tensor
        s and b, broadcastable to `x`.
    most : int
        Largest [b].
    group : int
        Values that share one step, zeros that `x` leaves out included.

    Returns
    -------
    quantized : Tensor
        Passes the task's gradient to `x`, and to nothing else.
    error : Tensor, scalar
        Sum over the groups of E = mean of |x_q - x|; add it to the loss. Its gradient reaches
        step and width, and nothing else.
    """
    width = width.abs()
    whole = width + (rounded_width(width, most) - width).detach()
    quantized = fake_quantize(x, step.detach(), whole.detach())
    fixed = x.detach()
    error = (fake_quantize(fixed, step, whole) - fixed).abs().sum() / group
    return quantized, error
