import { invalid } from '../../../../errors.ts'
import { toStoredTurns } from '../../../../runs/window/transcript.ts'
import { checkInputSize } from '../../core/chat-request.ts'
import type { SessionMessage } from '../../../../sessions/session-store.ts'
import { unsupported } from '../parameters.ts'
import { toMessages } from '../brought-chat.ts'
import { toEntries } from '../responses/chat.ts'
import { toItems, type Item } from '../responses/input.ts'
import { toAnnotation, toPart } from '../responses/items.ts'
import type { ListedItem } from '../responses/input-list.ts'
import type { InputItem } from '../responses/request.ts'

/** Items of a conversation: the messages of its session. */

/** `msg_<session id>~<index>`. */
export function toMessageId(sessionId: string, index: number): string {
  return `msg_${sessionId}~${index}`
}

export function toConversationItems(sessionId: string, messages: readonly SessionMessage[], first = 0): ListedItem[] {
  return messages.map((message, index) => toConversationItem(toMessageId(sessionId, first + index), message))
}

function toConversationItem(id: string, { role, content, data }: SessionMessage): ListedItem {
  const isAnswer = role === 'ai'
  const text = isAnswer ? toPart(content, (data?.citations ?? []).map(toAnnotation)) : { type: 'input_text', text: content }
  const images = (data?.images ?? []).map(() => ({ type: 'input_image', detail: 'auto', image_url: null, file_id: null }))
  return { id, type: 'message', role: isAnswer ? 'assistant' : 'user', status: 'completed', content: [text, ...images] }
}

interface Addition {
  /** Characters of all added messages together. */
  maxCharacters: number
  /** True where the conversation has no messages yet. */
  isFirst: boolean
  requestId: string
}

/** Converts the items that a client adds. System messages must be the first of the conversation; calls belong to the message before them. */
export function toAddedMessages(inputItems: readonly InputItem[], { isFirst, requestId, maxCharacters }: Addition): SessionMessage[] {
  const items = toItems(inputItems, ['body', 'items']).filter(({ type }) => type !== 'reasoning')
  for (const [index, { type, at }] of items.entries()) {
    if (type === 'item_reference') throw unsupported([...at.slice(1), 'type'], 'is not supported: send the item itself')
    if (!isFirst || index > 0) refuseSystem(items[index]!, items[index - 1])
  }
  const entries = toEntries(items)
  const hasAttachments = entries.some(({ images, files }) => images.length + files.length > 0)
  if (hasAttachments) throw unsupported(['items'], 'with images or files are not supported: send them with a response')
  const messages = toMessages(entries)
  checkInputSize(messages, maxCharacters)
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
