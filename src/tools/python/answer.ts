import type { JsonValue } from '../../agent/messages.ts'

/** The result of code which ran to its end, for the caller and the model. */
export interface RunAnswer {
  result?: JsonValue
  stdout?: string
  stderr?: string
  /** Names of the files written by the code. */
  files?: string[]
  note?: string
}

const texts = ['stderr', 'stdout', 'result', 'note'] as const
/** A shortened text keeps at least this many characters. */
const minCharacters = 200

/** Shortens the longest texts until the answer as JSON has at most `limit` characters. A longer output would be cut at an arbitrary position. */
export function fitAnswer(answer: RunAnswer, limit: number): RunAnswer {
  const fitting = { ...answer }
  for (let tries = 0; tries < 12; tries++) {
    const excess = JSON.stringify(fitting).length - limit
    if (excess <= 0) return fitting
    const longest = texts
      .map((name) => ({ name, text: fitting[name] }))
      .filter((entry): entry is { name: (typeof texts)[number]; text: string } => typeof entry.text === 'string')
      .sort((a, b) => b.text.length - a.text.length)[0]
    if (!longest || longest.text.length <= minCharacters) return fitting
    // Escaped characters take more room in JSON than in the text.
    const jsonCharacters = JSON.stringify(longest.text).length
    const share = (longest.text.length * Math.max(0, jsonCharacters - excess - 60)) / jsonCharacters
    fitting[longest.name] = shorten(longest.text, Math.max(minCharacters, Math.floor(share)))
  }
  return fitting
}

/** Shortens a text in the middle. */
export function shorten(text: string, limit: number): string {
  if (text.length <= limit) return text
  const head = Math.ceil((limit * 2) / 3)
  const tail = limit - head
  return `${text.slice(0, head).toWellFormed()}\n[${text.length - limit} characters left out]\n${text.slice(text.length - tail).toWellFormed()}`
}

/** Error text for the model: the error, then the output before the error. */
export function toFailureText(error: string, { stdout, stderr, files, note }: RunAnswer): string {
  const parts = [
    error,
    stdout && `Printed before:\n${stdout}`,
    stderr && `Printed to stderr:\n${stderr}`,
    files && `Files written: ${files.join(', ')}`,
    note,
  ]
  return parts.filter(Boolean).join('\n\n')
}
