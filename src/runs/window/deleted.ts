import type { HistoryMessage } from '../run-store.ts'

/** Replaces a deleted question whose answer is left: some models refuse a conversation that begins with an answer, or has two in a row. */
const placeholder = '(This message was deleted.)'

/**
 * The history without deleted messages. A turn without any message left is dropped, except a first message with system messages of the caller. The calls
 * and outputs of an answer are one message, so that a deletion leaves no call without its output.
 */
export function withoutDeleted(history: HistoryMessage[]): HistoryMessage[] {
  if (!history.some(({ data }) => data?.deleted)) return history
  return history.flatMap((message, at) => {
    if (!message.data?.deleted) return [message]
    const { role, data } = message
    const next = history[at + 1]
    const isAnswered = role === 'human' && (next === undefined || (next.role === 'ai' && !next.data?.deleted))
    return isAnswered || data.system !== undefined ? [{ ...message, role: 'human' as const, content: placeholder }] : []
  })
}
