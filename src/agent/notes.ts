/** Notes in a message's text that stand for attachments which are no longer shown. */

export function withNotes(text: string, ...notes: (string | undefined)[]): string {
  return [text, ...notes].filter(Boolean).join('\n\n')
}

/** Undefined for none. */
export function imagesNote(names: readonly string[], container: 'message' | 'result' = 'message'): string | undefined {
  return names.length > 0 ? `[Images that came with this ${container}, not shown here: ${listOf(names)}]` : undefined
}

/** Undefined for none. */
export function filesNote(names: readonly string[]): string | undefined {
  return names.length > 0 ? `[Files that came with this message, not shown again: ${listOf(names)}]` : undefined
}

function listOf(names: readonly string[]): string {
  return names.map((name) => name.replace(/\s+/g, ' ')).join(', ')
}
