import type { HistoryMessage } from '../run-store.ts'

/** A summary made without a model: the first sentence of each question and each answer. */

const sentenceCharacters = 240

/** Extends a summary by one line per message. Over `maxCharacters`, answers are dropped first, then questions, each oldest first. */
export function digest(earlier: string, messages: readonly Pick<HistoryMessage, 'role' | 'content'>[], maxCharacters: number): string {
  const lines = earlier === '' ? [] : earlier.split('\n').filter((line) => line !== omissionNote)
  for (const { role, content } of messages) lines.push(`${role === 'human' ? user : assistant}${firstSentence(content)}`)
  const isWhole = !earlier.startsWith(omissionNote)
  return isWhole && lengthOf(lines) <= maxCharacters ? lines.join('\n') : [omissionNote, ...shorten(lines, maxCharacters)].join('\n')
}

const user = '- User: '
const assistant = '- Assistant: '
const omissionNote = '(Some of it is left out.)'

function shorten(lines: readonly string[], maxCharacters: number): string[] {
  const limit = maxCharacters - omissionNote.length - 1
  const remaining = [...lines]
  let excess = lengthOf(remaining) - limit
  for (const isDroppable of [isAnswer, isQuestion, () => true]) {
    for (let at = 0; excess > 0 && at < remaining.length;) {
      if (isDroppable(remaining[at]!)) excess -= remaining.splice(at, 1)[0]!.length + 1
      else at++
    }
  }
  // Even the last line alone is too long: cut the line.
  return remaining.length === 0 ? [lines.at(-1)!.slice(0, limit).toWellFormed()] : remaining
}

function isAnswer(line: string): boolean {
  return line.startsWith(assistant)
}

/** True for a user's question. Statements of a user are kept longer than questions, because later turns refer to facts. */
function isQuestion(line: string): boolean {
  return line.startsWith(user) && /[?？]$/.test(line)
}

function lengthOf(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + line.length + 1, -1)
}

function firstSentence(text: string): string {
  const line = text
    .slice(0, 4 * sentenceCharacters)
    .replace(/\s+/g, ' ')
    .trim()
  const sentence = /^.*?[.!?。！？](?=\s|$)/u.exec(line)?.[0] ?? line
  return sentence.length <= sentenceCharacters ? sentence : `${sentence.slice(0, sentenceCharacters - 1).toWellFormed()}…`
}
