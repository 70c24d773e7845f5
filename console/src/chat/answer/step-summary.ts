const maxCharacters = 120

/** The first text or number of a tool's input, on one line. */
export function summaryOf(input: unknown): string {
  if (typeof input === 'string') return toLine(input)
  if (typeof input !== 'object' || input === null) return ''
  for (const name in input) {
    const value = (input as Record<string, unknown>)[name]
    if (typeof value === 'string' && value !== '') return toLine(value)
    if (typeof value === 'number') return `${name} ${value}`
  }
  return ''
}

function toLine(text: string): string {
  return text.slice(0, maxCharacters).replace(/\s+/g, ' ')
}
