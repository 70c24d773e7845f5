import type { JsonObject } from '../../agent/messages.ts'
import type { RequestedCall } from '../../agent/model.ts'
import { isDeeper, isObject } from '../../json/shape.ts'

/** A fragment of a tool call, as sent by servers. */
export interface WireCall {
  index?: number | null
  id?: string | null
  function?: { name?: string | null; arguments?: string | object | null } | null
  /** Data that the server wants back with the call, such as Google's thought signature. */
  extra_content?: unknown
}

/** Nesting of `extra_content`. Google sends two levels. */
const maxExtraDepth = 20

interface OpenCall {
  index: number | undefined
  id: string | undefined
  name: string
  arguments: string
  extra: JsonObject | null
}

/** Assembles tool calls by index, or by id if a server sends no index or the same index for all calls. */
export class CallBuilder {
  private readonly open: OpenCall[] = []

  get count(): number {
    return this.open.length
  }

  /** Adds a fragment, and returns the number of characters added. */
  accept({ index, id, function: called, extra_content: extra }: WireCall): number {
    const call = this.find(index ?? undefined, id || undefined, called?.name || undefined)
    if (call.name === '') call.name = called?.name ?? ''
    const fragment = called?.arguments ?? ''
    const text = typeof fragment === 'string' ? fragment : JSON.stringify(fragment)
    call.arguments += text
    if (!isObject(extra) || isDeeper(extra, maxExtraDepth)) return text.length
    call.extra = extra as JsonObject
    return text.length + JSON.stringify(extra).length
  }

  /** The server's ids of the calls; undefined for a call without one. */
  get ids(): (string | undefined)[] {
    return this.open.map(({ id }) => id)
  }

  /** `extra_content` of the calls; undefined if no call has it. */
  toExtras(): (JsonObject | null)[] | undefined {
    return this.open.some(({ extra }) => extra) ? this.open.map(({ extra }) => extra) : undefined
  }

  /** Returns the calls. Calls with incomplete arguments are dropped if the reply was cut off (`complete` is false). */
  toCalls(complete: boolean): RequestedCall[] {
    const whole = complete ? this.open : this.open.filter((call) => isJson(call.arguments))
    return whole.map((call) => ({ name: call.name, arguments: call.arguments }))
  }

  private find(index: number | undefined, id: string | undefined, name: string | undefined): OpenCall {
    const callAtIndex = index === undefined ? undefined : this.open.findLast((call) => call.index === index)
    const last = callAtIndex ?? (index === undefined ? this.open.at(-1) : undefined)
    const isOtherId = last?.id !== undefined && id !== undefined && id !== last.id
    // If index and id are absent, a fragment with a name starts a call, and a fragment with only arguments continues the last call.
    const isNext = index === undefined && id === undefined && name !== undefined
    if (last && !isOtherId && !isNext) {
      last.id ??= id
      return last
    }
    const call: OpenCall = { index, id, name: '', arguments: '', extra: null }
    this.open.push(call)
    return call
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
