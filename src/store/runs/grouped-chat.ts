import type { Begun, NewRun } from '../../runs/run-store.ts'
import type { Database, PostgresServer } from '../database.ts'
import { rowsPerHour } from '../rows.ts'
import { createChatGroups } from './chat-groups.ts'
import { beginGroup, toBeginRow, type BegunRow } from './group-begin.ts'
import { finishGroup, toFinishRow } from './group-finish.ts'
import { toRowJson } from './group-rows.ts'
import { isSimpleBegin, isSimpleEnd, unchanged, type Attempt, type Ending, type FastPath } from './simple-chat.ts'
import { createSingleStatementChat, toBegun } from './single-statement-chat.ts'

/** The fast path of simple chats on Postgres: the chats that begin or end at the same time share one statement. */
export function createGroupedChat(database: Database, { writeGroup }: PostgresServer): FastPath {
  const single = createSingleStatementChat(database)

  const joinBegin = createChatGroups<Begun>(async (tenant, rows) => {
    const begun = await writeGroup(tenant).execute<BegunRow>(beginGroup, [tenant, rows])
    return new Map(begun.rows.map((row) => [row.n - 1, toBegun(row)]))
  })

  const joinFinish = createChatGroups<unknown>(async (tenant, rows) => {
    // Groups of several processes are counted in different rows, so that they rarely wait for each other.
    const hourRow = Math.floor(Math.random() * rowsPerHour)
    const ended = await writeGroup(tenant).execute<{ n: number }>(finishGroup, [tenant, rows, hourRow])
    return new Map(ended.rows.map(({ n }) => [n - 1, true]))
  })

  function begin(newRun: NewRun): Promise<Attempt<Begun>> {
    const [message] = newRun.messages
    if (!message || !isSimpleBegin(newRun)) return unchanged
    const alone = () => single.begin(newRun)
    const row = toRowJson(toBeginRow(newRun, message))
    const { tenant, owner, requestId, sessionId } = newRun
    return row === undefined
      ? alone()
      : joinBegin(tenant, { row, keys: [`run ${requestId} ${owner}`, `session ${sessionId} ${owner}`], alone })
  }

  function finish(ending: Ending): Promise<Attempt<unknown>> {
    const { key, ended } = ending
    if (!ended.message || !isSimpleEnd(ended)) return unchanged
    const alone = () => single.finish(ending)
    const row = toRowJson(toFinishRow(ending, ended.message))
    return row === undefined ? alone() : joinFinish(key.tenant, { row, keys: [ended.session], alone })
  }

  return { ...single, begin, finish }
}
