"""Lines of the table of ops for losses: see `cases.py`."""

from __future__ import annotations

from tests.parity.compare import Input, frozen, leaf, positive

CASES = {
    # between numbers
    "mse_loss weight": (lambda m, a, b, w: m.nn.functional.mse_loss(a, b, weight=w), [leaf(3), leaf(3), frozen(3)]),
    "mse_loss weight none": (lambda m, a, b, w: m.nn.functional.mse_loss(a, b, reduction="none", weight=w),
                             [leaf(3), leaf(3), leaf(3)]),
    "l1_loss weight": (lambda m, a, b, w: m.nn.functional.l1_loss(a, b, weight=w), [leaf(3), leaf(3), frozen(3)]),
    "smooth_l1_loss": (lambda m, a, b: m.nn.functional.smooth_l1_loss(a, b), [leaf(2, 3), leaf(2, 3)]),
    "smooth_l1_loss sum": (lambda m, a, b: m.nn.functional.smooth_l1_loss(a, b, reduction="sum", beta=0.5),
                           [leaf(2, 3), frozen(2, 3)]),
    "smooth_l1_loss none": (lambda m, a, b: m.nn.functional.smooth_l1_loss(a, b, reduction="none", beta=2.0),
                            [leaf(2, 3), leaf(2, 3)]),
    "smooth_l1_loss 0": (lambda m, a, b: m.nn.functional.smooth_l1_loss(a, b, beta=0.0), [leaf(3), leaf(3)]),
    "huber_loss": (lambda m, a, b: m.nn.functional.huber_loss(a, b), [leaf(2, 3), leaf(2, 3)]),
    "huber_loss sum": (lambda m, a, b: m.nn.functional.huber_loss(a, b, "sum", 0.5), [leaf(2, 3), leaf(2, 3)]),
    "huber_loss none": (lambda m, a, b: m.nn.functional.huber_loss(a, b, "none", 2.0), [leaf(3), frozen(3)]),
    "huber_loss weight": (lambda m, a, b, w: m.nn.functional.huber_loss(a, b, weight=w), [leaf(3), leaf(3), frozen(3)]),
    "binary_cross_entropy": (lambda m, a, b: m.nn.functional.binary_cross_entropy(a / 2, b / 2),
                             [positive(2, 3), positive(2, 3)]),
    "binary_cross_entropy sum": (
        lambda m, a, b, w: m.nn.functional.binary_cross_entropy(a / 2, b / 2, w, reduction="sum"),
        [positive(2, 3), Input((2, 3), positive=True, grad=False), frozen(3)]),
    "binary_cross_entropy none": (
        lambda m, a, b: m.nn.functional.binary_cross_entropy(a / 2, b / 2, reduction="none"),
        [positive(2, 3), positive(2, 3)]),
    "binary_cross_entropy_with_logits": (
        lambda m, a, b: m.nn.functional.binary_cross_entropy_with_logits(a, b), [leaf(2, 3), leaf(2, 3)]),
    "binary_cross_entropy_with_logits sum": (
        lambda m, a, b, w, p: m.nn.functional.binary_cross_entropy_with_logits(a, b, w, reduction="sum", pos_weight=p),
        [leaf(2, 3), leaf(2, 3), frozen(3), frozen(3)]),
    "binary_cross_entropy_with_logits none": (
        lambda m, a, b, p: m.nn.functional.binary_cross_entropy_with_logits(a, b, reduction="none", pos_weight=p),
        [leaf(2, 3), frozen(2, 3), frozen(3)]),
    "soft_margin_loss": (lambda m, a, b: m.nn.functional.soft_margin_loss(a, b), [leaf(2, 3), frozen(2, 3)]),
    "soft_margin_loss none": (lambda m, a, b: m.nn.functional.soft_margin_loss(a, b, reduction="none"),
                              [leaf(2, 3), frozen(2, 3)]),
    # of classes
    "nll_loss": (lambda m, a: m.nn.functional.nll_loss(a, m.tensor([0, 2])), [leaf(2, 3)]),
    "nll_loss squared": (lambda m, a: m.nn.functional.nll_loss(a, m.tensor([0, 2])).square(), [leaf(2, 3)]),
    "nll_loss of one": (lambda m, a: m.nn.functional.nll_loss(a, m.tensor(1)), [leaf(3)]),
    "nll_loss sum": (lambda m, a, w: m.nn.functional.nll_loss(a, m.tensor([0, 2]), w, reduction="sum"),
                     [leaf(2, 3), frozen(3)]),
    "nll_loss none": (lambda m, a, w: m.nn.functional.nll_loss(a, m.tensor([0, 2]), w, reduction="none"),
                      [leaf(2, 3), frozen(3)]),
    "nll_loss ignore": (lambda m, a, w: m.nn.functional.nll_loss(a, m.tensor([0, 2, 1]), w, ignore_index=2),
                        [leaf(3, 3), frozen(3)]),
    "nll_loss of pictures": (lambda m, a: m.nn.functional.nll_loss(a, m.tensor([[[0, 1], [2, 2]]])),
                             [leaf(1, 3, 2, 2)]),
    "nll_loss of rows": (lambda m, a: m.nn.functional.nll_loss(a, m.tensor([[0, 2]]), reduction="none"),
                         [leaf(1, 3, 2)]),
    "cross_entropy": (lambda m, a: m.nn.functional.cross_entropy(a, m.tensor([0, 2])), [leaf(2, 3)]),
    "cross_entropy of one": (lambda m, a: m.nn.functional.cross_entropy(a, m.tensor(1)), [leaf(3)]),
    "cross_entropy sum": (lambda m, a: m.nn.functional.cross_entropy(a, m.tensor([0, 2]), reduction="sum"),
                          [leaf(2, 3)]),
    "cross_entropy weight": (
        lambda m, a, w: m.nn.functional.cross_entropy(a, m.tensor([0, -100, 1]), w), [leaf(3, 3), frozen(3)]),
    "cross_entropy of rows": (lambda m, a: m.nn.functional.cross_entropy(a, m.tensor([[0, 2]])), [leaf(1, 3, 2)]),
    "cross_entropy of pictures": (lambda m, a: m.nn.functional.cross_entropy(a, m.tensor([[[0, 1], [2, 2]]])),
                                  [leaf(1, 3, 2, 2)]),
    "cross_entropy smooth": (
        lambda m, a: m.nn.functional.cross_entropy(a, m.tensor([0, -100, 2]), label_smoothing=0.1), [leaf(3, 3)]),
    "cross_entropy smooth weight": (
        lambda m, a, w: m.nn.functional.cross_entropy(a, m.tensor([0, 1, 2]), w, ignore_index=1, label_smoothing=0.2),
        [leaf(3, 3), frozen(3)]),
    "cross_entropy smooth sum": (
        lambda m, a: m.nn.functional.cross_entropy(a, m.tensor([0, 2]), reduction="sum", label_smoothing=0.1),
        [leaf(2, 3)]),
    "cross_entropy smooth none": (
        lambda m, a: m.nn.functional.cross_entropy(a, m.tensor([0, 2]), reduction="none", label_smoothing=0.1),
        [leaf(2, 3)]),
    "cross_entropy of probabilities": (lambda m, a, b: m.nn.functional.cross_entropy(a, b), [leaf(2, 3), leaf(2, 3)]),
    "cross_entropy of probabilities, sum": (
        lambda m, a, b, w: m.nn.functional.cross_entropy(a, b, w, reduction="sum", label_smoothing=0.1),
        [leaf(2, 3), frozen(2, 3), frozen(3)]),
    "cross_entropy of probabilities, none": (
        lambda m, a, b: m.nn.functional.cross_entropy(a, b, reduction="none"), [leaf(2, 3), leaf(2, 3)]),
    "cross_entropy of probabilities, smooth": (
        lambda m, a, b: m.nn.functional.cross_entropy(a, b, label_smoothing=0.3), [leaf(2, 3), leaf(2, 3)]),
    # of distributions
    "kl_div": (lambda m, a, b: m.nn.functional.kl_div(a, b, reduction="batchmean"), [leaf(2, 3), positive(2, 3)]),
    "kl_div sum": (lambda m, a, b: m.nn.functional.kl_div(a, b, reduction="sum", log_target=True),
                   [leaf(2, 3), leaf(2, 3)]),
    "kl_div none": (lambda m, a, b: m.nn.functional.kl_div(a, b, reduction="none"),
                    [leaf(2, 3), Input((2, 3), positive=True, grad=False)]),
    "poisson_nll_loss": (lambda m, a, b: m.nn.functional.poisson_nll_loss(a, b), [leaf(2, 3), positive(2, 3)]),
    "poisson_nll_loss full": (lambda m, a, b: m.nn.functional.poisson_nll_loss(a, b, full=True, reduction="sum"),
                              [leaf(2, 3), positive(2, 3)]),
    "poisson_nll_loss not of logarithms": (
        lambda m, a, b: m.nn.functional.poisson_nll_loss(a, b, log_input=False, reduction="none"),
        [positive(3), frozen(3)]),
    "gaussian_nll_loss": (lambda m, a, b, v: m.nn.functional.gaussian_nll_loss(a, b, v),
                          [leaf(2, 3), leaf(2, 3), positive(2, 3)]),
    "gaussian_nll_loss full": (
        lambda m, a, b, v: m.nn.functional.gaussian_nll_loss(a, b, v, full=True, eps=1.0, reduction="sum"),
        [leaf(2, 3), frozen(2, 3), positive(2)]),
    "gaussian_nll_loss number": (lambda m, a, b: m.nn.functional.gaussian_nll_loss(a, b, 2.0, reduction="none"),
                                 [leaf(2, 3), leaf(2, 3)]),
    # of margins
    "hinge_embedding_loss": (lambda m, a, b: m.nn.functional.hinge_embedding_loss(a, b.sign()), [leaf(6), frozen(6)]),
    "margin_ranking_loss": (lambda m, a, b, t: m.nn.functional.margin_ranking_loss(a, b, t.sign(), 0.3),
                            [leaf(6), leaf(6), frozen(6)]),
    "triplet_margin_loss": (lambda m, a, b, c: m.nn.functional.triplet_margin_loss(a, b, c),
                            [leaf(3, 2), leaf(3, 2), leaf(3, 2)]),
    "triplet_margin_loss swap": (
        lambda m, a, b, c: m.nn.functional.triplet_margin_loss(a, b, c, 3.0, 3, swap=True, reduction="none"),
        [leaf(3, 2), leaf(3, 2), leaf(3, 2)]),
    "triplet_margin_with_distance_loss": (
        lambda m, a, b, c: m.nn.functional.triplet_margin_with_distance_loss(
            a, b, c, distance_function=lambda x, y: (x - y).square().sum(1), swap=True, reduction="sum"),
        [leaf(3, 2), leaf(3, 2), leaf(3, 2)]),
    "triplet_margin_with_distance_loss alone": (
        lambda m, a, b, c: m.nn.functional.triplet_margin_with_distance_loss(a, b, c),
        [leaf(3, 2), leaf(3, 2), leaf(3, 2)]),
    "cosine_embedding_loss": (lambda m, a, b, t: m.nn.functional.cosine_embedding_loss(a, b, t.sign(), 0.1),
                              [leaf(4, 3), leaf(4, 3), frozen(4)]),
    "multilabel_soft_margin_loss": (lambda m, a, b, w: m.nn.functional.multilabel_soft_margin_loss(a, b, w),
                                    [leaf(2, 3), leaf(2, 3), frozen(3)]),
    # distances
    "cosine_similarity": (lambda m, a, b: m.cosine_similarity(a, b), [leaf(2, 3), leaf(2, 3)]),
    "cosine_similarity dim": (lambda m, a, b: m.nn.functional.cosine_similarity(a, b, dim=0), [leaf(2, 3), leaf(2, 3)]),
    "pairwise_distance": (lambda m, a, b: m.pairwise_distance(a, b), [leaf(2, 3), leaf(2, 3)]),
    "pairwise_distance 3": (lambda m, a, b: m.nn.functional.pairwise_distance(a, b, 3.0, keepdim=True),
                            [leaf(2, 3), leaf(3)]),
    "pairwise_distance 1": (lambda m, a, b: m.nn.functional.pairwise_distance(a, b, p=1), [leaf(2, 3), leaf(2, 3)]),
    "normalize": (lambda m, a: m.nn.functional.normalize(a), [leaf(2, 3)]),
    "normalize 3": (lambda m, a: m.nn.functional.normalize(a, p=3.0, dim=0, eps=0.1), [leaf(2, 3)]),
}

MISSING = {
    "NllLoss2DBackward0": {"ignore_index", "total_weight"},
    "NllLossBackward0": {"ignore_index", "total_weight"},
}

NOT_COMPARABLE = {"gaussian_nll_loss full": "a variance below eps is raised to it, and the gradient goes on"}
