import type { Message, Part } from '@a2a-js/sdk'
import { ContentTypeNotSupportedError, RequestMalformedError } from '@a2a-js/sdk/errors'
import type { ChatBody } from '../schemas.ts'
import { isTextType, textTypes, toTextFile, withTextFiles, type TextFile } from './text-files.ts'

/** Media types that a message may hold, as the agent card lists them. */
export const inputModes = [...textTypes, 'image/png', 'image/jpeg', 'image/gif', 'image/webp']

/** The question of a message: text files first, then the texts as lines, and images. Throws for parts of any other type. */
export function toQuestion({ parts }: Message): Pick<ChatBody, 'messages' | 'images'> {
  const texts: string[] = []
  const images: { content: string; type: 'base64' }[] = []
  const files: TextFile[] = []
  for (const [index, part] of parts.entries()) {
    if (part.content?.$case === 'text') texts.push(part.content.value)
    else if (part.content?.$case === 'raw' && part.mediaType.startsWith('image/')) {
      images.push({ content: Buffer.from(part.content.value).toString('base64'), type: 'base64' })
    } else if (part.content?.$case === 'raw' && isTextType(part.mediaType)) {
      files.push(toTextFile(part.content.value, part.filename, index))
    } else {
      throw new ContentTypeNotSupportedError(
        `A part of type ${typeOf(part)} is not supported: send text, or the bytes of an image or of a text file in UTF-8.`,
      )
    }
  }
  const content = withTextFiles(texts.join('\n'), files)
  if (content === '' && images.length === 0) throw new RequestMalformedError('message.parts must have a text, an image or a file.')
  return { messages: [{ role: 'user', content }], ...(images.length > 0 ? { images } : {}) }
}

export function dataPart(value: object): Part {
  return { content: { $case: 'data', value }, metadata: undefined, filename: '', mediaType: 'application/json' }
}

export function textPart(text: string): Part {
  return { content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: 'text/plain' }
}

function typeOf({ content, mediaType }: Part): string {
  return content?.$case === 'raw' ? mediaType || 'unknown' : (content?.$case ?? 'unknown')
}
