import type { Message, Part } from '@a2a-js/sdk'
import { ContentTypeNotSupportedError, RequestMalformedError } from '@a2a-js/sdk/errors'
import type { Owner } from '../../access/owner.ts'
import type { ChatBody } from '../schemas.ts'
import { fileTypes, toMessageFile, withFiles, type MessageFile } from './message-files.ts'

/** Media types that a message may hold, as the agent card lists them. */
export const inputModes = [...fileTypes, 'image/png', 'image/jpeg', 'image/gif', 'image/webp']

/** The question of a message: files first, then the texts as lines, and images. Throws for parts of any other type. */
export async function toQuestion({ parts }: Message, caller: Owner): Promise<Pick<ChatBody, 'messages' | 'images'>> {
  const texts: string[] = []
  const images: { content: string; type: 'base64' }[] = []
  const files: MessageFile[] = []
  for (const [index, { content, mediaType, filename }] of parts.entries()) {
    if (content?.$case === 'text') texts.push(content.value)
    else if (content?.$case === 'raw' && mediaType.startsWith('image/')) {
      images.push({ content: Buffer.from(content.value).toString('base64'), type: 'base64' })
    } else if (content?.$case === 'raw') {
      files.push(await toMessageFile({ bytes: content.value, filename, mediaType, index }, caller))
    } else {
      throw new ContentTypeNotSupportedError(
        `A part of type ${content?.$case ?? 'unknown'} is not supported: send text, or the bytes of a file.`,
      )
    }
  }
  const content = withFiles(texts.join('\n'), files)
  if (content === '' && images.length === 0) throw new RequestMalformedError('message.parts must have a text, an image or a file.')
  return { messages: [{ role: 'user', content }], ...(images.length > 0 ? { images } : {}) }
}

export function dataPart(value: unknown): Part {
  return { content: { $case: 'data', value }, metadata: undefined, filename: '', mediaType: 'application/json' }
}

export function textPart(text: string): Part {
  return { content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: 'text/plain' }
}
