import type { HeldRun, HistoryMessage, RunStore } from '../../runs/run-store.ts'
import { withoutDeleted } from '../../runs/window/deleted.ts'
import type { MessageData } from '../../sessions/message.ts'
import type { Connection, Database } from '../database.ts'
import { parseJson } from '../rows.ts'
import type { HistoryPart, RunStatements } from './statements.ts'
import { createWindowCache, type CachedWindow } from './window-cache.ts'

/** The messages that a run is told. `wasEnded` is called when the end of a run is stored. */
export function createHistory(
  { forTenant, embedded }: Database,
  statements: RunStatements,
): Pick<RunStore, 'history' | 'historyOfRun'> & { wasEnded(...end: Parameters<RunStore['finish']>): void } {
  const windows = createWindowCache()

  async function read(connection: Connection, part: HistoryPart & { limit?: number | undefined }) {
    const { limit } = part
    const { rows } = await (limit === undefined
      ? statements.history(connection, part)
      : statements.historyPart(connection, { ...part, limit }))
    let characters = 0
    const messages = rows.map(({ idx, role, content, data }): HistoryMessage => {
      characters += content.length + (data?.length ?? 0)
      return { idx, role, content, data: parseJson<MessageData>(data) }
    })
    return { messages, characters, checkpointId: rows[0]?.checkpoint_id ?? undefined }
  }

  /** Reads the messages that are not in `earlier`, or all of them where the earlier ones have changed. */
  async function readNew(connection: Connection, part: HistoryPart, earlier: CachedWindow | undefined): Promise<Omit<CachedWindow, 'run'>> {
    const newer = await read(connection, earlier ? { ...part, from: earlier.messages.at(-1)!.idx + 1 } : part)
    if (!earlier) return newer
    if (newer.checkpointId !== earlier.checkpointId) return read(connection, part)
    const messages = [...earlier.messages, ...newer.messages]
    return { messages, characters: earlier.characters + newer.characters, checkpointId: newer.checkpointId }
  }

  return {
    async history(tenant, session, from, limit) {
      return withoutDeleted((await read(forTenant(tenant).read, { tenant, session, from, limit })).messages)
    },

    async historyOfRun(run: HeldRun, { session, messageIndex }, from, limit) {
      const { tenant } = run
      const connection = embedded?.readCommitted ?? forTenant(tenant).read
      const part = { tenant, session, from }
      if (limit !== undefined) return withoutDeleted((await read(connection, { ...part, limit })).messages)
      const window = await readNew(connection, part, windows.take(part))
      windows.keep(part, { ...window, messages: window.messages.filter(({ idx }) => idx < messageIndex), run })
      return withoutDeleted(window.messages)
    },

    wasEnded: ({ tenant, requestId }, fence, { session, checkpointId }) =>
      windows.ended({ tenant, session }, { requestId, fence }, checkpointId),
  }
}
