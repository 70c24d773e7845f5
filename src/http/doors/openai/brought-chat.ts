import type { BroughtCall, ChatMessage } from '../../../runs/run.ts'
import { newestAttachments, toMessage, type ChatAttachments, type Turn } from './messages.ts'

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
  if (turns.length === 0) turns.push({ ...system.pop()!, role: 'user' })
  if (turns.at(-1)!.role === 'assistant' && !turns.at(-1)!.calls) turns.push(toQuestion(continueText))
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
