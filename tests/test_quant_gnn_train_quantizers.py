"""A2Q's quantizers against the vectors and the gradient rules of the published method."""

import pytest
import torch

from quant.gnn.train_quantizers import (
    COLUMN_WIDTH,
    MIN_STEP,
    fake_quantize,
    local_quantize,
    rounded_width,
)

X = [-1.0, -0.01, 0.0, 0.01, 0.5, 3.0]


@pytest.mark.parametrize(
    ("width", "codes"),
    [
        # A2Q (ICLR 2023) and its release, s = 0.1; b = 0.2 is a sign quantizer there and all
        # zeros here, since [b] is at least 1.
        (3.0, [-3, 0, 0, 0, 3, 3]),
        (2.0, [-1, 0, 0, 0, 1, 1]),
        (2.5, [-1, 0, 0, 0, 1, 1]),
        (1.4, [0, 0, 0, 0, 0, 0]),
        (0.2, [0, 0, 0, 0, 0, 0]),
        (-3.0, [-3, 0, 0, 0, 3, 3]),
    ],
)
def test_published_vectors(width: float, codes: list[int]):
    step = torch.tensor(0.1)
    quantized, _ = local_quantize(torch.tensor(X), step, torch.tensor(width), 9, len(X))
    assert torch.round(quantized / step).tolist() == codes


def test_ties_go_away_from_zero():
    x = torch.tensor([0.25, -0.25, 0.75, -0.75])
    step, width = torch.tensor(0.5), torch.tensor(4.0)
    assert fake_quantize(x, step, width).tolist() == [0.5, -0.5, 1.0, -1.0]


def test_width_is_limited_on_both_sides():
    assert rounded_width(torch.tensor([0.0, 8.6, -8.6, 30.0]), 8).tolist() == [1, 8, 8, 8]


def test_step_is_never_zero_and_its_sign_does_not_matter():
    x, width = torch.tensor([1.0]), torch.tensor(8.0)
    assert fake_quantize(x, torch.tensor(-0.5), width).item() == 1.0
    small = fake_quantize(x, torch.tensor(0.0), width).item()
    assert small == pytest.approx(127 * MIN_STEP)


def test_local_gradient_by_hand():
    # s = 0.5, b = 3, m = 3. x = 0.7: x/s = 1.4, code 1, x_q = 0.5, inside:
    #   d|x_q - x|/ds = -1 * (0.5 - 0.7)/0.5 = 0.4, to b nothing.
    # x = 4: code 3, x_q = 1.5, outside: to s -1 * 3, to b -1 * 2^2 ln 2 * 0.5 = -1.3862944.
    # The mean over the two features halves both sums.
    x = torch.tensor([[0.7, 4.0]], requires_grad=True)
    step = torch.tensor([[0.5]], requires_grad=True)
    width = torch.tensor([[3.0]], requires_grad=True)
    quantized, error = local_quantize(x, step, width, 9, 2)
    assert error.item() == pytest.approx((0.2 + 2.5) / 2)
    (10 * quantized.sum() + error).backward()
    assert step.grad is not None
    assert width.grad is not None
    assert x.grad is not None
    assert step.grad.item() == pytest.approx((0.4 - 3) / 2)
    assert width.grad.item() == pytest.approx(-1.3862944 / 2)
    # The task reaches x alone, and everywhere, clipped values included.
    assert x.grad.tolist() == [[10, 10]]


def test_local_gradient_of_negative_values_and_of_width_zero():
    # x = -4: x_q = -1.5, x_q - x > 0, so s gets +1 * (-1 * 3) and b -1.3862944, as for +4.
    # b = 1: m = 0, the value is outside; s gets 0 and b -1 * 2^0 ln 2 * 0.5 = -0.3465736.
    step = torch.tensor([[0.5], [0.5]], requires_grad=True)
    width = torch.tensor([[3.0], [1.0]], requires_grad=True)
    _, error = local_quantize(torch.tensor([[-4.0], [4.0]]), step, width, 9, 1)
    error.backward()
    assert step.grad is not None
    assert width.grad is not None
    assert step.grad.ravel().tolist() == pytest.approx([-3, 0])
    assert width.grad.ravel().tolist() == pytest.approx([-1.3862944, -0.3465736])


def test_global_gradient_by_hand():
    # Weights: the task's gradient g times d x_q/ds, summed over the column:
    # 2 * (0.5 - 0.7)/0.5 + (-1) * 7 (x = 9 is beyond m = 7 steps).
    weight = torch.tensor([[0.7], [9.0]], requires_grad=True)
    step = torch.tensor([[0.5]], requires_grad=True)
    quantized = fake_quantize(weight, step, torch.tensor(float(COLUMN_WIDTH)))
    assert quantized.ravel().tolist() == [0.5, 3.5]
    quantized.backward(torch.tensor([[2.0], [-1.0]]))
    assert step.grad is not None
    assert weight.grad is not None
    assert step.grad.item() == pytest.approx(2 * -0.4 - 7)
    assert weight.grad.ravel().tolist() == [2, -1]


def test_error_is_zero_on_the_grid():
    x = torch.tensor([[0.5, 1.0, -1.5]])
    step = torch.tensor([[0.5]], requires_grad=True)
    quantized, error = local_quantize(x, step, torch.tensor([[3.0]]), 9, 3)
    error.backward()
    assert step.grad is not None
    assert torch.equal(quantized, x)
    assert error.item() == 0
    assert step.grad.item() == 0
