import type { HistoryMessage } from '../run-store.ts'

/** A summary without a model: the first sentence of each question and of each answer. */

const sentenceCharacters = 240

/** The share of `memory.history_tokens` that a summary may take. */
export function summaryTokens(historyTokens: number): number {
  return Math.floor(historyTokens / 8)
}

/** The summary with lines for more messages. Where it gets too long, what was answered goes first, then what was asked, oldest first. */
export function digest(earlier: string, messages: readonly Pick<HistoryMessage, 'role' | 'content'>[], maxCharacters: number): string {
  const lines = earlier === '' ? [] : earlier.split('\n').filter((line) => line !== someLeftOut)
  for (const { role, content } of messages) lines.push(`${role === 'human' ? user : assistant}${firstSentence(content)}`)
  const isWhole = !earlier.startsWith(someLeftOut)
  return isWhole && lengthOf(lines) <= maxCharacters ? lines.join('\n') : [someLeftOut, ...shorten(lines, maxCharacters)].join('\n')
}

const user = '- User: '
const assistant = '- Assistant: '
const someLeftOut = '(Some of it is left out.)'

function shorten(lines: readonly string[], maxCharacters: number): string[] {
  const room = maxCharacters - someLeftOut.length - 1
  const left = [...lines]
  let over = lengthOf(left) - room
  for (const mayGo of [isAnswer, isQuestion, () => true]) {
    for (let at = 0; over > 0 && at < left.length;) {
      if (mayGo(left[at]!)) over -= left.splice(at, 1)[0]!.length + 1
      else at++
    }
  }
  // A line that alone is too long is cut.
  return left.length === 0 ? [lines.at(-1)!.slice(0, room).toWellFormed()] : left
}

function isAnswer(line: string): boolean {
  return line.startsWith(assistant)
}

/** What a person states of themselves is asked for later; what they asked is not. */
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
