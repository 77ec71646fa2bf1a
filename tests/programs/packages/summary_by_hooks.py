"""A summary of a model by forward hooks, in the manner of the packages that print one: shapes, parameters, sizes."""
from collections import OrderedDict

import numpy as np
import torch
import torch.nn as nn


def summary(model, input_size, batch_size=-1):
    lines, table, hooks = [], OrderedDict(), []

    def register_hook(module):
        def hook(module, input, output):
            class_name = str(module.__class__).split(".")[-1].split("'")[0]
            m_key = "%s-%i" % (class_name, len(table) + 1)
            table[m_key] = OrderedDict()
            table[m_key]["input_shape"] = list(input[0].size())
            if isinstance(output, (list, tuple)):
                table[m_key]["output_shape"] = [[-1] + list(o.size())[1:] for o in output if torch.is_tensor(o)]
            else:
                table[m_key]["output_shape"] = [batch_size] + list(output.size())[1:]
            params = 0
            if hasattr(module, "weight") and hasattr(module.weight, "size"):
                params += torch.prod(torch.LongTensor(list(module.weight.size())))
                table[m_key]["trainable"] = module.weight.requires_grad
            if hasattr(module, "bias") and hasattr(module.bias, "size"):
                params += torch.prod(torch.LongTensor(list(module.bias.size())))
            table[m_key]["nb_params"] = params

        if not isinstance(module, (nn.Sequential, nn.ModuleList)) and module != model:
            hooks.append(module.register_forward_hook(hook))

    model.apply(register_hook)
    model(torch.rand(2, *input_size).type(torch.FloatTensor))
    for h in hooks:
        h.remove()
    total_params, total_output = 0, 0
    for layer, facts in table.items():
        lines.append("{:>20}  {:>25} {:>15}".format(layer, str(facts["output_shape"]), "{0:,}".format(int(facts["nb_params"]))))
        total_params += facts["nb_params"]
        if not isinstance(facts["output_shape"][0], list):
            total_output += np.prod(facts["output_shape"])
    lines.append("Total params: {0:,}".format(int(total_params)))
    lines.append("Forward/backward pass size (MB): %0.4f" % abs(2.0 * total_output * 4.0 / (1024 ** 2)))
    return "\n".join(lines)


torch.manual_seed(1)
net = nn.Sequential(nn.Conv2d(3, 8, 3, padding="same"), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                    nn.Conv2d(8, 8, 3, groups=4, bias=False), nn.AdaptiveMaxPool2d(2), nn.Flatten(), nn.Linear(32, 10))
print(summary(net, (3, 12, 12)))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.fc = nn.LSTM(4, 6), nn.Linear(6, 2)

    def forward(self, x):
        return self.fc(self.lstm(x)[0])


print(summary(Recurrent(), (5, 4)))
print(sum(len(m._forward_hooks) for m in net.modules()))
counts = {name: sum(p.numel() for p in m.parameters()) for name, m in net.named_children()}
print(counts, sum(b.numel() for b in net.buffers()))
