// How the results of a search are ordered; website/search.py puts this, and WEIGHTS, before Sphinx's own script.
var Scorer = {
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0, title: 15, partialTitle: 7, term: 5, partialTerm: 2,
  // A result: [page, title, anchor, description, score, file, kind]. A lesson explains what a reference only lists.
  score([page, , , , score]) {
    const stemmer = new Stemmer();
    const asked = splitQuery((new URLSearchParams(location.search).get('q') ?? '').toLowerCase()).map((word) => stemmer.stemWord(word));
    const about = asked.reduce((sum, word) => sum + (WEIGHTS[word]?.[page] ?? 0), 0) / Math.max(1, asked.length);
    return score + about + (page.startsWith('lessons/') ? 3 : 0);
  },
};
