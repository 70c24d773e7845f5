import { hash } from 'node:crypto'
import type { SentFile } from '../../../runs/attachments/sent-files.ts'
import type { BroughtCall, ChatMessage } from '../../../runs/run.ts'
import type { ChatBody } from '../../schemas/chat.ts'
import { invalid, type Fault } from '../../../errors.ts'
import { withoutFileLinks } from './output.ts'

type InlineImage = NonNullable<ChatBody['images']>[number]
/** An image of a message: the bytes, or a file of the caller. */
export type Image = InlineImage | SentFile

export interface Turn {
  role: 'user' | 'assistant' | 'system'
  content: string
  images: Image[]
  files: SentFile[]
}

/** The images and files of a chat, as a chat takes them. */
export interface ChatAttachments {
  images: InlineImage[]
  sentFiles: SentFile[]
}

/** A message with the calls behind it. */
export interface Entry extends Turn {
  calls?: BroughtCall[]
}

/** A conversation that a client brings, as a chat. */
export interface BroughtChat extends ChatAttachments {
  /** Up to the question. */
  messages: ChatMessage[]
  /** Assistant messages with calls behind the question; absent for none. */
  continuation?: ChatMessage[]
}

/**
 * Converts a conversation, which has at least one message. System messages count wherever they stand. A conversation that ends with the text of
 * the assistant is continued: clients ask for the rest of an answer, or begin the answer for the model. The last of system messages alone is the
 * question. Outputs of calls go on without a question, where a client has cut its history.
 */
export function toBroughtChat(entries: readonly Entry[]): BroughtChat {
  const turns = withoutEmptyEnd(entries.filter(({ role }) => role !== 'system'))
  const system = entries.filter(({ role }) => role === 'system')
  if (turns.length === 0 && system.length > 0) turns.push({ ...system.pop()!, role: 'user' })
  const last = turns.at(-1)
  if (last?.role === 'assistant' && !last.calls) turns.push(toQuestion(continueText))
  if (turns.every(({ role }) => role !== 'user')) turns.unshift(toQuestion('Continue.'))
  const question = turns.findLastIndex(({ role }) => role === 'user')
  const upToQuestion = [...system, ...turns.slice(0, question + 1)]
  const continuation = joinTexts(turns.slice(question + 1))
  return {
    messages: toMessages(upToQuestion),
    ...newestAttachments(upToQuestion),
    ...(continuation.length > 0
      ? { continuation: continuation.map(({ content, calls }) => ({ role: 'assistant', content, calls: calls! })) }
      : {}),
  }
}

export function toMessages(entries: readonly Entry[]): ChatMessage[] {
  return entries.map((entry, index) => ({
    ...(toMessage(entry, index, entries) as ChatMessage),
    ...(entry.calls ? { calls: entry.calls } : {}),
  }))
}

const continueText = 'Continue your last message exactly where it ends, and repeat nothing of it.'

function toQuestion(content: string): Entry {
  return { role: 'user', content, images: [], files: [] }
}

/** Clients add an empty message of the assistant, to be filled by the answer. */
function withoutEmptyEnd(turns: Entry[]): Entry[] {
  const last = turns.findLastIndex(({ role, content, calls }) => role !== 'assistant' || calls || content !== '')
  return turns.slice(0, last + 1)
}

/** Puts texts of the assistant in front of the calls behind them. The last entry has calls. */
function joinTexts(entries: readonly Entry[]): Entry[] {
  const joined: Entry[] = []
  let text = ''
  for (const entry of entries) {
    text = [text, entry.content].filter((part) => part !== '').join('\n\n')
    if (!entry.calls) continue
    joined.push({ ...entry, content: text })
    text = ''
  }
  return joined
}

/** Most images and files of a chat. */
const maxImages = 5
const maxFiles = 20

/**
 * The images and files of the question, then the newest earlier ones up to a limit: clients send all attachments of a conversation with each
 * question.
 */
export function newestAttachments(turns: readonly Turn[]): ChatAttachments {
  const images = newestOf(
    turns.map((turn) => turn.images),
    maxImages,
  )
  const question = turns.length - 1
  const files = newestOf(
    turns.map((turn, index) => (index < question ? turn.files.map((file) => ({ ...file, isEarlier: true })) : turn.files)),
    maxFiles,
  )
  const sent = [...images.filter(isSent), ...files]
  return {
    images: images.filter((image): image is InlineImage => !isSent(image)),
    sentFiles: [...new Map(sent.map((file) => [identityOf(file), file])).values()],
  }
}

function newestOf<T>(lists: readonly (readonly T[])[], most: number): T[] {
  const ofQuestion = lists.at(-1) ?? []
  const earlier = lists.slice(0, -1).flat()
  const capacity = Math.max(0, most - ofQuestion.length)
  return [...earlier.slice(Math.max(0, earlier.length - capacity)), ...ofQuestion]
}

function isSent(image: Image): image is SentFile {
  return 'label' in image
}

/** Equal for a file that a client sends twice. */
function identityOf(file: SentFile): string {
  return 'uploadId' in file ? file.uploadId : hash('sha256', `${file.name}\n${file.content}`)
}

/** An earlier message with attachments only becomes the text `[image]` or `[file]`, since its attachments may be left out. */
export function toMessage(
  { role, content, images, files }: Turn,
  index: number,
  { length }: readonly Turn[],
): ChatBody['messages'][number] {
  const isEmpty = content === '' && index < length - 1
  if (isEmpty && images.length > 0) return { role, content: '[image]' }
  if (isEmpty && files.length > 0) return { role, content: '[file]' }
  return { role, content: role === 'assistant' ? withoutFileLinks(content) : content }
}

/** Throws for a field that is no text. */
export function requiredText(value: unknown, at: Fault['loc']): string {
  if (typeof value !== 'string') throw invalid(at, 'is required', 'missing')
  return value
}
