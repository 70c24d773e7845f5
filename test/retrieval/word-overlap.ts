/** Function words and words of questions, which say nothing about the topic. */
const stopWords = new Set(
  `a about after all alone also am an and another any anybody anything are as at be because been before being but by can cannot could
  did do does else every everybody everything for from get gets give given go goes got had has have he her here him his how i if in into
  is it its itself just keep let like long many may me meanwhile mine more most much must my need no nobody not now of off often on once
  one only or other our out own people per prior quickly say says she should so some somebody something soon still such take than that
  the their them then there they thing things this those though through to too until up us use using very want was way we were what when
  where whether which while who whom whose why will with without would yet you your yours over under`.split(/\s+/),
)

/** Longest first, so that "carefully" loses "fully" before "ly". Doubled consonants and a final "e" go afterwards. */
const suffixes = ['ations', 'ation', 'ments', 'ment', 'ings', 'ing', 'ers', 'er', 'ies', 'ied', 'es', 'ed', 'ly', 'al', 's', 'y', 'e']

/** A cautious stem: at least three letters stay. Stems serve comparison only and need not be words. */
function stemOf(word: string): string {
  const suffix = suffixes.find((candidate) => word.endsWith(candidate) && word.length - candidate.length >= 3)
  const stem = suffix ? word.slice(0, -suffix.length) : word
  return stem.replace(/([b-df-hj-np-tv-z])\1$/, '$1')
}

/** Stems of the words of a text that carry meaning, each once. */
export function contentStems(text: string): Set<string> {
  const words =
    text
      .toLowerCase()
      .replaceAll(/['’]s\b/g, '')
      .match(/[\p{L}\p{N}]+/gu) ?? []
  return new Set(words.filter((word) => !stopWords.has(word) && word.length > 1).map(stemOf))
}

/** Content stems of the question that the passage has too. */
export function sharedStems(question: string, passage: string): string[] {
  const stems = contentStems(passage)
  return [...contentStems(question)].filter((stem) => stems.has(stem))
}
