"""The operations of PyTorch that multiply-adds are not counted of.

The list is of what is known to be free, not of what is known to multiply: an operation that is on neither list makes
the number of multiply-adds unknown, where the opposite would make it too low without a word.
"""

from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

MOVES = """
_adaptive_avg_pool2d alias as_strided as_strided_ cat channel_shuffle chunk clone col2im constant_pad_nd copy copy_
contiguous detach detach_ diag_embed diagonal_scatter embedding empty_like expand_copy fill fill_ flip full_like gather
im2col index index_add index_add_ index_copy index_copy_ index_fill index_fill_ index_put index_put_ index_select
lift_fresh lift_fresh_copy masked_fill masked_fill_ masked_scatter masked_select narrow_copy new_empty
new_empty_strided new_full new_ones new_zeros nonzero ones_like permute_copy pixel_shuffle pixel_unshuffle put
rand_like randn_like reflection_pad1d reflection_pad2d reflection_pad3d repeat repeat_interleave replication_pad1d
replication_pad2d replication_pad3d resize_ roll rot90 scatter scatter_ scatter_add scatter_add_ select_copy
select_scatter set_ slice_copy slice_scatter split_copy split_with_sizes split_with_sizes_copy squeeze_ squeeze_copy
stack t_ t_copy take take_along_dim to_mkldnn transpose_ transpose_copy tril tril_ triu triu_ unbind_copy
unfold_copy unsafe_split unsafe_split_with_sizes unsqueeze_ unsqueeze_copy view_as_complex_copy view_as_real_copy
view_copy zero zero_ zeros_like _chunk_cat _conj_copy _has_same_storage_numel _index_put_impl_ _local_scalar_dense
_mkldnn_reshape _mkldnn_transpose _pin_memory _reshape_alias _reshape_alias_copy _reshape_copy _stack _to_copy _to_dense
_unsafe_index _unsafe_index_put _unsafe_view
"""
COMPARES = """
all allclose amax amin aminmax any argmax argmin argsort bucketize count_nonzero cummax cummin equal histc is_nonzero
is_same_size isin kthvalue max median min mode nanmedian searchsorted sort topk unique_dim _aminmax _assert_async
_cummax_helper _cummin_helper _is_all_true _is_any_true _unique _unique2
"""
REDUCES = """
cumprod cumprod_ cumsum cumsum_ linalg_vector_norm logcumsumexp logsumexp mean nansum norm prod scatter_reduce
scatter_reduce_ std std_mean sum trace var var_mean _log_softmax _logcumsumexp _masked_softmax _safe_softmax _softmax
"""
NORMALIZES = """
batch_norm_elemt cudnn_batch_norm miopen_batch_norm native_batch_norm native_dropout native_group_norm
native_layer_norm renorm _batch_norm_no_update _batch_norm_with_update _fused_rms_norm _native_batch_norm_legit
_native_batch_norm_legit_functional _native_batch_norm_legit_no_training _weight_norm_interface
"""
POOLS = """
adaptive_max_pool2d adaptive_max_pool3d affine_grid_generator avg_pool2d avg_pool3d grid_sampler_2d grid_sampler_3d
max_pool2d_with_indices max_pool3d_with_indices max_unpool2d max_unpool3d mkldnn_adaptive_avg_pool2d mkldnn_max_pool2d
upsample_bicubic2d upsample_bilinear2d upsample_linear1d upsample_nearest1d upsample_nearest2d upsample_nearest3d
upsample_trilinear3d _adaptive_avg_pool3d _upsample_bicubic2d_aa _upsample_bilinear2d_aa _upsample_nearest_exact1d
_upsample_nearest_exact2d _upsample_nearest_exact3d
"""
ELEMENTWISE = """
_add_relu _prelu_kernel _transform_bias_rescale_qkv addr bernoulli bernoulli_ complex floor_divide gelu_ glu hardswish
hardswish_ heaviside_ linalg_cross log_sigmoid_forward mish_ normal_ polar rrelu_with_noise rsub threshold_ uniform_
"""
FREE = frozenset(" ".join((MOVES, COMPARES, REDUCES, NORMALIZES, POOLS, ELEMENTWISE)).split())
"""Names of operations, beside those that PyTorch itself marks as views or as elementwise."""


def is_free(operation: Any, inputs: object) -> bool:
    """Whether an operation has no products to count: one on the list, a view, elementwise, or without real numbers."""
    space, _, name = operation._schema.name.partition("::")
    if space not in {"aten", "prim", "prims"}:
        return False
    known = name in FREE or name.removesuffix("_") in FREE
    if known or operation.is_view or torch.Tag.pointwise in operation.tags:
        return True
    tensors = (each for each in tree_leaves(inputs) if isinstance(each, Tensor))
    return not any(each.is_floating_point() or each.is_complex() for each in tensors)
