import type { CurrentAgent } from '../../../configuration/agent.ts'
import type { ResponseKey } from './ids.ts'
import type { ContentPart, InputItem } from './responses/schemas.ts'
import { invalid } from '../../../errors.ts'
import { toStoredTurns } from '../../../runs/window/window.ts'
import { checkInputSize } from '../core/open-chat.ts'
import type { PlacedMessage, SessionMessage } from '../../../sessions/session-store.ts'
import { unsupported } from '../model-apis/parameters.ts'
import { toMessages } from '../model-apis/brought-chat.ts'
import { toEntries, toItems, type Item } from './responses/input.ts'
import { toList } from './replies.ts'
import { toAnnotation, toPart } from './responses/items.ts'

/** Items as clients read them: the input of a response, and the messages of a conversation. */

/** The items as they are stored: without the bytes of images and files, which are stored with the run. */
export function storedInput(items: readonly InputItem[]): InputItem[] {
  return items.map((item) => (Array.isArray(item.content) ? { ...item, content: item.content.map(withoutBytes) } : item))
}

function withoutBytes(part: ContentPart): ContentPart {
  if (part.type === 'input_image') return { type: part.type, image_url: null, ...(part.file_id ? { file_id: part.file_id } : {}) }
  if (part.type === 'input_audio') return { type: part.type, input_audio: { data: null, format: part.input_audio?.format ?? null } }
  return part.type === 'input_file' ? { ...part, file_data: null } : part
}

/** An item with an id, for lists. */
export type ListedItem = Record<string, unknown> & { id: string }

export function toListedItems({ requestId, part }: ResponseKey, items: readonly InputItem[]): ListedItem[] {
  return items.map((item, index) => toListedItem(item, `${requestId}~${part}_${index}`))
}

const prefixes = {
  message: 'msg',
  function_call: 'fc',
  function_call_output: 'fco',
  reasoning: 'rs',
  item_reference: 'ref',
  compaction: 'cmp',
}

function toListedItem(item: InputItem, suffix: string): ListedItem {
  const type = item.type ?? (item.role ? 'message' : 'item_reference')
  const id = item.id ?? `${prefixes[type]}_${suffix}`
  const status = item.status ?? 'completed'
  switch (type) {
    case 'message':
      return { id, type, role: item.role, status, content: toContent(item) }
    case 'function_call':
      return { id, type, status, call_id: item.call_id, name: item.name, arguments: item.arguments ?? '{}' }
    case 'function_call_output':
      return { id, type, status, call_id: item.call_id, output: item.output }
    case 'reasoning':
      return { id, type, summary: [] }
    case 'compaction':
      return { id, type, encrypted_content: item.encrypted_content }
    case 'item_reference':
      return { id, type }
  }
}

function toContent({ role, content }: InputItem): object[] {
  const type = role === 'assistant' ? 'output_text' : 'input_text'
  const parts = typeof content === 'string' ? [{ type, text: content } as ContentPart] : (content ?? [])
  return parts.map((part) => toShownPart(part, type))
}

function toShownPart(part: ContentPart, type: 'input_text' | 'output_text'): object {
  if (part.type === 'input_image') return { type: part.type, detail: 'auto', image_url: null, file_id: part.file_id ?? null }
  if (part.type === 'input_file') return { type: part.type, file_id: part.file_id ?? null, filename: part.filename ?? null }
  if (part.type === 'input_audio') return { type: part.type, input_audio: { data: null, format: part.input_audio?.format ?? null } }
  if (part.type === 'refusal') return { type: part.type, refusal: part.refusal }
  return type === 'output_text' ? { type, text: part.text, annotations: [] } : { type, text: part.text }
}

interface Page {
  limit: number
  order: 'asc' | 'desc'
  after?: string | undefined
}

/** A page of items. Throws `validation` where no item has the id `after`. */
export function toPage(items: readonly ListedItem[], { limit, order, after }: Page) {
  const ordered = order === 'asc' ? items : items.toReversed()
  const start = after === undefined ? 0 : ordered.findIndex(({ id }) => id === after) + 1
  if (after !== undefined && start === 0) throw invalid(['query', 'after'], `there is no item ${after}`)
  const data = ordered.slice(start, start + limit)
  return toList(data, start + data.length < ordered.length)
}

/** The index of a message, by the id of its item; undefined for another id. */
export function indexOfItem(sessionId: string, id: string): number | undefined {
  const index = id.startsWith(`msg_${sessionId}~`) ? id.slice(id.indexOf('~') + 1) : ''
  return /^(?:0|[1-9]\d{0,8})$/.test(index) ? Number(index) : undefined
}

/** `msg_<session id>~<index>`. */
export function toMessageId(sessionId: string, index: number): string {
  return `msg_${sessionId}~${index}`
}

export function toConversationItems(sessionId: string, messages: readonly PlacedMessage[]): ListedItem[] {
  return messages.map((message) => toConversationItem(toMessageId(sessionId, message.index), message))
}

function toConversationItem(id: string, { role, content, data }: SessionMessage): ListedItem {
  const isAnswer = role === 'ai'
  const text = isAnswer ? toPart(content, (data?.citations ?? []).map(toAnnotation)) : { type: 'input_text', text: content }
  const images = (data?.images ?? []).map(() => ({ type: 'input_image', detail: 'auto', image_url: null, file_id: null }))
  return { id, type: 'message', role: isAnswer ? 'assistant' : 'user', status: 'completed', content: [text, ...images] }
}

interface Addition {
  agent: CurrentAgent
  /** True where the conversation has no messages yet. */
  isFirst: boolean
  requestId: string
}

/** Converts the items that a client adds. System messages must be the first of the conversation; calls belong to the message before them. */
export function toAddedMessages(inputItems: readonly InputItem[], { agent, isFirst, requestId }: Addition): SessionMessage[] {
  const items = toItems(inputItems, ['body', 'items']).filter(({ type }) => type !== 'reasoning')
  for (const [index, { type, at }] of items.entries()) {
    if (type === 'compaction') throw unsupported([...at.slice(1), 'type'], 'is not supported: send the item with a response')
    if (type === 'item_reference') throw unsupported([...at.slice(1), 'type'], 'is not supported: send the item itself')
    if (!isFirst || index > 0) refuseSystem(items[index]!, items[index - 1])
  }
  const entries = toEntries(items)
  const hasAttachments = entries.some(({ images, files }) => images.length + files.length > 0)
  if (hasAttachments) throw unsupported(['items'], 'with images or files are not supported: send them with a response')
  const messages = toMessages(entries)
  checkInputSize(agent, messages)
  if (messages.length > 0 && messages.every(({ role }) => role === 'system'))
    throw invalid(['body', 'items'], 'must have a message of role user or assistant beside system messages')
  return toStoredTurns(messages, requestId, Date.now()).map(({ data, ...message }) => ({ ...message, data }))
}

function refuseSystem(item: Item, before: Item | undefined): void {
  if (!isSystem(item) || (before && isSystem(before))) return
  throw unsupported([...item.at.slice(1), 'role'], 'of a system message is supported only at the start of a conversation')
}

function isSystem(item: Item): boolean {
  return item.type === 'message' && (item.message.role === 'system' || item.message.role === 'developer')
}
