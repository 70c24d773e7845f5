import { invalid, type Fault } from '../../../../errors.ts'
import { requiredText, toBroughtChat, type BroughtChat, type Entry } from '../../model-apis/brought-chat.ts'
import { type InputMessage, toTurn } from '../messages.ts'
import type { InputItem, ResponseBody } from './schemas.ts'
import type { BroughtCall } from '../../../../runs/run.ts'
import { toPlainId } from '../../model-apis/call-ids.ts'

/** The input of a request, as items whose fields fit their types. */

export type Item = MessageItem | ReferenceItem | ReasoningItem | CallItem | OutputItem | CompactionItem

interface Positioned {
  at: Fault['loc']
}

interface MessageItem extends Positioned {
  type: 'message'
  message: InputMessage
}

interface ReferenceItem extends Positioned {
  type: 'item_reference'
  id: string
}

interface ReasoningItem extends Positioned {
  type: 'reasoning'
}

/** A summary of earlier messages, encrypted. */
interface CompactionItem extends Positioned {
  type: 'compaction'
  sealed: string
}

/** A call of a function tool in an earlier answer. */
export interface CallItem extends Positioned {
  type: 'function_call'
  callId: string
  name: string
  arguments: string
}

/** The output of a call. */
export interface OutputItem extends Positioned {
  type: 'function_call_output'
  callId: string
  output: string
}

export function toInputItems({ input }: Pick<ResponseBody, 'input'>): InputItem[] {
  return typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : input
}

export function toItems(inputItems: readonly InputItem[], at: Fault['loc'] = ['body', 'input']): Item[] {
  return inputItems.map((item, index) => toItem(item, [...at, index]))
}

function toItem(item: InputItem, at: Fault['loc']): Item {
  const type = item.type ?? (item.role ? 'message' : 'item_reference')
  switch (type) {
    case 'message':
      return { type, at, message: toMessage(item, at) }
    case 'item_reference':
      return { type, at, id: requiredText(item.id, [...at, 'id']) }
    case 'reasoning':
      return { type, at }
    case 'compaction':
      return { type, at, sealed: requiredText(item.encrypted_content, [...at, 'encrypted_content']) }
    case 'function_call':
      return {
        type,
        at,
        callId: requiredText(item.call_id, [...at, 'call_id']),
        name: requiredText(item.name, [...at, 'name']),
        arguments: item.arguments ?? '{}',
      }
    case 'function_call_output':
      return { type, at, callId: requiredText(item.call_id, [...at, 'call_id']), output: toOutput(item.output, [...at, 'output']) }
  }
}

function toMessage({ role, content }: InputItem, at: Fault['loc']): InputMessage {
  if (!role) throw invalid([...at, 'role'], 'is required', 'missing')
  return { role, content: content ?? null }
}

function toOutput(output: InputItem['output'], at: Fault['loc']): string {
  if (typeof output === 'string') return output
  if (!output) throw invalid(at, 'is required', 'missing')
  return output.map(({ text }, index) => requiredText(text, [...at, index, 'text'])).join('\n')
}

/** The outputs at the end of the input, with the answered calls: a client sends outputs after running the client's tools. */
export function finalOutputs(items: readonly Item[]): OutputItem[] {
  const last = items.findLastIndex((item) => item.type !== 'function_call_output')
  return items.slice(last + 1) as OutputItem[]
}

/** Converts items, in which no reference and no compaction is left. */
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
      case 'compaction':
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
