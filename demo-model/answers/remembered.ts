/** Memories about the user in the second person: stored memories say "the user". */

const verbs: [RegExp, string][] = [
  [/^The user is\b/, 'You are'],
  [/^The user has\b/, 'You have'],
  [/^The user (?:does|did) not\b/, 'You do not'],
  [/^The user wishes: /, 'You asked for: '],
  // Removes the ending of "lives", "works at" and "prefers".
  [/^The user (\p{Ll}+(?:[^s\P{L}]|ss))es\b(?<=[sxz]es|ches|shes)/u, 'You $1'],
  [/^The user (\p{Ll}+)ies\b/u, 'You $1y'],
  [/^The user (\p{Ll}+[^s\P{L}])s\b/u, 'You $1'],
  [/^The user's\b/, 'Your'],
]

export function toSecondPerson(sentence: string): string {
  const [pattern, begin] = verbs.find(([form]) => form.test(sentence)) ?? ['', '']
  return sentence
    .replace(pattern, begin)
    .replace(/\bthe user's\b/gi, 'your')
    .replace(/\bthe user\b/gi, 'you')
}

/** A longer message contains texts, and is no question about memories. */
const maxQuestion = 600

/** Lists all memories, if the question asks for them. */
export function describeMemories(question: string, memories: readonly string[]): string | undefined {
  if (memories.length === 0 || question.length > maxQuestion) return undefined
  const isAsked = /\b(?:know|remember|learned|learnt)\b[^?.!]*\b(?:about|of) me\b|^\W*who am i\b/i.test(question)
  return isAsked
    ? `From earlier conversations I know:\n\n${memories.map((sentence) => `- ${toSecondPerson(sentence)}`).join('\n')}`
    : undefined
}
