"""A BiLSTM-CRF that tags a sentence: the forward algorithm, the Viterbi path and their gradients."""
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(1)
START_TAG, STOP_TAG = "<START>", "<STOP>"


def argmax(vec):
    _, idx = torch.max(vec, 1)
    return idx.item()


def log_sum_exp(vec):
    max_score = vec[0, argmax(vec)]
    max_score_broadcast = max_score.view(1, -1).expand(1, vec.size()[1])
    return max_score + torch.log(torch.sum(torch.exp(vec - max_score_broadcast)))


class BiLSTM_CRF(nn.Module):
    def __init__(self, vocab_size, tag_to_ix, embedding_dim, hidden_dim):
        super(BiLSTM_CRF, self).__init__()
        self.hidden_dim, self.tag_to_ix, self.tagset_size = hidden_dim, tag_to_ix, len(tag_to_ix)
        self.word_embeds = nn.Embedding(vocab_size, embedding_dim)
        self.lstm = nn.LSTM(embedding_dim, hidden_dim // 2, num_layers=1, bidirectional=True)
        self.hidden2tag = nn.Linear(hidden_dim, self.tagset_size)
        self.transitions = nn.Parameter(torch.randn(self.tagset_size, self.tagset_size))
        self.transitions.data[tag_to_ix[START_TAG], :] = -10000
        self.transitions.data[:, tag_to_ix[STOP_TAG]] = -10000

    def _forward_alg(self, feats):
        forward_var = torch.full((1, self.tagset_size), -10000.0, dtype=feats.dtype)
        forward_var[0][self.tag_to_ix[START_TAG]] = 0.0
        for feat in feats:
            alphas_t = []
            for next_tag in range(self.tagset_size):
                emit_score = feat[next_tag].view(1, -1).expand(1, self.tagset_size)
                trans_score = self.transitions[next_tag].view(1, -1)
                alphas_t.append(log_sum_exp(forward_var + trans_score + emit_score).view(1))
            forward_var = torch.cat(alphas_t).view(1, -1)
        return log_sum_exp(forward_var + self.transitions[self.tag_to_ix[STOP_TAG]])

    def features(self, sentence):
        embeds = self.word_embeds(sentence).view(len(sentence), 1, -1)
        lstm_out, _ = self.lstm(embeds, (torch.zeros(2, 1, self.hidden_dim // 2).double(),) * 2)
        return self.hidden2tag(lstm_out.view(len(sentence), self.hidden_dim))

    def _score_sentence(self, feats, tags):
        score = torch.zeros(1)
        tags = torch.cat([torch.tensor([self.tag_to_ix[START_TAG]], dtype=torch.long), tags])
        for i, feat in enumerate(feats):
            score = score + self.transitions[tags[i + 1], tags[i]] + feat[tags[i + 1]]
        return score + self.transitions[self.tag_to_ix[STOP_TAG], tags[-1]]

    def viterbi(self, feats):
        backpointers, forward_var = [], torch.full((1, self.tagset_size), -10000.0)
        forward_var[0][self.tag_to_ix[START_TAG]] = 0
        for feat in feats:
            scores = forward_var + self.transitions
            best = scores.argmax(dim=1)
            backpointers.append(best.tolist())
            forward_var = (scores.gather(1, best.unsqueeze(1)).squeeze(1) + feat).view(1, -1)
        best_tag = argmax(forward_var + self.transitions[self.tag_to_ix[STOP_TAG]])
        path = [best_tag]
        for back in reversed(backpointers):
            path.append(back[path[-1]])
        return (forward_var.max()).item(), path[-2::-1]

    def neg_log_likelihood(self, sentence, tags):
        feats = self.features(sentence)
        return self._forward_alg(feats) - self._score_sentence(feats, tags)


training = [("the wall street journal reported today".split(), "B I I I O O".split()),
            ("georgia tech is a university in georgia".split(), "B I O O O O B".split())]
words = {w: i for i, w in enumerate(dict.fromkeys(w for s, _ in training for w in s))}
tags = {"B": 0, "I": 1, "O": 2, START_TAG: 3, STOP_TAG: 4}
model = BiLSTM_CRF(len(words), tags, 5, 4).double()
optimizer = optim.SGD(model.parameters(), lr=0.1, weight_decay=1e-4)
for epoch in range(8):
    total = 0.0
    for sentence, labels in training:
        model.zero_grad()
        loss = model.neg_log_likelihood(torch.tensor([words[w] for w in sentence]), torch.tensor([tags[t] for t in labels]))
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 2 == 0:
        print(f"epoch {epoch} {total:.6f}")
with torch.no_grad():
    for sentence, _ in training:
        score, path = model.viterbi(model.features(torch.tensor([words[w] for w in sentence])))
        print(f"{score:.5f}", path)
print(loss.shape, f"{model.transitions.grad.abs().sum():.6f}")
