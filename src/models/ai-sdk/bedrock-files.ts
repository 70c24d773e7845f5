import type { Message, MessageFile, UserMessage } from '../../agent/messages.ts'
import { isBlank } from '../blank.ts'

/** What Bedrock demands of files: names of few characters, each once in a request, and a text beside a document. */

/** Bedrock accepts 200 characters; the rest is for a number. */
const maxName = 190

export function withBedrockFiles(messages: readonly Message[]): readonly Message[] {
  if (!messages.some((message) => message.role === 'user' && message.files)) return messages
  const usedNames = new Set<string>()
  return messages.map((message) => (message.role === 'user' && message.files ? toNamed(message, message.files, usedNames) : message))
}

function toNamed(message: UserMessage, files: readonly MessageFile[], usedNames: Set<string>): UserMessage {
  const renamedFiles = files.map((file) => ({ ...file, name: toUnique(toPlain(file.name), usedNames) }))
  const text = isBlank(message.text) ? `The user sent: ${renamedFiles.map(({ name }) => name).join(', ')}.` : message.text
  return { ...message, text, files: renamedFiles }
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

function toUnique(name: string, usedNames: Set<string>): string {
  let unique = name
  for (let n = 2; usedNames.has(unique.toLowerCase()); n++) unique = `${name} (${n})`
  usedNames.add(unique.toLowerCase())
  return unique
}
