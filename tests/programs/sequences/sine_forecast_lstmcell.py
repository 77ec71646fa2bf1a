"""Forecasts sine waves by stacked LSTM cells trained with LBFGS, in the form of the official example."""
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)


class Sequence(nn.Module):
    def __init__(self):
        super(Sequence, self).__init__()
        self.lstm1 = nn.LSTMCell(1, 8)
        self.lstm2 = nn.LSTMCell(8, 8)
        self.linear = nn.Linear(8, 1)

    def forward(self, input, future=0):
        outputs = []
        h_t = torch.zeros(input.size(0), 8, dtype=torch.double)
        c_t = torch.zeros(input.size(0), 8, dtype=torch.double)
        h_t2 = torch.zeros(input.size(0), 8, dtype=torch.double)
        c_t2 = torch.zeros(input.size(0), 8, dtype=torch.double)
        for input_t in input.split(1, dim=1):
            h_t, c_t = self.lstm1(input_t, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        for i in range(future):
            h_t, c_t = self.lstm1(output, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        return torch.cat(outputs, dim=1)


shift = torch.randint(-12, 12, (5, 1))
data = torch.sin((torch.arange(20) + shift) / 3.0).double()
input, target = data[2:, :-1], data[2:, 1:]
test_input, test_target = data[:2, :-1], data[:2, 1:]
seq = Sequence().double()
criterion = nn.MSELoss()
optimizer = optim.LBFGS(seq.parameters(), lr=0.8, max_iter=3)
for i in range(2):
    print("STEP: ", i)

    def closure():
        optimizer.zero_grad()
        out = seq(input)
        loss = criterion(out, target)
        print("loss: %.6f" % loss.item())
        loss.backward()
        return loss

    optimizer.step(closure)
    with torch.no_grad():
        pred = seq(test_input, future=5)
        print("test loss: %.6f" % criterion(pred[:, :-5], test_target).item(), tuple(pred.shape))
print(optimizer.state_dict()["state"][0]["func_evals"], optimizer.state_dict()["param_groups"][0]["history_size"])
