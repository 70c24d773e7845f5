import { ofKind, type OperationOf } from '../history/operations.ts'
import { endStateOf, isDeleted, mayBeDeleted, type Facts } from './facts.ts'
import { isReplaceable, messagesOf, requestOf } from './sessions.ts'

/**
 * Reads never go backwards, across all processes: a read contains the content of every earlier read, and every chat answered before the read
 * began. All processes read the same database, so the rule also holds between callers.
 */
export function checkReads(facts: Facts): string[] {
  return [...checkSessionReads(facts), ...checkRunReads(facts), ...checkLists(facts)]
}

function checkSessionReads(facts: Facts): string[] {
  const bySession = Map.groupBy(ofKind(facts.history, 'read session'), ({ args }) => args.session)
  const successes = Map.groupBy(
    ofKind(facts.history, 'chat').filter(({ reply }) => reply?.finish === 'stop'),
    ({ args }) => args.session,
  )
  return [...bySession].flatMap(([session, reads]) => {
    const anomalies = reads.flatMap((read) => checkDeletion(`session ${session}`, session, read, facts))
    const answered = reads.filter(({ result }) => result === 'ok')
    for (const [earlier, later] of consecutive(answered, (read) => lastingLength(read, facts))) {
      const shownLength = lastingLength(earlier, facts)
      if (messagesOf(later).length < shownLength)
        anomalies.push(
          `session ${session}: ${later.process} shows ${messagesOf(later).length} messages after ${earlier.process} showed ${shownLength}`,
        )
    }
    return [...anomalies, ...answered.flatMap((read) => checkAnswered(read, successes.get(session) ?? []))]
  })
}

/** Number of messages required in every later read. */
function lastingLength(read: OperationOf<'read session'>, { repeated }: Facts): number {
  const messages = messagesOf(read)
  const last = messages.at(-1)
  return last && isReplaceable(last, repeated) ? messages.length - 1 : messages.length
}

/** Pairs each operation with the highest ranked operation before its begin. */
function* consecutive<T extends { invokedAt: number; endedAt: number }>(
  operations: readonly T[],
  rankOf: (operation: T) => number,
): Generator<[T, T]> {
  const ends = operations.toSorted((a, b) => a.endedAt - b.endedAt)
  let next = 0
  let highest: T | undefined
  for (const later of operations.toSorted((a, b) => a.invokedAt - b.invokedAt)) {
    for (; ends[next] && ends[next]!.endedAt < later.invokedAt; next++)
      if (!highest || rankOf(ends[next]!) >= rankOf(highest)) highest = ends[next]!
    if (highest) yield [highest, later]
  }
}

/** A chat with a successful answer before the read is in the read, with the answer. */
function checkAnswered(read: OperationOf<'read session'>, successes: readonly OperationOf<'chat'>[]): string[] {
  const { session } = read.args
  const humans = new Set(
    messagesOf(read)
      .filter(({ role }) => role === 'human')
      .map(requestOf),
  )
  const answers = new Set(messagesOf(read).map(({ requestId }) => requestId))
  return successes.flatMap(({ args: { requestId }, endedAt }) =>
    endedAt < read.invokedAt && !(humans.has(requestId) && answers.has(requestId))
      ? [`session ${session}: ${read.process} does not show ${requestId}, which was answered before the read`]
      : [],
  )
}

/** An acknowledged run is found. A success or a timeout is final; so is every end of a run without a repeat. */
function checkRunReads(facts: Facts): string[] {
  const byRun = Map.groupBy(ofKind(facts.history, 'read run'), ({ args }) => args.requestId)
  return [...byRun].flatMap(([requestId, reads]) => {
    const session = facts.chats.get(requestId)?.[0]?.args.session ?? ''
    const acknowledgedAt = facts.acknowledgedAt.get(requestId) ?? Infinity
    const anomalies = reads.flatMap((read) => checkDeletion(`run ${requestId}`, session, read, facts))
    for (const { invokedAt, endedAt, status, process } of reads)
      if (status === 404 && acknowledgedAt < invokedAt && !mayBeDeleted(facts, session, endedAt))
        anomalies.push(`run ${requestId}: ${process} does not find the run, which was acknowledged before`)
    const answered = reads.filter(({ reply }) => reply !== undefined)
    for (const [earlier, later] of consecutive(answered, (read) => (isFinal(read, facts) ? 1 : 0)))
      if (isFinal(earlier, facts) && earlier.reply!.state !== later.reply!.state)
        anomalies.push(
          `run ${requestId}: ${later.process} shows ${later.reply!.state} after ${earlier.process} showed ${earlier.reply!.state}`,
        )
    return anomalies
  })
}

const endings = new Set(['success', 'error', 'cancelled', 'timeout'])

function isFinal({ args, reply }: OperationOf<'read run'>, { repeated }: Facts): boolean {
  const state = reply?.state ?? ''
  return state === 'success' || state === 'timeout' || (endings.has(state) && !repeated.has(args.requestId))
}

/** Deleted sessions and runs stay deleted. */
function checkDeletion(label: string, session: string, read: OperationOf<'read session' | 'read run'>, facts: Facts): string[] {
  return read.result === 'ok' && isDeleted(facts, session, read.invokedAt) ? [`${label}: ${read.process} shows it after its deletion`] : []
}

/** Lists show the final states of runs, and no deleted sessions. */
function checkLists(facts: Facts): string[] {
  const sessions = ofKind(facts.history, 'list sessions').flatMap(({ reply, invokedAt, process }) =>
    (reply?.sessions ?? []).flatMap((session) =>
      isDeleted(facts, session, invokedAt) ? [`session ${session}: ${process} lists it after its deletion`] : [],
    ),
  )
  const runs = ofKind(facts.history, 'list runs').flatMap(({ reply, process }) =>
    (reply?.runs ?? []).flatMap(({ requestId, state }) => {
      const end = endStateOf(facts, requestId)
      const isWrong = end !== undefined && endings.has(state) && state !== end && !facts.repeated.has(requestId)
      return isWrong ? [`run ${requestId}: ${process} lists it as ${state}, but it ended as ${end}`] : []
    }),
  )
  return [...sessions, ...runs]
}
