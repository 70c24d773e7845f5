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

/** As many as a chat may have. */
const maxImages = 5

/** A conversation in OpenAI's words as a chat in ours. `at` is where its list stands; the last message must be the user's. */
export function toChatBody(messages: readonly InputMessage[], at: Loc): ChatBody {
  const last = messages.length - 1
  if (messages[last]?.role !== 'user') throw invalid([...at, last, 'role'], 'the last message must be of role user')
  const turns = messages.map((message, index) => toTurn(message, [...at, index]))
  const images = newestImages(turns)
  return { messages: turns.map(toMessage), ...(images.length > 0 ? { images } : {}) }
}

/** Clients bring the pictures of a conversation again with each question: beside those of the question the newest have room. */
function newestImages(turns: readonly Turn[]): Image[] {
  const own = turns.at(-1)?.images ?? []
  const earlier = turns.slice(0, -1).flatMap(({ images }) => images)
  const room = Math.max(0, maxImages - own.length)
  return [...earlier.slice(Math.max(0, earlier.length - room)), ...own]
}

/** A message of pictures alone is something that was said all the same. */
function toMessage({ role, content, images }: Turn, index: number, { length }: readonly Turn[]): ChatBody['messages'][number] {
  const isEmpty = content === '' && images.length > 0 && index < length - 1
  return { role, content: isEmpty ? '[image]' : content }
}

function toTurn({ role, content }: InputMessage, at: Loc): Turn {
  const turn: Turn = { role: roles[role], content: '', images: [] }
  if (typeof content === 'string') return { ...turn, content }
  // One of the assistant's may have been tool calls alone.
  if (!content && role !== 'assistant') throw invalid([...at, 'content'], 'is required', 'missing')
  const texts: string[] = []
  for (const [index, part] of (content ?? []).entries()) {
    const place = [...at, 'content', index]
    if (isImage(part)) turn.images.push(toImage(part, turn.role, place))
    else texts.push(toText(part, place))
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
  const inside = typeof image === 'object' && image !== null
  const place = [...at, 'image_url', ...(inside ? ['url'] : [])]
  const url = inside ? image.url : image
  if (typeof url !== 'string') throw invalid(place, 'is required', 'missing')
  if (!/^data:/i.test(url)) throw invalid(place, 'must be a data: URL; images are not fetched from other addresses')
  return { type: 'base64', content: url }
}
