import type { Message, Part } from '@a2a-js/sdk'
import { ContentTypeNotSupportedError, RequestMalformedError } from '@a2a-js/sdk/errors'
import type { Owner } from '../../../access/owner.ts'
import type { Model } from '../../../agent/model.ts'
import { toFileName } from '../../../artifacts/file-name.ts'
import { isDeeper, maxJsonDepth } from '../../../json/shape.ts'
import { mediaKindOf, mediaTypes } from '../../../files/media.ts'
import { isRead, whyUnread } from '../../../runs/attachments/question-files.ts'
import type { SentFile } from '../../../runs/attachments/sent-files.ts'
import type { ChatBody } from '../../resources/schemas.ts'
import { fileTypes, toMessageFile, withFiles, withoutParameters, type MessageFile } from './message-files.ts'

/** Media types that a message may hold, as the agent card lists them. */
export function inputModesOf(model: Model): string[] {
  const media = mediaTypes.filter((type) => mediaKindOf(type) !== 'document' && isRead(model, type))
  return [...fileTypes, 'image/png', 'image/jpeg', 'image/gif', 'image/webp', ...media]
}

/** A message as a chat. */
interface Question {
  body: Pick<ChatBody, 'messages' | 'images'>
  /** Files that the model reads itself. */
  sentFiles: SentFile[]
}

/** The question of a message: files first, then texts and data as lines, and images. Throws for parts of any other type. */
export async function toQuestion({ parts }: Message, caller: Owner, model: Model): Promise<Question> {
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
