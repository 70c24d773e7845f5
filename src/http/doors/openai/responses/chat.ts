import { invalid } from '../../../../errors.ts'
import type { BroughtCall } from '../../../../runs/run.ts'
import { toBroughtChat, type BroughtChat, type Entry } from '../brought-chat.ts'
import { toTurn } from '../messages.ts'
import { toPlainId } from '../ids.ts'
import type { CallItem, Item, OutputItem } from './input.ts'

/** Converts items, in which no reference is left. */
export function toResponseChat(items: readonly Item[]): BroughtChat {
  const entries = toEntries(items)
  if (entries.length > 0) return toBroughtChat(entries)
  throw invalid(items.at(-1)?.at ?? ['body', 'input'], 'must be a message, or the output of a call')
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
