"""Exact principal component analysis, by the smaller of the two matrices of products.

The components are the eigenvectors of the covariance XᵀX (d × d) if n > d: X is read once in blocks, n·d² flops, 8·d²
bytes besides a block. If n ≤ d they are Xᵀu/‖Xᵀu‖ of the eigenvectors u of XXᵀ (n × n): 2·n²·d flops. Both are formed
and decomposed in float64, since products square the condition of X: directions down to about 1e-8 of the largest
deviation are resolved. Nothing is random, and sums are taken in a fixed order.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from unseen.errors import UserError
from unseen.probes.arrays import checked_features, column_means, row_blocks

PANEL = 256


@dataclass(frozen=True)
class PCA:
    """The first m principal components, in float64 on the device of the data. The first few of them are a smaller PCA.

    Attributes:
        mean: (d,).
        components: (m, d) orthonormal rows, of decreasing variance; the entry of largest magnitude is positive.
        variances: (m,) with n − 1 degrees of freedom.
        ratios: (m,) share of the total variance; zeros if all samples are equal.
    """

    mean: Tensor
    components: Tensor
    variances: Tensor
    ratios: Tensor

    def transform(self, X: Tensor, dimensions: int | None = None) -> Tensor:
        """(n, m) coordinates of samples along the first `dimensions` components, by default along all.

        Samples are centred in float64; the product is in float32, or in float64 if X is. 2·n·d·m flops, in blocks.
        """
        X = checked_features(X, "projected").to(self.mean.device)
        if X.shape[1] != len(self.mean):
            raise UserError(f"samples of {X.shape[1]} dimensions do not match a PCA of {len(self.mean)}")
        count = _checked_dimensions(dimensions, len(self.components))
        dtype = torch.float64 if X.dtype == torch.float64 else torch.float32
        axes = self.components[:count].T.to(dtype)
        coordinates = torch.empty(len(X), count, dtype=dtype, device=X.device)
        for rows in row_blocks(len(X), 16 * X.shape[1], X.device):
            coordinates[rows] = (X[rows].double() - self.mean).to(dtype) @ axes
        return coordinates


def pca(X: Tensor, dimensions: int | None = None) -> PCA:
    """Fit the first `dimensions` principal components, at most and by default min(n, d).

    Args:
        X: (n, d) samples of any real dtype, n ≥ 2; not modified.
    """
    X = checked_features(X, "PCA's")
    if len(X) < 2:
        raise UserError("PCA needs at least two samples, as one has no variance")
    count = _checked_dimensions(dimensions, min(X.shape))
    mean = column_means(X)
    decompose = _of_covariances if len(X) > X.shape[1] else _of_products
    eigenvalues, components = decompose(X, mean)
    variances = eigenvalues.clamp(min=0) / (len(X) - 1)
    ratios = variances / variances.sum().clamp(min=torch.finfo(torch.float64).tiny)
    return PCA(mean, _with_signs(components[:count]), variances[:count], ratios[:count])


def _of_covariances(X: Tensor, mean: Tensor) -> tuple[Tensor, Tensor]:
    """Decreasing eigenvalues (d,) of the centred XᵀX, and its eigenvectors as rows (d, d).

    The matrix is symmetric: only its lower half is computed, in panels of columns, and read.
    """
    covariances = torch.zeros(X.shape[1], X.shape[1], dtype=torch.float64, device=X.device)
    for rows in row_blocks(len(X), 16 * X.shape[1], X.device):
        centred = X[rows].double() - mean
        for start in range(0, X.shape[1], PANEL):
            panel = slice(start, start + PANEL)
            covariances[start:, panel].addmm_(centred[:, start:].T, centred[:, panel])
    eigenvalues, vectors = torch.linalg.eigh(covariances, UPLO="L")
    return eigenvalues.flip(0), vectors.T.flip(0)


def _of_products(X: Tensor, mean: Tensor) -> tuple[Tensor, Tensor]:
    """The same, n of them, from the centred XXᵀ."""
    centred = X.double() - mean
    eigenvalues, vectors = torch.linalg.eigh(centred @ centred.T)
    # The columns Xᵀu are already orthogonal: QR only scales them, and replaces a zero column by a unit vector.
    return eigenvalues.flip(0), torch.linalg.qr(centred.T @ vectors.flip(1)).Q.T


def _with_signs(components: Tensor) -> Tensor:
    """The same directions, with signs such that each entry of largest magnitude is positive."""
    greatest = components.abs().argmax(dim=1, keepdim=True)
    return (components * components.gather(1, greatest).sign()).contiguous()


def _checked_dimensions(dimensions: int | None, most: int) -> int:
    if dimensions is None:
        return most
    if not 1 <= dimensions <= most:
        raise UserError(f"the number of dimensions must be from 1 to {most}, not {dimensions}")
    return dimensions
