"""Names of nodes: products of matrices in place, and distances of rows. See `test_node_names.py`."""

from __future__ import annotations

NAMES = {
    "RenormBackward0": "x.renorm(2, 0, 0.5), z.renorm_(2, 0, 0.5)",
    "AddmmBackward0": "w.clone().addmm_(w, w)",
    "AddmvBackward0": "v.clone().addmv_(w, v), torch.addmv(v, w, v)",
    "AddrBackward0": "w.clone().addr_(v, v), torch.addr(w, v, v)",
    "BaddbmmBackward0": "b.clone().baddbmm_(b, b), torch.baddbmm(b, b, b)",
    "AddbmmBackward0": "w.clone().addbmm_(b, b), torch.addbmm(w, b, b)",
    "CdistBackward0": "torch.cdist(x, y, p=1.0), torch.cdist(x, y)",
    "CdistBackwardBackward0": "torch.autograd.grad(torch.cdist(x, y, p=1.0).sum(), x, create_graph=True)[0]",
    "LinalgLstsqBackward0": "torch.linalg.lstsq(x, y)[0], torch.linalg.lstsq(x, v[:2]).residuals",
}
