import { invalid, type Fault } from '../../errors.ts'
import type { ChatBody } from '../schemas.ts'
import type { InputMessage, InputPart } from './schemas.ts'

type Loc = Fault['loc']
type Image = NonNullable<ChatBody['images']>[number]

interface Turn {
  role: 'user' | 'assistant' | 'system'
  content: string
  images: Image[]
}

const roles = { user: 'user', assistant: 'assistant', system: 'system', developer: 'system' } as const

/** Most images of a chat. */
const maxImages = 5

/** Converts OpenAI messages to a chat body. `at`: location of the list in the request. The last message must have role user. */
export function toChatBody(messages: readonly InputMessage[], at: Loc): ChatBody {
  const last = messages.length - 1
  if (messages[last]?.role !== 'user') throw invalid([...at, last, 'role'], 'the last message must be of role user')
  const turns = messages.map((message, index) => toTurn(message, [...at, index]))
  const images = newestImages(turns)
  return { messages: turns.map(toMessage), ...(images.length > 0 ? { images } : {}) }
}

/** The images of the question, then the newest earlier images up to `maxImages`: clients send all images of a conversation with each question. */
function newestImages(turns: readonly Turn[]): Image[] {
  const questionImages = turns.at(-1)?.images ?? []
  const earlier = turns.slice(0, -1).flatMap(({ images }) => images)
  const capacity = Math.max(0, maxImages - questionImages.length)
  return [...earlier.slice(Math.max(0, earlier.length - capacity)), ...questionImages]
}

/** An earlier message with images only becomes the text `[image]`, since its images may be left out. */
function toMessage({ role, content, images }: Turn, index: number, { length }: readonly Turn[]): ChatBody['messages'][number] {
  const isEmpty = content === '' && images.length > 0 && index < length - 1
  return { role, content: isEmpty ? '[image]' : content }
}

function toTurn({ role, content }: InputMessage, at: Loc): Turn {
  const turn: Turn = { role: roles[role], content: '', images: [] }
  if (typeof content === 'string') return { ...turn, content }
  // Only an assistant message may be empty: its content may have been tool calls.
  if (!content && role !== 'assistant') throw invalid([...at, 'content'], 'is required', 'missing')
  const texts: string[] = []
  for (const [index, part] of (content ?? []).entries()) {
    const partLoc = [...at, 'content', index]
    if (isImage(part)) turn.images.push(toImage(part, turn.role, partLoc))
    else texts.push(toText(part, partLoc))
  }
  return { ...turn, content: texts.join('\n') }
}

function isImage({ type }: InputPart): boolean {
  return type === 'image_url' || type === 'input_image'
}

function toText(part: InputPart, at: Loc): string {
  const field = part.type === 'refusal' ? 'refusal' : 'text'
  const text = part[field]
  if (typeof text !== 'string') throw invalid([...at, field], 'is required', 'missing')
  return text
}

function toImage({ image_url: image }: InputPart, role: Turn['role'], at: Loc): Image {
  if (role !== 'user') throw invalid([...at, 'type'], 'only messages of role user may have images')
  const isObject = typeof image === 'object' && image !== null
  const urlLoc = [...at, 'image_url', ...(isObject ? ['url'] : [])]
  const url = isObject ? image.url : image
  if (typeof url !== 'string') throw invalid(urlLoc, 'is required', 'missing')
  if (!/^data:/i.test(url)) throw invalid(urlLoc, 'must be a data: URL; images are not fetched from other addresses')
  return { type: 'base64', content: url }
}
