/**
 * Ids of OpenAI's objects. All ids are derived from the ids of runs, calls and sessions, so nothing is stored twice. `~` and `_` separate the parts:
 * `~` is no character of a request id or session id.
 */

/**
 * The id of a response. A run answers several requests where its client runs tools: each request that sends the outputs of the calls gets a
 * response of its own. `part` counts these responses from 1.
 */
export interface ResponseKey {
  requestId: string
  part: number
}

/** `resp_<request id>`; from the second part on `resp_<request id>~<part>`. */
export function toResponseId({ requestId, part }: ResponseKey): string {
  return part === 1 ? `resp_${requestId}` : `resp_${requestId}~${part}`
}

/** Undefined for a text that is no id of a response. */
export function parseResponseId(id: string): ResponseKey | undefined {
  const match = /^resp_([A-Za-z0-9][A-Za-z0-9._:-]{0,127})(?:~([2-9]|[1-9]\d{1,3}))?$/.exec(id)
  return match ? { requestId: match[1]!, part: Number(match[2] ?? 1) } : undefined
}

/** `n` counts the items of all parts of a response from 0. */
export function toItemId(type: 'msg' | 'rs', requestId: string, n: number): string {
  return `${type}_${requestId}_${n}`
}

/** The request id in the id of an output item, for `item_reference`; undefined for another id. */
export function requestIdOfItem(id: string): string | undefined {
  return /^(?:msg|rs)_(.+)_\d+$/.exec(id)?.[1]
}

/** The id of a call of a client tool. */
export function toCallId(callId: string): string {
  return `call_${callId}`
}

/** The two ids of a call of a client tool in a response: of the item, and of the call. */
export function toCallIds(callId: string): { id: string; call_id: string } {
  return { id: `fc_${callId}`, call_id: toCallId(callId) }
}

/** The tool call of `call_<id>` or `fc_<id>`; other clients' ids are returned as they are. */
export function toToolCallId(id: string): string {
  return id.replace(/^(?:call|fc)_/, '')
}

export function toConversationId(sessionId: string): string {
  return `conv_${sessionId}`
}

/** Undefined for a text that is no id of a conversation. */
export function parseConversationId(id: string): string | undefined {
  return /^conv_([A-Za-z0-9][A-Za-z0-9._:-]{0,127})$/.exec(id)?.[1]
}
