import { toFileName } from '../../../artifacts/file-name.ts'
import { labelOf, invalid, type Fault } from '../../../errors.ts'
import type { SentFile } from '../../../runs/attachments/sent-files.ts'
import { requiredText, type Image, type Turn } from '../model-apis/brought-chat.ts'
import { toUploadId } from './files.ts'

type Loc = Fault['loc']

/** A part of a message, in chat completions or responses. */
export interface InputPart extends FileFields {
  type: string
  text?: string | null
  refusal?: string | null
  image_url?: string | { url: string } | null
  /** Of a part `input_audio`: base64, and a name such as `wav`. */
  input_audio?: { data?: string | null; format?: string | null } | null
  /** Of a part `file` of a completion. Responses have the fields in the part itself. */
  file?: FileFields | null
}

/** A file of a message: an uploaded file, or the bytes. */
export interface FileFields {
  file_id?: string | null
  /** Base64, or a data: URL. */
  file_data?: string | null
  filename?: string | null
  file_url?: string | null
}

export interface InputMessage {
  role: 'system' | 'developer' | 'user' | 'assistant'
  content?: string | InputPart[] | null
}

const roles = { user: 'user', assistant: 'assistant', system: 'system', developer: 'system' } as const

export function toTurn({ role, content }: InputMessage, at: Loc): Turn {
  const turn: Turn = { role: roles[role], content: '', images: [], files: [] }
  if (typeof content === 'string') return { ...turn, content }
  // Only an assistant message may be empty: its content may have been tool calls.
  if (!content && role !== 'assistant') throw invalid([...at, 'content'], 'is required', 'missing')
  const texts: string[] = []
  for (const [index, part] of (content ?? []).entries()) {
    const partLoc = [...at, 'content', index]
    if (isImage(part)) turn.images.push(toImage(part, turn.role, partLoc))
    else if (isFile(part)) turn.files.push(toFile(part, turn.role, partLoc))
    else if (part.type === 'input_audio') turn.files.push(toAudio(part, turn.role, partLoc))
    else {
      const field = part.type === 'refusal' ? 'refusal' : 'text'
      texts.push(requiredText(part[field], [...partLoc, field]))
    }
  }
  return { ...turn, content: texts.join('\n') }
}

function isImage({ type }: InputPart): boolean {
  return type === 'image_url' || type === 'input_image'
}

function isFile({ type }: InputPart): boolean {
  return type === 'file' || type === 'input_file'
}

function toImage({ image_url: image, file_id: fileId }: InputPart, role: Turn['role'], at: Loc): Image {
  if (role !== 'user') throw invalid([...at, 'type'], 'only messages of role user may have images')
  if (typeof fileId === 'string') return { uploadId: toUploadId(fileId), label: labelOf(at), isImage: true }
  const isObject = typeof image === 'object' && image !== null
  const urlLoc = [...at, 'image_url', ...(isObject ? ['url'] : [])]
  const url = requiredText(isObject ? image.url : image, urlLoc)
  if (!/^data:/i.test(url)) throw invalid(urlLoc, 'must be a data: URL; images are not fetched from other addresses')
  return { type: 'base64', content: url }
}

function toAudio({ input_audio: audio }: InputPart, role: Turn['role'], at: Loc): SentFile {
  if (role !== 'user') throw invalid([...at, 'type'], 'only messages of role user may have audio')
  const { data, format } = audio ?? {}
  const content = requiredText(data, [...at, 'input_audio', 'data'])
  return { name: toFileName(format ? `audio.${format}` : 'audio'), content, label: labelOf(at) }
}

function toFile(part: InputPart, role: Turn['role'], at: Loc): SentFile {
  if (role !== 'user') throw invalid([...at, 'type'], 'only messages of role user may have files')
  const fields: FileFields = part.type === 'file' ? (part.file ?? {}) : part
  const loc = part.type === 'file' ? [...at, 'file'] : at
  const { file_id: fileId, file_data: content, filename, file_url: url } = fields
  if (typeof url === 'string')
    throw invalid([...loc, 'file_url'], 'is not supported: files are not fetched from other addresses', 'unsupported_parameter')
  if (typeof fileId === 'string') {
    if (typeof content === 'string') throw invalid([...loc, 'file_data'], 'cannot be combined with file_id')
    return { uploadId: toUploadId(fileId), label: labelOf(at) }
  }
  if (typeof content !== 'string') throw invalid([...loc, 'file_id'], 'is required, or file_data', 'missing')
  if (typeof filename !== 'string') throw invalid([...loc, 'filename'], 'is required with file_data', 'missing')
  return { name: toFileName(filename), content, label: labelOf(at) }
}
