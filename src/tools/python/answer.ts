import type { JsonValue } from '../../agent/messages.ts'

/** What a caller and the model are told of code that ran to its end. */
export interface Answer {
  result?: JsonValue
  stdout?: string
  stderr?: string
  /** Names of the files that it wrote. */
  files?: string[]
  note?: string
}

const texts = ['stderr', 'stdout', 'result', 'note'] as const
/** Where a text is shortened at all, some of it stays. */
const least = 200

/** Shortens what is longest until the whole, as JSON, has at most `limit` characters: it would be cut anywhere otherwise. */
export function fitAnswer(answer: Answer, limit: number): Answer {
  const fitting = { ...answer }
  for (let tries = 0; tries < 12; tries++) {
    const excess = JSON.stringify(fitting).length - limit
    if (excess <= 0) return fitting
    const longest = texts
      .map((name) => ({ name, text: fitting[name] }))
      .filter((one): one is { name: (typeof texts)[number]; text: string } => typeof one.text === 'string')
      .sort((a, b) => b.text.length - a.text.length)[0]
    if (!longest || longest.text.length <= least) return fitting
    // What JSON escapes takes more characters than it has.
    const written = JSON.stringify(longest.text).length
    const share = (longest.text.length * Math.max(0, written - excess - 60)) / written
    fitting[longest.name] = shorten(longest.text, Math.max(least, Math.floor(share)))
  }
  return fitting
}

/** Keeps the beginning and the end. */
export function shorten(text: string, limit: number): string {
  if (text.length <= limit) return text
  const head = Math.ceil((limit * 2) / 3)
  const tail = limit - head
  return `${text.slice(0, head).toWellFormed()}\n[${text.length - limit} characters left out]\n${text.slice(text.length - tail).toWellFormed()}`
}

/** A failure as the model reads it: what went wrong, then what there was before. */
export function toFailureText(error: string, { stdout, stderr, files, note }: Answer): string {
  const parts = [
    error,
    stdout && `Printed before:\n${stdout}`,
    stderr && `Printed to stderr:\n${stderr}`,
    files && `Files written: ${files.join(', ')}`,
    note,
  ]
  return parts.filter(Boolean).join('\n\n')
}
