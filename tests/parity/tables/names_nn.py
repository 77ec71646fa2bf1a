"""Expressions for the names of nodes of nn.functional: see `test_node_names.py`."""

NAMES = {
    "AffineGridGeneratorBackward0": "F.affine_grid(b[:, :2], (2, 1, 2, 2), align_corners=False)",
    "AvgPool3DBackward0": "F.avg_pool3d(b[None], 2)",
    "EmbeddingBagBackward0": "F.embedding_bag(i[None], x, mode='sum')",
    "BinaryCrossEntropyBackwardBackward0": "(lambda p: torch.autograd.grad(F.binary_cross_entropy(p, p.detach()), p, "
                                           "create_graph=True)[0])(x.sigmoid())",
    "EmbeddingBagBackwardBackward0": "torch.autograd.grad(F.embedding_bag(i[None], x, mode='sum').sum(), x, x.sum(), "
                                     "create_graph=True)[0]",
    "GridSampler2DBackward0": "F.grid_sample(b[None], b[None, :, :, :2], align_corners=False)",
    "GridSampler3DBackward0": "F.grid_sample(b[None, None], b[None, None, :, :, :3], align_corners=False)",
    "MaxPool3DWithIndicesBackward0": "F.max_pool3d(b[None], 2)",
    "MaxUnpool2DBackward0": "F.max_unpool2d(b[:1, :1, :1], i[None, None, :1], 2)",
    "MaxUnpool3DBackward0": "F.max_unpool3d(b[None, :1, :1, :1], i[None, None, None, :1], 2)",
    "MultilabelMarginLossBackward0": "F.multilabel_margin_loss(x, (x * 0).long())",
    "AdaptiveAvgPool2DBackward0": "F.adaptive_avg_pool2d(b, 2), F.interpolate(b[None], 2, mode='area')",
    "AdaptiveAvgPool3DBackward0": "F.adaptive_avg_pool3d(b[None], 2)",
    "AddBackward0": "F.cross_entropy(x, i, label_smoothing=0.1), F.bilinear(x, y, b, v[:2]), "
        "torch.alpha_dropout(x, 0.5, True), F.alpha_dropout(x, 0.5, True), "
        "torch.alpha_dropout_(z, 0.5, True), torch.feature_alpha_dropout(x, 0.5, True), "
        "torch.feature_alpha_dropout_(z, 0.5, True), "
        "F.feature_alpha_dropout(x, 0.5, True)",
    "AvgPool2DBackward0": "F.avg_pool2d(b, 2)",
    "BinaryCrossEntropyBackward0": "F.binary_cross_entropy(x / 2, y / 2)",
    "BinaryCrossEntropyWithLogitsBackward0": "F.binary_cross_entropy_with_logits(x, y)",
    "CeluBackward0": "torch.celu(x), F.celu(x)",
    "CeluBackward1": "torch.celu_(z)",
    "ChannelShuffleBackward0": "torch.channel_shuffle(b, 3), F.channel_shuffle(b, 3)",
    "Col2ImBackward0": "F.fold(F.unfold(b, 2), 3, 2)",
    "ConstantPadNdBackward0": "F.pad(x, (1, 1))",
    "ConvolutionBackward0": "torch.conv1d(b, b[:, :, :2]), torch.conv2d(b[None], b[None]), "
        "torch.conv3d(b[None, :, None], b[None, :, None]), F.conv2d(b[None], b[None]), "
        "torch.conv_transpose1d(b, w[:, :, None]), "
        "torch.conv_transpose2d(b[None], b[:, :, :, None]), "
        "torch.conv_transpose3d(b[None, :, None], b[:, :, :, None, None])",
    "CopySlices": "F.pad(b, (1, 1), 'circular')",
    "DivBackward0": "F.softsign(x), F.normalize(x)",
    "DivBackward1": "F.cross_entropy(x, d)",
    "EluBackward0": "F.elu(x), torch.selu(x), F.selu(x)",
    "EluBackward1": "F.elu_(z), torch.selu_(z)",
    "EmbeddingBackward0": "torch.embedding(x, i), F.embedding(i, x)",
    "GeluBackward0": "F.gelu(x), F.gelu(x, approximate='tanh')",
    "GluBackward0": "F.glu(x, 0)",
    "HardshrinkBackward0": "torch.hardshrink(x), x.hardshrink(), F.hardshrink(x)",
    "HardsigmoidBackward0": "F.hardsigmoid(x)",
    "HardswishBackward0": "F.hardswish(x)",
    "HardtanhBackward0": "F.relu6(x), F.hardtanh(x), F.hardtanh_(z)",
    "HuberLossBackward0": "F.huber_loss(x, y)",
    "Im2ColBackward0": "F.unfold(b, 2)",
    "LeakyReluBackward0": "F.leaky_relu(x)",
    "LeakyReluBackward1": "F.leaky_relu_(z)",
    "LogSigmoidBackward0": "F.logsigmoid(x)",
    "LogSoftmaxBackward0": "torch.log_softmax(x, 1), x.log_softmax(0), F.log_softmax(x, 1)",
    "MaxPool2DWithIndicesBackward0": "torch.max_pool2d(b, 2), F.max_pool2d(b, 2)",
    "MeanBackward0": "F.l1_loss(x, d), F.poisson_nll_loss(x, y), F.gaussian_nll_loss(x, d, y), "
        "F.hinge_embedding_loss(x, d), F.margin_ranking_loss(x, y, d), "
        "F.triplet_margin_loss(x, y, d), F.triplet_margin_with_distance_loss(x, y, d), "
        "F.cosine_embedding_loss(x, y, i), F.multilabel_soft_margin_loss(x, d)",
    "MeanBackward1": "F.adaptive_avg_pool2d(b, 1)",
    "MishBackward0": "F.mish(x)",
    "MulBackward0": "torch.rms_norm(x, (3,)), F.rms_norm(x, (3,), v), torch.dropout(x, 0.5, True), "
        "F.dropout(x), torch.dropout_(z, 0.5, True), F.dropout1d(b), "
        "F.dropout2d(b[None]), F.dropout3d(b[None, None]), "
        "torch.feature_dropout(x, 0.5, True), torch.feature_dropout_(z, 0.5, True)",
    "MultiMarginLossBackward0": "F.multi_margin_loss(x, i)",
    "NativeBatchNormBackward0": "F.batch_norm(b, None, None, training=True)",
    "NativeGroupNormBackward0": "torch.group_norm(b, 3), F.group_norm(b, 3)",
    "NativeLayerNormBackward0": "torch.layer_norm(x, (3,)), F.layer_norm(x, (3,))",
    "NllLoss2DBackward0": "F.nll_loss(b[:, :, :, None], i[:, None, None].expand(2, 3, 1))",
    "NllLossBackward0": "F.nll_loss(x, i), F.cross_entropy(x, i)",
    "NormBackward1": "torch.pairwise_distance(x, y), F.pairwise_distance(x, y)",
    "PixelShuffleBackward0": "torch.pixel_shuffle(b[:1].expand(4, 3, 3), 2)",
    "PixelUnshuffleBackward0": "torch.pixel_unshuffle(b[:, :2, :2], 2)",
    "PreluKernelBackward0": "torch.prelu(x, v), x.prelu(v), F.prelu(x, v)",
    "ReflectionPad1DBackward0": "F.pad(b, (1, 1), 'reflect')",
    "ReflectionPad2DBackward0": "F.pad(b, (1, 1, 1, 1), 'reflect')",
    "ReflectionPad3DBackward0": "F.pad(b[None], (1, 1, 1, 1, 1, 1), 'reflect')",
    "ReplicationPad1DBackward0": "F.pad(b, (1, 1), 'replicate')",
    "ReplicationPad2DBackward0": "F.pad(b, (1, 1, 1, 1), 'replicate')",
    "ReplicationPad3DBackward0": "F.pad(b[None], (1, 1, 1, 1, 1, 1), 'replicate')",
    "RreluWithNoiseBackward0": "torch.rrelu(x), F.rrelu(x)",
    "RreluWithNoiseBackward1": "torch.rrelu_(z)",
    "ScaledDotProductFlashAttentionForCpuBackward0": "F.scaled_dot_product_attention(b[None], b[None], b[None])",
    "SiluBackward0": "F.silu(x)",
    "SmoothL1LossBackward0": "F.smooth_l1_loss(x, y)",
    "SoftMarginLossBackward0": "F.soft_margin_loss(x, d)",
    "SoftmaxBackward0": "torch.softmax(x, 1), x.softmax(0), F.softmax(x, 1), F.softmin(x, 1), "
        "F.gumbel_softmax(x)",
    "SoftplusBackward0": "F.softplus(x)",
    "SoftshrinkBackward0": "F.softshrink(x)",
    "SqueezeBackward1": "torch.max_pool1d(b, 2), torch.avg_pool1d(b, 2), torch.adaptive_avg_pool1d(b, 2), "
        "F.adaptive_max_pool1d(x, 2), torch.adaptive_max_pool1d(x, 1)[0]",
    "SubBackward0": "F.tanhshrink(x)",
    "SumBackward0": "F.kl_div(x, y, reduction='sum')",
    "SumBackward1": "torch.cosine_similarity(x, y), F.cosine_similarity(x, y)",
    "ThresholdBackward0": "torch.threshold(x, 1, 2), F.threshold(x, 1, 2)",
    "ThresholdBackward1": "torch.threshold_(z, 1, 2)",
    "UnsafeViewBackward0": "F.scaled_dot_product_attention(b, b, b), "
        "F.scaled_dot_product_attention(b[None], b[None], b[None], dropout_p=0.5)",
    "UpsampleBicubic2DBackward0": "F.interpolate(b[None], 4, mode='bicubic')",
    "UpsampleBilinear2DBackward0": "F.interpolate(b[None], 4, mode='bilinear')",
    "UpsampleLinear1DBackward0": "F.interpolate(b, 4, mode='linear')",
    "UpsampleNearest1DBackward0": "F.interpolate(b, 4)",
    "UpsampleNearest2DBackward0": "F.interpolate(b[None], 4)",
    "UpsampleNearest3DBackward0": "F.interpolate(b[None, None], 4)",
    "UpsampleNearestExact1DBackward0": "F.interpolate(b, 4, mode='nearest-exact')",
    "UpsampleNearestExact2DBackward0": "F.interpolate(b[None], 4, mode='nearest-exact')",
    "UpsampleNearestExact3DBackward0": "F.interpolate(b[None, None], 4, mode='nearest-exact')",
    "UpsampleTrilinear3DBackward0": "F.interpolate(b[None, None], 4, mode='trilinear')",
    "ViewBackward0": "F.instance_norm(b), torch.bilinear(x, y, b[:, :, :])",
    "AdaptiveMaxPool2DBackward0": "F.adaptive_max_pool2d(b, 2), F.adaptive_max_pool2d(b, (1, 2), True)[0]",
    "AdaptiveMaxPool3DBackward0": "F.adaptive_max_pool3d(b[None], 2)",
    "CtcLossBackward0": "F.ctc_loss(b.log_softmax(2), i[:3], (2, 1, 2), (1, 1, 0), reduction='none')",
}

# What formulas are made of, in recorded passes; PyTorch has other ops there.
XP = dict.fromkeys([
    "ConvolveBackward0", "ConvolveInputBackward0", "ConvolveWeightBackward0", "EmbeddingDenseBackwardBackward0",
    "GateBackward0", "MaxPool2DWithIndicesBackwardBackward0", "PlaceBackward0",
    "ResampleBackward0", "ScaledBackward0", "ShiftedBackward0", "TakenBackward0",
], "")
