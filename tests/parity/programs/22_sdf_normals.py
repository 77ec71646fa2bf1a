# normals of a signed distance field by autograd.grad(create_graph=True)
pts = torch.tensor([[[3.0, 4.0, 0.0], [0.0, 0.0, 2.0]]], requires_grad=True)
def backbone(p):
    return (p * p).sum(-1).sqrt() - 1.0
with torch.set_grad_enabled(True):
    sigma = backbone(pts)
    normal = torch.autograd.grad(torch.sum(sigma), pts, create_graph=True)[0]
print(sigma)
print(normal)
eikonal = ((normal.norm(dim=-1) - 1) ** 2).mean()
print(eikonal.requires_grad)
eikonal.backward()
print(pts.grad)
