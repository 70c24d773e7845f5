import { questionOf } from '../files/context-text.ts'
import type { ChatMessage } from './run.ts'

const maxCharacters = 60

/** What a session is listed by: the beginning of its first message, behind its files, cut at a word. */
export function shortName(messages: readonly ChatMessage[]): string {
  const first = messages.find((message) => message.role === 'user')?.content ?? ''
  // No message is read further than the name can reach.
  const text = (questionOf(first) || first)
    .trimStart()
    .slice(0, maxCharacters * 4)
    .replace(/\s+/g, ' ')
    .trim()
  if (text.length <= maxCharacters) return text
  // A blank right behind the limit ends a word that fits.
  const word = text.lastIndexOf(' ', maxCharacters - 1)
  return `${text.slice(0, word > maxCharacters / 2 ? word : maxCharacters - 1).toWellFormed()}…`
}
