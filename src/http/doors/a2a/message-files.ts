import { hash } from 'node:crypto'
import { ContentTypeNotSupportedError, RequestMalformedError } from '@a2a-js/sdk/errors'
import type { Owner } from '../../../access/owner.ts'
import { messageOf } from '../../../errors.ts'
import { toContextText } from '../../../files/context-text.ts'
import type { DocumentKind } from '../../../files/document-kind.ts'

/** Media types of plain-text files. */
const textTypes: readonly string[] = [
  'text/plain',
  'text/markdown',
  'text/csv',
  'text/tab-separated-values',
  'application/json',
  'application/yaml',
  'application/xml',
]

/** Media types of documents whose text the service extracts. */
const documentKinds: Readonly<Record<string, DocumentKind>> = {
  'application/pdf': 'pdf',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'pptx',
  'application/epub+zip': 'epub',
  'application/vnd.oasis.opendocument.text': 'odt',
  'message/rfc822': 'eml',
  'text/html': 'html',
}

/** Media types of files that become text of the question. */
export const fileTypes: readonly string[] = [...textTypes, ...Object.keys(documentKinds)]

/** A file in a message, as text. */
export interface MessageFile {
  name: string
  text: string
}

/** A part with the bytes of a file. */
interface FilePart {
  bytes: Uint8Array
  filename: string
  mediaType: string
  /** Place of the part in the message, from 0. */
  index: number
}

/** The limit of common file systems. */
const maxNameCharacters = 255

/** Reads the text of a file. Throws for other media types, and for bytes that are not of the media type. */
export async function toMessageFile({ bytes, filename, mediaType, index }: FilePart, caller: Owner): Promise<MessageFile> {
  if (filename.length > maxNameCharacters)
    throw new RequestMalformedError(`message.parts[${index}].filename must have at most ${maxNameCharacters} characters.`)
  const name = filename || `file-${index + 1}`
  if (isTextType(mediaType)) return { name, text: decode(bytes, index) }
  const kind = documentKinds[withoutParameters(mediaType)]
  if (!kind)
    throw new ContentTypeNotSupportedError(
      `A file of type ${mediaType || 'unknown'} is not supported: send an image, a PDF, DOCX, XLSX, PPTX, EPUB, ODT, EML or HTML document, or text in UTF-8.`,
    )
  const { readDocumentBytes } = await import('../../../files/document-text.ts')
  try {
    return { name, text: (await readDocumentBytes(Buffer.from(bytes), kind, caller)).text }
  } catch (error) {
    throw new ContentTypeNotSupportedError(`message.parts[${index}].raw: ${messageOf(error)}.`.replace(/\.\.$/, '.'))
  }
}

/** Whether a media type, with or without parameters, is text in UTF-8. */
function isTextType(mediaType: string): boolean {
  const [, ...parameters] = mediaType.toLowerCase().split(';')
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('charset='))
  return textTypes.includes(withoutParameters(mediaType)) && (charset === undefined || /^charset="?(utf-8|us-ascii)"?$/.test(charset))
}

/** A media type in lower case, without its parameters. */
export function withoutParameters(mediaType: string): string {
  const [type = ''] = mediaType.toLowerCase().split(';')
  return type.trim()
}

function decode(bytes: Uint8Array, index: number): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new RequestMalformedError(`message.parts[${index}].raw must be text in UTF-8.`)
  }
}

/** Prepends files to the question, framed like context files. */
export function withFiles(question: string, files: readonly MessageFile[]): string {
  if (files.length === 0) return question
  // The mark is equal for a repeated request, and unguessable: no file can contain its own hash.
  const mark = hash('sha256', JSON.stringify([question, files])).slice(0, 32)
  const contextFiles = files.map(({ name, text }) => ({ name, text, characters: text.length, isWhole: true }))
  return `${toContextText(contextFiles, { mark, tool: undefined })}\n\n${question}`.trimEnd()
}
