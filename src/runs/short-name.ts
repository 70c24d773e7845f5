import { questionOf } from '../files/context-text.ts'
import type { ChatMessage } from './run.ts'

const maxCharacters = 60

/** The name of a session in lists: the beginning of the first question, without context files, cut at a word. */
export function shortName(messages: readonly ChatMessage[]): string {
  const first = messages.find((message) => message.role === 'user')?.content ?? ''
  // Only the part that may appear in the name is processed.
  const text = (questionOf(first) || first)
    .trimStart()
    .slice(0, maxCharacters * 4)
    .replace(/\s+/g, ' ')
    .trim()
  if (text.length <= maxCharacters) return text
  // A blank right after the limit ends a word that fits.
  const word = text.lastIndexOf(' ', maxCharacters - 1)
  return `${text.slice(0, word > maxCharacters / 2 ? word : maxCharacters - 1).toWellFormed()}…`
}
