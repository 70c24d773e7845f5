import type { HistoryMessage } from './run-store.ts'

/** A summary without a model: the first sentence of each question and of each answer. */

const sentenceCharacters = 240

/** The share of `memory.history_tokens` that a summary may take. */
export function summaryTokens(historyTokens: number): number {
  return Math.floor(historyTokens / 8)
}

/** The summary with lines for more messages; where it gets too long its oldest lines go. */
export function digest(earlier: string, messages: readonly Pick<HistoryMessage, 'role' | 'content'>[], maxCharacters: number): string {
  const lines = earlier === '' ? [] : earlier.split('\n').filter((line) => line !== oldestLeftOut)
  for (const { role, content } of messages) lines.push(`- ${role === 'human' ? 'User' : 'Assistant'}: ${firstSentence(content)}`)
  return withinCharacters(lines, maxCharacters)
}

const oldestLeftOut = '(Older turns are left out.)'

function withinCharacters(lines: readonly string[], max: number): string {
  let room = max - oldestLeftOut.length
  const from = lines.findLastIndex((line) => (room -= line.length + 1) < 0) + 1
  if (from === 0 || lines.join('\n').length <= max) return lines.join('\n')
  // A line that alone is too long is cut.
  const kept =
    from === lines.length
      ? [
          lines
            .at(-1)!
            .slice(0, max - oldestLeftOut.length - 1)
            .toWellFormed(),
        ]
      : lines.slice(from)
  return [oldestLeftOut, ...kept].join('\n')
}

function firstSentence(text: string): string {
  const line = text
    .slice(0, 4 * sentenceCharacters)
    .replace(/\s+/g, ' ')
    .trim()
  const sentence = /^.*?[.!?。！？](?=\s|$)/u.exec(line)?.[0] ?? line
  return sentence.length <= sentenceCharacters ? sentence : `${sentence.slice(0, sentenceCharacters - 1).toWellFormed()}…`
}
