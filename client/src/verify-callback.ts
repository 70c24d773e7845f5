import { AgentCoreError, isObject, parseJson } from './error.ts'
import type { Reply, Schema } from './operation.ts'

/** Fields of every callback (CloudEvents 1.0). */
interface Envelope {
  specversion: '1.0'
  /** Address of the service. */
  source: string
  /** The request id of the run; `<request id>:interrupt:<n>` for an interruption. */
  id: string
  /** The session id. */
  subject: string
  /** ISO 8601. */
  time: string
}

interface Ids {
  /** The id of the event that started the run. */
  event_id: string
  request_id: string
  session_id: string
}

interface Interruption extends Ids {
  /** The answer so far. */
  body: Reply<'POST', '/core/v1/chain'>['body']
  /** Calls that wait for a decision. */
  approval_required?: Schema<'ApprovalRequired'>
  budget_required?: Schema<'BudgetRequired'>
  /** Calls that wait for the output of a client tool. */
  client_tool_calls?: Schema<'ClientToolCalls'>
}

/** The body of a callback. Interruptions are sent where `callback_events` of the chat lists them. */
export type CallbackEvent = Envelope &
  (
    | { type: 'ai.service.agent.chain.completed'; data: Ids & { body: Reply<'POST', '/core/v1/chain'>['body'] } }
    | { type: 'ai.service.agent.chain.failed'; data: Ids & { error: Schema<'Error'> } }
    | { type: 'ai.service.agent.chain.interrupted'; data: Interruption }
  )

export interface ReceivedCallback {
  /** `whsec_...`, as `agent-core keys callback-secret` prints it; several secrets during a rotation. */
  secret: string | readonly string[]
  headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>
  /** The body as it arrived: JSON that is parsed and written again has another signature. */
  body: string | Uint8Array
  /** Largest difference between the clocks of service and receiver; default 300. */
  toleranceSeconds?: number | undefined
}

/** The identity of a callback beside its event. */
export interface VerifiedCallback {
  /** Equal for every delivery of this callback: a receiver drops repeated ids. */
  webhookId: string
  event: CallbackEvent
}

/**
 * Verifies the signature of a callback (Standard Webhooks 1.0, HMAC-SHA256) and reads the event. Throws `AgentCoreError` with the error
 * type `InvalidSignature` for a callback that the service did not sign with this secret, or signed too long ago.
 */
export async function verifyCallback({ secret, headers, body, toleranceSeconds = 300 }: ReceivedCallback): Promise<VerifiedCallback> {
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => readHeader(headers, name))
  if (id === undefined || timestamp === undefined || signatures === undefined) throw invalid('The headers of a webhook are missing.')
  if (!/^\d{1,12}$/.test(timestamp)) throw invalid('The header webhook-timestamp must be in seconds.')
  const ageSeconds = Math.abs(Date.now() / 1000 - Number(timestamp))
  if (ageSeconds > toleranceSeconds) throw invalid(`The callback was signed ${Math.round(ageSeconds)} s before or after this time.`)
  const content = typeof body === 'string' ? new TextEncoder().encode(body) : body
  const signed = concatenate(new TextEncoder().encode(`${id}.${timestamp}.`), content)
  if (!(await isSigned(signed, signatures, [secret].flat()))) throw invalid('The signature of the callback does not match.')
  const event = parseJson(new TextDecoder().decode(content))
  if (!isObject(event)) throw invalid('The body of the callback is not a JSON object.')
  return { webhookId: id, event: event as unknown as CallbackEvent }
}

/** Whether one of the signatures, `v1,<base64> v1,<base64>`, is made with one of the secrets. Compares in constant time. */
async function isSigned(signed: Uint8Array<ArrayBuffer>, signatures: string, secrets: readonly string[]): Promise<boolean> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  for (const secret of secrets) {
    const bytes = fromBase64(secret.replace(/^whsec_/, ''))
    if (!bytes || bytes.length === 0) throw new TypeError('The secret must be whsec_ and base64.')
    const key = await crypto.subtle.importKey('raw', bytes, algorithm, false, ['verify'])
    for (const signature of signatures.split(' ')) {
      const signatureBytes = signature.startsWith('v1,') ? fromBase64(signature.slice(3)) : undefined
      if (signatureBytes && (await crypto.subtle.verify(algorithm, key, signatureBytes, signed))) return true
    }
  }
  return false
}

function readHeader(headers: ReceivedCallback['headers'], name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined
  const entry = Object.entries(headers).find(([key]) => key.toLowerCase() === name)
  return [entry?.[1]].flat()[0]
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}

function concatenate(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(first.length + second.length)
  bytes.set(first)
  bytes.set(second, first.length)
  return bytes
}

function invalid(message: string): AgentCoreError {
  return new AgentCoreError(message, { status: 0, errorType: 'InvalidSignature' })
}
