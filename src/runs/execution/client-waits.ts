import { callerKey, type Owner } from '../../access/owner.ts'
import { createKeyedMutex } from '../../concurrency/mutex.ts'
import type { Agent } from '../../configuration/agent.ts'
import { ServiceError } from '../../errors.ts'
import type { ClientWait } from '../approvals/approval-store.ts'
import type { RunKey } from '../run.ts'

/**
 * Limits the chats of a caller that wait for the output of client tools, because abandoned waits look like live waits. A chat of an
 * OpenAI client makes room, because outputs without a waiting run are history there; chats of other clients wait for the outputs
 * alone.
 */
export interface ClientWaits {
  /** Throws `rate_limited` for a caller with as many waiting chats as `limits.max_client_tool_waits` allows, of which none makes room. */
  refuse(caller: Owner, agent: Agent): Promise<void>
  /**
   * Stores an additional waiting chat by `store`. At the limit, the oldest chat that makes room is ended first; throws as `refuse` does
   * where no chat makes room. Chats of a caller that end a turn together are counted in turn.
   */
  add(caller: Owner, agent: Agent, store: () => Promise<void>): Promise<void>
}

interface ClientWaitsDependencies {
  /** The caller's runs that wait for the output of client tools, in all processes: at most `limit`, those that expire first in front. */
  list(owner: Owner, limit: number): Promise<ClientWait[]>
  /** Ends a wait that makes room. False for a wait of another client, which goes on. */
  yieldWait(key: RunKey): Promise<boolean>
  now(): number
}

export function createClientWaits({ list, yieldWait, now }: ClientWaitsDependencies): ClientWaits {
  const mutex = createKeyedMutex()

  /** The waits of a caller at the limit; undefined below the limit. */
  async function waitsAtLimit(caller: Owner, { config: { limits } }: Agent): Promise<ClientWait[] | undefined> {
    const waits = await list(caller, limits.max_client_tool_waits)
    return waits.length < limits.max_client_tool_waits ? undefined : waits
  }

  /** True if a wait may be one of an OpenAI client: only these are as short. The run itself says for certain. */
  const mayYield = ({ since, expiresAt }: ClientWait, { config: { limits } }: Agent) =>
    expiresAt - since <= limits.client_tool_wait * 1000 + 1

  function refusalOf(waits: readonly ClientWait[]): ServiceError {
    const seconds = Math.max(1, Math.ceil((waits[0]!.expiresAt - now()) / 1000))
    const message = `${waits.length} of your chats wait for the output of client tools; no more are taken. Answer or cancel one of them, or wait ${seconds} seconds for the first to expire.`
    return new ServiceError('rate_limited', message, { retryAfter: seconds })
  }

  async function makeRoom(caller: Owner, agent: Agent): Promise<void> {
    const waits = await waitsAtLimit(caller, agent)
    const oldestFirst = waits?.filter((wait) => mayYield(wait, agent)).toSorted((one, other) => one.since - other.since) ?? []
    for (const { requestId } of oldestFirst) if (await yieldWait({ tenant: caller.tenant, owner: caller.owner, requestId })) return
    if (waits) throw refusalOf(waits)
  }

  return {
    async refuse(caller, agent) {
      const waits = await waitsAtLimit(caller, agent)
      if (waits && !waits.some((wait) => mayYield(wait, agent))) throw refusalOf(waits)
    },
    add: (caller, agent, store) =>
      mutex.run(callerKey(caller), async () => {
        await makeRoom(caller, agent)
        await store()
      }),
  }
}
