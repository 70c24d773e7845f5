import type { ChatMessage } from './run.ts'

const maxCharacters = 60

/** What a session is listed by: the beginning of its first message, cut at a word. */
export function shortName(messages: readonly ChatMessage[]): string {
  const first = messages.find((message) => message.role === 'user')?.content ?? ''
  // No message is read further than the name can reach.
  const text = first
    .slice(0, maxCharacters * 4)
    .replace(/\s+/g, ' ')
    .trim()
  if (text.length <= maxCharacters) return text
  const cut = text.slice(0, maxCharacters - 1)
  const word = cut.lastIndexOf(' ')
  return `${word > maxCharacters / 2 ? cut.slice(0, word) : cut}…`
}
