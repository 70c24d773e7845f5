import { invalid, type Fault } from '../../../../errors.ts'
import type { InputMessage } from '../schemas.ts'
import type { InputItem, ResponseBody } from './request.ts'

/** The input of a request, as items whose fields fit their types. */

export type Item = MessageItem | ReferenceItem | ReasoningItem | CallItem | OutputItem

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
      return { type, at, id: required(item.id, [...at, 'id']) }
    case 'reasoning':
      return { type, at }
    case 'function_call':
      return {
        type,
        at,
        callId: required(item.call_id, [...at, 'call_id']),
        name: required(item.name, [...at, 'name']),
        arguments: item.arguments ?? '{}',
      }
    case 'function_call_output':
      return { type, at, callId: required(item.call_id, [...at, 'call_id']), output: toOutput(item.output, [...at, 'output']) }
  }
}

function toMessage({ role, content }: InputItem, at: Fault['loc']): InputMessage {
  if (!role) throw invalid([...at, 'role'], 'is required', 'missing')
  return { role, content: content ?? null }
}

function toOutput(output: InputItem['output'], at: Fault['loc']): string {
  if (typeof output === 'string') return output
  if (!output) throw invalid(at, 'is required', 'missing')
  return output.map(({ text }, index) => required(text, [...at, index, 'text'])).join('\n')
}

function required(value: string | null | undefined, at: Fault['loc']): string {
  if (typeof value !== 'string') throw invalid(at, 'is required', 'missing')
  return value
}

/** The outputs at the end of the input, with the calls that they answer: a client sends them when it has run its tools. */
export function finalOutputs(items: readonly Item[]): OutputItem[] {
  const last = items.findLastIndex((item) => item.type !== 'function_call_output')
  return items.slice(last + 1) as OutputItem[]
}
