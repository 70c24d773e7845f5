import { settlesWithin } from '../../concurrency/settles-within.ts'
import { reachState } from '../../states.ts'
import { CommitUnknown } from '../database.ts'
import type { ColumnType } from '../rows.ts'

/**
 * Outcome of a statement that stores a simple chat. `done`: stored. `unchanged`: the statement did not apply and changed nothing, so the caller
 * works step by step. `unknown`: the answer of the database was lost, so the chat may have been stored.
 */
export type Attempt<R> = { kind: 'done'; result: R } | { kind: 'unchanged' } | { kind: 'unknown' }

/** A chat that may share a statement with others. */
export interface GroupedChat<R> {
  /** The JSON object of the chat in the statement of its group; see `toRowJson`. */
  row: string
  /** A group has no two chats with a common key. */
  keys: readonly string[]
  /** Stores this chat with a statement of its own. */
  alone(): Promise<Attempt<R>>
}

/** Stores the chats of a JSON array in one transaction. Resolves to the results by position; chats without a result are unchanged. */
export type StoreGroup<R> = (tenant: string, rows: string, size: number) => Promise<ReadonlyMap<number, R>>

interface WaitingChat<R> extends GroupedChat<R> {
  resolve(attempt: Attempt<R>): void
  reject(error: unknown): void
}

/** Longer chats are stored alone, so that they delay no others. In characters of JSON. */
export const maxRowLength = 16_384
const maxGroupLength = 16 * maxRowLength
const maxChats = 64

/** A group that waits for a lock delays the next group of its tenant for this time at most, in milliseconds. */
const maxDelayMs = 25

/**
 * Groups the chats of a tenant (group commit): chats that arrive during the store of a group form the next group. A single chat is
 * stored alone. When a group fails, nothing of the group is stored, and each chat is then stored alone, so that a failure concerns a
 * single chat only. When the outcome of a group is unknown, the outcome of each chat is unknown.
 */
export function createChatGroups<R>(store: StoreGroup<R>): (tenant: string, chat: GroupedChat<R>) => Promise<Attempt<R>> {
  /** The chats that wait, of each tenant for which groups are being stored. */
  const waitingOf = new Map<string, WaitingChat<R>[]>()

  async function storeWaiting(tenant: string, waiting: WaitingChat<R>[]): Promise<void> {
    do {
      // The other requests and answers that have arrived by now join the group.
      await new Promise((resolve) => setImmediate(resolve))
      await settlesWithin(storeGroup(tenant, takeGroup(waiting)), maxDelayMs)
    } while (waiting.length > 0)
    waitingOf.delete(tenant)
  }

  async function storeGroup(tenant: string, group: readonly WaitingChat<R>[]): Promise<void> {
    if (group.length === 1) return storeAlone(group[0]!)
    try {
      const results = await store(tenant, `[${group.map(({ row }) => row).join(',')}]`, group.length)
      reachState(results.size < group.length ? 'group-left-chats-out' : 'group-stored')
      for (const [position, { resolve }] of group.entries()) {
        const result = results.get(position)
        resolve(result === undefined ? { kind: 'unchanged' } : { kind: 'done', result })
      }
    } catch (error) {
      const isUnknown = error instanceof CommitUnknown
      reachState(isUnknown ? 'group-unknown' : 'group-failed')
      if (isUnknown) for (const { resolve } of group) resolve({ kind: 'unknown' })
      else await Promise.all(group.map(storeAlone))
    }
  }

  return (tenant, chat) =>
    new Promise((resolve, reject) => {
      const waitingChat = { ...chat, resolve, reject }
      const waiting = waitingOf.get(tenant)
      if (waiting) return void waiting.push(waitingChat)
      const first = [waitingChat]
      waitingOf.set(tenant, first)
      void storeWaiting(tenant, first)
    })
}

async function storeAlone<R>({ alone, resolve, reject }: WaitingChat<R>): Promise<void> {
  await alone().then(resolve, reject)
}

/** Removes the next group from the waiting chats. */
function takeGroup<R>(waiting: WaitingChat<R>[]): WaitingChat<R>[] {
  const group: WaitingChat<R>[] = []
  const keys = new Set<string>()
  let length = 0
  for (const chat of waiting.splice(0)) {
    const fits = group.length < maxChats && length + chat.row.length <= maxGroupLength && !chat.keys.some((key) => keys.has(key))
    ;(fits ? group : waiting).push(chat)
    if (!fits) continue
    length += chat.row.length
    for (const key of chat.keys) keys.add(key)
  }
  return group
}

/** A row of a group: the values of its columns. */
export type RowOf<Columns extends Readonly<Record<string, ColumnType>>> = {
  [Column in keyof Columns]: Columns[Column] extends 'text' ? string | null : Columns[Column] extends 'boolean' ? boolean : number | null
}

/** The rows of a JSON array in the parameter $2, as the table `chat`; the column `n` is the position of the row, from 1. */
export function recordset(columns: Readonly<Record<string, ColumnType>>): string {
  return `rows from (json_to_recordset(cast($2 as json)) as (${definitionsOf(columns)})) with ordinality as chat (${namesOf(columns)}, n)`
}

export function namesOf(columns: object): string {
  return Object.keys(columns).join(', ')
}

export function definitionsOf(columns: Readonly<Record<string, ColumnType>>): string {
  return Object.entries(columns)
    .map(([name, type]) => `${name} ${type}`)
    .join(', ')
}

export function literalsOf(constants: Readonly<Record<string, number | ''>>): string {
  return Object.values(constants)
    .map((value) => (value === '' ? "''" : value))
    .join(', ')
}

/** The JSON of a row; undefined where the row is too long, or where Postgres refuses an escape in it: of NUL or of half a surrogate pair. */
export function toRowJson(row: object): string | undefined {
  const text = JSON.stringify(row)
  return text.length > maxRowLength || refusedEscape.test(text) ? undefined : text
}

export const refusedEscape = /\\u(?:0000|d[89a-f])/
