import { setTimeout as sleep } from 'node:timers/promises'
import { lastReader } from './checker/streams.ts'
import { follow } from './clients/chat.ts'
import { readRun, readSession } from './clients/reads.ts'
import type { Caller, Load } from './clients/service.ts'
import { ofKind } from './history/operations.ts'

/** Queries the database directly. */
export type Query = (sql: string) => Promise<Record<string, unknown>[]>

/**
 * Runs that have lost two processes are executed in turn, and some of these runs are long. Retention settles lost reservations every
 * five minutes.
 */
const settleMs = 360_000
/** Concurrent reads. */
const readers = 12

/** Waits until all runs have ended, all callbacks are delivered and nothing is reserved. Returns the duration in milliseconds. */
export async function settle(query: Query): Promise<number> {
  const startedAt = Date.now()
  for (const until = startedAt + settleMs; Date.now() < until; await sleep(250)) {
    const [runs] = await query(`select count(*)::int as n from runs where status in ('pending', 'running')`)
    const [callbacks] = await query(`select count(*)::int as n from callbacks where status = 'pending'`)
    const [reservations] = await query('select count(*)::int as n from budget_reservations')
    if (runs?.['n'] === 0 && callbacks?.['n'] === 0 && reservations?.['n'] === 0) break
  }
  return Date.now() - startedAt
}

/** Reads every session, run and stream of the history once more, as operations of their callers. */
export async function readAll(load: Load, allCallers: readonly Caller[]): Promise<void> {
  const { history } = load.caller
  const callers = new Map(allCallers.map((caller) => [caller.name, caller]))
  const chats = ofKind(history.operations, 'chat').map(({ args }) => args)
  const requests = new Map(chats.map((chat) => [chat.requestId, chat]))
  const sessions = new Map(chats.map((chat) => [chat.session, chat]))
  const work = [
    ...[...sessions.values()].map(
      ({ session, caller }) =>
        () =>
          readSession(callers.get(caller)!, lastReader, session, true),
    ),
    ...[...requests.values()].map(({ requestId, caller, mode }) => async () => {
      const caller_ = callers.get(caller)!
      const { reply } = await readRun(caller_, lastReader, requestId, true)
      if (reply && mode === 'stream')
        // Nobody is left to decide about a call that still waits.
        await follow(
          { requestId, reader: lastReader, after: 0 },
          { ...load, caller: caller_ },
          { client: lastReader, isBeyondPause: reply.state !== 'interrupted' },
        )
    }),
  ]
  const next = work.values()
  await Promise.all(
    Array.from({ length: readers }, async () => {
      for (const read of next) await read()
    }),
  )
}
