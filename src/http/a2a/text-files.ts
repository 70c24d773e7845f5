import { hash } from 'node:crypto'
import { RequestMalformedError } from '@a2a-js/sdk/errors'
import { toContextText } from '../../files/context-text.ts'

/** Media types of plain-text files. */
export const textTypes: readonly string[] = [
  'text/plain',
  'text/markdown',
  'text/csv',
  'text/tab-separated-values',
  'application/json',
  'application/yaml',
  'application/xml',
]

/** A text file in a message. */
export interface TextFile {
  name: string
  text: string
}

/** The limit of common file systems. */
const maxNameCharacters = 255

/** Whether a media type, with or without parameters, is text in UTF-8. */
export function isTextType(mediaType: string): boolean {
  const [type = '', ...parameters] = mediaType.toLowerCase().split(';')
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('charset='))
  return textTypes.includes(type.trim()) && (charset === undefined || /^charset="?(utf-8|us-ascii)"?$/.test(charset))
}

/** Decodes the file in part `index` of a message. Throws for bytes that are not UTF-8. */
export function toTextFile(bytes: Uint8Array, filename: string, index: number): TextFile {
  if (filename.length > maxNameCharacters) {
    throw new RequestMalformedError(`message.parts[${index}].filename must have at most ${maxNameCharacters} characters.`)
  }
  try {
    return { name: filename || `file-${index + 1}`, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) }
  } catch {
    throw new RequestMalformedError(`message.parts[${index}].raw must be text in UTF-8.`)
  }
}

/** Prepends text files to the question, framed like context files. */
export function withTextFiles(question: string, files: readonly TextFile[]): string {
  if (files.length === 0) return question
  // The mark is equal for a repeated request, and unguessable: no file can contain its own hash.
  const mark = hash('sha256', JSON.stringify([question, files])).slice(0, 32)
  const contextFiles = files.map(({ name, text }) => ({ name, text, characters: text.length, isWhole: true }))
  return `${toContextText(contextFiles, { mark, tool: undefined })}\n\n${question}`.trimEnd()
}
