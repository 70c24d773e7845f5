import type { Owner } from '../../../access/owner.ts'
import type { SessionMatches, SessionPage } from '../../../sessions/session-store.ts'
import { query, type Database } from '../../database.ts'
import { isAt, listedSessions, pageOf, toRecord } from '../session-rows.ts'
import { indexSessions } from './index-sessions.ts'
import { searchSessions } from './search-sessions.ts'

/** Creates the search of sessions, which indexes sessions in the background when many are not indexed. */
export function createSearch(database: Database) {
  const { db } = database
  let indexing: Promise<void> | undefined

  return function search(
    caller: Owner,
    { words, limit, anyOwner, before }: SessionPage & { words: readonly string[] },
  ): Promise<SessionMatches> {
    const { read } = database.forTenant(caller.tenant)
    const scope = { tenant: caller.tenant, owner: anyOwner ? '' : caller.owner }
    const ofScope = () => listedSessions(db, caller, anyOwner)
    const rowsOf = async (page: ReturnType<typeof ofScope>) => (await query(read, page)).rows.map(toRecord)

    function index(): void {
      indexing ??= indexSessions(database, scope, {
        oldest: (after, until, count) => {
          const settled = ofScope().where('updated_at', '<', until)
          const unindexed = after ? settled.where(isAt('>', after)) : settled
          return rowsOf(unindexed.orderBy('updated_at').orderBy('session_id').orderBy('owner').limit(count))
        },
      })
        // The next search tries again, and reads the sessions themselves until then.
        .catch(() => undefined)
        .finally(() => (indexing = undefined))
    }

    return searchSessions(database, {
      scope,
      words,
      limit,
      before,
      list: (page) => rowsOf(pageOf(db, caller, { ...page, anyOwner })),
      withKeys: (keys, position) => {
        const sessions = ofScope().where('key', 'in', [...keys])
        return rowsOf(position ? sessions.where(isAt('<', position)) : sessions)
      },
      onUnindexed: index,
    })
  }
}
