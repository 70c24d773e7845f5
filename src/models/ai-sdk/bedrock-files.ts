import type { Message, MessageFile, UserMessage } from '../../agent/messages.ts'
import { isBlank } from '../blank.ts'

/** What Bedrock demands of files: names of few characters, each once in a request, and a text beside a document. */

/** Bedrock accepts 200 characters; the rest is for a number. */
const maxName = 190

export function withBedrockFiles(messages: readonly Message[]): readonly Message[] {
  if (!messages.some((message) => message.role === 'user' && message.files)) return messages
  const taken = new Set<string>()
  return messages.map((message) => (message.role === 'user' && message.files ? toNamed(message, message.files, taken) : message))
}

function toNamed(message: UserMessage, files: readonly MessageFile[], taken: Set<string>): UserMessage {
  const named = files.map((file) => ({ ...file, name: toUnique(toPlain(file.name), taken) }))
  const text = isBlank(message.text) ? `The user sent: ${named.map(({ name }) => name).join(', ')}.` : message.text
  return { ...message, text, files: named }
}

/** The name without its ending, which the package would cut at the first full stop. */
function toPlain(name: string): string {
  const letters = name
    .replace(/\.[^.]*$/, '')
    .normalize('NFKD')
    .replace(/\p{Mark}/gu, '')
  const plain = letters.replace(/[^a-zA-Z0-9 ()[\]-]+/g, '-').replace(/ {2,}/g, ' ')
  return plain.slice(0, maxName).replace(/^[ -]+|[ -]+$/g, '') || 'document'
}

function toUnique(name: string, taken: Set<string>): string {
  let unique = name
  for (let n = 2; taken.has(unique.toLowerCase()); n++) unique = `${name} (${n})`
  taken.add(unique.toLowerCase())
  return unique
}
