import { setTimeout as sleep } from 'node:timers/promises'
import { createClient, type Chunk, type OpenStream, type Reply, type StreamEvent } from '../../../test/fixtures/service-client.ts'
import type { Answer, History } from '../history/history.ts'
import type { Kind, Kinds, OperationOf, SeenEvent } from '../history/operations.ts'

/** Access to the service with one key. Every request is recorded in the history. */
export interface Caller {
  /** The owner of sessions, memories and limits. */
  name: string
  url: string
  key: string
  history: History
}

/** Destination of a client's requests, and inputs of its decisions. */
export interface Load {
  caller: Caller
  callbackUrl: string
  random(): number
  /** Returns false when clients must stop sending. */
  isActive(): boolean
  /** Time until the end of the load. */
  msLeft(): number
}

/** A request for `Client.request`. */
interface Request {
  method?: string
  path: string
  body?: unknown
  headers?: Record<string, string>
  /** Instead of the caller's own. */
  url?: string
  key?: string
}

/** Sends a request and records its result. `toReply` reads the body of a 2xx answer. */
export function send<K extends Kind>(
  { url, key, history }: Pick<Caller, 'url' | 'key' | 'history'>,
  [client, kind, args]: [client: string, kind: K, args: Kinds[K]['args']],
  request: Request,
  toReply: (body: Reply['body'], headers: Headers) => Kinds[K]['reply'],
): Promise<OperationOf<K>> {
  return history.record(client, kind, args, async () => {
    const { method = 'GET', path, body, headers } = request
    const reply = await createClient(request.url ?? url, request.key ?? key).request(method, path, {
      ...(body === undefined ? {} : { body }),
      ...(headers ? { headers } : {}),
    })
    return { ...toAnswer<K>(reply), ...(reply.status < 300 ? { reply: toReply(reply.body, reply.headers) } : {}) }
  })
}

export function toAnswer<K extends Kind>({ status, headers, body }: Pick<Reply, 'status' | 'headers' | 'body'>): Answer<K> {
  const tries = Number(headers.get('x-tries') ?? 1)
  return { status, process: headers.get('x-replica') ?? undefined, error: body?.details?.error_type, tries }
}

/** Repeats an operation until its result is known. */
export async function untilKnown<K extends Kind>(
  { random }: Pick<Load, 'random'>,
  attempt: () => Promise<OperationOf<K>>,
): Promise<OperationOf<K>> {
  for (let tries = 1; ; tries++) {
    const operation = await attempt()
    if (operation.result !== 'unknown' || tries === maxTries) return operation
    await sleep(100 + random() * 300)
  }
}

const maxTries = 200

/** Whether the service could not read the run: such a failure is no event of the run, and has the number of the event before. */
export function isReadFailure({ finish, number }: SeenEvent, after: number): boolean {
  return finish === 'error' && number === after
}

/**
 * Reads a stream of a client that has the events up to number `after`, to its end or until the connection breaks. A failure of reading counts as
 * a broken connection. `onFirst` is called at the first event.
 */
export async function readEvents(
  stream: OpenStream,
  { requestId, after }: { requestId: string; after: number },
  onFirst?: () => void,
  onEvent?: (id: string) => void,
): Promise<{ events: SeenEvent[]; waits?: string }> {
  const events: SeenEvent[] = []
  let waits: string | undefined
  try {
    for (let event = await stream.next(); event; event = await stream.next()) {
      const seen = toSeen(event, requestId)
      if (isReadFailure(seen, events.at(-1)?.number ?? after)) break
      events.push(seen)
      waits = waitOf(event.chunk)
      if (events.length === 1) onFirst?.()
      onEvent?.(event.id)
    }
  } catch {
    // The client keeps the events so far.
  }
  return { events, ...(waits === undefined ? {} : { waits }) }
}

/** What a run waits for: the id of a call without approval, or a budget. */
export function waitOf(fields: Pick<Chunk, 'approval_required' | 'budget_required'>): string | undefined {
  return fields.approval_required?.calls[0]?.tool_call_id ?? fields.budget_required?.budget
}

/** An event of another run has the number -1. */
export function toSeen({ id, chunk }: StreamEvent, requestId: string): SeenEvent {
  const number = id.startsWith(`${requestId}:`) ? Number(id.slice(requestId.length + 1)) : -1
  const finish = chunk.finish_reason === 'null' ? undefined : chunk.finish_reason
  return { number, label: chunk.agent_step, token: chunk.token, finish }
}
