import { invalid } from '../../../errors.ts'
import type { BroughtCall, ChatMessage } from '../../../runs/run.ts'
import { newestAttachments, toMessage, toTurn, type ChatAttachments, type Turn } from '../messages.ts'
import { toPlainId } from '../completion-messages.ts'
import type { CallItem, Item, OutputItem } from './input.ts'

/** The input of a response as a chat. */
export interface ResponseChat extends ChatAttachments {
  /** Up to the question. */
  messages: ChatMessage[]
  /** Assistant messages with calls behind the question; absent for none. */
  continuation?: ChatMessage[]
}

/** A message with the calls behind it. */
export interface Entry extends Turn {
  calls?: BroughtCall[]
}

/** Converts items, in which no reference is left. The last item must be a user message, or the output of a call behind a user message. */
export function toResponseChat(items: readonly Item[]): ResponseChat {
  const entries = toEntries(items)
  const system = entries.filter(({ role }) => role === 'system')
  const turns = entries.filter(({ role }) => role !== 'system')
  const question = turns.findLastIndex(({ role }) => role === 'user')
  const behind = turns.slice(question + 1)
  if (question < 0 || behind.some(({ calls }) => !calls)) {
    const at = items.at(-1)?.at ?? ['body', 'input']
    throw invalid(at, 'the last item must be a message of role user, or the output of a call')
  }
  const upToQuestion = [...system, ...turns.slice(0, question + 1)]
  return {
    messages: toMessages(upToQuestion),
    ...newestAttachments(upToQuestion),
    ...(behind.length > 0 ? { continuation: behind.map(({ content, calls }) => ({ role: 'assistant', content, calls: calls! })) } : {}),
  }
}

export function toMessages(entries: readonly Entry[]): ChatMessage[] {
  return entries.map((entry, index) => ({ ...(toMessage(entry, index, entries) as ChatMessage), ...callsOf(entry) }))
}

function callsOf({ calls }: Entry): Pick<ChatMessage, 'calls'> {
  return calls ? { calls } : {}
}

/** Calls belong to the assistant message before them. Each must have its output. */
export function toEntries(items: readonly Item[]): Entry[] {
  const outputs = outputsOf(items)
  const entries: Entry[] = []
  for (const item of items) {
    switch (item.type) {
      case 'message':
        entries.push(toTurn(item.message, item.at))
        break
      case 'function_call': {
        const call = toCall(item, outputs)
        const last = entries.at(-1)
        if (last?.role === 'assistant') last.calls = [...(last.calls ?? []), call]
        else entries.push({ role: 'assistant', content: '', images: [], files: [], calls: [call] })
        break
      }
      case 'function_call_output':
      case 'item_reference':
      case 'reasoning':
    }
  }
  return entries
}

/** Outputs by the id of their call. */
function outputsOf(items: readonly Item[]): Map<string, OutputItem> {
  const calls = new Set(items.flatMap((item) => (item.type === 'function_call' ? [item.callId] : [])))
  const outputs = new Map<string, OutputItem>()
  for (const item of items) {
    if (item.type !== 'function_call_output') continue
    if (!calls.has(item.callId))
      throw invalid(
        [...item.at, 'call_id'],
        `no response waits for the output of the call ${item.callId}: send the question, the call and its output together`,
      )
    if (outputs.has(item.callId)) throw invalid([...item.at, 'call_id'], `the call ${item.callId} has another output already`)
    outputs.set(item.callId, item)
  }
  return outputs
}

function toCall({ callId, name, arguments: input, at }: CallItem, outputs: ReadonlyMap<string, OutputItem>): BroughtCall {
  const output = outputs.get(callId)
  if (!output) throw invalid([...at, 'call_id'], `the output of the call ${callId} is missing`)
  return { id: toPlainId(callId), name, arguments: input, result: output.output }
}
