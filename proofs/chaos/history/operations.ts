/** An event of a run for a reader: number, label (`agent_step`), text, and the finish reason of the last event. */
export interface SeenEvent {
  number: number
  label: string
  token: string
  finish: string | undefined
}

/** A message of a session. Only answers have a request id. */
export interface SeenMessage {
  role: string
  content: string
  requestId: string | undefined
  finish: string | undefined
}

/** Behaviour of the model in a chat. The text of a chat is `<request id> <kind>`. */
export type ChatKind = 'talk' | 'read' | 'write' | 'both' | 'seal' | 'doubt' | 'slow' | 'study' | 'long'

/** The operation that waits for an approval in the chats of a kind. */
export const approvedOperation: Partial<Record<ChatKind, 'record' | 'seal'>> = { seal: 'seal', doubt: 'record' }
export type ChatMode = 'json' | 'stream' | 'async'

interface Chat {
  requestId: string
  session: string
  mode: ChatMode
  kind: ChatKind
  /** Position among the client's chats in the session. */
  position: number
  /** Name of the caller. Limits apply per caller. */
  caller: string
}

/** Arguments and reply of each kind of operation. */
export interface Kinds {
  /** `events`: of a stream. `output`: the answer of a JSON chat. `waits`: id of a call without approval yet. */
  chat: { args: Chat; reply: { output?: string; finish?: string; waits?: string; events?: SeenEvent[] } }
  /** Events of a run after number `after`. Operations of one `reader` continue each other. */
  follow: { args: { requestId: string; reader: string; after: number }; reply: { events: SeenEvent[]; waits?: string } }
  'read session': { args: { session: string; isLast: boolean }; reply: { messages: SeenMessage[] } }
  'read run': {
    args: { requestId: string; isLast: boolean }
    /** `waits`: id of a call without approval yet. */
    reply: { state: string; output?: string; waits?: string; hasUnknownOutcome: boolean }
  }
  'list sessions': { args: object; reply: { sessions: string[] } }
  'list runs': { args: object; reply: { runs: { requestId: string; state: string }[] } }
  'delete session': { args: { session: string }; reply: object }
  cancel: { args: { requestId: string }; reply: { state: string } }
  decide: { args: { requestId: string; callId: string; decision: 'approve' | 'reject' }; reply: object }
  completion: { args: { caller: string }; reply: object }
  'read budgets': { args: { budget: string }; reply: { windows: { subject: string; usd: number; remaining: number; resetsAt: string }[] } }
  override: { args: { budget: string; usd: number }; reply: object }
  'decide budget': { args: { requestId: string; decision: 'extend' | 'reject' }; reply: object }
  'create schedule': { args: { name: string }; reply: { id: string } }
  trigger: { args: { id: string }; reply: { outcome: string; requestId?: string } }
  'rename schedule': { args: { id: string }; reply: object }
  'end schedule': { args: { id: string }; reply: object }
  'steered chat': { args: { requestId: string }; reply: object }
  steer: { args: { requestId: string; id: string; mode: 'steer' | 'follow_up' }; reply: { position: number } }
  'read configuration': { args: object; reply: { version: string; value: string } }
  'write configuration': { args: { ifMatch: string; value: string }; reply: { version: string } }
  'create key': { args: { caller: string }; reply: { key: string } }
  'use key': { args: { key: string }; reply: object }
  'revoke key': { args: { key: string }; reply: object }
  'limited request': { args: { caller: string; limit: number }; reply: object }
  'list memories': { args: { caller: string }; reply: { memories: { id: string; content: string }[] } }
  'forget memory': { args: { caller: string; id: string }; reply: object }
  /** Recorded by the stand-ins for external services. */
  'model call': { args: { requestId: string }; reply: object }
  effect: { args: { requestId: string; operation: 'record' | 'seal'; key: string }; reply: object }
  callback: { args: { requestId: string; id: string }; reply: object }
  fault: { args: { name: string; replica: string | undefined }; reply: object }
}

export type Kind = keyof Kinds

/**
 * `ok`: the service confirmed the operation. `fail`: the service refused, and the operation had no effect. `unknown`: the operation may or may
 * not have had an effect, now or later.
 */
export type Result = 'ok' | 'fail' | 'unknown'

/** Operation of one client. Times are milliseconds of one monotonic clock. */
export interface OperationOf<K extends Kind> {
  client: string
  /** The answering process: replica and number of the start, such as `replica-2#3`. Undefined without an answer. */
  process: string | undefined
  kind: K
  args: Kinds[K]['args']
  invokedAt: number
  endedAt: number
  result: Result
  /** HTTP status; undefined without an answer. */
  status: number | undefined
  /** Number of replicas asked by the load balancer, where the first answered 503. */
  tries?: number
  /** `error_type` of a refusal. */
  error?: string
  reply: Kinds[K]['reply'] | undefined
}

export type Operation = { [K in Kind]: OperationOf<K> }[Kind]

/** Operations of one kind, in the order of their ends. */
export function ofKind<K extends Kind>(history: readonly Operation[], kind: K): OperationOf<K>[] {
  return history.filter((operation): operation is Operation & OperationOf<K> => operation.kind === kind)
}
