import { ofKind, type Operation, type OperationOf } from '../history/operations.ts'

/** Parts of a history, indexed for several properties. */
export interface Facts {
  history: readonly Operation[]
  /** Requests for each chat, in the order of their ends. */
  chats: ReadonlyMap<string, readonly OperationOf<'chat'>[]>
  /** Deletions by session. */
  deletions: ReadonlyMap<string, readonly OperationOf<'delete session'>[]>
  /** States of the runs at the end of the chaos run, with the reads. */
  lastRuns: ReadonlyMap<string, OperationOf<'read run'>>
  /** Request ids with several requests. A repeat continues a failed or abandoned run. */
  repeated: ReadonlySet<string>
  /** Time of the first acknowledgement by request id; absent for an unacknowledged chat. */
  acknowledgedAt: ReadonlyMap<string, number>
}

export function toFacts(history: readonly Operation[]): Facts {
  const chats = Map.groupBy(ofKind(history, 'chat'), ({ args }) => args.requestId)
  const acknowledgedAt = new Map<string, number>()
  for (const [requestId, sent] of chats) {
    const times = sent.filter(isAcknowledged).map(({ endedAt }) => endedAt)
    if (times.length > 0) acknowledgedAt.set(requestId, Math.min(...times))
  }
  return {
    history,
    chats,
    deletions: Map.groupBy(ofKind(history, 'delete session'), ({ args }) => args.session),
    lastRuns: new Map(ofKind(history, 'read run').flatMap((read) => (read.args.isLast ? [[read.args.requestId, read] as const] : []))),
    repeated: new Set([...chats].flatMap(([requestId, sent]) => (sent.length > 1 || (sent[0]!.tries ?? 1) > 1 ? [requestId] : []))),
    acknowledgedAt,
  }
}

/** A stream is acknowledged by its first event. An error may come first, where the stream had begun while the chat waited and was then refused. */
function isAcknowledged({ result, reply }: OperationOf<'chat'>): boolean {
  return reply?.events ? reply.events.some(({ finish }) => finish !== 'error') : result === 'ok'
}

/** True where a deletion of the session may have begun before `at`. */
export function mayBeDeleted({ deletions }: Facts, session: string, at = Infinity): boolean {
  return (deletions.get(session) ?? []).some(({ invokedAt, result }) => result !== 'fail' && invokedAt < at)
}

/** True where the session was certainly deleted before `at`. A chat without an answer may arrive after the deletion, and begin the session anew. */
export function isDeleted({ deletions, chats, acknowledgedAt }: Facts, session: string, at: number): boolean {
  if (!deletions.has(session)) return false
  const mayComeBack = [...chats].some(
    ([requestId, sent]) =>
      sent[0]!.args.session === session && !acknowledgedAt.has(requestId) && sent.some(({ result }) => result === 'unknown'),
  )
  if (mayComeBack) return false
  return (deletions.get(session) ?? []).some(({ endedAt, result }) => result === 'ok' && endedAt < at)
}

export function endStateOf({ lastRuns }: Facts, requestId: string): string | undefined {
  return lastRuns.get(requestId)?.reply?.state
}
