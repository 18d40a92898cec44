"""Logistic regression for a whole regularization path of ℓ2 penalties, each solved to its optimum.

The linear probe of `ericsson-2021` (Ericsson, Gouk & Hospedales 2021, "How well do self-supervised models transfer?"):
45 penalties, log-spaced in [1e-6, 1e5], on raw features.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from unseen.probes.arrays import checked_features
from unseen.probes.newton.arguments import check_options, checked_classes, checked_targets
from unseen.probes.newton.lbfgs import Minimum
from unseen.probes.newton.objective import centred_eigenbasis
from unseen.probes.newton.walk import Solved, Task, prepare, usable, walk
from unseen.probes.sgd.stacked import tiny_numbers_as_zero


@dataclass(frozen=True)
class LogisticPath:
    """Optima of p penalties, in the given order.

    Attributes:
        weights, bias: (p, d, c) and (p, c), on the device of the features.
        penalties: (p,).
        objective: (p,) summed loss and penalty; for multi-label problems the sum over classes.
        gradient_norm: (p,) relative to that at zero weights, like `tol`; for multi-label problems the largest.
        iterations: (p,) of L-BFGS, without those of stronger penalties on the way; for multi-label problems the most of
            any class.
        converged: (p,) whether the stopping rule was met; if False, the weights are not at the optimum.
    """

    weights: Tensor
    bias: Tensor
    penalties: Tensor
    objective: Tensor
    gradient_norm: Tensor
    iterations: Tensor
    converged: Tensor


@tiny_numbers_as_zero()
@torch.no_grad()
def logistic_path(
    X: Tensor,
    y: Tensor,
    penalties: Tensor,
    *,
    tol: float = 1e-6,
    max_iterations: int = 1000,
    block: int | None = None,
    dtype: torch.dtype = torch.float64,
    solved: Sequence[Solved] = (),
    watch: Callable[[Solved], None] = lambda solved: None,
) -> LogisticPath:
    """Multinomial logistic regression for every ℓ2 penalty of a path.

    Minimises, for each λ in `penalties`,  Σᵢ −log softmax(Wᵀxᵢ + b)[yᵢ] + ½ λ‖W‖²,  with the bias not penalised:
    scikit-learn's `LogisticRegression(C=1/λ)` for three or more classes. With two there are still two columns, w and
    −w; scikit-learn has one weight vector 2w instead, and its C = 2/λ is the same classifier. With `y` of shape (n, c)
    each class is a separate problem,  Σᵢ [log(1 + exp zᵢ) − yᵢ zᵢ] + ½ λ‖w‖²,  zᵢ = wᵀxᵢ + b.

    A problem has converged when the 2-norm of its gradient is at most `tol` times that at zero weights with the best
    biases (or is at rounding error). If the loss L has fallen below a thousandth of the loss L₀ there, the limit is
    `tol`·1000·L/L₀ times that: separable classes have almost no gradient long before the weights reach their optimum.
    The gradient is that by the weights and biases for (x − μ)/σ, with μ the mean of the features and σ the root mean
    square of ‖x − μ‖, so that the rule does not depend on their origin and unit.

    The path is followed from the strongest penalty to the weakest. Each optimum starts from an extrapolation of its
    neighbours' in log λ (of orders 0 to 3, the one of lowest objective) and is found by L-BFGS, preconditioned in the
    eigenbasis of the features (`objective`): first in float32, at twice the speed, then in float64, where most problems
    only have their gradient confirmed. A penalty that takes long, and those after it, get a better preconditioner, if
    32·d²·c bytes are affordable (`preconditioner`). If there are few coefficients (d·c up to about 3000), such
    penalties are solved by Newton's method (`hessian`). If even the strongest penalty is weak for features of this
    scale, it is approached from stronger ones (`walk`).

    An iteration costs 4·n·d·c flops per penalty; the eigendecomposition about 4·n·d² + 10·d³ once (the smaller of n and
    d in place of one d). Memory: the features in float64 and float32, at most 28·n·d bytes, 10 pairs of weights and
    36·n·c bytes per penalty of the block, and at most 2 GiB for that preconditioner.

    Args:
        X: (n, d) features of any real dtype; not modified.
        y: (n,) class indices, every one of [0, c) present; or (n, c) of 0 and 1, both present in every column.
        penalties: (p,) positive, in any order.
        tol: see above; with `dtype` float32 rounding is about 3e-7, so that separable classes do not converge.
        max_iterations: for one penalty; if they do not suffice, `converged` is False.
        block: number of penalties solved together; by default 1 on a CPU and 5 on a GPU. Optima do not depend on it
            beyond `tol`.
        dtype: float64, or float32 to skip the second stage.
        solved: the parts that `watch` received in an earlier call with the same arguments, from the first on: the path
            is continued after them, with the same result. Parts of another path, or in another basis, are not used.
        watch: called with each part of the path when it is solved.
    """
    check_options(penalties, tol, max_iterations, block, dtype)
    X = checked_features(X, "training")
    labels = checked_targets(y, X) if y.ndim == 2 else checked_classes(y, X)
    path, place = torch.unique(-penalties.to(X.device, torch.float64), return_inverse=True)
    path = -path  # strongest first
    task = prepare(centred_eigenbasis(X), labels, float(path[0]), tol, max_iterations, dtype)
    done = usable(solved, path, task)
    parts = [each.found for each in done]
    for stretch in walk(task, path, block, done=done):
        parts.append(stretch.found)
        watch(stretch)
    return _collect(task, parts, path, place, dtype)


def _collect(task: Task, parts: Sequence[Minimum], path: Tensor, place: Tensor, dtype: torch.dtype) -> LogisticPath:
    """The result, in the given order of the penalties: `place` is the position of each on the path."""
    q = len(task.zero)

    def ordered(pieces: Sequence[Tensor]) -> Tensor:
        """(p, q, …)"""
        joined = torch.cat(list(pieces))
        return joined.view(len(path), q, *joined.shape[1:])[place]

    weights, bias = task.basis.to_weights(ordered([part.coefs for part in parts]).double())
    norms = ordered([part.gradient_norm for part in parts])
    nothing_to_learn = task.zero_norms <= task.floor(torch.float64)
    return LogisticPath(
        weights=weights.movedim(1, 2).flatten(2).to(dtype),  # either q or k is 1
        bias=bias.flatten(1).to(dtype),
        penalties=path[place],
        objective=ordered([part.objective for part in parts]).sum(1).to(dtype),
        gradient_norm=torch.where(nothing_to_learn, 0, norms / task.zero_norms).amax(1),
        iterations=ordered([part.iterations for part in parts]).amax(1),
        converged=ordered([task.reached(part) for part in parts]).all(1),
    )
