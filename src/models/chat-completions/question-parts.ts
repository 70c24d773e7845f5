import type { Image, MessageFile, UserMessage } from '../../agent/messages.ts'
import type { ChatCompletionsTraits } from '../../configuration/providers.ts'

type ServerDialect = ChatCompletionsTraits['dialect']

/** The content of a question: a text, or parts if it has pictures or files. */
export function toContent(message: UserMessage, dialect: ServerDialect): string | object[] {
  return message.images?.length || message.files?.length ? toParts(message, dialect) : message.text
}

/** The parts of a question, the text first. */
export function toParts({ text, images = [], files = [] }: UserMessage, dialect: ServerDialect): object[] {
  const media = [...images.map(toPicture), ...files.map((file) => (dialect === 'mistral' ? toMistralPart(file) : toFilePart(file)))]
  return text === '' ? media : [{ type: 'text', text }, ...media]
}

export function toPicture({ mediaType, data }: Image): object {
  return { type: 'image_url', image_url: { url: toDataUrl({ mediaType, data }) } }
}

/** OpenAI has documents and audio, vLLM and OpenRouter videos too. */
function toFilePart(file: MessageFile): object {
  const kind = kindOf(file)
  if (kind === 'audio') return { type: 'input_audio', input_audio: { data: file.data, format: audioFormat(file) } }
  if (kind === 'video') return { type: 'video_url', video_url: { url: toDataUrl(file) } }
  return { type: 'file', file: { filename: file.name, file_data: toDataUrl(file) } }
}

function toMistralPart(file: MessageFile): object {
  if (kindOf(file) === 'audio') return { type: 'input_audio', input_audio: file.data }
  return { type: 'document_url', document_url: toDataUrl(file), document_name: file.name }
}

function kindOf({ mediaType }: MessageFile): string {
  return mediaType.slice(0, mediaType.indexOf('/')).toLowerCase()
}

/** The name of an audio format: `wav` and `mp3` at OpenAI, further names elsewhere. */
function audioFormat({ mediaType }: MessageFile): string {
  const [type = ''] = mediaType.toLowerCase().split(';', 1)
  const subtype = type.slice(type.indexOf('/') + 1).replace(/^x-/, '')
  if (subtype === 'mpeg' || subtype === 'mpeg3') return 'mp3'
  if (subtype === 'wave' || subtype === 'vnd.wave') return 'wav'
  return subtype === 'mp4' ? 'm4a' : subtype
}

function toDataUrl({ mediaType, data }: { mediaType: string; data: string }): string {
  return `data:${mediaType};base64,${data}`
}
