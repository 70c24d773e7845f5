import { hash, randomUUIDv7 } from 'node:crypto'
import type { AgentExtension, Message, Part, SendMessageRequest } from '@a2a-js/sdk'
import { ContentTypeNotSupportedError, RequestMalformedError } from '@a2a-js/sdk/errors'
import { Type, type Static } from 'typebox'
import type { Owner } from '../../../access/owner.ts'
import type { Model } from '../../../agent/model.ts'
import { toFileName } from '../../../artifacts/file-name.ts'
import type { CurrentAgent } from '../../../configuration/agent.ts'
import { messageOf, type Fault } from '../../../errors.ts'
import { toContextText } from '../../../files/context-text.ts'
import type { DocumentKind } from '../../../files/document-kind.ts'
import { mediaKindOf, mediaTypes } from '../../../files/media.ts'
import { isDeeper, maxJsonDepth, fieldsOf } from '../../../json/shape.ts'
import { isRead, whyUnread } from '../../../runs/attachments/question-files.ts'
import type { SentFile } from '../../../runs/attachments/sent-files.ts'
import type { NewChat } from '../../../runs/new-chat.ts'
import type { Operation } from '../../../runs/run.ts'
import { bodyCheck, toFaults } from '../../server/validation.ts'
import { toNewChat } from '../core/open-chat.ts'
import { contextOf, type Caller } from '../protocols.ts'
import { ChatBody } from '../../schemas/chat.ts'

/** Media types that a message may hold, as the agent card lists them. */
export function inputModesOf(model: Model): string[] {
  const media = mediaTypes.filter((type) => mediaKindOf(type) !== 'document' && isRead(model, type))
  return [...fileTypes, 'image/png', 'image/jpeg', 'image/gif', 'image/webp', ...media]
}

/** The message of a request as a chat. `at`: the path of the message in the request, for faults. */
export async function toChat(
  agent: CurrentAgent,
  { caller, at }: { caller: Caller; at: Fault['loc'] },
  { message, metadata: requestMetadata }: Pick<SendMessageRequest, 'metadata'> & { message: Message },
  operation: Operation,
): Promise<NewChat> {
  const metadata = { ...requestMetadata, ...message.metadata }
  const { body: question, sentFiles } = await toQuestion(message, caller.principal, agent().model)
  const session = message.contextId === '' ? {} : { session_id: message.contextId }
  const body = { ...chatOptionsOf(metadata), ...question, ...session, on_disconnect: 'continue' as const }
  const chat = toNewChat(agent, caller.request, operation, { body, at, sentFiles })
  const headers = contextOf(caller.request, metadata, 'metadata')
  return { ...chat, newSessionId: randomUUIDv7(), request: { ...chat.request, headers } }
}

/** The question of a message. */
interface Question {
  body: Pick<ChatBody, 'messages' | 'images'>
  /** Files that the model reads itself. */
  sentFiles: SentFile[]
}

/** The question of a message: files first, then texts and data as lines, and images. Throws for parts of any other type. */
async function toQuestion({ parts }: Message, caller: Owner, model: Model): Promise<Question> {
  const sentFiles: SentFile[] = []
  const texts: string[] = []
  const images: { content: string; type: 'base64' }[] = []
  const files: MessageFile[] = []
  for (const [index, { content, mediaType, filename }] of parts.entries()) {
    if (content?.$case === 'text') texts.push(content.value)
    else if (content?.$case === 'data') texts.push(toDataText(content.value, index))
    else if (content?.$case === 'raw' && mediaType.startsWith('image/')) {
      images.push({ content: Buffer.from(content.value).toString('base64'), type: 'base64' })
    } else if (content?.$case === 'raw' && isMedia(mediaType, model, index)) {
      const base64 = Buffer.from(content.value).toString('base64')
      sentFiles.push({ name: toFileName(filename || `file-${index + 1}`), content: base64, label: `message.parts[${index}].raw` })
    } else if (content?.$case === 'raw') {
      files.push(await toMessageFile({ bytes: content.value, filename, mediaType, index }, caller))
    } else {
      throw new ContentTypeNotSupportedError(`message.parts[${index}]: ${whyRefused(content?.$case)}`)
    }
  }
  const content = withFiles(texts.join('\n'), files)
  if (content === '' && images.length + sentFiles.length === 0)
    throw new RequestMalformedError('message.parts must have a text, an image or a file.')
  return { body: { messages: [{ role: 'user', content }], ...(images.length > 0 ? { images } : {}) }, sentFiles }
}

/** The text of a data part, for the model. */
function toDataText(value: unknown, index: number): string {
  if (isDeeper(value, maxJsonDepth)) throw new RequestMalformedError(`message.parts[${index}].data is nested too deeply.`)
  return JSON.stringify(value ?? null)
}

function whyRefused(type: string | undefined): string {
  if (type !== 'url') return 'a part must have text, data, or the bytes of a file as raw.'
  return 'files are not fetched from other addresses. Send the bytes of the file as raw, or name the address in a text, so that the agent reads it with a tool.'
}

/** Whether a part is a file that the model reads itself. Throws for audio and videos that the model does not take. */
function isMedia(mediaType: string, model: Model, index: number): boolean {
  const type = withoutParameters(mediaType)
  const kind = mediaKindOf(type)
  if (kind === 'document') return type === 'application/pdf' && isRead(model, type)
  const takesKind = mediaTypes.some((each) => mediaKindOf(each) === kind && isRead(model, each))
  if (!takesKind) throw new ContentTypeNotSupportedError(`message.parts[${index}].raw: ${whyUnread(model, type)}.`)
  return true
}

export function dataPart(value: unknown): Part {
  return { content: { $case: 'data', value }, metadata: undefined, filename: '', mediaType: 'application/json' }
}

export function textPart(text: string): Part {
  return { content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: 'text/plain' }
}

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

/** Name of the extension, and of its entry in the metadata of a message or a request. */
export const chatOptions = 'urn:agent-core:chat-options:1'

/** The extension as the agent card declares it. */
export const chatOptionsExtension: AgentExtension = {
  uri: chatOptions,
  description: `The metadata of a message may have the entry ${chatOptions}: an object with response_schema and client_tools, as in POST /core/v1/chain.`,
  required: false,
  params: undefined,
}

const Options = Type.Pick(ChatBody, ['response_schema', 'client_tools'])
type Options = Static<typeof Options>

const check = bodyCheck(Options)

/** The options in the metadata of a message. Throws `RequestMalformedError` with the path of a fault. */
function chatOptionsOf(metadata: Readonly<Record<string, unknown>>): Options {
  const options = metadata[chatOptions]
  if (options === undefined) return {}
  const validation = check(options)
  if (validation) throw new RequestMalformedError(`metadata.${chatOptions}: ${toFaults({ validation, validationContext: 'body' }).message}`)
  const { response_schema, client_tools } = fieldsOf(options) as Options
  return { ...(response_schema === undefined ? {} : { response_schema }), ...(client_tools ? { client_tools } : {}) }
}
