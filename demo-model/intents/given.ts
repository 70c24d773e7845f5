import { answerFromStatements, answerFromTexts, asksForAll } from '../answers/given.ts'
import { describeMemories, toSecondPerson } from '../answers/remembered.ts'
import { scores, type Part, type Reading } from '../part.ts'
import { findWith } from '../tools.ts'
import { reported, said } from '../work.ts'

/** Answers from the conversation itself: memories, attached texts, statements of the person. */

export function readMemories({ text, memories }: Part): Reading | undefined {
  const answer = describeMemories(text, memories)
  return answer === undefined ? undefined : { score: scores.order, work: () => said(answer) }
}

/** Texts that came with the question, or the file of which only an outline came. */
export function readTexts(part: Part): Reading | undefined {
  const answer = answerFromTexts(part.text, part.texts)
  if (answer !== undefined) return { score: scores.given, work: () => said(answer) }
  const [path] = part.outlined
  // The tool for attached files comes last in the list. The configured file tool may have no access to the file.
  const tool = findWith(part.tools.toReversed(), 'path', 'offset')
  if (path === undefined || !tool) return undefined
  return { score: asksForAll(part.text) ? scores.given : 8, work: () => reported({ tool, input: { path }, evidence: [path] }, part.text) }
}

/** Facts that the person states, and questions about them. */
export function readStatement({ text, turns, memories, summary }: Part): Reading | undefined {
  const statements = turns.flatMap(({ question }) => (question.includes('?') ? [] : [question]))
  const answer = answerFromStatements(text, [summary, ...statements].join('\n'), memories.map(toSecondPerson))
  return answer === undefined ? undefined : { score: 4, work: () => said(answer) }
}
